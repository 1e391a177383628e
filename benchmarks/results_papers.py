"""The papers' figures, and ours beside them. Figures are the papers' own, named with their tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Json = Mapping[str, Any]
Published = Mapping[str, Mapping[str, float]]

NPOV_ANSWERS = {  # table 1, ROC AUC: hallucination by ROUGE, salience, classifier; coverage by the same
    "full organic": (0.840, 0.808, 0.953, 0.795, 0.852, 0.905),
    "unparaphrased synthetic": (0.772, 0.736, 0.998, 0.890, 0.875, 0.986),
    "paraphrased synthetic": (0.680, 0.708, 0.977, 0.746, 0.831, 0.993),
    "ambiguous organic": (0.814, 0.772, 0.851, 0.834, 0.755, 0.756),
}
NPOV_WORDS = {  # table 3, ROC AUC: hallucination by ROUGE, salience; coverage by the same
    "full organic": (0.673, 0.724, 0.669, 0.799),
    "unparaphrased synthetic": (0.697, 0.710, 0.693, 0.808),
    "paraphrased synthetic": (0.614, 0.673, 0.582, 0.742),
    "ambiguous organic": (0.542, 0.542, 0.738, 0.740),
}
CHAINPOLL = {  # tables 1, 3, 4: average AUROC on RealHall: all, open-domain, closed-domain
    "ChainPoll": (0.781, 0.772, 0.789),
    "SelfCheck-BERTScore": (0.673, 0.670, 0.675),
    "SelfCheck-NGram": (0.644, 0.636, 0.652),
    "G-Eval": (0.579, 0.574, 0.584),
    "Max pseudo-entropy": (0.550, 0.565, 0.535),
    "GPTScore": (0.524, 0.489, 0.558),
    "TRUE": (None, None, 0.593),
}
SELFCHECK = {  # README of potsawee/selfcheckgpt: AUC-PR of non-factual sentences on WikiBio GPT-3
    "random": 0.7296,
    "GPT-3 average -log p": 0.8321,
    "BERTScore": 0.8196,
    "QA": 0.8426,
    "unigram": 0.8563,
    "NLI": 0.9250,
    "prompt, Mistral 7B": 0.9131,
    "prompt, GPT-3.5": 0.9342,
}


def papers_tables(by_title: Mapping[str, Json], published: Published) -> str:
    """All tables."""
    return "\n\n".join(
        [
            "## Beside the papers",
            npov_answers(by_title),
            npov_words(by_title),
            frank(by_title, published),
            wikibio(by_title),
            chainpoll(),
        ]
    )


def npov_answers(by_title: Mapping[str, Json]) -> str:
    """Table 1 of the NPOV paper."""
    head = "| ROC AUC, per answer | hallucination: ROUGE | salience | classifier "
    head += "| coverage: ROUGE | salience | classifier |"
    rows = [
        f"| paper, {name} | " + " | ".join(f"{v:.3f}" for v in values) + " |" for name, values in NPOV_ANSWERS.items()
    ]
    for title in ("NPOV answers, plain", "NPOV answers, balanced"):
        hallucination, coverage = (_areas(by_title[title], error, "answer") for error in ("hallucination", "coverage"))
        cells = [*(hallucination.get(n, "not run") for n in _NPOV), *(coverage.get(n, "not run") for n in _NPOV)]
        rows.append(f"| ours, {title} | " + " | ".join(cells) + " |")
        rows.append(f"| ours, {title}: `alignment` | {hallucination['alignment']} | | | {coverage['alignment']} | | |")
    return _table(
        "**NPOV, table 1.** Comparable: the definition of ROUGE and of the two errors; nearest to our sets are "
        "paraphrased synthetic errors. Not comparable: the data (theirs, made from ProCon with a 62B model's "
        "responses, is not published; ours is put together from crowd paraphrases, and the balanced set is made "
        "so that counting fails), and with it the height of a figure. Their salience and classifiers read that model.",
        head,
        rows,
    )


_NPOV = ("rouge", "salience", "classifier")


def npov_words(by_title: Mapping[str, Json]) -> str:
    """Table 3 of the NPOV paper."""
    head = "| ROC AUC, per word | hallucination: ROUGE | salience | coverage: ROUGE | salience |"
    rows = [
        f"| paper, {name} | " + " | ".join(f"{v:.3f}" for v in values) + " |" for name, values in NPOV_WORDS.items()
    ]
    for title in ("NPOV answers, plain", "NPOV answers, balanced"):
        said, given = (
            _areas(by_title[title], "hallucination", "word"),
            _areas(by_title[title], "coverage", "argument word"),
        )
        cells = [*(said.get(n, "not run") for n in _NPOV[:2]), *(given.get(n, "not run") for n in _NPOV[:2])]
        rows.append(f"| ours, {title} | " + " | ".join(cells) + " |")
    return _table(
        "**NPOV, table 3.** As above; words without stop words in both. In ours an argument counts as missing as a "
        "whole, with all of its words.",
        head,
        rows,
    )


def frank(by_title: Mapping[str, Json], published: Published) -> str:
    """The metrics whose scores FRANK's authors published, on the same summaries and labels."""
    level = _level(by_title["FRANK"], "hallucination", "answer")
    by_source = level["slices"]["dataset"]
    rows = []
    for name, found in level["detectors"].items():
        if _is_of_all(found, level):
            areas = [found["auc"], *(by_source[source]["auc"][name] for source in ("cnndm", "bbc")), found["ap"]]
            rows.append(f"| `{name}` | " + " | ".join(f"{area['value']:.3f}" for area in areas) + " |")
    for name, values in sorted(published.items(), key=lambda pair: -pair[1]["all"]):
        cells = (f"{values[key]:.3f}" for key in ("all", "cnndm", "bbc", "ap"))
        rows.append(f"| {name} | " + " | ".join(cells) + " |")
    return _table(
        "**FRANK.** The metrics' published scores of the same summaries, compared with the same labels by the same "
        'code: comparable. ROUGE, BLEU, METEOR and BERTScore without "Art" read a reference summary, which ours never '
        "see; the others the article, as ours do. Most summaries of XSum (BBC) have an error and most of CNN/DailyMail "
        "have none, so that all together flatters whoever tells the two apart.",
        "| | ROC AUC, all | CNN/DailyMail | XSum | average precision, all |",
        rows,
    )


def wikibio(by_title: Mapping[str, Json]) -> str:
    """SelfCheckGPT's published figures."""
    level = _level(by_title["WikiBio GPT-3"], "hallucination", "sentence")
    rows = [
        f"| `{name}` | {found['ap']['value']:.3f} |"
        for name, found in level["detectors"].items()
        if _is_of_all(found, level)
    ]
    rows += [f"| SelfCheckGPT: {name} | {value:.3f} |" for name, value in SELFCHECK.items()]
    return _table(
        "**WikiBio GPT-3**, average precision of sentences with an error (AUC-PR NonFact). Same passages and labels; "
        "not comparable all the same: ours read the Wikipedia article, the published ones twenty other answers, which "
        "this copy of the data does not have.",
        "| | average precision |",
        rows,
    )


def chainpoll() -> str:
    """The ChainPoll paper's averages."""
    rows = [
        f"| {name} | " + " | ".join("" if v is None else f"{v:.3f}" for v in values) + " |"
        for name, values in CHAINPOLL.items()
    ]
    return _table(
        "**ChainPoll, tables 1, 3 and 4**: average AUROC on RealHall. Nothing of ours stands beside it: the "
        "benchmark's labels are not published, and its judge is a paid model. The metrics are here to be run with a "
        "judge or a local model of one's own.",
        "| | all | open-domain | closed-domain |",
        rows,
    )


def _level(summary: Json, error: str, name: str) -> Json:
    return next(level for level in summary["levels"] if (level["error"], level["level"]) == (error, name))


def _is_of_all(found: Json, level: Json) -> bool:
    """Whether a detector scored so many of a level that its figure stands beside one of them all."""
    return "value" in found.get("auc", {}) and found["scored"] >= 0.9 * level["n"]


def _areas(summary: Json, error: str, name: str) -> dict[str, str]:
    level = _level(summary, error, name)
    return {
        n: f"{found['auc']['value']:.3f}" + ("" if _is_of_all(found, level) else f" (of {found['auc']['n']:,})")
        for n, found in level["detectors"].items()
        if "value" in found.get("auc", {})
    }


def _table(said: str, head: str, rows: list[str]) -> str:
    ruled = "|" + " --- |" * (head.count("|") - 1)
    return "\n".join([said, "", head, ruled, *rows])
