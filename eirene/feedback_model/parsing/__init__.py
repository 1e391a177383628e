"""From a model's reply to a checked critique."""
