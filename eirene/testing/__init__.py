"""Testing: assertions on answers, a pytest plugin, and scripted doubles. Nothing here is used in a run."""

from eirene.testing.assertions import assert_refined, assert_supported

__all__ = ["assert_refined", "assert_supported"]
