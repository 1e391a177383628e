"""A person's review of a critique, at the terminal."""
