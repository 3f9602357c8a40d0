"""Training methods, one file each: who plays with whom, and what else they are paid for."""
