"""Material: the block that prompts of critic and refiner begin with: question, evidence, numbered answer.

It is the same to the byte for all of them, and stands first, so that a server reads it once (llama.cpp's and OpenAI's
prompt caches know the beginning of a prompt again). What a role is asked stands behind it. Its own first part, `given`,
is all but the answer: the beginning of questions about one sentence, which a small model answers at random under the
whole answer.

Everything in it is untrusted. Each statement, argument and piece of evidence is shown on one line of its own, so that
none can pass for two; chat control words and our own headings are taken apart; what was given and the answer stand each
between two lines with a word that occurs in neither.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eirene.core.grounding import whole_evidence
from eirene.core.records import Item
from eirene.core.verification import NumberedEvidence
from eirene.prompts.fence import fence_word, shown_line
from eirene.prompts.history import history_part
from eirene.prompts.loader import SHIPPED, PromptSet
from eirene.text.sentences import Sentence

MATERIAL_PROMPT = "material"
_EVIDENCE = "Evidence, in numbered sentences of the given passages:"


@dataclass(frozen=True, slots=True)
class PromptMaterial:
    """The block; its first part, which ends with a line of its fence; and the fence's word, between whose lines further
    untrusted text may stand behind either.
    """

    mark: str
    given: str
    block: str


def material_of(
    item: Item,
    sentences: Sequence[Sentence],
    evidence: NumberedEvidence | None = None,
    *,
    prompts: PromptSet = SHIPPED,
    beside: Sequence[str] = (),
) -> PromptMaterial:
    """The block for an item and the sentences of the answer to be judged or bettered.

    `evidence` None shows all passages. `beside`: the untrusted texts that stand behind the block in the same prompt;
    none of them holds the fence's word. `prompts` are what it is worded in.
    """
    given, answer = given_lines(item, evidence, prompts), answer_lines(sentences)
    mark = fence_word(given, answer, *beside, made_from=given)  # rounds differ in the answer alone
    (message,) = prompts.load(MATERIAL_PROMPT).fill({"mark": mark, "given": given})
    return PromptMaterial(mark, message.content, f"{message.content}\n\n{mark}\n{answer}\n{mark}")


def given_lines(item: Item, evidence: NumberedEvidence | None = None, prompts: PromptSet = SHIPPED) -> str:
    """The conversation, the question and what was given, with the word `Question:` that HaluQuestQA uses."""
    lines = [history_part(item.history, prompts)] if item.history else []
    lines.append(f"Question: {shown_line(item.question)}")
    for side in item.perspectives or ():
        lines.append(f"Perspective to be covered: {shown_line(side.name)}")
        lines += [f"- {shown_line(argument)}" for argument in side.arguments]
    found = evidence_lines(whole_evidence(item) if evidence is None else evidence)
    lines += [_EVIDENCE, found] if found else []
    return "\n".join(lines)


def evidence_lines(evidence: NumberedEvidence) -> str:
    """The sentences with their numbers, `[1]` and so on, one a line; "" for none."""
    return "\n".join(f"[{n}] {shown_line(found.text)}" for n, found in enumerate(evidence.sentences, start=1))


def answer_lines(sentences: Sequence[Sentence]) -> str:
    """The statements, behind the word `Answer:` that HaluQuestQA uses."""
    return f"Answer: {numbered_lines(sentences)}"


def numbered_lines(sentences: Sequence[Sentence]) -> str:
    """The sentences as a model is shown them: with their numbers, one a line."""
    # Numbered by place and not by `n`, so that they are 1 to the last whatever cut the text.
    return "\n".join(f"{n}. {shown_line(s.text)}" for n, s in enumerate(sentences, start=1))
