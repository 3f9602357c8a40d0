"""The learner: PPO for decisions of variable length, on one core or many."""
