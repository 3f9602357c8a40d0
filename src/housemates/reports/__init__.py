"""Tables, figures and films of evaluated runs."""
