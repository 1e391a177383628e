"""The hash of a row, which journals of any age hold."""

from __future__ import annotations

from eirene.agent.record import RowHash
from eirene.agent.settings import Settings
from eirene.core.records import Item
from eirene.core.signature import digest
from tests.scripted_parts import scripted_parts


def test_it_is_the_digest_of_the_row_and_all_that_its_record_hangs_on() -> None:
    """Whatever is kept of what rows have in common, the hashes of earlier journals are the same."""
    hashes = RowHash(scripted_parts(), Settings.of())
    item = Item(id="é", question='Why "so"?', answer="It\u2028is.", meta={"n": 1})
    assert hashes.of(item) == digest([item.model_dump(mode="json"), *hashes.common])[:16]
