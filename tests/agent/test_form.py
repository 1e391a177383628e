"""Structure in an answer: the embedded default leaves it whole, a model's rewrite may not break it, lists count on."""

from __future__ import annotations

import eirene
from eirene.models.scripted import ScriptedChatModel

PASSAGE = "The oak is 31 metres tall. It was planted in 1790. It stands in the park."
INVENTED = "Two astronauts opened a bakery on Jupiter last year."
SIDES = {
    "pro": ["Zoos teach children about animals.", "Zoos protect rare animals."],
    "con": "Cages make animals suffer.",
}
WHOLE = [
    f'{{\n  "height": "The oak is 31 metres tall.",\n  "note": "{INVENTED}"\n}}',
    f"<p>The oak is 31 metres tall. {INVENTED}</p><p>It was planted in 1790.</p>",
    f"\\begin{{itemize}}\n\\item The oak is 31 metres tall.\n\\item {INVENTED}\n\\end{{itemize}}",
    "def oak():\n    height = 35\n    return height",
    "part,value\nheight,35 metres\nfruit,exported to the moon",
]


def test_an_answer_that_is_structure_is_left_alone() -> None:
    for answer in WHOLE:
        for given in ({"context": [PASSAGE]}, {"perspectives": SIDES}):
            record = eirene.refine(question="What of the oak?", answer=answer, **given)
            assert (record.status, record.answer) == ("not_checked", answer) and "structured text" in record.why
        assert [c.why for c in eirene.verify(answer, PASSAGE).claims] == ["structured text"]


def test_prose_around_structure_is_mended_and_the_structure_stands() -> None:
    code = "```python\nheight = 35\nprint(height)\n```"
    answer = f"The oak is 31 metres tall. {INVENTED}\n\n{code}\n\nIt was planted in 1790."
    record = eirene.refine(question="What of the oak?", answer=answer, context=[PASSAGE])
    assert record.answer == answer.replace(f" {INVENTED}", "") and record.status == "accepted"
    said = f"Supporters say that zoos teach children about animals.\n\n{code}"
    added = eirene.refine(question="Should zoos be closed?", answer=said, perspectives=SIDES)
    assert added.status == "accepted" and added.answer.endswith(f"\n\n{code}")


def test_a_list_within_a_sentence_is_one_sentence_and_its_markers_claim_nothing() -> None:
    answer = "Ben packed two things: 1. a knife and 2. a tent."
    record = eirene.refine(question="What did Ben pack?", answer=answer, context=["Ben packed a knife and a tent."])
    assert record.status == "no_fault_found" and len(eirene.split_sentences(answer)) == 1


def test_a_models_rewrite_may_not_break_structure_and_its_lists_count_on() -> None:
    steps = ["Open the box.", "Sing a song to it.", "Turn the key.", "Feed a goat.", "Close it."]
    answer = "\n".join(f"{n}. {step}" for n, step in enumerate(steps, start=1))
    rewrite = "1. Open the box.\n3. Turn the key.\n5. Close it."
    critique = "\n".join(
        f"{n}. [Incomplete] Reasons: no passage says step {n}" if n in (2, 4) else f"{n}. [Complete]"
        for n in range(1, 6)
    )
    model = ScriptedChatModel([*[critique] * 3, *[rewrite] * 9])
    passages = ["Open the box. Turn the key. Close it."]
    record = eirene.refine(
        question="What are the steps?", answer=answer, context=passages, backend=model, samples=3, stop="none"
    )
    assert {r.candidate for r in record.rounds} & {"1. Open the box.\n2. Turn the key.\n3. Close it."}
