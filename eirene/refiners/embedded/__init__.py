"""The refiner that ships: rewrites by rule, and calls no model."""
