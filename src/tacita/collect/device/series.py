"""Series: the same survey in several waves, with one promise for each person over all of them.

A device answers in `turns` of the `waves`, which it draws by lot when it first meets the series. The lot looks at no
answer, so that who answers in which wave reveals nothing; and each answer is drawn anew, so that no two reports can be
linked. The loss over all waves is the sum over the turns.

A report that is kept and sent again while the answer stays the same would not do: two different reports prove that the
answer has changed. Claim: docs/claims/waves.md. Standard library only.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from tacita.collect.device.draw import WORD_RANGE, below
from tacita.collect.device.refusal import Refusal, is_integer

__all__ = ["MAX_WAVES", "Lot", "Series", "draw_turns"]

MAX_WAVES = 1000
_IDENTIFIER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, kw_only=True)
class Series:
    """The series that a question belongs to, and which wave of it this is.

    Args:
        id: Identifier of the series, the same in all waves.
        wave: The wave of this question, from 1.
        waves: Number of waves.
        turns: Number of waves in which a device answers.
        epsilon: Most that all answers of a device may lose, in all waves together.
    """

    id: str
    wave: int
    waves: int
    turns: int
    epsilon: float

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Read a series from parsed JSON; `check` says whether it is one."""
        names = [field.name for field in fields(cls)]
        held = data if isinstance(data, dict) and set(data) == set(names) else dict.fromkeys(names)
        return cls(**held)

    def check(self) -> None:
        """Refuse members that are no series."""
        named = isinstance(self.id, str) and _IDENTIFIER.fullmatch(self.id) is not None
        counted = all(is_integer(number) for number in (self.wave, self.waves, self.turns))
        promised = isinstance(self.epsilon, int | float) and not isinstance(self.epsilon, bool)
        whole = named and counted and promised and 2 <= self.waves <= MAX_WAVES
        if not (whole and min(self.wave, self.turns) >= 1 and max(self.wave, self.turns) <= self.waves):
            rule = f"must be an id, a wave and turns of 2 to {MAX_WAVES} waves, and a promise"
            raise Refusal("series", rule, field="series")
        if not (0 < self.epsilon < WORD_RANGE and math.isfinite(self.epsilon)):
            raise Refusal("series", "must promise a positive number below 2**53", field="series.epsilon")

    def to_dict(self) -> dict[str, Any]:
        """The series as it travels."""
        return asdict(self)

    @property
    def terms(self) -> tuple[int, int, float]:
        """Members that may not change from wave to wave."""
        return self.waves, self.turns, self.epsilon


@dataclass(frozen=True, kw_only=True)
class Lot:
    """The waves in which a device answers, drawn once for a series.

    Args:
        service: Who asks, as the ledger knows it.
        id: Identifier of the series.
        waves, turns, epsilon: Its terms.
        drawn: The waves, ascending.
    """

    service: str
    id: str
    waves: int
    turns: int
    epsilon: float
    drawn: tuple[int, ...]

    def __post_init__(self) -> None:
        Series(id=self.id, wave=1, waves=self.waves, turns=self.turns, epsilon=self.epsilon).check()
        ordered = isinstance(self.drawn, tuple) and list(self.drawn) == sorted({*self.drawn})
        if not (ordered and len(self.drawn) == self.turns and all(1 <= wave <= self.waves for wave in self.drawn)):
            raise Refusal("series", "must be as many waves as there are turns", field="drawn")

    @classmethod
    def draw(cls, series: Series, service: str, words: Iterator[int]) -> Self:
        """Draw the waves of one device."""
        drawn, _ = draw_turns(series.waves, series.turns, words)
        waves, turns, epsilon = series.terms
        return cls(service=service, id=series.id, waves=waves, turns=turns, epsilon=epsilon, drawn=drawn)

    @classmethod
    def from_dict(cls, row: dict[str, Any]) -> Self:
        """Read a lot from parsed JSON."""
        return cls(**row | {"drawn": tuple(row["drawn"])})

    @property
    def terms(self) -> tuple[int, int, float]:
        """Members that may not change from wave to wave."""
        return self.waves, self.turns, self.epsilon

    def check_turn(self, series: Series) -> None:
        """Refuse a wave in which this device does not answer."""
        if series.wave not in self.drawn:
            following = [wave for wave in self.drawn if wave > series.wave]
            raise Refusal(
                "not-your-turn",
                f"must be one of the {self.turns} of {self.waves} waves that this device has drawn by lot",
                field="series.wave",
                value=series.wave,
                hint=f"Its next turn is wave {following[0]}" if following else "It has no turn left",
            )


def draw_turns(waves: int, turns: int, words: Iterator[int]) -> tuple[tuple[int, ...], int]:
    """Draw which waves a device answers in: all sets of so many are equally likely.

    Args:
        waves: Number of waves. turns: Number of them to draw. words: Uniform 64-bit integers.

    Returns:
        The waves, ascending, and how many words were used.
    """
    drawn: list[int] = []
    used = 0
    for wave in range(1, waves + 1):  # each is drawn with probability (turns left) / (waves left)
        die, more = below(waves - wave + 1, words)
        used += more
        if die < turns - len(drawn):
            drawn.append(wave)
    return tuple(drawn), used
