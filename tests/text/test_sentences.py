"""Sentence cutting: the pieces are a partition of any text whatever, and hard cases are cut where a reader would."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from eirene.text.sentences import split_sentences

PARTS = [
    *[
        "One.",
        "Two! ",
        "three",
        " ",
        "\n",
        "\r\n",
        "\n\n",
        "\t",
        "- ",
        "  * ",
        "1. ",
        "(a) ",
        "# ",
        "> ",
        "```",
        "```py\n",
    ],
    *[
        "~~~\n",
        "| a. B |\n",
        "https://x.org/a.B?c=D.",
        "e.g. ",
        "Dr. ",
        "J. R. ",
        "3.14",
        "…",
        "... ",
        '"',
        "“No.” ",
        "**",
    ],
    *[
        "🎉",
        "👩‍👧",
        "这是。",
        "「はい。」",
        "と",
        "مرحبا؟ ",
        "है। ",
        "\u200b",
        "\u2028",
        "\x0c",
        "\x00",
        "\u00a0",
        "[1]",
        "</p>",
    ],
    *["[Incomplete]", "### Response:", "\ud800", "e\u0301", "²"],
]
any_text = st.text(st.characters(), max_size=80) | st.lists(st.sampled_from(PARTS), max_size=25).map("".join)


@given(any_text)
@example("")
@example(" \n ")
@example("\ud800. \udfff X.")
def test_pieces_partition_the_text_and_know_where_they_are(text: str) -> None:
    pieces = split_sentences(text)
    assert "".join(p.raw for p in pieces) == text
    assert [p.n for p in pieces] == list(range(1, len(pieces) + 1))
    assert [p.start for p in pieces] == [0, *(p.end for p in pieces)][: len(pieces)]
    for p in pieces:
        assert text[p.start : p.end] == p.raw != ""
        assert text[p.text_start : p.text_end] == p.text == p.raw.strip()


@given(any_text.filter(str.strip))
def test_no_piece_is_blank_unless_the_text_is(text: str) -> None:
    assert all(p.text for p in split_sentences(text))


@given(any_text)
def test_white_space_in_a_line_belongs_to_the_piece_before_it(text: str) -> None:
    for before, p in zip(split_sentences(text), split_sentences(text)[1:], strict=False):
        assert not p.raw[0].isspace() or before.raw[-1] in "\r\n"


CASES = {
    "two sentences": "One is here.¦ Two is there!¦ Three?",
    "no sentence end": "this has no sentence end at all and goes on",
    "bullets": "Pros:¦\n- cheap¦\n- it lasts.¦ Really.¦\n* new¦\n• small",
    "numbers": "Steps:¦\n1. Do this.¦\n2) Do that.¦\n(c) Stop.",
    "nested list with a wrapped item": "- outer¦\n  - inner goes on\n    and wraps¦\n- outer",
    "list in running text": "It has three: ¦1. It is cheap. ¦2. It is fast. ¦3) It is new.",
    "check boxes": "- [ ] to do¦\n- [x] done.¦ Well.",
    "heading": "# Title¦\nText under it.¦\n\n## Next¦\nMore.",
    "quotation block": "> It is so.¦ It was.¦\n> And on.¦\nReply.",
    "code fence": "Run:¦\n```python\nx = 1. Y\nprint(x)\n```¦\nThen stop.¦ Done.",
    "unclosed code fence": "Run:¦\n```\nx = 1. Y\nDone. Now.",
    "tilde fence": "~~~\na. B.\n```\n~~~¦\nAfter.",
    "fence in a list": "1. item¦\n    ```\n    a. B\n    ```¦\n2. next",
    "code in a line": "Use `foo.Bar()` and ```a. B``` here.¦ Then go.",
    "table": "| a. B | 1. x |\n¦| --- | --- |\n¦| c. D | e |\n¦After. ¦That.",
    "hard-wrapped lines": "This line of prose is long enough to be wrapped and it\ngoes on here.¦ Next.",
    "short lines": "First line¦\nSecond line",
    "rule": "One.¦\n\n---¦\n\nTwo.",
    "url": "See https://x.org/a.B?c=D.E for it.¦ Go to www.foo.com.¦ Or a.b/C.D!",
    "mail": "Mail me@x.Org now.¦ Then wait.",
    "names with dots": "The .NET way, Node.js and System.Out.Println work.¦ Use file.TXT here.",
    "path": r"Open C:\Dir.A\File.B or /usr/Lib.Xy.¦ Ok.",
    "forgotten space": "One ends here.¦Two starts here.¦Three.",
    "titles": "Dr. Smith met Ms. Jones, Lt. Col. Ash and Prof. Li.¦ They talked.",
    "latin abbreviations": "Some (e.g. cats, i.e. pets) are, cf. Fig. 3, fine.¦ Others, etc. are not.",
    "abbreviations before numbers": "See vol. 3, sect. 4, approx. 5 pages, No. 6.¦ Good.",
    "abbreviation at the end": "Apples, pears, etc. ¦They are good.",
    "et al.": "As Smith et al. (2020) show, it grows.¦ It does.",
    "countries": "The U.S. Congress met in the U.K. in May.¦ It left.",
    "times": "At 3.30 p.m. we met on Jan. 5.¦ It rained.",
    "decimals": "It costs 3.14 dollars.¦ Version 2.0.1 rose 5.5%.¦ So p < .05 holds.",
    "number at the end": "It grew to 5.¦ Then 6 came.¦ It goes at 14 km/h.¦ Take it.¦ The other is 3 m.¦ So be it.",
    "a case": "Local 174 v. Lucas Flour Co. is a case.¦ So is World War I v. World War II.¦ "
    "He was born in 1850 d. Paris.¦ See Figure 2 a. Results.",
    "initials": "J. R. R. Tolkien wrote it.¦ George W. Bush did not.",
    "degrees": "She has a Ph.D. in physics.¦ He left.",
    "straight quotes": 'He said "Stop. Now." ¦Then he left.¦ "Why?" she asked.',
    "curly quotes": "She said, “It rained. We left.” ¦Then it stopped.",
    "closing brackets": "It works (see Fig. 2.).¦ It is fine.",
    "ellipses": "Well... maybe not.¦ And so… it goes.¦ He waited. . . then left.",
    "several marks": "Really?!¦ Yes!!!¦ No??",
    "emphasis": "**Pros.** ¦It is cheap.¦ *So it is.* ¦__End.__",
    "end tags": "<i>One.</i>¦ <b>Three.</b>",
    "list within a sentence": "Ben packed three things: 1. a knife, 2. Oil and 3. A tent.¦ It was 4.¦ Then it rained.",
    "letters within a sentence": "She may a. stay, b. leave, or c. write.¦ It is late.",
    "our own tags": "[Incomplete] It is.¦ ### Response: Three.¦\n2. [Complete]",
    "end mark before a comma": "As Li et al. [28], and Yahoo!, show, it grows.",
    "references": "It is known.[1]¦ It works.[2][3]¦ True.² ¦Yes.[^4] ¦End.",
    "emoji": "Great! ¦🎉 Next one.¦ Fine 👨‍👩‍👧.¦ Done!🎉 ¦End",
    "chinese": "这是第一句。¦他说：“你好。”¦然后走了。¦真的吗？！¦价格是3.14元。",
    "japanese": "これは文です。¦「はい。」と言った。¦終わり",
    "korean": "안녕하세요.¦ 저는 학생입니다.",
    "arabic": "هذه جملة.¦ هل هذا سؤال؟¦ نعم، هذا صحيح.",
    "hebrew": "מה זה?¦ זה ספר.",
    "hindi": "यह पहला वाक्य है।¦ क्या यह दूसरा है?",
    "urdu": "یہ ایک جملہ ہے۔¦ یہ دوسرا ہے۔",
    "amharic": "ሰላም ነው።¦ እሺ።",
    "russian": "Он родился в 1799 г. в Москве на ул. Мира, см. рис. 2.¦ Т.е. так.¦ И т.д. ¦Всё.",
    "spanish": "¿Qué es esto?¦ ¡Hola!¦ Bien.",
    "french": "Il dit : « Viens. » ¦Puis il part.",
    "german ordinals": "Der Zug fuhr am 7. April zum 1. Mal in den 2. Bezirk.¦ Es kamen 9.¦ Danach war Ruhe.",
    "german titles": "Frau Dr. Abel u. a. wohnen in der Lange Str. 4 bzw. bei Hrn. Kuhn.¦ Kaiser Karl V. kam.",
    "danish date": "Fabrikken åbnede den 7. april 1911 i nr. 9.¦ Så kom Hr. Holm.",
    "norwegian date": "Fabrikken åpnet den 7. april 1911.¦ Den var ikke stor.",
    "czech": "Závod byl otevřen 7. dubna v ul. Nové č. 9.¦ Přišel MUDr. Malý.",
    "finnish": "Tehdas avattiin 7. huhtikuuta 1911.¦ Hra. Laine oli iloinen.",
    "polish": "Kościół św. Anny stoi przy ul. Krótkiej.¦ Dnia 7. kwietnia było ciepło.",
    "before small letters": "Fabriken byggdes 1911, dvs. före kriget.¦ Den kostade 3 mkr. och mer.¦ Det är allt.",
    "turkish": "II. Abdülhamit 1876'da tahta çıktı.¦ Doç. Dr. Kaya 3. kat için geldi.",
    "hungarian": "A gyár 1911. április 7. napján nyílt meg.¦ Itt lakik dr. Kiss a Fő u. 9. szám alatt.",
    "spanish titles": "La Dra. Ruiz y el Sr. Gil viven en EE. UU. desde 1911.¦ Véase el vol. 3.",
    "italian titles": "Il dott. Verdi e la sig.ra Neri sono arrivati.¦ Era tardi.",
    "portuguese titles": "O Sr. Melo e a Dra. Reis chegaram.¦ Era tarde.",
    "dutch titles": "De heer drs. Smit en mevr. Bos kwamen met twee auto's.¦ Het was laat, d.w.z. na tien uur.",
    "french titles": "M. Roux est venu avec Mme. Petit.¦ Voir p. 9.",
    "windows newlines": "One is here.¦\r\nTwo is there.¦\r\n\r\n- item¦\r\n- item",
    "other line ends": "One.¦\u2028Two.¦\x0cThree.¦\rFour.",
    "space at both ends": "\n\n  Hello there.¦ Bye.\n\n",
    "no-break space": "One ends.¦\u00a0Two starts.",
}


@pytest.mark.parametrize("marked", CASES.values(), ids=CASES.keys())
def test_hard_cases(marked: str) -> None:
    """A broken bar marks each cut."""
    wanted = [part.strip() for part in marked.split("¦")]
    assert [s.text for s in split_sentences(marked.replace("¦", ""))] == wanted


def test_an_english_text_is_cut_without_the_identifier_of_languages() -> None:
    text = "The plant opened on May 3. It closed in 1990. See vol. 3, Mr. Gil. They left at No. 5."
    code = f"import sys, eirene; print(len(eirene.split_sentences({text!r})), 'py3langid' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert run.stdout.strip() == "4 False"


def test_a_quote_that_never_closes_hides_no_sentence_end() -> None:
    assert len(split_sentences('He said "it rained. We left. Then it stopped. ' * 200)) >= 200


@pytest.mark.parametrize(
    ("unit", "pieces"),
    [("The fox jumps over it. ", 40_000), ("word ", 1), ("这是第一句。", 66_000), ("- an item\n", 60_000), ("\n", 1)],
    ids=["sentences", "no end", "chinese", "list", "blank lines"],
)
def test_two_hundred_thousand_words_are_cut(unit: str, pieces: int) -> None:
    words_in_unit = max(1, len(unit.split()))
    text = unit * (200_000 // (3 if unit.startswith("这") else words_in_unit))
    result = split_sentences(text)
    assert len(result) >= pieces and result[-1].end == len(text)


def test_long_texts_are_cut_as_short_ones_are() -> None:
    """The splitter is given stretches; where they end must not show."""
    unit = "Dr. Smith met him at 5 p.m. and said “Stop. Now.” to him. It rose by 3.14 points! "
    once = [s.text for s in split_sentences(unit)]
    assert [s.text for s in split_sentences(unit * 300)] == once * 300
