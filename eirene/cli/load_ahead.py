"""Start-up: models are loaded in threads while a command still imports its libraries and reads its input."""

from __future__ import annotations

import contextlib
import threading


def load_ahead() -> None:
    """Begins to load what nearly every refinement asks for: the shipped encoder, and the identifier of languages.

    Both are mostly work of native code, beside which Python imports on. A model that cannot be loaded is told by who
    asks for it.
    """
    for load in (_load_encoder, _load_identifier):
        threading.Thread(target=load, name=f"eirene{load.__name__}", daemon=True).start()


def _load_encoder() -> None:
    from eirene.core.errors import EncoderError
    from eirene.models.encoder.shipped import shipped_encoder

    with contextlib.suppress(EncoderError):
        shipped_encoder()


def _load_identifier() -> None:
    from eirene.text.language import load_identifier

    load_identifier()
