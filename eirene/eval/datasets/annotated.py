"""Annotated answers: the faults that people marked in FavaBench, RAGTruth, QA-Feedback, HaluQuestQA, or rows of ours.

FAVA's six kinds are told apart by no other set. Where a set has one name for several of them ("conflict with the
source"), its findings have the kind that says least beside that, and a finding of any of those kinds counts as it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from eirene.core.coercion import as_passages
from eirene.core.critique import Finding, FindingKind, findings_in
from eirene.core.errors import InputError
from eirene.core.findings.tags import parse_tagged
from eirene.core.records import Item, parse_item
from eirene.data import open_source
from eirene.data.haluquestqa import WRITERS, find_span, listed, names_whole, parse_tagged_answer, remarks
from eirene.data.json_rows import Row
from eirene.data.published import EVALUATED
from eirene.eval.datasets.base import Labelled, meaning, stretch, with_own_ids
from eirene.eval.datasets.base import case_of as feedback_case
from eirene.eval.datasets.labelled import RAGTRUTH_SOURCES, Form, read_forms
from eirene.eval.datasets.published import haluquestqa as labelled_haluquestqa
from eirene.eval.datasets.published import qa_feedback as labelled_qa_feedback
from eirene.eval.datasets.published import ragtruth as labelled_ragtruth
from eirene.text.sentences import Sentence, split_sentences

Kinds = frozenset[FindingKind]
_SIX: tuple[FindingKind, ...] = (
    "entity", "relation", "contradictory", "invented", "subjective", "unverifiable",
)  # fmt: skip
_AT_ODDS: Kinds = frozenset({"entity", "relation", "contradictory"})
_NOT_GIVEN: Kinds = frozenset({"invented", "subjective", "unverifiable", "unsupported"})


@dataclass(frozen=True, slots=True)
class Taxonomy:
    """A set's kinds. `names`: its own names -> our kind, None for what is no fault of these kinds.

    `classes`: for each of our kinds that the set tells apart, the kinds of a prediction that count as it. What is in
    no class is not judged by the set: predicted or not, it changes no figure.
    """

    name: str
    classes: Mapping[FindingKind, Kinds]
    names: Mapping[str, FindingKind | None] = field(default_factory=dict)

    @property
    def kinds(self) -> tuple[FindingKind, ...]:
        """The kinds that the set tells apart, in the order in which figures are given."""
        return tuple(self.classes)

    def sorted(self, findings: Iterable[Finding]) -> dict[FindingKind, list[Finding]]:
        """The findings of each class; those of no class are left out."""
        found: dict[FindingKind, list[Finding]] = {kind: [] for kind in self.classes}
        for one in findings:
            for kind, members in self.classes.items():
                if one.kind in members:
                    found[kind].append(one)
        return found


def _kinds(*kinds: FindingKind) -> Kinds:
    return frozenset(kinds)


FAVA = Taxonomy("FAVA", {kind: _kinds(kind) for kind in _SIX})
RAGTRUTH = Taxonomy(
    "RAGTruth",
    {"contradictory": _AT_ODDS, "unverifiable": _NOT_GIVEN},
    {
        "Evident Conflict": "contradictory",
        "Subtle Conflict": "contradictory",
        "Evident Baseless Info": "unverifiable",
        "Subtle Baseless Info": "unverifiable",
    },
)
QA_FEEDBACK = Taxonomy(
    "QA-Feedback",
    {
        "contradictory": _AT_ODDS,
        "unverifiable": _NOT_GIVEN,
        "relevance": _kinds("relevance"),
        "repeated": _kinds("repeated"),
    },
    {
        "Wrong-Grounding": "contradictory",
        "Unverifiable": "unverifiable",
        "Irrelevant": "relevance",
        "Redundant": "repeated",
        "Incoherent": None,
    },
)
COMPLETENESS = Taxonomy("HaluQuestQA sentences", {"completeness": _kinds("completeness", "missing")})
HALUQUESTQA = Taxonomy(
    "HaluQuestQA answers",
    {"contradictory": _AT_ODDS | _NOT_GIVEN, "relevance": _kinds("relevance"), **COMPLETENESS.classes},
    {"factuality": "contradictory", "irrelevance": "relevance", "incomplete_ans": "completeness"},
)


@dataclass(frozen=True, slots=True)
class ExpertVerdict:
    """What the expert said of an answer as a whole: preferred to the other, its references help, the question is sound.

    `writer` is `human` or `model`; `category` the field (physics, law, ...), None where the row has none.
    """

    writer: str
    category: str | None
    preferred: bool
    helpful: bool
    question_is_sound: bool


@dataclass(frozen=True, slots=True)
class Annotated:
    """An item, the faults that were marked in its answer, and the question or source that rows may share (`cluster`).

    What no finding covers was looked at and found right. `cut` is the set's own cut into sentences, where it has one;
    `verdict` what was said of the answer as a whole.
    """

    item: Item
    findings: tuple[Finding, ...]
    cluster: str
    cut: tuple[Sentence, ...] | None = None
    verdict: ExpertVerdict | None = None

    @property
    def sentences(self) -> tuple[Sentence, ...]:
        """The sentences that are judged, by their offsets in the untagged answer."""
        return split_sentences(self.item.answer) if self.cut is None else self.cut


@dataclass(frozen=True, slots=True)
class AnnotatedSet:
    """The annotated answers of a file's `rows`, the set's kinds, and what could not be taken over: reason -> number."""

    taxonomy: Taxonomy
    cases: tuple[Annotated, ...]
    left_out: Mapping[str, int] = field(default_factory=dict)
    rows: int = 0

    @property
    def read_as(self) -> str:
        """What was read, in words."""
        return f"{self.rows:,} rows read as {self.taxonomy.name}: {len(self.cases):,} annotated answers"


def finding(kind: FindingKind, start: int, end: int, reason: str) -> Finding:
    """A finding without an edit."""
    return Finding(kind=kind, start=start, end=end, reason=" ".join(reason.split()) or kind)


Said = tuple[list[Annotated], Sequence[str]]
"""The annotated answers of a row, and why findings of it could not be placed."""
_NOWHERE = "the marked text does not stand in the answer"


def read_annotated(path: str, *, reader: str | None = None) -> AnnotatedSet:
    """The annotated answers of what `open_source` opens; each has an id of its own.

    The form is that of the first row (docs/evaluation/findings.md), or what `reader` names. `left_out` counts marks
    that have no place in their answer and kinds that no class takes. Raises `InputError` that names the row.
    """
    source = open_source(path)
    form, rows = read_forms(source, _FORMS, _UNKNOWN, reader=reader)
    cases: list[Annotated] = []
    left_out: Counter[str] = Counter()
    n = 0
    for n, (found, reasons) in enumerate(rows, start=1):  # noqa: B007  # the number of rows
        cases += found
        left_out.update(reasons)
    if not cases:
        raise InputError("has no annotated answer", where=source.name)
    return AnnotatedSet(_FORMS[form], tuple(with_own_ids(cases)), left_out, n)


def fava(data: dict[str, Any], row: Row) -> Said:
    """A tagged answer under `annotated` (or `tagged`); the original is what stands there without the tags.

    `passage` or `output` may hold the original as well, and must then agree but for white space. `prompt`, `question`
    or `title` is the question, which the answers of several models share; `reference` or `evidence`, passages in any
    form that a row's may have, is the context. One whose tags are all broken is left out, as not known.
    """
    tagged = parse_tagged(_text(data, "annotated", "tagged"), tidy=True)
    own = _optional(data, "passage", "output", "answer")
    if own is not None and own.split() != tagged.text.split():
        raise InputError(
            "the tagged text without its tags is not the row's original", field="annotated", where=row.where
        )
    asked = _optional(data, "prompt", "question", "title", "subject")
    question = asked or "What is to be said about this?"
    given = data.get("reference", data.get("evidence", data.get("context")))
    context = as_passages(given) or []
    item = {"question": question, "answer": tagged.text, **({"id": str(data["id"])} if "id" in data else {})}
    passages = [text for text in context if text.strip()]
    checked = parse_item({**item, **({"context": passages} if passages else {})}, where=row.where)
    case, strays = Annotated(checked, tagged.findings, asked or checked.id), ["a tag without its other half"]
    return [case] if tagged.findings or not tagged.stray else [], strays * tagged.stray


_REFERENCE = re.compile(r"^Reference \[\d+\]: ", re.MULTILINE)
_ASKED = re.compile(r"\AQuestion: (?P<question>.*?) Answer: (?P<answer>.*)\Z", re.DOTALL)


def fava_training(data: dict[str, Any], row: Row) -> Said:
    """FAVA's training pairs: references and text stand in `prompt`, the tagged text in `completion`.

    A pair whose tagged text is not the prompt's text is left out.
    """
    before, mark, text = data["prompt"].partition("\n[Text] ")
    if not mark:
        raise ValueError("'prompt' has no line '[Text] ...'")
    references = [reference.strip() for reference in _REFERENCE.split(before)[1:] if reference.strip()]
    if references:
        references[-1] = references[-1].rpartition("\n")[0]  # the last line asks for the edits
    tagged, original = data["completion"].strip(), text.rpartition("\n[Edited]")[0]
    if parse_tagged(tagged, tidy=True).text.split() != original.split():
        return [], ["the tagged text without its tags is not the prompt's text"]
    asked = _ASKED.match(tagged)
    pair = asked.groupdict() if asked else {"answer": tagged}
    told = {"question": pair["question"]} if "question" in pair else {}
    return fava({"tagged": pair["answer"], "reference": references, **told}, row)


def ragtruth(data: dict[str, Any], row: Row, told: Mapping[str, Any]) -> Said:
    """A response with the spans that annotators marked, as conflicting with the source or as baseless."""
    return _marked(labelled_ragtruth(data, row, told), data["labels"], RAGTRUTH, "label_type", "meta")


def qa_feedback(data: dict[str, Any], row: Row) -> Said:
    """The annotated answer with its spans; "Incoherent" is a fault of the writing, and none of these kinds."""
    labelled = labelled_qa_feedback(data, row)
    if labelled.hallucination is None:
        return [], ["no passages were given"]
    return _marked(labelled, data["feedback"]["errors"], QA_FEEDBACK, "error type", "explanation")


def _marked(labelled: Labelled, marks: Sequence[Mapping[str, Any]], taxonomy: Taxonomy, name: str, why: str) -> Said:
    """An answer with the stretches that were marked in it: `name` is the key of their kind, `why` of the reason."""
    found, reasons = [], []
    for mark in marks:
        kind, span = meaning(taxonomy.names, mark[name], name), stretch(labelled.item.answer, mark)
        if kind is None or span is None:
            reasons.append(_NOWHERE if kind else f"{mark[name]}: no kind of ours")
        else:
            found.append(finding(kind, *span, mark.get(why) or mark[name]))
    return [Annotated(labelled.item, tuple(found), labelled.cluster)], reasons


def completeness(data: dict[str, Any], row: Row) -> Said:
    """An answer whose sentences are tagged: each Incomplete one is a finding on the whole sentence."""
    case = feedback_case(parse_tagged_answer(row))
    found = [
        finding("completeness", s.text_start, s.text_end, reason or "incomplete")
        for s, tag, reason in zip(case.sentences, case.tags or (), case.reasons, strict=True)
        if tag == "Incomplete"
    ]
    return [Annotated(case.item, tuple(found), case.item.question, cut=case.sentences)], []


def haluquestqa(data: dict[str, Any], row: Row) -> Said:
    """The two answers to a question, with what experts marked as false, irrelevant or incomplete."""
    cases, reasons = [], []
    for which, labelled in enumerate(labelled_haluquestqa(data, row), start=1):
        answer, found = labelled.item.answer, []
        for aspect, kind in HALUQUESTQA.names.items():
            for text, reason in remarks(data, aspect, which, row.where):
                span = (0, len(answer)) if names_whole(text) else find_span(answer, text)
                if span is None or kind is None:
                    reasons.append(_NOWHERE)
                else:
                    found.append(finding(kind, *span, reason))
        said = verdict(data, which, row.where)
        cases.append(Annotated(labelled.item, tuple(found), labelled.cluster, verdict=said))
    return cases, reasons


def verdict(data: Mapping[str, Any], which: int, where: str) -> ExpertVerdict | None:
    """The verdict on answer `which`; None where the row has no `ans_preference`. Raises `ValueError` for half of one.

    An answer to whose references nothing was remarked has none that do not help.
    """
    preferred, label = data.get("ans_preference"), data.get(f"ans{which}_label")
    if not preferred:
        return None
    if preferred not in ("Answer 1", "Answer 2") or label not in WRITERS:
        wanted = f"'ans_preference' Answer 1 or Answer 2, 'ans{which}_label' {' or '.join(WRITERS)}"
        raise ValueError(f"needs {wanted}; got {preferred!r} and {label!r}")
    names = ("reference_example_label", "reference_example_helpful", "ques_misconception_label")
    targets, helps, misconceptions = (listed(data.get(name), name, where) for name in names)
    if len(targets) != len(helps):
        raise ValueError(f"'reference_example_helpful' has {len(helps)} verdicts on {len(targets)} references")
    return ExpertVerdict(
        writer=WRITERS[label],
        category=data.get("category"),
        preferred=preferred == f"Answer {which}",
        helpful=(f"answer{which}", "False") not in zip(targets, helps, strict=True),
        question_is_sound=not misconceptions,
    )


def own(data: dict[str, Any], row: Row) -> Said:
    """A row of Eirene's own form with `findings` in its meta; without `kind` of another set they are the six kinds."""
    item = parse_item(data, where=row.where)
    try:
        found = findings_in(item.meta["findings"])
    except ValueError as error:
        raise InputError(f"'meta.findings': {error}", field="meta.findings", where=row.where) from None
    if any(not f.start <= f.end <= len(item.answer) for f in found):
        raise InputError("a finding must lie within the answer", field="meta.findings", where=row.where)
    cluster = item.meta.get("cluster")
    return [Annotated(item, found, cluster if isinstance(cluster, str) else item.question)], []


_FORMS = {
    Form("FavaBench", "annotated;tagged", fava): FAVA,
    Form("FAVA training pairs", "prompt,completion", fava_training): FAVA,
    Form("RAGTruth", EVALUATED["RAGTruth"], ragtruth, RAGTRUTH_SOURCES): RAGTRUTH,
    Form("QA-Feedback", EVALUATED["QA-Feedback"], qa_feedback): QA_FEEDBACK,
    Form("HaluQuestQA answers", "question_text,ans1_text,ans2_text,factuality_span", haluquestqa): HALUQUESTQA,
    Form("HaluQuestQA sentences", "question,sentences;instruction,input,output", completeness): COMPLETENESS,
    Form("Eirene rows with findings", "question,answer,meta", own, meta="findings"): FAVA,
}
_UNKNOWN = "is of no known annotated form; known: {}"


def _optional(data: Mapping[str, Any], *names: str) -> str | None:
    found = (data[name] for name in names if isinstance(data.get(name), str) and data[name].strip())
    return next(found, None)


def _text(data: Mapping[str, Any], *names: str) -> str:
    found = _optional(data, *names)
    if found is None:
        raise ValueError(f"{names[0]!r} must be a text that is not blank")
    return found
