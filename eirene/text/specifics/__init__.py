"""The specifics of a text: its values, names, quotations and addresses, by offsets and keys.

Values are read in `eirene.text.values`. What may stand where is decided elsewhere.
"""
