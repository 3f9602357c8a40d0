"""The simulator: many homes stepped together."""
