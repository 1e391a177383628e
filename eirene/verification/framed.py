"""Framed readings: what a given text denies, asks or supposes is read as that, and not as said.

Each piece with a frame ("It is a myth that ...", "If ...", "Did ...?") is read in two parts: its statement by itself,
and what the piece says besides. Where the statement is what would support a claim, the piece counts as what its frame
makes of it. The verifier alone hears most frames as if they were not there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from eirene.core.verification import Evidence
from eirene.models.verifier.runtime import PremiseClaim
from eirene.text.fields import Field
from eirene.text.frames import FrameKind, StatementFrame, frame_of
from eirene.text.words import stems
from eirene.verification.opposites import opposes

if TYPE_CHECKING:
    from eirene.models.verifier.runtime import ReadsPairs

_SPEAKS = 0.35
"""Probability from which a framed statement says what is claimed, or denies it."""


@dataclass(frozen=True, slots=True)
class ContextPiece:
    """A sentence of a given text (a long one: a part of it), its text by index, its offsets there, and its frame.

    `field`: the field of JSON or of a table that `text` says as a sentence.
    """

    text: str
    source: int
    start: int
    end: int
    frame: StatementFrame | None = None
    field: Field | None = None

    @property
    def quoted(self) -> str:
        """The piece as it stands in the text."""
        return self.text if self.field is None else self.field.written

    def evidence(self, ids: Sequence[str | None]) -> Evidence:
        """The piece with its passage's number and id; `ids` has one for each text, or is empty."""
        id_ = ids[self.source] if ids else None
        return Evidence(passage=self.source + 1, id=id_, start=self.start, end=self.end, text=self.quoted)


class PairReading(NamedTuple):
    """Probabilities in [0, 1] of support and contradiction, and the frame that took support away, None without."""

    supported: float
    contradicted: float
    framed: FrameKind | None = None


_LOOSELY = 0.45
"""Most support of what a loose frame governs: the claim is unclear, and not at fault."""
Asked = tuple[tuple[ContextPiece, ...], str]
"""Pieces of given texts, in order, and a claim."""
_SILENT = PairReading(0.03, 0.0)
"""Of pieces that say nothing but what is framed: as little support as the verifier finds where there is none."""


def read_framed(verifier: ReadsPairs, asked: Sequence[Asked]) -> list[PairReading]:
    """What some pieces together say of a claim, for each pair in order."""
    framed = {(piece, claim) for pieces, claim in asked for piece in pieces if _counts(piece.frame, claim)}
    parts = _SplitReadings(verifier, framed)
    plain = _read(verifier, [([piece.text for piece in pieces], claim) for pieces, claim in asked])
    bitten = [[piece for piece in pieces if parts.turns(piece, claim)] for pieces, claim in asked]
    again = [n for n, own in enumerate(bitten) if own]
    rests = _read(verifier, [(parts.left(*asked[n], bitten[n]), asked[n][1]) for n in again])
    for n, rest in zip(again, rests, strict=True):
        plain[n] = parts.joined(plain[n], rest, bitten[n], asked[n][1])
    return [
        parts.besides(pieces[0], claim, own) if len(pieces) == 1 else own
        for (pieces, claim), own in zip(asked, plain, strict=True)
    ]


def _counts(frame: StatementFrame | None, claim: str) -> bool:
    """Whether a piece's frame is to be looked at beside a claim: not where the claim has one, whatever its words."""
    if frame is None:
        return False
    own = frame_of(claim)
    return own is None or own.kind == "affirmed"


def _read(verifier: ReadsPairs, asked: Sequence[tuple[Sequence[str], str]]) -> list[PairReading]:
    wanted = [n for n, (texts, _) in enumerate(asked) if texts]
    found = [_SILENT] * len(asked)
    read = verifier.read([PremiseClaim(tuple(asked[n][0]), asked[n][1]) for n in wanted])
    for n, row in zip(wanted, read, strict=True):
        found[n] = PairReading(float(row[0]), float(row[2]))
    return found


class _SplitReadings:
    """The statements of framed pieces, and what these say besides, each read by itself beside a claim."""

    def __init__(self, verifier: ReadsPairs, framed: Iterable[tuple[ContextPiece, str]]) -> None:
        pairs = [(piece, claim, piece.frame) for piece, claim in framed if piece.frame is not None]
        statements = _read(verifier, [([frame.statement], claim) for _, claim, frame in pairs])
        rests = _read(verifier, [([frame.rest] if frame.rest else [], claim) for _, claim, frame in pairs])
        self._read = {
            (piece, claim): (statement, rest)
            for (piece, claim, _), statement, rest in zip(pairs, statements, rests, strict=True)
        }

    def turns(self, piece: ContextPiece, claim: str) -> bool:
        """Whether a claim is what a piece's frame governs, and nothing that the piece says besides."""
        if piece.frame is None or (piece, claim) not in self._read:
            return False
        statement, rest = self._read[piece, claim]
        if rest.supported >= _SPEAKS:
            return self._hangs(piece, claim)
        is_said = statement.supported >= _SPEAKS or piece.frame.kind == "loose"
        return is_said or (piece.frame.kind in ("denied", "affirmed") and opposes(piece.frame.statement, claim))

    def left(self, pieces: Iterable[ContextPiece], claim: str, turned: Sequence[ContextPiece]) -> list[str]:
        """The texts of pieces, of those that turn only what they say besides; without those that are left open."""
        texts = [
            piece.text if piece not in turned or piece.frame is None
            else "" if self._hangs(piece, claim)
            else piece.frame.rest
            for piece in pieces
        ]  # fmt: skip
        return [text for text in texts if text]

    def besides(self, piece: ContextPiece, claim: str, reading: PairReading) -> PairReading:
        """The reading of a piece, or of what it says besides its frame, where that supports the claim more."""
        if (piece, claim) not in self._read or self._hangs(piece, claim):
            return reading
        rest = self._read[piece, claim][1]
        return rest if rest.supported > reading.supported else reading

    def joined(self, plain: PairReading, rest: PairReading, turned: Sequence[ContextPiece], claim: str) -> PairReading:
        """The reading of what is left of pieces, with what the frames make of their statements.

        `plain` is that of the pieces as they are: what a loose frame governs they may still say.
        """
        supported, contradicted = rest.supported, rest.contradicted
        loose = [p for p in turned if p.frame is None or p.frame.kind == "loose" or self._hangs(p, claim)]
        framed: FrameKind | None = None
        for piece in turned:
            frame, statement = piece.frame, self._read[piece, claim][0]
            assert frame is not None  # it has turned
            opposed = statement.contradicted if opposes(frame.statement, claim) else 0.0
            if piece in loose:
                if len(loose) == len(turned):  # else another piece's frame may be what governs the claim
                    supported = max(supported, min(plain.supported, _LOOSELY))
                contradicted = max(contradicted, plain.contradicted)
            elif frame.kind == "affirmed":
                supported, contradicted = max(supported, statement.supported), max(contradicted, opposed)
            elif frame.kind == "denied":
                supported, contradicted = max(supported, opposed), max(contradicted, statement.supported)
                framed = "denied"
            else:
                framed = framed or "open"
        return PairReading(supported, contradicted, framed)

    def _hangs(self, piece: ContextPiece, claim: str) -> bool:
        """Whether a claim is what hangs on a piece's condition, of which it says nothing."""
        frame = piece.frame
        if frame is None or frame.kind != "condition" or self._read[piece, claim][1].supported < _SPEAKS:
            return False
        return not (set(stems(frame.statement)) - set(stems(frame.rest))) & set(stems(claim))
