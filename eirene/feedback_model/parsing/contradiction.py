"""Contradictions between a tag and its comment: "[Complete] However, this sentence is incomplete because ...".

Nobody can tell which of the two the model meant, so such a reply is no critique. Only English comments are read, and of
other languages a comment that begins with the other tag. What is looked for is a plain claim at the beginning of a
clause, of which the tagged sentence is the subject: "it lacks the year", "nothing is missing". What such a clause says
of the rest of the answer, of the world ("it says that the record is incomplete"), or under a condition is no claim.

Every pattern is tried at the beginning of a clause and bounded, so that reading takes time linear in the comment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from eirene.core.critique import Tag
from eirene.feedback_model.parsing.verdict import tag_at
from eirene.text.remembered import remembered

_LOOKED_AT = 4000  # characters of a comment
_SUPPLIED = 25  # words beside the claim: a longer reason gives what is missing, whatever it says first

_QUOTED = re.compile(r"\"[^\"\n]{0,300}\"|“[^”\n]{0,300}”|«[^»\n]{0,300}»|`[^`\n]{0,300}`")
_SHORT = tuple(
    (re.compile(pattern), full)
    for pattern, full in (
        (r"[’‘]", "'"),
        (r"\bcan(?:'t|not)\b", "can not"),
        (r"\bwon't\b", "will not"),
        (r"n't\b", " not"),
        (r"\b(it|this|that|there|what|one)'s\b", r"\1 is"),
        (r"\b(i|it|this|that)'d\b", r"\1 would"),
        (r"[^\S\n]+", " "),
    )
)
_BREAK = re.compile(
    r"[.;:!?](?=\s|$)|\n|,|[()\[\]–—]| - |\b(?P<word>and|but|however|yet|so|because|since|as|therefore|thus|hence|"
    r"(?:even )?though|although|while|whilst|whereas|despite|even if)\b"
)
_ENDS_SENTENCE = frozenset(".;!?\n")
_CONCEDES = frozenset({"though", "even though", "although", "while", "whilst", "despite", "even if", "whereas"})

_LEAD = (
    r"(?:(?:however|actually|but|so|therefore|thus|hence|yet|still|also|indeed|again|wait|no,|yes|hmm+|unfortunately|"
    r"sadly|i (?:would |must |do )?(?:say|think|believe|call|consider|find|feel)(?: that)?|it seems(?: that)?|"
    r"on (?:reflection|second (?:look|thoughts?))|in (?:short|fact|sum)|reasons?|verdict|tag|label)[,:]? ){0,3}"
)
_THING = r"(?:sentence|statement|claim|line|point|item|one|paragraph|explanation|description|information)"
_SUBJECT = (
    rf"(?:(?:(?:this|the|that) )?{_THING}(?: (?:here|itself|given|provided)){{0,2}}|"
    r"this (?:answer|response|part|passage|reply)|it|this|that) "
)
_IS = (
    r"(?:(?:is|was|are|seems|appears|looks|reads|remains|stays)(?: to be)? |"
    r"(?:(?:should|must|has to|ought to) (?:rather )?|can not )be (?:(?:marked|tagged|rated|labell?ed|called|"
    r"considered|judged|seen) )?(?:as )?)"
)
_WAY = (
    r"(?:(?:really|still|clearly|therefore|thus|hence|quite|very|somewhat|rather|largely|also|now|actually|simply|just|"
    r"only|already|fully|entirely|perfectly|completely|obviously|definitely|then|itself|a|an) ){0,3}"
)
_NOUN = (
    r"(?:information|details?|context|explanations?|evidence|sources?|reasons?|figures?|years?|dates?|numbers?|"
    r"examples?|names?|causes?|mechanism|part|half|definition|prices?|costs?|place|background|clarification|data|"
    r"steps?|aspects?|points?|facts?)"
)
_ENDS = (
    r"(?=\s*(?:$|[.,;:!?()\n–—]|-)| (?:because|as|since|here|and|but|by|without|regarding|yet|enough|"
    r"(?:for|to answer|in view of|on) (?:the|this|its|a|an|that|any) (?:question|purpose|answer|reader|sentence)|"
    r"(?:to|information|details?|context|explanation|evidence|answer|response|sentence|statement|account)\b))"
)
_TELLS = (
    r"(?:say|name|mention|explain|state|specify|describe|give|provide|address|answer|cover|include|tell|define|"
    r"clarify|discuss|elaborate|offer|identify|list|show|supply|contain)"
)
_HARMLESS = (
    r"(?! (?:any )?(?:anything|irrelevant|unnecessary|false|wrong|more than|errors?|mistakes?|inaccura\w*|"
    r"contradict\w*|hallucinat\w*|bias|opinions?)\b)"
)
_CLEARLY = r"(?:(?:even|once|[a-z]{1,20}ly) )?"

_TELLS_NOT = rf"(?:(?:does|did|do) not|never) {_CLEARLY}(?:{_TELLS}|says|gives|tells|explains|names|mentions|states)"

_INCOMPLETE = re.compile(
    rf"{_LEAD}(?:{_SUBJECT})?(?:{_IS})?{_WAY}(?:incomplete|insufficient|inadequate|unfinished|lacking|"
    rf"(?:not|never|hardly|far from|anything but|can not be (?:called|considered|seen as))"
    r"(?: (?:really|yet|quite|fully|a|an|being)){0,2} "
    rf"(?:complete|sufficient|adequate|enough)){_ENDS}"
)
_LACKS = re.compile(
    rf"{_LEAD}(?:{_SUBJECT})?{_WAY}(?:"
    rf"(?:lacks|omits|misses|overlooks|ignores|neglects|leaves out|(?:is|was) (?:missing|lacking))"
    rf"(?! (?:nothing|no|none|not)\b) |(?:fails|neglects) to {_TELLS}\b|"
    rf"{_TELLS_NOT}\b{_HARMLESS}|"
    rf"(?:needs|requires) (?:more|further|additional|clarification|elaboration|to {_TELLS})\b|"
    r"(?:gives|provides|offers|contains) (?:too (?:little|few)|insufficient|not enough)\b)"
)
_MISSING = re.compile(
    rf"{_LEAD}(?:(?!no\b|not\b|nothing\b|none\b|neither\b|any\b|that\b|which\b|who\b|answer)[\w'-]{{1,30}} ){{0,4}}"
    rf"{_NOUN} (?:(?:of|for|about|behind) (?:[\w'-]{{1,30}} ){{1,4}})?(?:(?:is|are) (?:still )?(?:missing|lacking|"
    r"absent|left out|omitted|ignored|not (?:given|named|mentioned|explained|described|stated|said|addressed))\b"
    r"|(?:missing|lacking)(?=\s*(?:$|[.,;:!(])| here\b))"
    rf"|{_LEAD}(?:more|further|additional) {_NOUN} (?:(?:about|on|of) (?:[\w'-]{{1,30}} ){{1,4}})?(?:(?:is|are) )?"
    r"(?:needed|required|necessary)\b"
    rf"|{_LEAD}there (?:is|are) (?:not enough|insufficient|too (?:little|few)|a lack of|"
    r"no (?:mention|explanation|indication) of)\b"
    rf"|{_LEAD}no {_NOUN} (?:is|are) (?:given|named|mentioned|provided|stated)\b"
    rf"|{_LEAD}no mention of (?![^.,;:!?\n]{{1,60}} (?:is|was) (?:needed|required|necessary|expected))"
    rf"|{_LEAD}the reader is not told\b|{_LEAD}what is (?:missing|lacking) is\b"
)

_COMPLETE = re.compile(
    rf"{_LEAD}(?:{_SUBJECT})?(?:{_IS})?{_WAY}(?:not (?:at all )?incomplete|by no means incomplete|"
    rf"(?:complete|sufficient|adequate|self-contained|enough|sufficiently detailed)){_ENDS}"
)
_NOTHING = re.compile(
    r"(?:none|n/a)(?=\s*(?:$|[.,;:!–—]|- ))|"
    rf"{_LEAD}(?:there (?:is|seems to be) )?nothing (?:else |more |further |essential |important )?"
    r"(?:(?:is|seems) (?:missing|lacking|absent|left out|omitted|needed|required)|missing|lacking|to add|"
    r"(?:needs|has|ought) to be added|should be added)\b"
    rf"|{_LEAD}no (?:[\w'-]{{1,30}} ){{0,2}}{_NOUN} (?:is|are|seems) (?:missing|lacking|absent|left out|needed|"
    r"required|necessary)\b"
    rf"|{_LEAD}(?:there (?:is|are) |i (?:see|find) )?no (?:missing {_NOUN}|gaps?|omissions?)\b"
    rf"|{_LEAD}i (?:can|could|do) not (?:see|find) anything (?:that is )?(?:missing|lacking)\b"
    rf"|{_LEAD}(?:{_SUBJECT})?(?:lacks|omits|misses|leaves out|needs|requires) "
    rf"(?:nothing|no (?:further|additional|more) {_NOUN})\b"
    rf"|{_LEAD}(?:{_SUBJECT})?(?:is not missing|does not (?:lack|omit|miss|leave out|need|require)) any(?:thing)?\b"
)
_EVERYTHING = re.compile(
    rf"{_LEAD}(?:{_SUBJECT})?{_WAY}(?:gives|provides|contains|offers|has|includes|covers|supplies) (?:the reader )?"
    r"(?:everything(?: that)?(?: (?:the (?:question|reader)|it) (?:needs|asks(?: for)?|calls for|requires))?|"
    rf"(?:all|enough|sufficient|adequate)(?: of)?(?: the)?(?: (?:necessary|needed|required|relevant))? "
    rf"(?:parts|{_NOUN}))\b"
    rf"|{_LEAD}(?:{_SUBJECT})?(?:fully|completely|adequately|sufficiently) "
    r"(?:answers|addresses|explains|covers|describes)\b(?: (?:how|why|what|when|where|who) [^,.;:!?\n]{1,80})?"
)
_NOT_ASKED = re.compile(
    r"\b(?:is|are|was|were|does|do|did|need) not (?:be )?(?:asked|needed|need|required|necessary|requested|essential|"
    r"relevant|matter|call|ask|require|wanted|a problem)\b|\b(?:is|are) (?:fine|ok|okay|acceptable|all right)\b|"
    r"\b(?:optional|unimportant|irrelevant)\b|\bis not(?=\s*(?:$|[.,;!]))"
)
# After "it says that ...", further clauses go on with what it says, but for those that name the sentence again.
_REPORTS = re.compile(
    r"\b(?:says|states|explains|notes|mentions|tells|describes|argues|claims|shows|reports|points out|discusses|covers|"
    r"reveals|clarifies|thinks|believes)\b (?:[\w'-]{1,30} ){0,4}?(?:that|why|how|what|when|where|which|who)\b"
)
_NAMED = re.compile(rf"{_LEAD}(?:this|the|that) {_THING} ")
_ITSELF = re.compile(rf"{_LEAD}{_SUBJECT}")
_SAYS_NO_MORE = re.compile(rf"{_TELLS_NOT}\b|fails to {_TELLS}\b")
_COMPLAINS = re.compile(
    r"\?|\b(?:not|no|nor|never|nothing|none|neither|without|but|however|though|although|yet|while|whereas|except|apart|"
    r"besides|only|lack\w*|miss\w*|omi[ts]\w*|fail\w*|need\w*|require\w*|should|could|would|might|must|more|further|"
    r"additional\w*|add\w*|also|un[a-z]+|vague|part\w*|half|wh(?:y|ich|o|at|en|ere)|how|incomplete|insufficient|too|"
    r"little|few|hardly|barely|better|improv\w*|benefit\w*|helpful|leaves|if|instead|wrong|incorrect|inaccurate)\b"
)


@dataclass(frozen=True, slots=True)
class _Clause:
    """Where a clause begins, and the word that joins it to what stands before."""

    at: int
    word: str | None


def is_contradicted(tag: Tag, comment: str) -> bool:
    """Whether the comment beside a tag says the other thing of the same sentence. Takes time linear in the comment."""
    return bool(comment) and not comment.isspace() and _contradicts(comment, tag)


@remembered(2048, longest=1_000)  # samples of one answer often say the same of a sentence
def _contradicts(comment: str, tag: Tag) -> bool:
    first = tag_at(comment)
    text = _plain(comment)
    return _denies_complete(text, first) if tag == "Complete" else _denies_incomplete(text, first)


def _plain(comment: str) -> str:
    """In lower case, without quotations, with the short forms of "not", "is" and "would" written out."""
    text = _QUOTED.sub(" ", comment[:_LOOKED_AT]).lower()
    for pattern, full in _SHORT:
        text = pattern.sub(full, text)
    return text.strip()


def _claims(text: str) -> Iterator[_Clause]:
    """The clauses in which something may be said of the tagged sentence itself."""
    at, word, is_report = 0, None, False
    for end, after, is_over in _breaks(text):
        at = _past_space(text, at)
        has_own = _NAMED.match(text, at) is not None or (word == "but" and _SAYS_NO_MORE.match(text, at) is not None)
        if not is_report or has_own:
            yield _Clause(at, word)
        is_report = not is_over and (is_report or _REPORTS.search(text, at, end) is not None)
        at, word = after


def _breaks(text: str) -> Iterator[tuple[int, tuple[int, str | None], bool]]:
    """Where a clause ends, where the next begins with the word that joins them, and whether a sentence ends there."""
    for found in _BREAK.finditer(text):
        yield found.start(), (found.end(), found["word"]), found.group() in _ENDS_SENTENCE
    yield len(text), (len(text), None), True


def _past_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in " *_\t":
        at += 1
    return at


def _denies_complete(text: str, first: tuple[Tag, int] | None) -> bool:
    """Whether something is said to be missing, and nothing later that it does not matter or that all is there."""
    denied = 0 if first is not None and first[0] == "Incomplete" else -1
    settled = max((found.start() for found in _NOT_ASKED.finditer(text)), default=-1)
    for clause in _claims(text):
        if _INCOMPLETE.match(text, clause.at) or (clause.word not in _CONCEDES and _is_lacking(text, clause)):
            denied = clause.at
        elif _all_there(text, clause.at):
            settled = max(settled, clause.at)
    return denied > settled


def _is_lacking(text: str, clause: _Clause) -> bool:
    # "It says when the law was made and lacks a verb": after "and" the subject may be another one.
    return (clause.word != "and" or _ITSELF.match(text, clause.at) is not None) and (
        _LACKS.match(text, clause.at) is not None or _MISSING.match(text, clause.at) is not None
    )


def _all_there(text: str, at: int) -> re.Match[str] | None:
    return _COMPLETE.match(text, at) or _NOTHING.match(text, at) or _EVERYTHING.match(text, at)


def _denies_incomplete(text: str, first: tuple[Tag, int] | None) -> bool:
    """Whether the reason says that nothing is missing, and beside that neither complains nor says much."""
    rest, at, is_denied = [], 0, first is not None and first[0] == "Complete"
    for clause in _claims(text):
        found = _all_there(text, clause.at)
        if found and clause.at >= at:
            rest.append(text[at : clause.at])
            at, is_denied = found.end(), True
    said = " ".join([*rest, text[at:]])
    return is_denied and len(said.split()) <= _SUPPLIED and _COMPLAINS.search(said) is None
