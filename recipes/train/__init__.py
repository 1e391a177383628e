"""Training of causal language models: `recipe` (the papers' settings), `run` (folder, resume, card), `fit` (by TRL).

What a model is trained as has a module of its own: critics, a refiner, a classifier, a generator of responses.
"""
