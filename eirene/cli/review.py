"""`eirene refine --interactive`: a person edits the critique in $VISUAL or $EDITOR, and the run goes on with that.

The critique is a text file. An entry stands at the beginning of a line; texts of the answer and of models never do:
sentences are comments, and what a reason goes on with is indented. So nothing that a model wrote is taken for an entry.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shlex
import shutil
import signal
import sys
import tempfile
import textwrap
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from eirene.cli.progress import watch
from eirene.cli.terminal import say
from eirene.core.critique import Critique, FeedbackNote, Review, TaggedSentence, parse_review
from eirene.core.errors import InputError
from eirene.views.facts import visible
from eirene.views.faults import verdict_of

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver

    from eirene.agent.session import Found
    from eirene.agent.settings import Settings
    from eirene.agent.state import Parts
    from eirene.core.records import Item, Record

Show = Callable[["Record", "Item", int], None]

_RESUMED: dict[Found, str] = {
    "question": "was left at this question; nothing is drawn or paid again",
    "unfinished": "was left on its way, and goes on after its last step",
    "failed": "failed before; the step that failed is tried again",
    "finished": "was finished before, and its record is shown again (with another --checkpoint file it starts anew)",
}
_EMBEDDED = (
    "The embedded refiner follows a reason that names a given argument (it is added), or that says: remove this (the "
    "sentence goes). For reasons in free words take --backend provider:model."
)
_EDITORS = ("sensible-editor", "vim", "nano", "vi", "notepad")
"""What is looked for where neither VISUAL nor EDITOR is set."""
_WIDTH = 100
_ENTRY = re.compile(r"([0-9]{1,9})[.)]?[ \t]+\[?(complete|incomplete)\]?(?:[ \t]*:(.*))?", re.IGNORECASE)
_KEEP = "keep the original"
_HEAD = f"""\
Your review of the critique. Save and close the editor, and it is read; lines that begin with # are not.
Each sentence has an entry, with its tag and, if it is incomplete, the reason:
    1 Complete
    2 Incomplete: The price is missing.
A reason may go on in further lines that are indented.
To have nothing rewritten, write a line: {_KEEP}
To leave without deciding, empty the file."""
_PROBLEM = "# Not read: "


class LeftError(Exception):
    """The person left without deciding: an empty file, an editor that failed, a text that stayed unreadable."""


def refine_items(
    items: Sequence[Item], settings: Settings, *, backend: Parts, checkpoint: str | None, show: Show
) -> list[str]:
    """Refines the rows in turn with a person in it, shows each when it is done; returns the kinds of their errors.

    Raises `InputError` before anything is spent for a mode without a critique, and for notes that do not fit.
    """
    from eirene.agent.critics import critique_from_notes
    from eirene.core.records import CRITIQUED_MODES
    from eirene.text.sentences import split_sentences

    if settings.mode not in CRITIQUED_MODES:
        raise InputError(
            f"--interactive shows a critique, and mode {settings.mode} has none; take fine-grained or human",
            field="mode",
        )
    for item in items:
        critique_from_notes(item, split_sentences(item.answer), needed=False)
    errors = []
    with asyncio.Runner() as runner, _told_how_to_go_on(checkpoint):
        stack = contextlib.AsyncExitStack()
        saver = runner.run(_checkpointer(stack, checkpoint))
        try:
            for n, item in enumerate(items, start=1):
                place = f"{n} of {len(items)}: {item.id}" if len(items) > 1 else ""
                record = _refined(runner, item, settings, backend, saver, place=place)
                errors += [record.error.kind] if record.error is not None else []
                show(record, item, n)
        finally:
            runner.run(stack.aclose())
    return errors


@contextlib.contextmanager
def _told_how_to_go_on(checkpoint: str | None) -> Iterator[None]:
    try:
        yield
    except (KeyboardInterrupt, LeftError) as error:
        where = "goes on after the last step that was finished"
        if isinstance(error, LeftError):
            where = "comes back to this question"
        if checkpoint is None:
            say("stopped; nothing was kept (with --checkpoint FILE.sqlite the same command would come back to it)")
        else:
            say(f"stopped; the same command {where}")
        raise typer.Exit(130) from None


async def _checkpointer(stack: contextlib.AsyncExitStack, file: str | None) -> BaseCheckpointSaver[Any]:
    from langgraph.checkpoint.memory import InMemorySaver

    if file is None:
        return InMemorySaver()
    from eirene.agent.session import checkpoint_file

    return await stack.enter_async_context(checkpoint_file(file))


def _refined(
    runner: asyncio.Runner, item: Item, settings: Settings, parts: Parts, saver: BaseCheckpointSaver[Any], *, place: str
) -> Record:
    """A row, from wherever its thread stands to its end. While an editor is open the event loop stands still."""
    from eirene.agent.session import ReviewedRun

    run = ReviewedRun(item, parts=parts, settings=settings, checkpointer=saver)
    found = runner.run(run.look())
    if found != "nothing":
        say(f"{item.id}: {_RESUMED[found]}")
    with watch(1) as progress:
        runner.run(run.begin(on_event=progress.on_event))
    while run.question is not None:
        if place:
            say(place)
        decision = ask(run.question, item, hint=_EMBEDDED if parts.backend == "embedded" else "")
        with watch(1) as progress:
            runner.run(run.answer(decision, on_event=progress.on_event))
    return run.record


def check_terminal() -> None:
    """Raises `InputError` unless a person can be asked: a terminal for standard input and error, and an editor."""
    for name, stream in (("input", sys.stdin), ("error", sys.stderr)):
        if stream is None or not stream.isatty():
            raise InputError(
                f"--interactive asks at a terminal, and standard {name} is none; leave the flag out, or give the notes "
                'in the row (--mode human, "feedback")',
                field="interactive",
            )
    _editor()


def _editor() -> str:
    """The command of VISUAL or EDITOR, else an editor that is there; raises `InputError` where there is none."""
    named = os.environ.get("VISUAL", "").strip() or os.environ.get("EDITOR", "").strip()
    with contextlib.suppress(ValueError):  # an odd quotation mark
        if named and shutil.which(shlex.split(named)[0]) is not None:
            return named
    if named:
        raise InputError(f"the editor {named!r} of VISUAL or EDITOR is not found; name another", field="interactive")
    found = next((name for name in _EDITORS if shutil.which(name)), None)
    if found is None:
        raise InputError("--interactive needs an editor: set EDITOR, such as EDITOR=nano", field="interactive")
    return found


def ask(question: dict[str, Any], item: Item, *, hint: str = "") -> Review:
    """A person's answer to the question of a run; `hint` stands above the critique.

    What cannot be read is opened again with the reason in its first line. Raises `LeftError` where the person leaves
    without deciding, and says where text that was not read is kept.
    """
    from eirene.agent.review import critique_in, reviewed

    critique = critique_in(question)
    draft = parse_review(question["draft"]) if question.get("draft") else Review(action="go on")
    shown = first = write_review(reviewed(critique, draft), item, asked=question, hint=hint)
    file = Path(tempfile.mkdtemp(prefix="eirene-review-")) / "review.txt"
    while True:
        file.write_text(shown, encoding="utf-8")
        text = _edited(file, first)
        try:
            review = read_review(text, critique)
        except InputError as error:
            if text == shown:  # it was opened with what is wrong with it, and left so
                say(f"not read: {error}; your text is in {file}")
                raise LeftError from None
            shown = _with_problem(text, critique)
        else:
            shutil.rmtree(file.parent, ignore_errors=True)
            return review


def _edited(file: Path, first: str) -> str:
    """The text of the file after an editor had it; `first` is what nobody has changed. Raises `LeftError`."""
    import click

    problem, text = "", ""
    try:
        with _editor_at_terminal():
            click.edit(filename=str(file), editor=_editor())
    except click.ClickException as error:
        problem = f"the editor failed: {error.message}"
    try:
        text = file.read_text(encoding="utf-8") if file.exists() else ""
    except UnicodeDecodeError:
        text, problem = "?", "the file is not UTF-8; save it as UTF-8"
    if not problem and text.strip():
        return text
    if text.strip() and text != first:
        say(f"{problem}; your text is in {file}")
    else:
        say(problem or "the file is empty: nothing was decided")
        shutil.rmtree(file.parent, ignore_errors=True)
    raise LeftError


@contextlib.contextmanager
def _editor_at_terminal() -> Iterator[None]:
    """Lets the editor have the terminal: Ctrl-C is its own, and a redirected standard output is not its screen."""
    before = signal.signal(signal.SIGINT, lambda *_: None)  # a handler is not inherited, as ignoring would be
    kept = None
    if sys.stdout is None or not sys.stdout.isatty():
        kept = os.dup(1)
        os.dup2(2, 1)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if kept is not None:
            os.dup2(kept, 1)
            os.close(kept)


def write_review(critique: Critique, item: Item, *, asked: Mapping[str, Any] | None = None, hint: str = "") -> str:
    """The critique as a file to be edited, with what the answer is compared with.

    `asked` is the question of the run: why it is asked, and the votes; `hint` is said beside.
    """
    blocks = ["\n".join(f"# {line}" for line in _HEAD.splitlines())]
    if asked is not None:
        blocks.append(_comments(*_about(asked, critique, item), hint))
    for sentence in critique.sentences:
        found = "" if asked is None else _found(sentence, asked)
        said = _comments(f'"{_line(sentence.text)}"{found}')
        blocks.append(f"{said}\n{_entry(sentence)}")
    given = [f"{side.name}: {argument}" for side in item.perspectives or () for argument in side.arguments]
    given += list(item.context or ())
    return "\n\n".join([*blocks, *([_comments("Given with the answer:", *given)] if given else [])]) + "\n"


def read_review(text: str, critique: Critique) -> Review:
    """What the file changes in the critique, or that the original is kept.

    A reason that begins as the old one is added to, and keeps its findings; any other replaces it. Raises `InputError`
    that names the line and what may stand there.
    """
    if any(line.rstrip().casefold() == _KEEP for _, line in _lines(text)):
        return Review(action="stop")
    entries = _entries(text, len(critique.sentences))
    replace, add, drop = [], [], []
    for sentence in critique.sentences:
        n, entry, before = sentence.n, entries[sentence.n], _line(sentence.reason or "")
        reason = " ".join(" ".join(entry.reason).split())
        was_complete = sentence.tag == "Complete"
        if entry.is_complete:
            if reason:
                raise InputError(f"line {entry.line}: sentence {n} is Complete and has a reason; drop one of the two")
            drop += [] if was_complete else [n]
        elif not reason:
            raise InputError(f"line {entry.line}: sentence {n} is Incomplete and has no reason; say what it lacks")
        elif not was_complete and reason.startswith(f"{before} "):
            add.append(FeedbackNote(sentence=n, reason=reason[len(before) + 1 :]))
        elif was_complete or reason != before:
            replace.append(FeedbackNote(sentence=n, reason=reason))
    return Review(action="go on", replace=tuple(replace), add=tuple(add), drop=tuple(drop))


def _with_problem(text: str, critique: Critique) -> str:
    """A text that cannot be read, with the reason in its first line; the reason names lines as they stand then."""
    rest = text.partition("\n")[2] if text.startswith(_PROBLEM) else text
    try:
        read_review(f"{_PROBLEM}\n{rest}", critique)
    except InputError as error:
        return f"{_PROBLEM}{error}\n{rest}"
    return rest


def _about(asked: Mapping[str, Any], critique: Critique, item: Item) -> Iterator[str]:
    """What a person is to know first, a paragraph each."""
    from eirene.views.terminal import FRACTION, history_lines

    if item.history:
        yield "Conversation before:"
        yield from (line.plain for line in history_lines(item.history))
    yield f"Question: {asked['question']}"
    if asked["round"] > 1:
        yield f"This is the critique of the rewrite accepted so far (round {asked['round']})."
    yield _why(asked, critique)
    if asked.get("draft"):
        yield "The changes that you made before are in it."
    if any(s["votes"] for s in asked["critique"]["sentences"]):
        yield FRACTION


def _why(asked: Mapping[str, Any], critique: Critique) -> str:
    otherwise = asked["otherwise"]
    if otherwise == "refine":
        return "The answer has not been rewritten yet. You can change the critique first."
    if asked["mode"] == "human":
        return "Nobody has judged these sentences yet. Give a reason for each that lacks something."
    if otherwise == "complete":
        but = "" if critique.unchecked is None else f" {_sentence_case(critique.unchecked)} was not checked."
        return f"Nothing was found incomplete.{but} If something is, name it; else nothing will be rewritten."
    why = "No usable critique: " + asked["why"] if otherwise == "abstained" else _sentence_case(asked["why"])
    return f"{why}. You can give the reasons yourself; else nothing will be rewritten."


def _sentence_case(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".")


def _found(sentence: TaggedSentence, asked: Mapping[str, Any]) -> str:
    """Behind a sentence: its verdict in a word, and how many of the drawn critiques found a fault there."""
    votes = asked["critique"]["sentences"][sentence.n - 1]["votes"]
    verdict = verdict_of(sentence)
    word = verdict.gaps[0].label if verdict.votes_for_gap else verdict.word
    return f" ({word})" if votes is None else f" ({word}, {votes['incomplete']}/{votes['drawn']})"


class _ReviewEntry(NamedTuple):
    line: int
    is_complete: bool
    reason: list[str]


def _entries(text: str, count: int) -> dict[int, _ReviewEntry]:
    entries: dict[int, _ReviewEntry] = {}
    entry: _ReviewEntry | None = None
    for number, line in _lines(text):
        if line[0] in " \t":
            if entry is None:
                raise InputError(f"line {number} is indented and belongs to no entry")
            entry.reason.append(line)
            continue
        match = _ENTRY.fullmatch(line.rstrip())
        if match is None:
            short = line if len(line) <= 40 else f"{line[:40]}…"
            raise InputError(
                f"line {number} is no entry: {short!r}; an entry is a number and a tag, such as: "
                "2 Incomplete: The price is missing."
            )
        n = int(match[1])
        if not 1 <= n <= count:
            raise InputError(f"line {number}: there is no sentence {n}: the answer has {count}")
        if n in entries:
            raise InputError(f"line {number}: sentence {n} has an entry already, in line {entries[n].line}")
        entry = entries[n] = _ReviewEntry(number, match[2].casefold() == "complete", [match[3] or ""])
    for n in range(1, count + 1):
        if n not in entries:
            raise InputError(f"sentence {n} has no entry; give it one, {n} Complete if nothing is wrong with it")
    return entries


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines that are read, with their numbers."""
    for number, line in enumerate(text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n"), start=1):
        if line.startswith("#") or not line.strip():
            continue
        hidden = next((c for c in line if unicodedata.category(c) in ("Cc", "Cs") and not c.isspace()), None)
        if hidden is not None:
            raise InputError(f"line {number} holds a control character (U+{ord(hidden):04X}); take it out")
        yield number, line


def _entry(sentence: TaggedSentence) -> str:
    if sentence.tag == "Complete":
        return f"{sentence.n} Complete"
    return _wrapped(f"{sentence.n} Incomplete: {_line(sentence.reason or '')}", after="    ")


def _comments(*texts: str) -> str:
    return "\n".join(_wrapped(_line(text), before="# ", after="#   ") for text in texts if text)


def _wrapped(text: str, *, before: str = "", after: str) -> str:
    return textwrap.fill(
        text, _WIDTH, initial_indent=before, subsequent_indent=after, break_long_words=False, break_on_hyphens=False
    )  # fmt: skip


def _line(text: str) -> str:
    """A text on one line, without what would act on a terminal."""
    return " ".join(visible(text).split())
