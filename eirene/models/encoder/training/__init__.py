"""How the shipped encoder was trained, and how another one is."""
