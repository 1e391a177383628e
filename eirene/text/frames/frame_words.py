"""Closed classes of words that frame a statement, by stem: denials, doubts, words for truth, what takes a "that"."""

from __future__ import annotations

from eirene.text.words import stem


def _stems(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in text.split())


LABELS = _stems(
    """false falsehood untrue incorrect mistaken erroneous myth misconception fallacy hoax fabrication fake lie lied
    debunked disproved disproven refuted discredited retracted unfounded baseless groundless nonsense untruth
    misinformation"""
)
"""What calls a statement untrue, and nothing else: no act is a myth."""
FALSE = LABELS | _stems(
    """falsely wrong wrongly wrongfully incorrectly mistakenly erroneously inaccurate inaccurately misguidedly misbelief
    fallacious contrary deny denial reject rejection dismiss contradict rebut disinformation superstition delusion
    withdraw withdrew withdrawn misreport misinformed"""
)
OPEN = _stems(
    """rumour rumor gossip alleged allegedly allegation alleges supposedly purportedly hypothesis hypotheses
    hypothetical hypothetically conjecture speculation suppose assume assumption pretend doubt doubtful dispute
    question unclear uncertain unproven unproved unconfirmed unverified unknown unlikely wonder ask despite whether
    investigate suspicion"""
)
NO_DOUBT = _stems("doubt question dispute debate")
"""What affirms where it is denied: "There is no doubt that"."""
TRUE = _stems("true truth case correct right accurate fact so")
FACTIVE = _stems(
    """know knew known aware realise realize notice remember forget forgot forgotten regret understand understood
    surprise surprising secret coincidence accident overlook"""
)
"""What takes a statement for true even where it is denied: "Few did not know that"."""
FINDING = _stems(
    """show shown find found prove proven confirm conclude teach taught reveal demonstrate discover establish determine
    learn see saw"""
)
"""What tells what came out."""
TELLING = FINDING | _stems(
    """say said think thought believe state assert maintain argue hold held insist admit accept agree mention tell told
    write wrote explain note warn announce declare add"""
)
"""Verbs with a "that" whose subject is no frame of it: "The test showed that"."""
TALES = LABELS | _stems("rumour rumor gossip allegation hypothesis conjecture speculation superstition delusion")
"""What tells of something that may not be so: "Rumour said that"."""
HEADS = (
    TELLING
    | FALSE
    | OPEN
    | TRUE
    | FACTIVE
    | _stems(
        """say said claim think thought believe belief argue argument state assert assertion maintain hold held suggest
        suggestion show shown prove proof proven find found report confirm confirmation conclude statement evidence
        sign indication idea notion view theory story tale legend accusation possibility prospect likely possible clear
        certain impression mention accept admit agree support teach taught insist suspect it impossible indicate"""
    )
)
"""What a "that" with a statement follows."""
SAYING = _stems("say said claim think thought believe argue assert suggest suppose assume deny doubt")
"""The same without its "that"."""
PLANNED = _stems("planned intended supposed scheduled meant proposed due hoped")
PLAN = _stems("plan proposal intention scheme idea")
LOOSE = _stems(
    """hope expect intend want wish try tried attempt seek sought aim promise threaten pretend refuse forecast vow offer
    dream plan planned proposed"""
)
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
