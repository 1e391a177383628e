"""Every parser of untrusted text as a function of one text, for the tests that its time is linear."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

import numpy as np

from eirene.alignment.verbatim import verbatim
from eirene.core.errors import EireneError
from eirene.core.findings.edits import apply_findings, is_noted
from eirene.core.findings.tagged_reply import findings_in_reply
from eirene.core.findings.tags import escape_tags, parse_tagged, write_tagged
from eirene.core.records import Item
from eirene.data.haluquestqa import parse_tagged_answer
from eirene.data.json_rows import Row
from eirene.data.topics import key_of
from eirene.eval.detectors.geval import read_rating
from eirene.eval.detectors.judge import read_judgement, read_verdict
from eirene.feedback_model.base import FeedbackRequest
from eirene.feedback_model.citation import resolved
from eirene.feedback_model.hallucination import split_reasons
from eirene.feedback_model.reply import read_reply
from eirene.feedback_model.request import feedback_messages
from eirene.models.costs import rough_count
from eirene.models.encoder.runtime import TokenLayers
from eirene.models.redaction import redacted
from eirene.models.replies import Reply
from eirene.models.reply_text import unwrapped
from eirene.models.verifier.runtime import pair_of, token_text
from eirene.npov.writers import read_generated, read_response
from eirene.prompts.fence import break_control_tokens
from eirene.refiners.embedded.plan import Addition, Changes, exact_repeats
from eirene.refiners.embedded.rewrite import rewrite
from eirene.retrieval.passages import cut
from eirene.retrieval.search import names_of
from eirene.synth.material import unusable
from eirene.text.clauses import units_of
from eirene.text.edits.sentences import sentence_edits
from eirene.text.edits.undo import undone
from eirene.text.english import Decapitalizer, as_sentence, is_english, is_statement, side_of
from eirene.text.fields import fields_of
from eirene.text.language import language_of
from eirene.text.refusals import is_refusal
from eirene.text.sentences import split_sentences
from eirene.text.values.derived import Derivations
from eirene.text.values.notation import Notation
from eirene.text.words import content_words
from eirene.verification.context import Rarity
from eirene.views.diff import diff
from eirene.views.facts import visible
from recipes.encoder.data import dress
from recipes.fava import entities

Reads = Callable[[str], object]
ANSWER = split_sentences("Cats sleep most of the day. Dogs bark at strangers.")
ITEM = Item(question="Why do cats sleep?", answer="They are tired.", context=["Cats hunt at night."])


class _Vectors:
    """Stands for the encoder, the time of which hangs on tokens alone."""

    name = "none"

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        return np.ones((len(texts), 2), np.float32)


def _usable(read: Reads) -> Reads:
    """A reader that may refuse a text with one of our errors."""

    def reads(text: str) -> None:
        with suppress(EireneError):
            read(text)

    return reads


def _rewritten(text: str) -> object:
    cuts = split_sentences(text)
    added = tuple(Addition(f"Point {n}.", cut.text_end, "pro", True) for n, cut in enumerate(cuts[::3]))
    changes = Changes(added, tuple((cut.start, cut.end) for cut in cuts[1::2]))
    return rewrite(
        text, changes, phrase=lambda a, before, _: a.text, claims=lambda i: i % 3 > 0, letters=Decapitalizer([])
    )


def _edited(text: str) -> object:
    read = parse_tagged(text, tidy=True)
    noted = [is_noted(read.text, finding) for finding in read.findings]
    return noted, apply_findings(read.text, read.findings), apply_findings(read.text, read.findings, removal="mark")


def _asked(text: str) -> object:
    item = Item(question=text, answer=text, context=[text]) if text.strip() else ITEM
    return feedback_messages(FeedbackRequest(item, item.answer or "", ANSWER, seed=0))


def _published(text: str) -> object:
    row = {"instruction": "Judge.", "input": f"Question: {text}\nAnswer: 1. {text}", "output": f"1. [Complete] {text}"}
    return parse_tagged_answer(Row("here", row))


def _values(text: str) -> object:
    return Derivations([text]).carried(text[:900]), Notation([text]).written(text)


def _verbatim(text: str) -> object:
    cuts = split_sentences(text)
    return verbatim([text[:60], "cats sleep at night"], text, units_of(text, cuts), cuts)


def _paired(text: str) -> object:
    nothing = TokenLayers(np.zeros(0, np.int32), np.zeros((0, 2), np.int32), np.zeros((0, 768), np.float16))
    read = token_text(text, nothing)
    return pair_of([read], read)


def _undone(text: str) -> object:
    after = text[len(text) // 3 :] + " New.\n- " + text[:30]
    edits = sentence_edits(text, after)
    return undone(text, after, edits, {n: None if n % 2 else (0,) for n in range(0, len(edits), 3)})


READERS: dict[str, Reads] = {
    "sentences": split_sentences,
    "pieces": lambda text: Rarity([s.text for s in split_sentences(text)]).shares(text[:200]),
    "fields": fields_of,
    "words of a pair": _paired,
    "clauses": lambda text: units_of(text, split_sentences(text)),
    "words": content_words,
    "language": language_of,
    "refusals": is_refusal,
    "phrasing": lambda text: (
        as_sentence(text),
        is_statement(text),
        is_english(text),
        Decapitalizer([text]).lowered("A " + text),
    ),
    "sides": side_of,
    "topics": key_of,
    "defused": break_control_tokens,
    "visible": visible,
    "asking": _asked,
    "critique": lambda text: read_reply(text, ANSWER),
    "critique of it": lambda text: read_reply("1. [Complete]\n2. [Complete]", split_sentences(text)),
    "reasons": lambda text: split_reasons(f"<entity>a</entity>\nTEXT-1\n{text}\n", "TEXT-1", ("a", "b")),
    "citing": lambda text: resolved(text, ("a", "b")),
    "values": _values,
    "tags": parse_tagged,
    "tidied tags": lambda text: parse_tagged(text, tidy=True),
    "written tags": _usable(lambda text: (escape_tags(text), write_tagged(*_read(text)))),
    "tagged copy": lambda text: findings_in_reply(text, parse_tagged(text).text),
    "tagged reply": lambda text: findings_in_reply(f"Cats <entity>{text}</entity> sleep.", text + " Cats sleep."),
    "edits": _edited,
    "rewrite": _rewritten,
    "repeats": exact_repeats,
    "unwrapped": lambda text: unwrapped(text, before=text[1:], marks=("TEXT-1",)),
    "verdict": lambda text: read_verdict(Reply(text=text)),
    "judgement": lambda text: read_judgement(Reply(text=text)),
    "rating": lambda text: read_rating(Reply(text=text)),
    "response": _usable(lambda text: read_response(Reply(text=text))),
    "generated": _usable(lambda text: read_generated(Reply(text=text))),
    "published row": _usable(_published),
    "redacted": lambda text: redacted(text, ["sk-secret-key-1"]),
    "tokens": rough_count,
    "passages": lambda text: list(cut(text)),
    "names": names_of,
    "verbatim": _verbatim,
    "undone edits": _undone,
    "diff": lambda text: diff(text, text[len(text) // 3 :] + " New."),
    "diff of others": lambda text: diff(text, text.replace("a", "o") + text[::-1]),
    "entities": lambda text: entities([text]),
    "material": unusable,
    "templates": lambda text: dress(text, "pro", dressed=1.0, cut=1.0, rng=np.random.default_rng(0)),
}


def _read(text: str) -> tuple[str, Sequence[object]]:
    read = parse_tagged(text)
    return read.text, read.findings


UNITS = (
    " ", "\n", "a", "a ", "A. ", ". ", ".", '"', "“", "~", "`", "#", "'", "(", ">", "> ", "*", "- a\n", "1. a\n", "|",
    "<", "a,", ", and ", "; ", "it is and he is , ", "critics say that ", "a b c and ", "[1] ", "\x85", "。", "é",
    "<entity>", "</entity>", "<entity>a</entity> ", "<mark>", "<delete>a</delete><mark>b</mark>", "</delete>",
    "<think>",
)  # fmt: skip
"""What a text is made long with, for every reader."""
LEADS = ("", "Cats sleep", "Critics say that ", "verdict: ", "```\n", "~~~", "Question: ", "<entity>", "\\boxed{", "[")
MORE_UNITS = (
    "\t", "\r\n", "\u2028", "&amp;", "&lt;", "</think>", "Sure, ", "here is ", "```\n", "~~~\n", "##", "### Input ",
    "yes ", "so, ", "verdict: no ", "rating: 4 / ", "no hallucinat", "the final ", "(1) ", "a.a", "Mr. ", "「あ。」",
    "A B ", "a\n\n", "1.\n", "{", '{"1": "Complete"}\n', "[Complete] ", "1. [Complete] ", "key=", "csk-", "bearer%20",
    "eyJ-", "://", "password ", "TEXT-1\n", "it's ", "n't ", "not ", "</entity", "< entity >", "<relation><entity>",
    "Aa ", "1,", "the ",
)  # fmt: skip
