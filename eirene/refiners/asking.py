"""Asking for a rewrite: the prompts of each mode and form, and how replies become drafts of the new answer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from eirene.core.critique import Critique, TaggedSentence
from eirene.core.errors import BackendError, InputError, UnusableReplyError
from eirene.core.grounding import whole_evidence
from eirene.core.records import Change, Item, Mode
from eirene.core.signature import derive_seed
from eirene.models.replies import Reply
from eirene.models.reply_text import UnreadableError, check_ending, unwrapped
from eirene.models.structured import ReplyForm
from eirene.prompts import SHIPPED, Message, Prompt, PromptSet
from eirene.prompts.fence import break_control_tokens, fence_word, shown_line
from eirene.prompts.history import history_lines
from eirene.prompts.material import MATERIAL_PROMPT, evidence_lines, given_lines, material_of
from eirene.refiners.base import DrawnText, RefineTask, Rejection
from eirene.refiners.patch import drafted, named_sentences, patch_schema, read_patch
from eirene.text.sentences import split_sentences
from eirene.text.thinking import without_thinking

PROMPTS: dict[Mode, str] = {
    "improve": "refine_improve",
    "generic": "refine_generic",
    "fine-grained": "refine_fine_grained",
    "human": "refine_human",
}
PATCH_PROMPTS = {"refine_patch": ("refine_drop", "\n"), "refine_patch_json": ("refine_drop_json", " ")}
"""Those that ask for a patch, in lines and as JSON; what each offers to drop statements by, and what follows that."""
CRITICISMS: dict[Mode, str] = {
    "generic": "refine_incomplete",
    "fine-grained": "refine_criticism",
    "human": "refine_remarks",
}
"""What a patch is asked for by: the modes in which one can be."""
SENTENCE_PROMPTS = ("refine_sentence", "refine_sentence_given", "refine_next")
"""Those that ask for one sentence again, without passages and with them, and for one more."""
PARTS = (
    MATERIAL_PROMPT,
    *PATCH_PROMPTS,
    *(name for name, _ in PATCH_PROMPTS.values()),
    *SENTENCE_PROMPTS,
    *CRITICISMS.values(),
    "refine_perspectives",
    "refine_context",
    "refine_rejected",
    "refine_attempt",
    "refine_fault",
    "refine_undone",
    "refine_unsaid",
    "refine_history",
    "refine_reason",
)
"""The prompts of patches and sentences, and those that stand inside others."""
_FIRST_WORDS = 6  # of a faulty sentence; the whole of it stands in the answer above
_SHOWN_ATTEMPTS = 3  # the latest; more would crowd out the answer


@dataclass(frozen=True, slots=True)
class AskedRewrite:
    """One request for a rewrite: the messages that ask for text, the JSON in the place of text where there is a schema,
    and the word that marks the untrusted texts in both. `sentence`: the number of that which is asked for again, or
    behind which one more is (`action`), if one is.
    """

    task: RefineTask
    messages: tuple[Message, ...]
    mark: str
    form: ReplyForm | None = None
    sentence: int | None = None
    action: Literal["replace", "insert_after"] = "replace"

    @property
    def seeds(self) -> tuple[int, ...]:
        """A seed for each draft; the first is the task's."""
        seed = self.task.seed if self.sentence is None else derive_seed(self.task.seed, "sentence", self.sentence)
        return (seed, *(derive_seed(seed, "draft", n) for n in range(1, self.task.count)))

    @property
    def request(self) -> str:
        """The end of the prompt, behind all material: what is to be done."""
        return (self.form or self).messages[-1].content.rpartition(self.mark)[2].strip()

    def draft(self, reply: Reply, seed: int) -> DrawnText:
        """What a reply says; where it cannot be read, why."""
        try:
            if self.task.form == "patch":
                return read_patch(reply, self.task, seed=seed, mark=self.mark, prompt=self.request)
            text = read_rewrite(reply, before=self.task.answer, marks=(self.mark,), request=self.request)
            return DrawnText(text, seed)
        except UnusableReplyError as error:
            return DrawnText(error.reply or "", seed, self.task.form, unusable=str(error))
        except UnreadableError as error:
            return DrawnText(without_thinking(reply.text).strip(), seed, self.task.form, unusable=str(error))

    def change(self, reply: Reply) -> Change | str:
        """What a reply puts in the place of the sentence, or why it cannot be read."""
        assert self.sentence is not None
        before = next(s.text for s in split_sentences(self.task.answer) if s.n == self.sentence)
        try:
            text = read_rewrite(reply, before=before, marks=(self.mark,), request=self.request)
        except UnusableReplyError as error:
            return f"{self.sentence}: {error}"
        return Change(sentence=self.sentence, action=self.action, text=text)


def requests_for(
    task: RefineTask, *, reasons_only: bool = False, prompt: Prompt | None = None, prompts: PromptSet = SHIPPED
) -> tuple[AskedRewrite, ...]:
    """What a model is asked for a task: once, or for each sentence by itself. Raises what `refine_messages` raises."""
    if task.form == "sentences":
        return tuple(_asked_sentences(task, prompts))
    messages, mark = refine_messages(task, reasons_only=reasons_only, prompt=prompt, prompts=prompts)
    schema = patch_schema(task) if task.form == "patch" else None
    if schema is None:
        return (AskedRewrite(task, messages, mark),)
    said, _ = refine_messages(task, prompt=prompts.load("refine_patch_json"), prompts=prompts)
    return (AskedRewrite(task, messages, mark, ReplyForm.of("patch", schema, said)),)


Outcome = Reply | BackendError


def drafts_of(asked: Sequence[AskedRewrite], replies: Sequence[Sequence[Outcome]]) -> tuple[DrawnText, ...]:
    """What the replies to each request make of the answer; with one for each sentence, draft k of reply k to each.

    Raises the first `BackendError` where no call succeeded.
    """
    given = [reply for several in replies for reply in several]
    failed = [reply for reply in given if isinstance(reply, BackendError)]
    if failed and len(failed) == len(given):
        raise failed[0]
    if asked and asked[0].sentence is None:
        drawn = zip(replies[0], asked[0].seeds, strict=False)
        return tuple(asked[0].draft(r, seed) for r, seed in drawn if not isinstance(r, BackendError))
    most = max(map(len, replies), default=0)
    return tuple(
        _of_sentences(asked, [several[k] if k < len(several) else None for several in replies], k) for k in range(most)
    )


def _of_sentences(asked: Sequence[AskedRewrite], replies: Sequence[Outcome | None], k: int) -> DrawnText:
    read = [
        one.change(reply) if isinstance(reply, Reply) else f"{one.sentence}: {reply or 'no reply came'}"
        for one, reply in zip(asked, replies, strict=True)
    ]
    changes, refused = [c for c in read if isinstance(c, Change)], [why for why in read if isinstance(why, str)]
    first = asked[0]
    prompt = first.messages[-1].content.rpartition(first.mark)[2]
    return drafted(first.task, changes, refused, seed=first.seeds[k], form="sentences", mark=first.mark, prompt=prompt)


def _asked_sentences(task: RefineTask, prompts: PromptSet) -> Iterator[AskedRewrite]:
    """The requests for the sentences that may change, each by itself.

    With passages each is asked for again, and nothing is said of a fault: a small model that hears of one drops the
    sentence. Without any, what is missing is asked for as the next sentence; of a description of it models make a
    remark about the answer. A person's remark and a finding are told.
    """
    evidence = whole_evidence(task.item) if task.evidence is None else task.evidence
    sentences, named = split_sentences(task.answer), named_sentences(task)
    said = {s.n: s for s in (task.critique.sentences if task.critique is not None else ())}
    if task.critique is None and not evidence.sentences:
        named = frozenset([sentences[-1].n])
    given = given_lines(task.item.model_copy(update={"context": None}), None, prompts)
    for sentence in (s for s in sentences if s.n in named):
        fault = said.get(sentence.n)
        is_told = fault is not None and (task.mode == "human" or bool(fault.findings and not evidence.sentences))
        note = _reasons(fault) if fault is not None and is_told else ""
        so_far = break_control_tokens(task.answer[: sentence.text_end])
        shown = {"sentence": shown_line(sentence.text)}
        if evidence.sentences:
            name, shown = "refine_sentence_given", {**shown, "evidence": evidence_lines(evidence)}
        elif is_told:
            name, shown = "refine_sentence", {**shown, "answer": so_far}
        else:
            name, shown = "refine_next", {"answer": so_far}
        mark = fence_word(given, note, *shown.values(), made_from=given)
        if name != "refine_next":
            shown["note"] = _part(prompts, "refine_reason", mark=mark, note=note) if note else ""
        messages = prompts.load(name).fill({**shown, "given": given, "mark": mark})
        yield AskedRewrite(
            task, messages, mark, sentence=sentence.n, action="insert_after" if name == "refine_next" else "replace"
        )


def refine_messages(
    task: RefineTask, *, reasons_only: bool = False, prompt: Prompt | None = None, prompts: PromptSet = SHIPPED
) -> tuple[tuple[Message, ...], str]:
    """The chat messages that ask for a rewrite of `task.answer`, and the word that marks the untrusted texts in them.

    A patch is asked for in lines, about numbered sentences. Fine-grained and human prompts name each incomplete
    sentence with its number, reasons and findings, or with `reasons_only` number the reasons alone. `prompts` are what
    it is worded in; `prompt` takes the place of the mode's and must have the same placeholders. Raises `InputError`
    when such a mode comes without a critique, `PromptError` for a prompt that does not fit.
    """
    item = task.item
    if task.form == "patch":
        return _patch_messages(task, prompts, prompt)
    values = {"question": break_control_tokens(item.question), "answer": break_control_tokens(task.answer)}
    if task.mode in ("fine-grained", "human"):
        values["faults"] = _faults(_critique(task), prompts, reasons_only=reasons_only)
    passages = evidence_lines(whole_evidence(item) if task.evidence is None else task.evidence)
    arguments, turns = _arguments(item), history_lines(item.history)
    told = _told(task, prompts, unsaid=not reasons_only and prompt is None)
    shown = (values["question"], arguments, passages, turns)
    mark = fence_word(*values.values(), *shown, *told.values(), made_from="\x1f".join(shown))  # rounds begin alike
    values["given"] = "".join(
        [
            _part(prompts, "refine_perspectives", mark=mark, arguments=arguments) if arguments else "",
            _part(prompts, "refine_context", mark=mark, passages=passages) if passages else "",
            _part(prompts, "refine_history", mark=mark, turns=turns) if turns else "",
        ]
    )
    values["rejected"] = _told_parts(prompts, mark, told)
    return (prompt or prompts.load(PROMPTS[task.mode])).fill({**values, "mark": mark}), mark


def _patch_messages(task: RefineTask, prompts: PromptSet, prompt: Prompt | None) -> tuple[tuple[Message, ...], str]:
    """The same for a patch: behind the block that the critic's prompt begins with, too. Statements are offered to be
    dropped only where the criticism names those that are wrong."""
    prompt = prompt or prompts.load("refine_patch")
    drop, end = PATCH_PROMPTS[prompt.name]
    part = prompts.load(CRITICISMS[task.mode])
    faults = "" if task.mode == "generic" else _faults(_critique(task), prompts, reasons_only=False)
    told = _told(task, prompts)
    sentences = split_sentences(task.answer)
    material = material_of(task.item, sentences, task.evidence, prompts=prompts, beside=(faults, *told.values()))
    known = {"mark": material.mark, "faults": faults}
    values = {
        "material": material.block,
        "last": str(len(sentences)),
        "criticism": part.fill({name: known[name] for name in part.placeholders})[-1].content,
        "rejected": _told_parts(prompts, material.mark, told),
        "drop": _part(prompts, drop, end=end) if faults else "",
    }
    return prompt.fill(values), material.mark


def _told(task: RefineTask, prompts: PromptSet, *, unsaid: bool = True) -> dict[str, str]:
    """The untrusted texts that are told beside the criticism, by placeholder; a person's remarks stand alone."""
    missed = task.evidence.unsaid if task.evidence is not None and unsaid and task.mode != "human" else ()
    return {
        "unsaid": "\n".join(f"- {shown_line(one.evidence.text)}" for one in missed),
        "attempts": _attempts(task.rejections, prompts),
        "undone": "\n".join(f"- {break_control_tokens(edit)}" for edit in task.undone),
    }


def _told_parts(prompts: PromptSet, mark: str, told: dict[str, str]) -> str:
    names = {"unsaid": "refine_unsaid", "attempts": "refine_rejected", "undone": "refine_undone"}
    return "".join(_part(prompts, names[name], mark=mark, **{name: text}) for name, text in told.items() if text)


def _critique(task: RefineTask) -> Critique:
    if task.critique is None:
        raise InputError(f"mode {task.mode} needs a critique; modes improve and generic do without", field="mode")
    return task.critique


def _faults(critique: Critique, prompts: PromptSet, *, reasons_only: bool) -> str:
    faulty = critique.incomplete
    if reasons_only:
        return "\n".join(f"{i}. {break_control_tokens(s.reason or '')}" for i, s in enumerate(faulty, start=1))
    return "\n".join(
        _part(
            prompts,
            "refine_fault",
            end="",
            n=str(s.n),
            sentence=break_control_tokens(_beginning(s.text)),
            reasons=_reasons(s),
        )
        for s in faulty
    )


def _beginning(text: str) -> str:
    """The words by which a sentence is found again in the answer: the first few, and three dots for the others."""
    words = text.split()
    return " ".join(words if len(words) <= _FIRST_WORDS + 1 else [*words[:_FIRST_WORDS], "..."])


def _reasons(sentence: TaggedSentence) -> str:
    """The reason, then a line for each finding whose reason is not said already: its place, and the better word."""
    lines = [sentence.reason or ""]
    for finding in sentence.findings:
        place = sentence.text[max(0, finding.start - sentence.start) : max(0, finding.end - sentence.start)]
        said = [f'"{place}"'] if place else []
        said += [f'-> "{finding.edit}"'] if finding.edit is not None else []
        said += [f"({finding.kind})"]
        if finding.reason and finding.reason not in lines[0]:
            said.append(finding.reason)
        lines.append("- " + " ".join(said))
    return break_control_tokens("\n".join(lines))


def _arguments(item: Item) -> str:
    sides = (
        "\n".join([break_control_tokens(side.name), *(f"- {break_control_tokens(a)}" for a in side.arguments)])
        for side in item.perspectives or ()
    )
    return "\n\n".join(sides)


def _attempts(rejections: Sequence[Rejection], prompts: PromptSet) -> str:
    first = max(0, len(rejections) - _SHOWN_ATTEMPTS)
    return "\n\n".join(
        _part(
            prompts,
            "refine_attempt",
            end="",
            n=str(n),
            candidate=break_control_tokens("\n".join(map(str, r.changes)) or r.candidate),
            why=break_control_tokens(r.why),
        )
        for n, r in enumerate(rejections[first:], start=first + 1)
    )


def _part(prompts: PromptSet, name: str, *, end: str = "\n\n", **values: str) -> str:
    """A part's text with a blank line after it, so that a part that is left out leaves no gap."""
    return prompts.load(name).fill(values)[-1].content + end


def read_rewrite(reply: Reply, *, before: str, marks: tuple[str, ...] = (), request: str = "") -> str:
    """The rewritten answer in `reply`; an empty text when nothing is left beside thinking and preamble.

    `eirene.models.reply_text.unwrapped` says what is taken off. Raises `UnusableReplyError` with the reply when it was
    cut off or filtered, or copies the prompt: the answer would have headings of the prompt's in it.
    """
    check_ending(reply, "rewrite")
    text = unwrapped(reply.text, before=before, marks=marks)
    if request and request in text and request not in before:
        raise UnusableReplyError("the rewrite copies the prompt", reply=text)
    return text
