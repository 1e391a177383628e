"""The values of a text: numbers, money, percent, dates, times, durations, measures, in any notation, by offsets and keys.

English only, but for figures. What may stand where is decided elsewhere.
"""
