"""Look-ahead over any agent: predicts where partners go, tries own decisions in a light forward model, avoids collisions."""
