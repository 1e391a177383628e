"""Fine-grained hallucinations: their six kinds, the tags that mark them in a text, and the edits that mend them."""
