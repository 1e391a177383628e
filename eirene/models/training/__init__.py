"""Training of local causal models: `recipes` (the papers' settings), `run` (folder, resume, card), `fit` (by TRL).

What a model is trained on and what for belongs to the part that uses it: feedback models, refiners, classifiers.
"""
