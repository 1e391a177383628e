"""How many calls a provider takes at once, found out on the way: up while all goes well, down when it says no."""

from __future__ import annotations

START = 16
"""Calls under way at first: few enough for a small server, and doubled with each round of replies."""
_BACK_OFF = 0.5


class Level:
    """A number of calls between 1 and `ceiling` that follows the provider, as TCP's congestion window does its line.

    It doubles with every round of good replies until the first refusal; from then on it halves at a refusal and grows
    by one a round (additive increase, multiplicative decrease: Chiu & Jain 1989). Refusals of calls that were sent
    before the last step down say nothing new.
    """

    def __init__(self, ceiling: int, *, start: int = START) -> None:
        self.ceiling = ceiling
        self.steps_down = 0
        self._exact = float(min(start, ceiling))
        self._steady_from = float(ceiling)

    @property
    def now(self) -> int:
        """Calls that may be under way."""
        return int(self._exact)

    def went_well(self, *, under_way: int) -> None:
        """A reply came. Where few of the allowed calls are under way, it does not show that more would be taken."""
        if under_way * 2 < self.now:
            return
        step = 1.0 if self._exact < self._steady_from else 1.0 / self._exact
        self._exact = min(self._exact + step, float(self.ceiling))

    def refused(self, *, sent_at_step: int) -> None:
        """A call that began after `sent_at_step` steps down met a limit or got no reply in time."""
        if sent_at_step < self.steps_down:
            return
        self.steps_down += 1
        self._exact = self._steady_from = max(1.0, self._exact * _BACK_OFF)
