"""The embedded refiner, which ships with Eirene: rewrites by rule, without a model."""
