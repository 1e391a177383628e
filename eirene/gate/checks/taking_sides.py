"""Taking a side: a sentence in which the answer itself says who is right, where no text before does."""

from __future__ import annotations

import re
from functools import cached_property

from eirene.gate.checks.base import EditCase

_PEOPLE = (
    r"(?:supporters?|opponents?|proponents?|critics?|advocates?|defenders?|sceptics|skeptics|campaigners?|detractors?"
    r"|objectors?|adversaries|backers?|champions|naysayers)"
)
_WHICH = r"(?:first|second|former|latter|other|one|opposing|supporting|affirmative|negative|pro|con|yes|no)"
_SIDE = (
    rf"(?:{_PEOPLE}|{_WHICH}[- ](?:sides?|camp|view|position|group|case|arguments?)"
    r"|(?:this|that|either)\s+(?:side|camp|view)"
    r"|(?:sides?|case|arguments?|reasons?|position|evidence|views?|points?)\s+(?:for|against|in\s+favou?r(?:\s+of)?|of)\b"
    r"|those\s+(?:who|in\s+favou?r|against)"
    r"|(?:the|their)\s+(?:former|latter|pros|cons|benefits|drawbacks|advantages|disadvantages))"
)
_RIGHT = (
    r"(?:right|correct|wrong|mistaken|incorrect|convincing|persuasive|compelling|strong(?:er|est)|weak(?:er|est)?|better|best"
    r"|worse|justified|misguided|valid|invalid|sound|true|false|superior|inferior|nonsense|ridiculous|absurd|foolish|naive"
    r"|dishonest|unfounded|baseless|flawed|deluded|confused|lying|sensible|winners?|losers?|truth|upper\s+hand|more\s+\w+ing"
    r"|in\s+the\s+(?:right|wrong)|hypocrit\w+|unreasonable|reasonable|plausible|implausible|irrefutable|overwhelming)"
)
_ADVERB = r"(?:\s+(?:\w+ly|all|quite|just|so|very|much|far|the|a|an|not|also|indeed|been|by\s+far|on\s+the\s+whole))"
_VERDICT = re.compile(
    rf"\b(?:any(?:one|body)|every(?:one|body)|those|whoever|all)\s+(?:who\s+)?(?:\w+\s+){{1,5}}?(?:is|are){_ADVERB}{{0,3}}\s+{_RIGHT}\b|"
    rf"\b{_SIDE}(?:\s+[\w'’-]+){{0,8}}?{_ADVERB}{{0,3}}\s+(?:are|is|were|was|seems?|appears?|have|has|get|got|proves?|looks?|makes?)"
    rf"{_ADVERB}{{0,4}}\s+{_RIGHT}\b"
    rf"|\b{_SIDE}(?:\s+(?:of|that|to|in)\s+\w+(?:\s+\w+){{0,3}}?)?{_ADVERB}{{0,3}}\s+(?:wins?|won|prevails?|loses?|outweighs?|deserves?\s+(?:support|to)"
    r"|carry|carries\s+the|have\s+it|has\s+it|convinces?\s+(?:more|most))\b"
    rf"|\b(?:agree|disagree|side|siding|sympathi[sz]e)\s+with\s+(?:the\s+)?{_SIDE}"
    rf"|\b(?:favou?rs?|supports?|vindicates?|proves?|confirms?)\s+(?:the\s+)?{_PEOPLE}\b(?!['’])",
    re.IGNORECASE,
)
_OPENING = re.compile(
    r"\A\W*(?:(?:in|to)\s+(?:conclu\w+|sum(?:mary)?|short|truth|reality|fact)|overall|ultimately|in\s+the\s+end|all\s+(?:in\s+all|things"
    r"\s+considered|told)|on\s+balance|(?:it\s+is\s+|it['’]s\s+|quite\s+)?(?:clear(?:ly)?|obvious(?:ly)?|undoubtedly|undeniabl[ey]|plain(?:ly)?|evident(?:ly)?)"
    r"|certainly|surely|without\s+(?:a\s+|any\s+)?doubt|no\s+doubt|there\s+(?:is|can\s+be)\s+no\s+(?:doubt|question)|the\s+(?:truth|answer"
    r"|verdict|conclusion|bottom\s+line|reality|(?:right|correct)\s+(?:answer|side|view|choice|decision|course|position|conclusion))\b|having\s+\w+ed|after\s+(?:weighing|all)|weighing|taken\s+together"
    r"|(?:so|therefore|thus|hence)\b|yes\b|no,|it\s+follows|we\s+(?:must|should|have\s+to|can\s+only)\s+conclude|any\s+(?:reasonable|sensible|honest|decent))",
    re.IGNORECASE,
)
_STANCE = re.compile(
    r"\b(?:should|must|ought|ha(?:s|ve)\s+to|needs?\s+to|right|wrong|better|best|worse|worst|justified|unjustified|necessary|outweighs?"
    r"|good|bad|immoral|moral|unacceptable|acceptable|only|deserves?|makes?\s+(?:no\s+)?sense|reject(?:ed)?|support(?:ed)?|oppos(?:e|ed)|abolish(?:ed)?"
    r"|ban(?:ned)?|wise|unwise|harmful|beneficial|yes|stronger|weaker|convincing|true|false|indefensible|essential|dangerous)\b",
    re.IGNORECASE,
)
_BALANCED = re.compile(
    r"\b(?:both|each\s+side|either|neither|depends?|remains?|differ\w*|disagree\w*|debate\w*|divided|complex\w*|balance|consensus|open|sides|views"
    r"|controvers\w+|contested|disputed|trade-?offs?|individual|careful\w*|question\w*|further|whether|opinions?)\b",
    re.IGNORECASE,
)
_SAID = re.compile(
    r"\b(?:say|says|said|argue\w*|claim\w*|hold|holds|held|believe\w*|think|thinks|thought|contend\w*|maintain\w*|insist\w*|add|adds|added|repl(?:y|ies|ied)"
    r"|counter\w*|point\w*\s+out|note|notes|noted|object\w*|feel|feels|felt|considers?|suggest\w*|assert\w*|stress\w*|warn\w*|fear\w*|hope\w*|see|sees"
    r"|according\s+to|in\s+(?:their|his|her|its)\s+view|in\s+the\s+(?:view|eyes|opinion)\s+of|for\s+them|from\s+(?:their|this|that)\s+\w+|is\s+that|conclude[sd]?"
    r"|(?:reason|argument|objection|point|case|view)\w*\s+(?:given|made|is|goes|runs))\b",
    re.IGNORECASE,
)
_SIDES = re.compile(r"\b(?:for\s+and\s+against|pros\s+and\s+cons|debate|both\s+sides)\b", re.IGNORECASE)
_DEBATE = re.compile(
    r"\b(?:arguments?\s+for\s+and\s+against|pros\s+and\s+cons|for\s+or\s+against|should|ought|debate|controvers\w+|sides?\b|justified|legal\w*|ban\w*)\b",
    re.IGNORECASE,
)


class Views:
    """The answer's own views of who is right: those of a new sentence, where no text before gives one.

    What somebody is said to say is no view of the answer's.
    """

    def __init__(self, case: EditCase) -> None:
        self._case = case

    def taken(self, text: str) -> str | None:
        """The words with which a sentence takes a side; None where it does not, or where the texts before do."""
        found = _verdict(text)
        if found and not self._has_verdict:
            return found
        return text if self._is_debate and _concludes(text) and not self._has_conclusion else None

    @cached_property
    def _sentences(self) -> tuple[str, ...]:
        case = self._case
        return (*(case.old(e) for e in case.edits if e.before), *case.given_texts)

    @cached_property
    def _has_verdict(self) -> bool:
        return any(_verdict(text) for text in self._sentences)

    @cached_property
    def _has_conclusion(self) -> bool:
        return any(_concludes(text) for text in self._sentences)

    @cached_property
    def _is_debate(self) -> bool:
        case = self._case
        if case.given.source == "context":
            return _SIDES.search(case.question) is not None
        return case.given.source == "perspectives" or _DEBATE.search(case.question) is not None


def _verdict(text: str) -> str | None:
    found = _VERDICT.search(text)
    return None if found is None or _SAID.search(text, 0, found.end()) else found[0]


def _concludes(text: str) -> bool:
    opening = _OPENING.match(text)
    if opening is None or not _STANCE.search(text, opening.start()) or _BALANCED.search(text):
        return False
    return _SAID.search(text) is None
