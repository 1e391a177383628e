"""The recipe of the shipped encoder: `python -m recipes.encoder`."""
