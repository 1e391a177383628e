"""A function of a text is asked once for a text of usual length, and each time for a very long one."""

from __future__ import annotations

from eirene.text.remembered import remembered


def test_a_text_is_read_once_and_another_argument_is_another_reading() -> None:
    read: list[tuple[str, str]] = []

    @remembered(8, longest=5)
    def first(text: str, *, language: str = "en") -> str:
        """The first character."""
        read.append((text, language))
        return text[0]

    assert [first("abc"), first("abc"), first("abc", language="de"), first("abcdef"), first("abcdef")] == ["a"] * 5
    assert read == [("abc", "en"), ("abc", "de"), ("abcdef", "en"), ("abcdef", "en")]
    assert first.__doc__ == "The first character."


def test_what_was_not_asked_for_lately_is_forgotten() -> None:
    read: list[str] = []

    @remembered(2, longest=5)
    def length(text: str) -> int:
        read.append(text)
        return len(text)

    for text in ("a", "b", "c", "a"):
        assert length(text) == 1
    assert read == ["a", "b", "c", "a"]
