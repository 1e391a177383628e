"""Closed classes of words that frame a statement, by stem: denials, doubts, words for truth, what takes a "that"."""

from __future__ import annotations

from eirene.text.words import listed_words, stem


def _stems(text: str) -> frozenset[str]:
    return frozenset(map(stem, text.split()))


def stem_set(name: str) -> frozenset[str]:
    """The stems of a list of `tables/words.txt`."""
    return frozenset(map(stem, listed_words(name)))


LABELS = stem_set("frames labels")
"""What calls a statement untrue, and nothing else: no act is a myth."""
FALSE = LABELS | stem_set("frames false")
OPEN = stem_set("frames open")
NO_DOUBT = _stems("doubt question dispute debate")
"""What affirms where it is denied: "There is no doubt that"."""
TRUE = _stems("true truth case correct right accurate fact so")
FACTIVE = stem_set("frames factive")
"""What takes a statement for true even where it is denied: "Few did not know that"."""
FINDING = stem_set("frames finding")
"""What tells what came out."""
TELLING = FINDING | stem_set("frames telling")
"""Verbs with a "that" whose subject is no frame of it: "The test showed that"."""
TALES = LABELS | _stems("rumour rumor gossip allegation hypothesis conjecture speculation superstition delusion")
"""What tells of something that may not be so: "Rumour said that"."""
HEADS = TELLING | FALSE | OPEN | TRUE | FACTIVE | stem_set("frames heads")
"""What a "that" with a statement follows."""
SAYING = _stems("say said claim think thought believe argue assert suggest suppose assume deny doubt")
"""The same without its "that"."""
PLANNED = _stems("planned intended supposed scheduled meant proposed due hoped")
PLAN = _stems("plan proposal intention scheme idea")
LOOSE = stem_set("frames loose")
"""What is wished or tried, and may not have come about, behind a "to" or "that"."""
CONSIDERED = _stems("consider contemplate envisage suggest propose")
ACCUSED = _stems("accuse suspect")
NEARLY = frozenset(["nearly", "almost"])
ONCE_THOUGHT = _stems("believe thought think suppose assume hold held")
UNTIL = frozenset(["until", "once", "formerly", "long", "originally"])

ALLEGING = frozenset(["allegedly", "supposedly", "purportedly", "ostensibly", "hypothetically"])
CONDITIONS = frozenset(["if", "unless", "suppose", "supposing", "assuming", "imagine", "assume"])
PLACING = frozenset(["in", "at", "on", "by", "with", "near", "between", "behind", "within"])
"""What a "lie" that deceives nobody is followed by."""
UNREAL = frozenset(["would", "could", "might"])
ENDS = frozenset([";", ":", "(", ")", ".", "!", "?"])
TURNS = frozenset(["but", "although", "though", "while", "whereas", "yet", "because", "which", "who"])
PREPOSITIONS = frozenset(["contrary", "despite", "against", "notwithstanding", "regardless"])
_BEFORE_A_NOUN = "a an the this that these those his her its their our my of in with for by"
BEFORE_A_NOUN = frozenset(_BEFORE_A_NOUN.split())
PREDICATES = frozenset(["is", "was", "are", "were", "has", "have", "had", "turned", "remains", "proved", "proves"])
PAST = frozenset(["was", "were", "had", "been", "once", "originally", "initially", "first"])
ASKS = frozenset(["what", "why", "how", "when", "where", "which", "who", "whom", "whose"])
