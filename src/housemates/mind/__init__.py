"""Theory of mind beside a finished agent: games are recorded, a network learns what partners do, and is judged on others."""
