"""Frames: what governs a statement in an English text: it is denied, asked, supposed or planned, and so not said."""

from eirene.text.frames.neighbours import frames_of
from eirene.text.frames.sentence import FrameKind, StatementFrame, frame_of

__all__ = ["FrameKind", "StatementFrame", "frame_of", "frames_of"]
