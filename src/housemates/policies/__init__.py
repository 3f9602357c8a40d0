"""What decides: networks from observations and memory to one of 25 decisions, and their checkpoints."""
