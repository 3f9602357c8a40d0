"""How good robots are with partners they have never met, and whether the game can tell."""
