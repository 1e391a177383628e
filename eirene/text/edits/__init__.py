"""Edits between two texts: sentences and words that changed, texts rebuilt without some, replacements at offsets."""
