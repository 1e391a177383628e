"""The specifics of a text: numbers, dates, names, quotations, addresses and appeals to authority, by offsets and keys.

English only, but for figures, quotations and addresses. What may stand where is decided elsewhere.
"""
