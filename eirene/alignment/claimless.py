"""What sentences sound like that claim nothing about the matter: introductions, fillers, calls for fairness."""

from __future__ import annotations

PROTOTYPES = (
    "Opinions on this subject differ widely.",
    "There are good points on either side.",
    "It is a controversial topic.",
    "The question has been discussed for a long time.",
    "There is no simple answer.",
    "Here is an overview of the main arguments.",
    "Let us look at what each camp says.",
    "In the end, everyone must make up their own mind.",
    "It is worth listening to all of these positions.",
    "No agreement is in sight.",
    "The answer depends on one's own values.",
    "The following paragraphs sum up the discussion.",
    "I hope that this summary is useful.",
)
"""Sentences of our own: each says something about a debate and nothing about its matter."""
