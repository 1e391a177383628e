"""NPOV responses (NPOV, section 2): what each side of a disputed question argues, without taking sides.

Finding the topic and wording its arguments, with a model or without. Judging and mending the response is the loop's.
"""

from eirene.npov.knowledge import KnowledgeBase, TopicHit, TopicSearch, load_topics
from eirene.npov.respond import Response, arespond, respond
from eirene.npov.writers import Check, Draft, EmbeddedWriter, Writer, WriteTask, compose

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
