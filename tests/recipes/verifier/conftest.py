"""The shipped encoder, once for all of these tests."""

from __future__ import annotations

import pytest

from eirene.models.encoder import Encoder, load_encoder


@pytest.fixture(scope="session")
def encoder() -> Encoder:
    return load_encoder(threads=1)
