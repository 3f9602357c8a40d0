"""How fast housemates is on this machine, and how fast others are on the same scene in the same run."""
