"""Closed word lists of the marks of polarity: phrases by kind and level, function words, verbs of saying."""

from __future__ import annotations

from typing import Literal

from eirene.text.words import STOP_WORDS, stem

MarkKind = Literal["negation", "quantifier", "certainty", "report", "condition", "intent", "quotation"]

_LISTS: dict[tuple[MarkKind | None, str], str] = {
    ("negation", "not"): """
        not, never, no, none, nobody, no one, noone, nothing, nowhere, neither, nor, without, hardly, barely,
        scarcely, rarely, seldom, lack, lacks, lacked, lacking, lack of, a lack of, fail to, fails to, failed to,
        failing to, failure to, unable to, refuse to, refuses to, refused to, deny, denies, denied, denying, far from,
        anything but, by no means, in no way, no longer, at no time, not at all, instead of, rather than, devoid of,
        non, not necessarily, not always, not all, not every, not a single""",
    ("quantifier", "all"): """
        all, every, each, everyone, everybody, everything, everywhere, always, entirely, completely, totally, wholly,
        fully, universally, without exception, invariably, any and all, all of, every single, in every case""",
    ("quantifier", "most"): """
        most of, most, mostly, the majority of, a majority of, the vast majority of, usually, generally, typically,
        largely, mainly, for the most part, nearly all, almost all, almost every, almost always""",
    ("quantifier", "many"): "many, much of, often, frequently, numerous, lots of, a lot of, plenty of",
    ("quantifier", "some"): """
        some, several, sometimes, occasionally, partly, partially, in part, a few, somewhat, a number of, in some cases,
        at times, from time to time, some of, a part of, to some extent, a minority of, a portion of""",
    ("quantifier", "few"): "few, very few, only a few, a tiny minority of, hardly any, almost no, almost never",
    ("quantifier", "only"): "only, solely, exclusively, nothing but, alone",
    ("quantifier", "least"): "at least, no less than, no fewer than",
    ("quantifier", "limit"): "at most, no more than, up to",
    ("certainty", "possible"): "may, might, could, perhaps, possibly, maybe, potentially, can, conceivably",
    ("certainty", "likely"): """
        likely, probably, presumably, seem, seems, seemed, appear to, appears to, appeared to, it appears that, tend to,
        tends to, tended to, arguably, suggest that, suggests that, suggested that, imply that, implies that,
        apparently, in theory, it is possible that, it is likely that""",
    ("certainty", "unlikely"): "unlikely, improbable",
    ("certainty", "advice"): "should, ought, ought to",
    ("certainty", "must"): "must, have to, has to, had to, need to, needs to, shall",
    ("certainty", "will"): "will",
    ("certainty", "would"): "would",
    ("certainty", "certain"): """
        certainly, definitely, undoubtedly, undeniably, unquestionably, indisputably, indubitably, surely, clearly,
        obviously, plainly, inevitably, absolutely, doubtless, assuredly, of course, for sure, for certain, no doubt,
        without doubt, without a doubt, without question, without any doubt, no question, beyond doubt, beyond question,
        beyond any doubt, beyond dispute, there is no doubt that, there is no doubt, there is no question that,
        there can be no doubt that, it is certain that, it is clear that, it is obvious that, it is beyond dispute that,
        it is undeniable that, it is undisputed that, undisputed, undisputedly, undeniable, unquestionable,
        indisputable, irrefutable, irrefutably, incontrovertibly, incontestably, conclusively, unmistakably,
        demonstrably, provably, guaranteed to, guarantee that, guarantees that, as everyone knows,
        as everybody knows,
        everyone knows that, everybody knows that, everyone agrees that, everybody agrees that,
        it is guaranteed that""",
    ("report", "fact"): """
        prove that, proves that, proved that, proven that, proven, has proved, have proved, a fact that, a proven fact,
        a proven fact that, an established fact, an established fact that, a known fact, a known fact that, is a fact,
        the fact is that, the fact is, the truth is that, the truth is, the fact remains that, it is true that,
        is true that, scientifically proven, a scientific fact, a scientific fact that, a certainty that, a truth that,
        settled science,        a matter of fact, in reality, in truth, in actual fact, realise that, realize that""",
    ("report", "shown"): """
        show, shows, showed, shown, know, knows, knew, known, reveal, reveals, revealed, demonstrate, demonstrates,
        demonstrated, establish, establishes, established, confirm, confirms, confirmed""",
    ("report", "doubted"): """
        falsely, wrongly, wrongfully, mistakenly, erroneously, incorrectly, supposedly, allegedly, purportedly,
        ostensibly, so called, pretend, pretends, pretended, pretending, myth, myths, misconception, misconceptions,
        fallacy, untrue, false that, wrong that, incorrect that, wrong to say, wrong to think, wrong to believe,
        wrong to claim, wrong to argue, wrong to assume, false to say, false to claim, reportedly, misguidedly,
        deceitfully, dishonestly, misleadingly, fallaciously, unconvincingly, baselessly, groundlessly, absurdly,
        would have us believe, would have you believe, want us to believe, want you to believe, a lie that, it is a lie,
        delusion, hoax, debunked, discredited, self styled, unfounded, baseless, falsehood""",
    ("report", "endorsed"): """
        rightly, correctly, rightfully, truthfully, accurately, justifiably, convincingly, persuasively, quite rightly,
        right to say, right to think, right to claim, right to argue, correct to say, compellingly, credibly""",
    ("condition", "if"): """
        if, only if, even if, provided, provided that, assuming, assuming that, as long as, on condition that,
        in the event that, in case, given that, supposing, suppose, so long as""",
    ("condition", "unless"): "unless, except, except when, except for, except if",
    ("intent", "plan"): """
        plan to, plans to, planned to, planning to, intend to, intends to, intended to, aim to, aims to, aimed to,
        hope to, hopes to, hoped to, want to, wants to, wanted to, try to, tries to, tried to, attempt to, attempts to,
        attempted to, expect to, expects to, expected to, promise to, promises to, promised to, seek to, seeks to,
        sought to, propose to, proposes to, proposed to, is to be, are to be, is about to, are about to, due to be,
        is set to, are set to, set to, going to, considering""",
    (None, ""): """
        not only, not just, not merely, not simply, not solely, not least, not to mention, whether or not, or not,
        after all, at all, first of all, above all, all in all, if not, why not, no matter, once and for all,
        all the same,
        nothing short of, not until, no sooner, such as, as if, even so, all over, other than, no 1""",
}  # fmt: skip


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_Phrase = tuple[tuple[str, ...], MarkKind | None, str]


def _by_first_word() -> dict[str, tuple[_Phrase, ...]]:
    found: dict[str, list[_Phrase]] = {}
    for (kind, level), phrases in _LISTS.items():
        for phrase in phrases.split(","):
            words = tuple(phrase.split())
            found.setdefault(words[0], []).append((words, kind, level))
    return {word: tuple(sorted(rows, key=lambda row: -len(row[0]))) for word, rows in found.items()}


PHRASES = _by_first_word()
"""The phrases that begin with a word, the longest first: words, kind, level within the kind."""

ONLY_BEFORE_THAT = _words(
    """show shows showed shown know knows knew known reveal reveals revealed demonstrate demonstrates demonstrated
    establish establishes established confirm confirms confirmed"""
)
"""Verbs that are marks before "that" alone."""

NO_MARKS = frozenset(
    [("or", "not"), ("at", "all"), ("after", "all"), ("above", "all"), ("of", "all"), ("as", "if"), ("the", "will"),
     ("free", "will"), ("their", "will"), ("own", "will"), ("of", "may"), ("in", "may"), ("the", "most"),
     ("the", "likely"), ("how", "many"), ("how", "often"), ("so", "many"), ("as", "many"), ("the", "can"),
     ("well", "known"), ("the", "known")]
)  # fmt: skip
"""Pairs of words whose second one is no mark."""

ENDS_SCOPE = frozenset(
    [",", ";", ":", ".", "!", "?", "(", ")", "but", "because", "although", "though", "while", "whereas", "since", "if",
     "unless", "so", "therefore", "which", "who"]
)  # fmt: skip
"""Where the reach of a mark ends; a comma only behind the word that it governs."""

FUNCTION = (
    STOP_WORDS
    | _words(
        """would could should may might must shall can cannot also yet however thus hence therefore moreover furthermore
        upon among amongst towards toward within via per another else even still rather quite very really just us one
        ones let lets much many get gets got make makes made thing things way ways it's that's there's they're
        there they've we've i'm let's doesn do does"""
    )
) - frozenset(["before", "after", "more", "against", "above", "below", "under", "over", "up", "down", "most"])
"""Words that carry no meaning of their own."""

SAYING = frozenset(
    f"{base}{ending}"
    for base in _words("""say argue claim believe think hold add reply state note report maintain insist contend assert
    allege suggest warn point feel fear object counter respond assert complain hope worry admit concede stress explain
    observe declare propose""")
    for ending in ("", "s", "d", "ed", "es", "ing")
) | _words("said held thought felt replies replied worries worried argued arguing argues according")
"""Verbs of saying, in all forms."""

ADVERBS_OF_SAYING = _words(
    """also only early family likely finally similarly equally additionally likewise further conversely accordingly
    consequently usually generally commonly frequently typically repeatedly firmly strongly primarily mainly partly
    secondly thirdly firstly lastly particularly specifically especially simply explicitly implicitly publicly
    originally initially previously recently currently reply apply imply"""
)
"""Words in -ly beside a verb of saying that judge nothing."""

DENIES = frozenset(
    stem(word)
    for word in _words(
        """prevent limit little stop end cease avoid refrain impossible difficult hard necessary needed need require
        debatable solve fix ban withhold remove eliminate reduce decrease lessen less lose loss trouble
        problem zero only keep protect too out against unable refuse reject fail failure lack deny ignore
        violate unfair unwilling untrue false wrong myth question questionable doubt doubtful dispute
        disputed rarely hardly barely few poor bad worse worst harm opposite contrary counterproductive
        instead without unless until neither nor ineffective inefficient unnecessary irrelevant unreliable
        insufficient inadequate useless worthless meaningless pointless free rid exempt restrict restrained
        block hinder discourage forbid prohibit abolish abandon disagree low unlikely improbable rely depend"""
    )
)
"""Stems of words that may stand for a negation: where one comes or goes, another mark may come or go for it."""

COMPARES = _words("more less better best worse worst most least than rather instead beyond too out before")
"""Words that compare, or leave something out: they may stand for a negation too."""
