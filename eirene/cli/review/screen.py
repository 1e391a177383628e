"""Asks a person at a terminal for a review: shows the critique on standard error, reads lines, answers each in words.

Nothing is drawn over: every line is printed once, in reading order, so that any terminal and screen reader can follow.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from eirene.cli.review.dialogue import Command, check_sentence, edited, forget_typed_ahead, parse, read_line
from eirene.cli.terminal import console, say
from eirene.core.critique import Review, parse_review
from eirene.core.errors import InputError

if TYPE_CHECKING:
    from rich.console import RenderableType

    from eirene.core.critique import Critique, TaggedSentence
    from eirene.core.records import Item


class Dialogue:
    """One question, asked until it is decided.

    `save` is told the review after each edit, `leaving` says what Ctrl-C does, `hint` what reasons the refiner follows.
    """

    def __init__(
        self,
        question: dict[str, Any],
        item: Item,
        *,
        save: Callable[[Review], None],
        leaving: str,
        hint: str = "",
        read: Callable[[], str] = read_line,
    ) -> None:
        from eirene.agent.review import critique_in

        self._question, self._item, self._save, self._leaving, self._hint = question, item, save, leaving, hint
        self._critique: Critique = critique_in(question)
        self._read = read
        self._reviews = [Review(action="go on")]
        if question.get("draft"):
            draft = parse_review(question["draft"])
            self._reviews.append(draft.model_copy(update={"action": "go on"}))
        self._asked_twice: Command | None = None

    def ask(self) -> Review:
        """The decision; raises `LeftError` when the person goes away instead."""
        self._open()
        forget_typed_ahead()
        while True:
            try:
                line = self._read()
                command = parse(line)
                decision = self._obey(command)
            except InputError as error:
                say(str(error))
                continue
            if decision is not None:
                return decision

    @property
    def _review(self) -> Review:
        return self._reviews[-1]

    @property
    def _now(self) -> Critique:
        """The critique as it stands after the edits."""
        from eirene.agent.review import reviewed

        return reviewed(self._critique, self._review)

    def _obey(self, command: Command) -> Review | None:
        """Does what was typed; returns the decision, if it was one."""
        before, self._asked_twice = self._asked_twice, None
        match command.word:
            case "go on":
                return self._review
            case "stop" | "all complete":
                if self._review.has_edits and before != command:
                    self._asked_twice = command
                    typed = "q" if command.word == "stop" else command.word
                    raise InputError(f"your changes would not be used; {typed} once more does it all the same")
                return Review(action=command.word)
            case "set" | "add" | "drop":
                self._change(edited(self._critique, self._review, command), command.sentences)
            case "undo":
                self._undo()
            case "show":
                self._show(command)
            case "given":
                self._tell(_given(self._item))
            case "help":
                self._tell(_help(self._example, self._leaving))
        return None

    def _change(self, review: Review, sentences: tuple[int, ...]) -> None:
        self._reviews.append(review)
        self._save(review)
        for n in dict.fromkeys(sentences):
            self._tell(_one(self._now.sentences[n - 1]))
        self._tell(_text(self._what_enter_does()))

    def _undo(self) -> None:
        if len(self._reviews) == 1:
            raise InputError("there is nothing to undo")
        before = self._now
        self._reviews.pop()
        self._save(self._review)
        changed = [s for s, old in zip(self._now.sentences, before.sentences, strict=True) if s != old]
        self._tell(_text("Undone. Now it says:"))
        for sentence in changed:
            self._tell(_one(sentence))
        self._tell(_text(self._what_enter_does()))

    def _show(self, command: Command) -> None:
        if command.sentences:
            (n,) = command.sentences
            check_sentence(self._critique, n)
            self._tell(_one(self._now.sentences[n - 1]))
            return
        self._tell(_critique(self._now, self._counts))
        self._tell(_text(self._what_enter_does()))

    def _open(self) -> None:
        from eirene.views.terminal import FRACTION

        asked = self._question
        self._tell(_text("Question", style="bold cyan"), indent=0)
        self._tell(_text(asked["question"]))
        title = (
            "Critique" if asked["round"] == 1 else f"Critique of the rewrite accepted so far (round {asked['round']})"
        )
        self._tell(_text(f"\n{title}", style="bold cyan"), indent=0)
        self._tell(_critique(self._now, self._counts))
        if self._counts:
            self._tell(_text(FRACTION, style="dim"))
        self._tell(_text("\nYour review", style="bold cyan"), indent=0)
        if self._review.has_edits:
            self._tell(_text("The changes that you made before are in it."))
        self._tell(_text(self._why()))
        if self._hint:
            self._tell(_text(self._hint))
        self._tell(_brief_help(self._example, self._what_enter_does(), has_reason=bool(self._now.incomplete)))

    def _why(self) -> str:
        asked = self._question
        if asked["otherwise"] == "refine":
            return "The answer has not been rewritten yet. You can change the critique first."
        if asked["mode"] == "human":
            return "Nobody has judged these sentences yet. Give a reason for each that lacks something."
        if asked["otherwise"] == "complete":
            beside = self._critique.unchecked
            but = "" if beside is None else f" {_sentence_case(beside)} was not checked."
            return f"Nothing was found incomplete.{but} If something is, name it; else nothing will be rewritten."
        if asked["otherwise"] == "abstained":
            return f"No usable critique: {asked['why']}. You can give the reasons yourself; else nothing is rewritten."
        return f"{_sentence_case(asked['why'])}. You can give the reasons yourself; else nothing will be rewritten."

    def _what_enter_does(self) -> str:
        n = len(self._now.incomplete)
        if n:
            return f"Enter has the answer rewritten: {n} sentence{'' if n == 1 else 's'} to be mended."
        return "Enter ends here: no sentence is incomplete, so the text stays as it is."

    @property
    def _example(self) -> int:
        faulty = self._now.incomplete
        return faulty[0].n if faulty else 1

    @property
    def _counts(self) -> list[tuple[int, int]]:
        votes = [s["votes"] for s in self._question["critique"]["sentences"]]
        return [(v["incomplete"], v["drawn"]) for v in votes if v is not None]

    def _tell(self, what: RenderableType, *, indent: int = 2) -> None:
        from rich.padding import Padding

        console(stderr=True).print(Padding(what, (0, 0, 0, indent)))


def _text(text: str, *, style: str = "") -> RenderableType:
    from rich.text import Text

    from eirene.views.facts import visible

    return Text(visible(text), style=style)


def _critique(critique: Critique, counts: list[tuple[int, int]]) -> RenderableType:
    from eirene.views.terminal import critique_table

    return critique_table(critique, counts, every=True)


def _one(sentence: TaggedSentence) -> RenderableType:
    from rich.text import Text

    from eirene.views.terminal import sentence_text

    return Text(f"{sentence.n}  [{sentence.tag}]  ").append_text(sentence_text(sentence))


def _brief_help(n: int, enter: str, *, has_reason: bool) -> RenderableType:
    of_reasons = (f"+{n} TEXT", "adds TEXT to its reason"), (f"-{n}", f"drops its reason: sentence {n} is complete")
    return _commands(
        ("Enter", enter.removeprefix("Enter ")),
        (f"{n} TEXT", f"makes TEXT the reason of sentence {n}"),
        *(of_reasons if has_reason else ()),
        ("q", "keeps the original; nothing is rewritten"),
        ("?", "shows all commands"),
    )


def _help(n: int, leaving: str) -> RenderableType:
    return _commands(
        ("Enter", "has the answer rewritten with this critique; with no sentence incomplete, ends here"),
        (f"{n} TEXT", f"makes TEXT the reason of sentence {n}, in place of the one that it has, if any"),
        (f"+{n} TEXT", f"adds TEXT to the reason of sentence {n}"),
        (f"-{n}", f"drops its reason: sentence {n} is complete (several: -{n} {n + 1} {n + 2})"),
        ("all complete", "says that every sentence is complete; nothing is rewritten"),
        ("undo", "takes the last change back"),
        (f"{n}", f"shows sentence {n}"),
        ("show", "shows the whole critique again"),
        ("given", "shows the arguments or passages that the answer is held against"),
        ("q", "keeps the original; nothing is rewritten"),
        ("Ctrl-C", leaving),
    )


def _commands(*rows: tuple[str, str]) -> RenderableType:
    from rich.table import Table

    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column()
    for typed, does in rows:
        table.add_row(_text(typed, style="bold"), _text(does))
    return table


def _given(item: Item) -> RenderableType:
    if item.perspectives:
        sides = [f"{side.name}:\n" + "\n".join(f"  - {a}" for a in side.arguments) for side in item.perspectives]
        return _text("\n".join(sides))
    if item.context:
        return _text("\n".join(f"{n}. {passage}" for n, passage in enumerate(item.context, start=1)))
    return _text("Nothing was given with this answer: no perspectives and no context.")


def _sentence_case(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".")
