"""Function words of other languages than English: tell the language of a clause that is too short for its letters.

Articles, pronouns, prepositions and auxiliaries, without those that are English words as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from types import MappingProxyType

_LISTS = {
    "German": """der das und ist nicht ein eine einer eines einem einen mit sich auf für von dem zu zur zum auch es wird
        sind wir aber oder wie nur noch nach bei über haben hat kann werden diese dieser dieses sie ich wenn dass weil
        alle kein keine durch gegen ohne sehr mehr muss dies ihr ihre seine sein im vom beim als ob schon doch""",
    "French": """le la les une des et est pas que qui dans ce cette ces il elle nous vous ils elles sont être ne au aux
        du de en sa ses leur leurs mais où très c'est n'est qu c l n aussi été fait peut était je tu cela comme avec
        entre tous toutes""",
    "Spanish": """el la los las una unos y es de que en por para se su sus del al lo más pero como este esta esto estas
        muy también nos ni ser porque sobre entre cuando está están fue hace sino todos ya le les""",
    "Italian": """il lo la gli le uno una di che è e non del della dei delle degli nel nella sono più ma si ci anche
        questo questa questi suo loro perché molto dal dalla alla al essere ai è stato fra tutti""",
    "Portuguese": """os um uma de que e é não em para por com da dos das na nos nas se mais mas ao ou seu sua são isso
        este esta como muito também quando ser tem pelo pela foi todos à""",
    "Dutch": """de het een en niet van dat op te zijn voor met aan maar ook als bij naar dit deze dit wordt worden geen
        wij zij ze hij hebben heeft uit wat nog tegen omdat alle hun""",
    "Swedish": """och att det som en är på av för med inte till de om ett har så sig från men kan ska vi jag eller alla
        detta mot""",
    "Danish": """og at det som en er på af for med ikke til de om et har så sig fra men kan skal vi jeg eller alle dette
        mod være""",
    "Norwegian": """og at det som en er på av for med ikke til de om et har så seg fra men kan skal vi jeg eller alle
        dette mot være""",
    "Polish": """w na z nie się że jest jak ale po tak za od są przez dla oraz być który która które tylko już ich jego
        ze czy""",
    "Czech": "je že se na v s z jsou jako ale není který která pro aby ve podle také nebo jen už jeho byl",
    "Romanian": "și în de la că nu este pe cu care din mai pentru sunt este prin sau acest această dar fi lui ale",
    "Hungarian": "az és hogy nem egy van ez csak meg vagy már mert ezt azt volt lehet kell",
    "Finnish": "ja ei että oli hän mutta ovat tai kun ole myös joka kuin niin sen tämä voi",
    "Turkish": "ve bir bu için ile çok olarak değil daha gibi ama var her olan kadar sonra ne",
    "Indonesian": "dan yang untuk dengan ini itu tidak adalah dari pada dalam akan oleh bisa ke atau juga mereka",
    "Latin": "et est non ut ad cum sed quod qui esse sunt enim ex ab aut nec quae atque",
}
FUNCTION_WORDS = MappingProxyType({language: frozenset(words.split()) for language, words in _LISTS.items()})
"""The function words of each language, by its English name, lower case."""

# No French, German or Spanish word: enough to tell English from those.
_ENGLISH = """
    the of and to is that it as are with be this have they from or which has can will their there who but its these
    those should would could not by we you he she his her our was were been than then into about more if so what when
    where how because while also such does did do say says argue some any all other another between through
"""
ENGLISH_WORDS = frozenset(_ENGLISH.split())
"""Frequent English words that the other languages have not."""

_WORD = re.compile(r"[^\W\d_]+(?:['’](?=[^\W\d_]))?")


def plain_words(text: str) -> list[str]:
    """The words of a text in lower case, split at apostrophes (so that "l'eau" is "l" and "eau")."""
    return [word.rstrip("'’") for word in _WORD.findall(text.lower())]


def function_words_of(language: str, words: Iterable[str]) -> set[str]:
    """The distinct function words of a language among `words`; none for a language that has no list."""
    known = ENGLISH_WORDS if language == "English" else FUNCTION_WORDS.get(language, frozenset())
    return set(known.intersection(words))
