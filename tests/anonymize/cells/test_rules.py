"""Rules: which cells are sensitive, and what an inside attacker could compute."""

from __future__ import annotations

import numpy as np
import pytest

from tacita.anonymize.cells.contents import contents_of
from tacita.anonymize.cells.registry import RULES, rule_parameters, rules_of
from tacita.anonymize.cells.relations import relations_of
from tacita.anonymize.cells.rules import Dominance, MinimumFrequency, PPercent, requirement
from tacita.errors import InvalidInput

RELATIONS = relations_of([("a",)], {"a": 30})


def _sums(seed: int = 0):
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, 30, 120)
    amounts = rng.lognormal(0, 2, 120)
    return cells, amounts, contents_of(RELATIONS, [cells], amounts=amounts)


def test_the_p_percent_rule_is_what_the_second_largest_can_estimate() -> None:
    """The second largest subtracts its own part from the value; what is left is an upper bound of the largest."""
    cells, amounts, contents = _sums()
    found = PPercent(p=15).apply(contents)
    for code in range(30):
        parts = np.sort(amounts[cells == code])[::-1]
        if not len(parts):
            assert not found.sensitive[code + 1]
            continue
        second = parts[1] if len(parts) > 1 else 0.0
        too_close = parts.sum() - second < 1.15 * parts[0]
        assert found.sensitive[code + 1] == too_close
        if too_close:  # with the upper level added, the estimate is 15 % off
            assert parts.sum() + found.upper[code + 1] - second == pytest.approx(1.15 * parts[0])


def test_dominance() -> None:
    cells, amounts, contents = _sums(1)
    found = Dominance(dominance=(2, 80)).apply(contents)
    for code in range(30):
        parts = np.sort(amounts[cells == code])[::-1]
        dominated = parts[:2].sum() > 0.8 * parts.sum()
        assert found.sensitive[code + 1] == dominated
        if dominated:  # at the upper level the two have exactly 80 %
            assert parts[:2].sum() == pytest.approx(0.8 * (parts.sum() + found.upper[code + 1]))


def test_minimum_frequency_of_counts_and_sums() -> None:
    cells, _, sums = _sums(2)
    many = np.bincount(cells, minlength=30)
    counts = contents_of(RELATIONS, [cells])
    found = MinimumFrequency(minimum=4).apply(counts)
    assert (found.sensitive[1:] == ((many > 0) & (many < 4))).all()
    small = found.sensitive
    np.testing.assert_allclose(counts.values[small] + found.upper[small], 4)
    assert (found.width[small] == 4).all()
    summed = MinimumFrequency(minimum=4, margin=20).apply(sums)
    assert (summed.sensitive == small).all()
    np.testing.assert_allclose(summed.lower[small], 0.2 * sums.values[small])
    empty = MinimumFrequency(minimum=4).protect_empty(counts)
    assert (empty.sensitive[1:] == (many == 0)).all()
    assert (empty.upper[empty.sensitive] == 4).all()


def test_weights_scale_the_protection_of_counts() -> None:
    contents = contents_of(RELATIONS, [np.array([0, 0, 1] * 1)], weights=np.array([10.0, 30.0, 5.0]))
    found = MinimumFrequency(minimum=3).apply(contents)
    assert contents.values[1] == 40
    assert (found.upper[1], found.width[1]) == (20, 60)  # one more of the mean weight


def test_several_rules_and_the_floor() -> None:
    _, _, contents = _sums(3)
    rules = (Dominance(dominance=(1, 30)), PPercent(p=10))
    each = [rule.apply(contents) for rule in rules]
    found = requirement(each, contents.values, np.zeros(len(contents.values)))
    assert (found.sensitive == (each[0].sensitive | each[1].sensitive)).all()
    assert (found.lower <= contents.values + 1e-9).all()  # no interval reaches below 0
    assert (found.upper >= np.maximum(each[0].upper, each[1].upper) - 1e-9).all()


def test_the_registry() -> None:
    assert {each.name for each in rule_parameters()} == {"minimum", "margin", "dominance", "p"}
    assert rules_of({"minimum": 3, "dominance": [1, 75], "p": None, "margin": 5.0}) == (
        MinimumFrequency(minimum=3, margin=5.0),
        Dominance(dominance=(1, 75)),
    )
    assert rules_of({}) == ()
    for kind in RULES:
        assert kind.name in {each.name for each in rule_parameters()}
    for rule in (
        MinimumFrequency(minimum=3),
        Dominance(dominance=(1, 75)),
        Dominance(dominance=(2, 75)),
        PPercent(p=9),
    ):
        assert rule.words
        assert rule.as_dict()


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: MinimumFrequency(minimum=0),
        lambda: MinimumFrequency(minimum=3, margin=0),
        lambda: Dominance(dominance=(0, 75)),
        lambda: Dominance(dominance=(1, 100)),
        lambda: PPercent(p=0),
        lambda: PPercent(p=float("nan")),
    ],
)
def test_other_parameters_are_refused(wrong) -> None:
    with pytest.raises(InvalidInput):
        wrong()


@pytest.mark.parametrize("text", ["1", "a,b", "0,75", "1,75,3"])
def test_texts_of_dominance(text: str) -> None:
    read = next(each.parse for each in rule_parameters() if each.name == "dominance")
    assert read is not None
    assert read("1,75") == (1, 75.0)
    with pytest.raises(InvalidInput, match="two numbers"):
        read(text)
