"""A record, or an NPOV response, at a terminal.

Every colour has a sign or word beside it; texts are never read as markup.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from eirene.core.critique import Critique, TaggedSentence
from eirene.core.grounding import lacks_grounding
from eirene.core.history import HistoryTurn
from eirene.core.records import Item, Record, Round
from eirene.core.usage import Usage
from eirene.text.quoting import one_line
from eirene.views.diff import CALM_RUN, DiffLine, DiffLineKind, diff, edits_taken, edits_undone, folds
from eirene.views.facts import (
    ADVISORY,
    HOW_TO_GIVE,
    STATUS_WORDS,
    TONE,
    Tone,
    compared_texts,
    consistency,
    cost,
    is_judged,
    last_candidate,
    polled_texts,
    readings,
    rewrites,
    score_table,
    shown_score,
    unchecked,
    visible,
    votes,
)
from eirene.views.faults import (
    NO_FAULT,
    Gap,
    SentenceFaults,
    letter_of,
    marked_spans,
    style_of,
    verdict_of,
    words_in,
)
from eirene.views.outcome import support_in_words
from eirene.views.tables import change_text, simple_table

_TONE_STYLE: dict[Tone, str] = {"good": "bold green", "plain": "bold", "warn": "bold yellow", "bad": "bold red"}
_SIGN: dict[DiffLineKind, str] = {
    "same": " ", "changed": "~", "gone": "-", "moved away": "-", "new": "+", "moved here": "+"
}  # fmt: skip
_PIECE_STYLE = {"same": "", "gone": "red strike", "new": "green"}
_WORD_STYLE = {"f-complete": "", "f-missing": "bold blue", "f-contradicted": "bold red"}
_LONGEST_LINE = 800  # characters of a sentence in a comparison: a rewrite may be one sentence without an end
_TURNS, _TURN = 4, 160  # of a conversation: turns, and characters of each
_WHOLE = "--html and --json hold the whole."
FRACTION = "The fraction: how many of the {} found a fault there."


def render(record: Record) -> RenderableType:
    """The whole record: question, critique, rewrite, scores, decisions, outcome, answer, cost."""
    parts: list[RenderableType] = []
    if record.history:
        parts += section("Conversation before", *history_lines(record.history))
    parts += section("Question", Text(visible(record.question)))
    first = record.rounds[0] if record.rounds else None
    if first is not None and (first.critique is not None or is_judged(first)):
        parts += section("Critique", *_critique(first, readings(record)))
    candidate = last_candidate(record)
    if candidate is not None:
        title = "Rewrite" if record.status == "accepted" else "Rewrite (not accepted)"
        parts += section(title, _diff(record.original, candidate))
    if record.scores.original or record.scores.final:
        parts += section("Scores (errors from 0 to 1, lower is better)", *_scores(record))
    if any(r.candidate is not None for r in record.rounds):
        parts += section("Decisions", *_decisions(record))
    named = record.status.replace("_", " ").upper()
    status = Text.assemble((named, _TONE_STYLE[TONE[record.status]]), "  ", STATUS_WORDS[record.status])
    how = [Text(HOW_TO_GIVE)] if lacks_grounding(record) else []
    left = [Text(visible(line)) for line in support_in_words(record)]
    parts += section("Outcome", status, Text(visible(record.why), style="dim"), *left, *how)
    parts += section("Answer", Text(visible(record.answer)))
    run = f"mode {record.mode}, backend {visible(record.backend)}, seed {record.seed}"
    parts += section("Cost", Text(f"{cost(record.usage)}\n{run}", style="dim"))
    return Group(*parts)


def history_lines(history: Sequence[HistoryTurn]) -> Iterator[Text]:
    """The last turns before a question, a line each, cut where they are long; a line says how many there are before."""
    left = len(history) - _TURNS
    if left > 0:
        yield Text(f"{left} earlier turn{'s' * (left > 1)} not shown. {_WHOLE}", style="dim")
    for turn in history[-_TURNS:]:
        yield Text(f"{turn.role}: {one_line(visible(turn.content[:_LONGEST_LINE]), _TURN)}", style="dim")


def section(title: str, *content: RenderableType) -> Iterator[RenderableType]:
    """A heading, what stands indented below it, and an empty line."""
    yield Text(title, style="bold cyan")
    for part in content:
        yield Padding(part, (0, 0, 0, 2))
    yield Text("")


def _critique(round_: Round, drawn: str) -> Iterator[RenderableType]:
    said = consistency(round_, drawn)
    if said:
        yield Text(said, style="dim")
    if unchecked(round_.critique):
        yield Text(unchecked(round_.critique), style="dim")
    if round_.critique is None:
        invalid = {s.invalid for s in round_.samples if s.invalid is not None}
        yield from (Text(f"invalid: {visible(why)}") for why in sorted(invalid))
        return
    cast = votes(round_)
    yield critique_table(round_.critique, [(v.count("incomplete"), len(v)) for v in cast])
    yield from _legend(round_.critique)
    if cast:
        yield Text(FRACTION.format(drawn), style="dim")


def critique_table(critique: Critique, counts: Sequence[tuple[int, int]] = ()) -> RenderableType:
    """Each sentence with its number, what it is and why, and how many of the drawn critiques found a fault there.

    What is missing before or after a sentence has a line of its own, without a number, and so has the fraction of those
    that miss it. `counts` has a pair for each sentence, or is empty where nobody voted. Of a long run of sentences
    without a fault only the ends are shown.
    """
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(justify="right")
    table.add_column(no_wrap=True)
    if counts:
        table.add_column(justify="right", no_wrap=True)
    table.add_column(overflow="fold")
    judged = [(sentence, verdict_of(sentence)) for sentence in critique.sentences]
    for is_calm, group in groupby(judged, key=lambda entry: not entry[1].faults and not entry[1].gaps):
        run = list(group)
        ends = 2 if is_calm and len(run) > CALM_RUN else len(run)
        for n, entry in enumerate([*run[:ends], *run[max(ends, len(run) - 2) :]]):
            if n == ends:
                rest = Text(f"({len(run) - 4} more sentences: {NO_FAULT})", style="dim italic")
                table.add_row(*[""] * (len(table.columns) - 1), rest)
            for row in _rows(*entry, counts):
                table.add_row(*row)
    return table


def _rows(
    sentence: TaggedSentence, verdict: SentenceFaults, counts: Sequence[tuple[int, int]]
) -> Iterator[list[RenderableType]]:
    """The sentence's line, and one for each gap before or after it."""
    voted = Text("{}/{}".format(*counts[sentence.n - 1]) if counts else "", style="dim")
    voted_gap = verdict.gaps[0] if verdict.votes_for_gap else None

    def row(number: str, words: Sequence[str], has_votes: bool, text: Text) -> list[RenderableType]:
        count = [voted if has_votes else Text("")] if counts else []
        said = [Text(word, style=_WORD_STYLE.get(style_of(word), "bold yellow")) for word in words]
        return [number, Text(",\n").join(said), *count, text]

    def gap_row(gap: Gap) -> list[RenderableType]:
        return row("", [gap.label], gap is voted_gap, Text(visible(gap.text), style="yellow"))

    words = [fault.word for fault in verdict.faults] or [NO_FAULT]
    yield from (gap_row(gap) for gap in verdict.gaps if gap.before)
    yield row(str(sentence.n), words, voted_gap is None, _with_reasons(sentence, verdict))
    yield from (gap_row(gap) for gap in verdict.gaps if not gap.before)


def _with_reasons(sentence: TaggedSentence, verdict: SentenceFaults) -> Text:
    text = _marked(sentence)
    for fault in verdict.faults:
        label = "because" if len(verdict.faults) == 1 else fault.word
        for reason in fault.reasons:
            text.append(f"\n{label}: ", style="bold").append(visible(reason), style="yellow")
    return text


def _marked(sentence: TaggedSentence) -> Text:
    """The sentence; after the words at fault their fault's letter and the words that should stand there."""
    spans = marked_spans(sentence)
    text = Text("" if spans else visible(sentence.text))
    for span in spans:
        if not span.kind:
            text.append(visible(span.text))
            continue
        better = "" if span.edit is None else f": {visible(span.edit)}" if span.edit else ": -"
        text.append(visible(span.text), style="underline red")
        text.append(f"[{letter_of(span.kind)}{better}]", style="bold magenta")
    return text


def _legend(critique: Critique) -> Iterator[Text]:
    marked = {span.kind for sentence in critique.sentences for span in marked_spans(sentence)}
    named = ", ".join(f"{letter_of(word)} {word}" for word in words_in([critique]) if word in marked)
    if named:
        yield Text(f"Underlined: at fault, with what should stand there, or - for nothing. {named}.", style="dim")


def _diff(old: str, new: str) -> RenderableType:
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for title, run in folds(diff(old, new)):
        if title and run[0].kind != "same":
            return Group(table, Text(f"More sentences changed. {_WHOLE}", style="dim italic"))
        if title:
            table.add_row("", Text(f"({title})", style="dim italic"))
            continue
        for line in run:
            style = {"+": "green", "-": "red"}.get(_SIGN[line.kind], "")
            table.add_row(Text(_SIGN[line.kind], style=f"bold {style}"), _line(line))
    return table


def _line(line: DiffLine) -> Text:
    text = Text()
    marked = line.kind == "changed"
    for piece in line.pieces:
        shown = visible(piece.text)
        if marked and piece.kind != "same" and shown.strip():
            shown = f"[-{shown}-]" if piece.kind == "gone" else f"{{+{shown}+}}"
        text.append(shown, style=_PIECE_STYLE[piece.kind])
    cut = len(text) - _LONGEST_LINE
    if cut > 0:
        text = text[:_LONGEST_LINE].append(f" ({cut:,} more characters)", style="dim italic")
    text = Text("\n").join(text.split("\n", allow_blank=False))
    text.rstrip()
    if line.kind in ("moved away", "moved here"):
        text.append(f"  ({line.kind})", style="dim italic")
    return text


def _scores(record: Record) -> Iterator[RenderableType]:
    facts = score_table(record)
    table = simple_table("detector", "error", *facts.columns, "change", numbers_from=2)
    for is_advisory, rows in groupby(facts.rows, key=lambda row: row.advisory):
        for row in rows:
            name = f"{visible(row.detector)} *" if is_advisory else visible(row.detector)
            scores = (shown_score(s) for s in row.scores)
            change = change_text(row.scores[0], row.scores[-1], muted=is_advisory)
            table.add_row(name, row.error, *scores, change, style="dim" if is_advisory else None)
        table.add_section()
    if facts.rows:
        yield table
    if any(row.advisory for row in facts.rows):
        yield Text(f"* {ADVISORY}.", style="dim")
    yield from (Text(visible(note), style="dim") for note in facts.notes)
    yield from (Text(visible(polled.summary), style="dim") for polled in polled_texts(record))


def _decisions(record: Record) -> Iterator[RenderableType]:
    for n, (round_, rewrite) in enumerate(zip(record.rounds, rewrites(record), strict=True), start=1):
        word = "nothing rewritten" if rewrite is None else f"{round_.decision}ed"
        style = "green" if round_.decision == "accept" else "yellow"
        yield Text.assemble(f"Round {n}: ", (word, f"bold {style}"), f": {visible(round_.why)}")
        taken = edits_taken(round_)
        if taken:
            yield Padding(Text(visible(taken), style="dim"), (0, 0, 0, 2))
        for edit in edits_undone(round_):
            line = Text.assemble(
                ("undone", "bold yellow"),
                f": {visible(edit.what)} ",
                (f"({visible(edit.why)})", "yellow"),
            )
            yield Padding(line, (0, 0, 0, 2))
    yield from (Text(visible(compared.summary), style="dim") for compared in compared_texts(record))


def render_response(item: Item) -> RenderableType:
    """The response in `item`, whose `meta.npov` says how it was made: question, text, arguments by side, cost."""
    facts: Any = item.meta["npov"]
    parts: list[RenderableType] = [*section("Question", Text(visible(item.question)))]
    if facts["query"].strip() != item.question.strip():
        parts += section("Asked", Text(visible(facts["query"])))
    parts += section("Response", Text(visible(item.answer)))
    for side, sources in zip(item.perspectives or (), facts["argument_sources"], strict=True):
        given = zip(side.arguments, sources, strict=True)
        lines = [Text(f"- {visible(text)}" + (f" [{visible(source)}]" if source else "")) for text, source in given]
        parts += section(f"Arguments: {visible(side.name)}", *lines)
    if facts["sources"]:
        parts += section("Sources", *(Text(visible(source)) for source in facts["sources"]))
    notes = notes_of(item)
    if notes:
        parts += section("To be checked", *(Text(visible(note), style="yellow") for note in notes))
    how = "named word for word" if facts["exact"] else f"similarity {facts['similarity']:.2f}"
    made = f"topic {facts['topic']} ({how}), backend {facts['backend']}, seed {facts['seed']}"
    spent = cost(Usage.model_validate(facts["usage"]))
    parts += section("Made", *(Text(visible(line), style="dim") for line in (made, spent)))
    return Group(*parts)


def render_nearest(nearest: Sequence[Mapping[str, Any]]) -> RenderableType:
    """The topics that come closest to a query for which none fits."""
    lines = [Text(f"{n['similarity']:5.2f}  {visible(n['question'])}") for n in nearest]
    return Group(*section("Nearest topics", *lines))


def notes_of(item: Item) -> list[str]:
    """What a reader should look at, a sentence each."""
    facts: Any = item.meta["npov"]
    notes = []
    if facts["copies_left_out"]:
        n = facts["copies_left_out"]
        notes.append(f"{n} argument{' is' if n == 1 else 's are'} in the topic twice and said once.")
    if facts["check"] is not None:
        sides = zip(item.perspectives or (), facts["argument_ids"], strict=True)
        texts = {i: text for side, ids in sides for i, text in zip(ids, side.arguments, strict=True)}
        notes += [f"Perhaps not said: {texts[i]}" for i in facts["check"]["missing"]]
        notes += [f"Perhaps not among the arguments: {sentence}" for sentence in facts["check"]["unsupported"]]
    return notes
