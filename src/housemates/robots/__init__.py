"""Robot bodies as numbers."""
