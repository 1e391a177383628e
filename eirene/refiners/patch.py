"""Patches: a rewrite as changes to numbered sentences. What a patch does not name stays byte for byte.

A model replies with JSON by a schema, or with lines such as `3: new text`, `after 3: new text` and `drop 5`. A change
that cannot be made is refused with its reason, and the others are made.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from eirene.core.errors import FormError
from eirene.core.loop_settings import RewriteForm
from eirene.core.records import Change
from eirene.models.replies import Reply
from eirene.models.reply_text import UnreadableError, check_ending, unwrapped
from eirene.models.structured import choice_schema, json_object, object_schema
from eirene.refiners.base import DrawnText, RefineTask
from eirene.refiners.embedded.layout import AnswerText
from eirene.refiners.embedded.plan import Addition, Changes
from eirene.refiners.embedded.rewrite import rewrite
from eirene.text.edits.pieces import LIST_MARKER
from eirene.text.edits.words import Edit
from eirene.text.english import Decapitalizer
from eirene.text.quoting import quoted
from eirene.text.sentences import Sentence, split_sentences, without_list_markers
from eirene.text.words import stems

MOST_SENTENCES = 100
"""A longer answer is asked about without a schema: strict servers bound its size."""
_LEAST_KEPT = 0.5
"""Share of its words that a sentence keeps which nobody found fault with: with fewer it is a fragment or another one.
"""
_LEAST_COPIED = 3
"""Words of a reason from which a text that holds all of it is a copy, and no sentence of an answer."""
_LINE = re.compile(
    r"""\s*(?:[-*•]\s+)?(?:
        (?:\*\*)?(?:(?P<after>(?:insert\s+)?after)\s+)?(?:sentence\s+)?\[?(?P<n>\d{1,4})\]?(?:\*\*)?
        \s*[:.)](?:\*\*)?\s*(?P<text>.*)
      | (?:drop|delete|remove)\s+(?:sentence\s+)?\[?(?P<gone>\d{1,4})\]?[.:]?\s*
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_NOTHING = re.compile(r"\W*(?:none|no changes?|nothing)\W*", re.IGNORECASE)
_TALK = re.compile(
    r"\b(?:the|this|your|my) (?:next )?(?:answer|question|statement|sentence)\b|\bsentence \d|\?|"
    r"\bthe text (?:says|suggests|states|does)\b",
    re.IGNORECASE,
)
"""What small models write in place of a sentence of an answer."""
_SHOWN = 80


def named_sentences(task: RefineTask) -> frozenset[int]:
    """The numbers of the sentences that may be replaced or dropped: those that the critique finds fault with."""
    if task.critique is None:
        return frozenset(s.n for s in split_sentences(task.answer))
    return frozenset(s.n for s in task.critique.incomplete)


def patch_schema(task: RefineTask) -> dict[str, Any] | None:
    """The JSON of a patch: changes, each at a sentence that it may be made at. None for too many sentences."""
    count = len(split_sentences(task.answer))
    if not 1 <= count <= MOST_SENTENCES:
        return None
    named = {"type": "integer", "enum": sorted(named_sentences(task))}
    every, text = {"type": "integer", "enum": list(range(1, count + 1))}, {"type": "string"}
    shapes = [
        object_schema({"sentence": named, "action": choice_schema(["replace"]), "text": text}),
        object_schema({"sentence": every, "action": choice_schema(["insert_after"]), "text": text}),
    ]
    if task.critique is not None:  # a small model that is offered to drop sound sentences does so
        shapes.append(object_schema({"sentence": named, "action": choice_schema(["delete"])}))
    return object_schema({"changes": {"type": "array", "items": {"anyOf": shapes}}})


def read_patch(reply: Reply, task: RefineTask, *, seed: int, mark: str = "", prompt: str = "") -> DrawnText:
    """The draft that a reply makes of `task.answer`. Changes are made in the reply's order; of two that exclude each
    other the first is. `mark` and `prompt` are words that the model was shown, and that no answer has.

    Raises `UnusableReplyError` for a reply that was cut off or filtered, `UnreadableError` for one that is no patch.
    """
    check_ending(reply, "rewrite")
    found, refused = _changes(reply.text, mark)
    return drafted(task, found, refused, seed=seed, form="patch", mark=mark, prompt=prompt)


def drafted(
    task: RefineTask,
    found: Sequence[Change],
    refused: Sequence[str] = (),
    *,
    seed: int,
    form: RewriteForm,
    mark: str = "",
    prompt: str = "",
) -> DrawnText:
    """The draft that changes make of `task.answer`; those that cannot be made are refused, after what was already."""
    refused = list(refused)
    patch = _Patch(task, mark, _plain(prompt), frozenset(c.sentence for c in found if c.action == "delete"))
    made: list[Change] = []
    for change in map(patch.cleaned, found):
        why = patch.against(change, made)
        if why is None:
            made.append(change)
        else:
            refused.append(f"{change}: {why}")
    if patch.is_empty_after(made):
        refused += [f"{change}: nothing of the answer would be left" for change in made]
        made = []
    return DrawnText(patched(task.answer, made), seed, form, tuple(made), tuple(refused))


def _changes(text: str, mark: str) -> tuple[list[Change], list[str]]:
    """The changes that a reply names, as JSON or in lines, and what of it names none. Raises `UnreadableError` where it
    is neither a change nor the word that there is none.
    """
    held = json_object(text)
    if held is not None:
        return _from_json(held.get("changes"))
    said = unwrapped(text, marks=(mark,) if mark else ())
    found = list(_from_lines(said))
    if not found and not _NOTHING.fullmatch(said):
        raise UnreadableError("the reply names no change" if said else "the rewrite is empty")
    return found, []


def _from_json(entries: object) -> tuple[list[Change], list[str]]:
    if not isinstance(entries, list):
        raise UnreadableError("the reply is JSON without a list of changes")
    found, refused = list[Change](), list[str]()
    for entry in entries:
        try:
            found.append(Change.model_validate({k: entry[k] for k in Change.model_fields if k in entry}))
        except (FormError, TypeError):
            refused.append(f"{quoted(str(entry), _SHOWN)}: a change takes a sentence's number, an action and a text")
    if refused and not found:
        raise UnreadableError(f"the reply names no change: {refused[0]}")
    return found, refused


def _from_lines(text: str) -> Iterator[Change]:
    """The changes in lines. A text goes on in lines that begin no change, up to a blank one."""
    change: Change | None = None
    is_open = False
    for line in text.splitlines():
        found = _LINE.fullmatch(line)
        is_open = is_open and bool(line.strip())
        if found is None and change is not None and is_open:
            change = change.model_copy(update={"text": f"{change.text}\n{line}"})
        if found is None:
            continue
        if change is not None:
            yield change
        number = int(found["gone"] or found["n"])
        action = "delete" if found["gone"] else "insert_after" if found["after"] else "replace"
        change, is_open = Change.model_construct(sentence=number, action=action, text=found["text"] or ""), True
    if change is not None:
        yield change


@dataclass(frozen=True)
class _Patch:
    """The answer that changes are made to, and what speaks against one."""

    task: RefineTask
    mark: str
    prompt: str
    dropped: frozenset[int]
    """Sentences that the patch asks to drop; what they say may be said elsewhere."""

    @cached_property
    def sentences(self) -> dict[int, Sentence]:
        return {s.n: s for s in split_sentences(self.task.answer)}

    @cached_property
    def layout(self) -> AnswerText:
        return AnswerText(self.task.answer)

    @cached_property
    def _words(self) -> dict[int, frozenset[str]]:
        """The stems of each sentence's content words; the sentence itself where it has none."""
        old = {n: self._old(n) for n in self.sentences}
        return {n: frozenset(stems(text)) or frozenset([_plain(text)]) for n, text in old.items()}

    @cached_property
    def _copied(self) -> tuple[str, ...]:
        """What a text of an answer does not hold: reasons of a critic that it has from the prompt. People's notes may
        say what the answer is to say."""
        critique = self.task.critique if self.task.mode == "fine-grained" else None
        reasons = [_plain(s.reason or "") for s in (critique.incomplete if critique else ())]
        return tuple(r for r in reasons if len(r.split()) >= _LEAST_COPIED and r not in _plain(self.task.answer))

    def cleaned(self, change: Change) -> Change:
        """The change without the number and the list marker before its words, which stay where they are, and with the
        answer's line breaks."""
        if change.action == "delete":
            return change.model_copy(update={"text": ""})
        text, sentence = change.text.strip(), self.sentences.get(change.sentence)
        if sentence is not None and not sentence.text.startswith(f"{sentence.n}. "):
            text = text.removeprefix(f"{sentence.n}. ")
        text = without_list_markers(text[found.end() if (found := LIST_MARKER.match(text)) else 0 :])
        text = re.sub(" *⏎ *", "\n", text).replace("\r\n", "\n")
        text = text.replace("\n", "\r\n") if "\r\n" in self.task.answer else text
        is_other = sentence is not None and self._loses(change) and not self._is_part(change)
        return change.model_copy(update={"text": text, "action": "insert_after" if is_other else change.action})

    def against(self, change: Change, made: Sequence[Change]) -> str | None:
        """Why a change is not made beside those before it; None where it is."""
        n, count = change.sentence, len(self.sentences)
        if n not in self.sentences:
            return f"the answer has {count} sentence{'' if count == 1 else 's'}"
        if change.action != "insert_after":
            if n not in named_sentences(self.task):
                return f"no criticism names sentence {n}"
            if any(other.sentence == n and other.action != "insert_after" for other in made):
                return f"sentence {n} is changed already"
            if change.action == "delete":
                return f"nobody finds fault with sentence {n}" if self.task.critique is None else None
        return self._against_text(change, made)

    def _against_text(self, change: Change, made: Sequence[Change]) -> str | None:
        said, replaces = _plain(change.text), change.action == "replace"
        is_copy = said in self.prompt or bool(self.mark and self.mark in change.text)
        faults = {
            "it has no text": not any(c.isalnum() for c in said),
            "the sentence says so already": replaces and said == _plain(self._old(change.sentence)),
            "the lines of the block would be lost": replaces and "\n" not in change.text and self._is_block(change),
            "the answer says so already": self._says(change) or any(said == _plain(other.text) for other in made),
            "it cuts short what nobody finds fault with": self._loses(change),
            "it copies the prompt": is_copy,
            "it speaks about the answer, or asks": bool(_TALK.search(change.text))
            and not _TALK.search(self.task.answer),
            "it copies the criticism": any(reason in said for reason in self._copied),
        }
        return next((why for why, holds in faults.items() if holds), None)

    def _says(self, change: Change) -> bool:
        """Whether a text has no word that the other sentences have not; of 611 that people put in 10 are so."""
        others = self._words.keys() - self.dropped - ({change.sentence} if change.action == "replace" else set())
        words = frozenset(stems(change.text)) or {_plain(change.text)}
        return words <= frozenset().union(*(self._words[n] for n in others))

    def _loses(self, change: Change) -> bool:
        """Whether most of a sentence is gone that nobody found fault with."""
        if change.action != "replace" or self.task.critique is not None or change.sentence not in self._words:
            return False
        old = self._words[change.sentence]
        return len(old & set(stems(change.text))) < _LEAST_KEPT * len(old)

    def _is_part(self, change: Change) -> bool:
        """Whether most of a text is from the sentence in whose place it is to stand."""
        new = set(stems(change.text))
        return len(new & self._words[change.sentence]) >= _LEAST_KEPT * len(new)

    def _is_block(self, change: Change) -> bool:
        """Whether a sentence is code or another block of lines, which models are shown on one."""
        sentence = self.sentences[change.sentence]
        return "\n" in sentence.text and self.layout.layout.is_block(sentence.text_start)

    def _old(self, n: int) -> str:
        sentence = self.sentences[n]
        return sentence.text[self.layout.lead(sentence) :]

    def is_empty_after(self, made: Sequence[Change]) -> bool:
        """Whether no sentence and no new text is left."""
        gone = {c.sentence for c in made if c.action == "delete"}
        return all(c.action == "delete" for c in made) and len(gone) == len(self.sentences)


def patched(answer: str, made: Sequence[Change]) -> str:
    """The answer with the changes made: a new sentence becomes a list item behind one, and lists count on."""
    if not made:
        return answer
    text, at = AnswerText(answer), {s.n: s for s in split_sentences(answer)}
    changes = Changes(
        additions=tuple(Addition(c.text, at[c.sentence].text_end) for c in made if c.action == "insert_after"),
        removals=tuple((at[c.sentence].text_start, at[c.sentence].text_end) for c in made if c.action == "delete"),
        replacements=tuple(
            Edit(at[c.sentence].text_start + text.lead(at[c.sentence]), at[c.sentence].text_end, c.text)
            for c in made
            if c.action == "replace"
        ),
    )
    return rewrite(answer, changes, phrase=lambda new, *_: new.text, claims=lambda _: False, letters=Decapitalizer(()))


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()
