"""The values of a text: numbers, money, percent, dates, times, durations, measures, by offsets, in any notation.

English only, but for figures. What may stand where is decided elsewhere.
"""
