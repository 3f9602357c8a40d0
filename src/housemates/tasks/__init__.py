"""What the robots are asked to do: goals, the three tasks, and episodes of them in any list of homes."""
