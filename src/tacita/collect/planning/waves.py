"""A series of waves: the same questions again, with one budget of each person for all of them.

Each person answers in `turns` of the waves, drawn by lot. Epsilon of all waves is divided among the turns, and a wave
is answered by the share turns / waves of the panel. One turn is best at usual epsilons: the variance of a report grows
faster than the number of reports (docs/claims/waves.md has the figures).
"""

from __future__ import annotations

from tacita import check
from tacita.collect.device.series import MAX_WAVES
from tacita.errors import InvalidInput

__all__ = ["check_waves", "in_one_wave"]


def check_waves(waves: int, turns: int, phases: str = "one") -> None:
    """Refuse numbers of waves and turns that make no series, and a series in two phases."""
    check.whole(waves, "waves", least=1, most=MAX_WAVES)
    check.whole(turns, "turns", least=1)
    if turns > waves:
        all_of_them = "A respondent answers in all waves where there are as many turns"
        hint = "Set the number of waves too" if waves == 1 else all_of_them
        raise InvalidInput(f"must be at most the number of waves, {waves}", field="turns", value=turns, hint=hint)
    if waves > 1 and phases != "one":
        rule = "must be one in a series: all waves ask the same questions"
        raise InvalidInput(rule, field="phases", value=phases)


def in_one_wave(respondents: int, epsilon: float, *, waves: int, turns: int) -> tuple[int, float]:
    """Return how many respondents answer in one wave, and what each may spend in it.

    >>> in_one_wave(12_000, 1.0, waves=12, turns=2)
    (2000, 0.5)
    """
    return max(1, round(respondents * turns / waves)), epsilon / turns
