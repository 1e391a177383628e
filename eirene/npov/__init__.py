"""Responses from a neutral point of view (NPOV, section 2): what each side argues, and no side taken.

What belongs here: finding the topic, wording its arguments, with a model or without. What does not: judging and
mending the response (the loop), and making training data of such responses (`eirene.synth`).
"""

from eirene.npov.embedded import Check, EmbeddedWriter, compose
from eirene.npov.knowledge import KnowledgeBase, TopicHit, TopicSearch, load_topics
from eirene.npov.respond import Response, arespond, respond
from eirene.npov.writer import Draft, Writer, WriteTask

__all__ = [
    "Check",
    "Draft",
    "EmbeddedWriter",
    "KnowledgeBase",
    "Response",
    "TopicHit",
    "TopicSearch",
    "WriteTask",
    "Writer",
    "arespond",
    "compose",
    "load_topics",
    "respond",
]
