"""The specifics of a text: its values, names, quotations, addresses and appeals to authority, by offsets and keys.

Values are read in `eirene.text.values`. What may stand where is decided elsewhere.
"""
