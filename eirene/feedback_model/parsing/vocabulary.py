"""The vocabulary of verdicts in many languages: tags, the word before a reason, the word before a number.

A word stands here only if it says nothing but "complete" or "incomplete"; "partly", "mostly" or "good" are no verdicts.
"""

from __future__ import annotations

import re
import unicodedata

from eirene.core.critique import Tag

_COMPLETE = """
complete|vollständig|komplett|complet|complète|completo|completa|volledig|compleet|fullständig|komplet|fuldstændig
fullstendig|kompletny|kompletna|kompletne|kompletní|úplný|úplná|úplné|teljes|täydellinen|lengkap|đầy đủ|πλήρης|πλήρες
полный|полная|полное|полно|повний|повна|повне|tam|كامل|كاملة|مكتمل|مكتملة|کامل|שלם|מלא|पूर्ण|সম্পূর্ণ|完整|完全|完備|완전|완전함
"""
_INCOMPLETE = """
incomplete|not complete|unvollständig|nicht vollständig|inkomplett|incomplet|incomplète|incompleto|incompleta
onvolledig|niet volledig|incompleet|ofullständig|ufuldstændig|ufullstendig|inkomplet|niekompletny|niekompletna
niekompletne|niepełny|niepełna|niepełne|nekompletní|neúplný|neúplná|neúplné|hiányos|epätäydellinen|puutteellinen
tidak lengkap|không đầy đủ|chưa đầy đủ|ελλιπής|ελλιπές|неполный|неполная|неполное|неполно|неповний|неповна|неповне
eksik|غير كامل|غير كاملة|غير مكتمل|غير مكتملة|ناقص|ناقصة
לא שלם|לא מלא|חסר|अपूर्ण|অসম্পূর্ণ|不完整|不完全|不完備|不完备|불완전|불완전함
"""
_REASON = """
reasons|reason|rationale|explanation|justification|gründe|grund|begründung|raisons|raison
motifs|motif|razones|razón|motivos|motivo|motivi|motivazione|ragioni|ragione|razões|razão|justificativa|redenen|reden
skäl|anledning|grunde|årsak|begrunnelse|powody|powód|uzasadnienie|důvody|důvod|indoklás|syyt|syy|perustelu|alasan|lý do
λόγοι|λόγος|αιτιολογία|причины|причина|обоснование|причини|обґрунтування|nedenler|neden|gerekçe|الأسباب|أسباب|السبب|سبب
دلیل|دلایل|סיבות|סיבה|נימוק|कारण|কারণ|原因|理由|이유
"""
_NUMBERED = """
statement|sentence|item|point|claim|line|no|nr|s|aussage|satz|affirmation|phrase|énoncé|afirmación|oración|frase
enunciado|affermazione|afirmação|sentença|zin|uitspraak|stelling|påstående|mening|zdanie|stwierdzenie|věta|tvrzení|mondat
állítás|väite|lause|pernyataan|kalimat|câu|πρόταση|утверждение|предложение|твердження|речення|ifade|cümle|العبارة
الجملة|جملة|عبارة|משפט|טענה|कथन|वाक्य|第|文|句|語句|陈述|句子|문장|진술
"""
_VERDICT = """
tag|verdict|evaluation|status|rating|assessment|judgement|judgment|label|result|completeness|bewertung|urteil|évaluation
verdict|evaluación|veredicto|valutazione|avaliação|beoordeling|ocena|оценка|التقييم|评估|評価|판정|标签
"""
_YES = "yes|true|ja|oui|sí|si|sim|да|tak|是|はい|نعم"
_NO = "no|not|false|nein|nee|non|não|нет|nie|否|不|いいえ|لا"


def _split(table: str) -> list[str]:
    return [word for line in table.split("\n") for word in line.split("|") if word]


def fold(text: str) -> str:
    """The text as words are compared: compatible forms joined, case and surrounding white space dropped."""
    if text.isascii():  # the same, at a third of the cost; most words of a reply are such
        return " ".join(text.lower().split())
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


TAGS: dict[str, Tag] = {}
TAGS.update((fold(w), "Complete") for w in _split(_COMPLETE))
TAGS.update((fold(w), "Incomplete") for w in _split(_INCOMPLETE))
"""Folded word to tag."""


REASONS = frozenset(map(fold, _split(_REASON)))
LABELS = frozenset(map(fold, _split(_NUMBERED)))
VERDICTS = frozenset(map(fold, _split(_VERDICT)))
YES, NO = frozenset(map(fold, _split(_YES))), frozenset(map(fold, _split(_NO)))
"""Folded words: before a reason, before a number, before a tag; plain answers to a question."""

REASON_KEYS = REASONS | {"why", "feedback", "comment", "details", "note", "missing"}
VERDICT_KEYS = VERDICTS | {"classification", "completion"}

_PLACEHOLDERS = frozenset({
    "none", "n/a", "na", "null", "nil", "nothing", "no", "reason", "reasons", "no reason", "no reasons",
    "not applicable", "tbd", "todo", "unknown", "your reason", "your reasons", "what is missing",
    "keine", "aucune", "ninguna", "нет", "无", "なし",
})  # fmt: skip


_NO_LETTERS = re.compile(r"[\W_]+")


def is_reason(text: str) -> bool:
    """Whether the text can stand as a reason: it holds a word, and is no blank to be filled in."""
    said = text.strip().strip("*_`\"'“”‘’ ")
    if said[:1] in "<{[" and said[-1:] in ">}]" and said[:1]:  # "<what is missing>": the format, not a reason
        return False
    return any(c.isalnum() for c in said) and fold(said[:80]).strip(".!: ") not in _PLACEHOLDERS


def stream(text: str) -> str:
    """Letters and digits alone, case dropped: the same for a quotation, however it is set and punctuated."""
    return _NO_LETTERS.sub("", text).casefold()
