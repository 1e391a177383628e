"""Abbreviations and ordinals of other languages than English: full stops inside sentences ("am 3. Mai", "Sra. Gil").

`sentencex` knows some for some languages. Here are those that lead into a name or a number. Most are told by their
shape: letters without a vowel ("Nr.", "ст."), or one letter.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from unicodedata import normalize

_SHARED_LIST = """
    adr adv afd ang approx aprox arch arq asist aufl avd avda avv bijv bijz bl.a borgm ca cad cav cca cnel cía d-na
    d.h d.w.z dipl dna doc dott dott.ssa doç dpto env esim evt evtl excl excmo exkl exma exmo f.eks fam ford geb geom
    gral gör hrsg ifj incl ing inkl inż judr lic m.in maks mej mevr mlle mme mmes mons mudr napr např nro núm núms o.a
    o.m p.ej p.zza pagg prof prof.ssa profa profs pza pág págs rag resp rva rvdo serg sig.na sig.ra sigg sog sra sras
    srta szerk t.ex tel teol toht u.a ul vedr yrd z.b zob zzgl özv öğr αρ κα καθ κος οδ адм акад буд бул доц инж наб
    напр ок пер просп проф тел ул
"""
_NUMBERED_LIST = """
    abb abr abs adr afb afl ago alin anm anx ap app apr apt art artt aug avr bil buc cap caps chap coll dec dez dic
    déc ed edif eds et fasc feb febbr febr fig figs godz hfdst int jan janv jud kap kat kol kuv lib liite lit livr min
    márc no nos nov num obr oct ods odst okt ott pag par pos poz poł rozdz rys sec sect sep sept séc seç tab tabl taul
    tav tit tom ust vol vols výd şek εικ κεφ σελ авг апр вып дек ек илл корп мин ном нояб окт оф разд рис сент табл февр
    эт янв
"""
_LISTS = {
    "de": "abt anm bes betr fa gest jun mill mio sen",
    "no": "ca mill",
    "sv": "ca milj förf",
    "cs": "nám",
    "sk": "nám",
    "fi": "dos ent hra huom klo nro os puh tri",
    "pl": "al hab kol ok os por pow woj",
    "tr": "alb apt av bul mah no sok ör örn",
    "hu": "id ill kb kol max u ún vö",
    "es": "av dra ed ee ej inc sta sto",
    "it": "col egr es gen gent on sen sig spett",
    "pt": "av cel dep dra eng ex gen min pe rev sta sto",
    "nl": "burg geb ir maj",
    "fr": "av boul ex me éd",
    "ro": "av ex jud sos",
}
_SHARED = frozenset(_SHARED_LIST.split())
_BEFORE_NUMBER = frozenset(_NUMBERED_LIST.split())
ABBREVIATIONS = MappingProxyType({code: frozenset(words.split()) for code, words in _LISTS.items()})
"""Abbreviations that are words of other languages, by their language's code, lower case, without the full stop."""

# Where nouns and names have capitals too, it takes one of these before a number for an ordinal.
_GERMAN = (
    r"(?:a[mn]|[dD](?:er|ie|as|em|en|es)|[iI]m|[vV]o[mn]|[zZ]u[mr]|[bB]eim|[sS]eit|[uU]nd|jede\w{0,2}"
    r"|(?:ein|sein|ihr)e[mnrs]?)"
)
_BEFORE_ORDINAL = {"de": _GERMAN, "da": r"(?:[dD]e[nt]?|og)", "no": r"(?:[dD]e[nt]?|og)", "cs": r"(?:[vV]e?|[dD]ne|a)"}
_NUMBER = r"(?:\d{1,3}|[IVXL]{1,7})\.\s+\Z"
_AFTER_ITS_WORD = {code: re.compile(rf"(?<!\w){words}\s+{_NUMBER}") for code, words in _BEFORE_ORDINAL.items()}
_ORDINAL = re.compile(r"(?<![\w.,])(?:\d{1,4}|[IVXL]{1,7})\.\s+\Z")
_VERB_LAST = frozenset(["tr"])
"""Languages whose sentences end in their verb: a number there is an ordinal."""
_NUMBERED = re.compile(r"(?:\d|(?<![^\W\d_])[IVXL]{1,7})\.\s*\Z")
_ALONE = re.compile(rf"\W*{_NUMBER}")
_LAST_WORD = re.compile(
    r"(?P<number>(?:\d|\b[IVXL]+)\.?\s*)?(?<![\w.])(?!(?<=['’])\w\.)(?P<word>(?:[^\W\d_]{1,6}[.-])*[^\W\d_]{1,6})\.\s*\Z"
)
_STARTS_NUMBER = re.compile(r"\d|[IVXL]+\b")
_GOES_WITH_LETTER = re.compile(r"\d|[^\W\d_]\.")  # "str. 5 m. 12", "52 a. C."
_VOWELS = frozenset("aeiouyæøœıαεηιουωаеёиоуыэюяіє")
_WORDS_WITHOUT = frozenset(["chr", "hbf", "krk", "trn", "vlk", "zł"])

_EVERY = _SHARED.union(_BEFORE_NUMBER, *ABBREVIATIONS.values())


def may_go_on(before: str) -> bool:
    """Whether a sentence may go on in some language after what `before` ends with: a number or an abbreviation."""
    found = _LAST_WORD.search(before)
    if found is None:
        return _NUMBERED.search(before) is not None
    return found["word"].lower() in _EVERY or _is_short(found["word"])


def goes_on_abroad(before: str, following: str, code: str) -> bool:
    """Whether a sentence in the language `code` goes on after the full stop and the space that `before` ends with.

    `before` begins with the sentence, or with a window of it; `following` is what comes after it. A number before a
    small letter is an ordinal, before a capital one where its language tells: "Es kamen 3. Dann regnete es." ends.
    A small letter begins no sentence where capital ones are written.
    """
    tells, starts_small = _AFTER_ITS_WORD.get(code), following[:1].islower()
    if _ORDINAL.search(before) and (starts_small or following[:1].isdecimal() or code in _VERB_LAST):
        return True
    if (tells is not None and tells.search(before)) or _ALONE.fullmatch(before):
        return True
    if starts_small and not before.islower():
        return before.rstrip().endswith(".")
    found = _LAST_WORD.search(before)
    return found is not None and _leads_on(found["word"].lower(), following, code, found)


def _leads_on(word: str, following: str, code: str, found: re.Match[str]) -> bool:
    """Whether a word with a full stop is an abbreviation that leads into what follows."""
    if word in _SHARED or word in ABBREVIATIONS.get(code, ()):
        return True
    if word in _BEFORE_NUMBER and _STARTS_NUMBER.match(following):
        return True
    if len(word) == 1 and _GOES_WITH_LETTER.match(following):
        return True
    return not found["number"] and _is_short(found["word"])


def _is_short(word: str) -> bool:
    """Whether a word is an abbreviation by its shape; one in capitals is a name ("BBC")."""
    if len(word) == 1:
        return True
    letters = normalize("NFD", word.lower())
    return (
        word.isalpha()
        and len(word) <= 3
        and not word.isupper()
        and _VOWELS.isdisjoint(letters)
        and word.lower() not in _WORDS_WITHOUT
    )
