"""Singling out: copied rows are found, and nothing where there is nothing to find."""

import numpy as np
import pytest

from tacita.assess.attacks.copies import exact_copies
from tacita.assess.attacks.singling_out import Guesses, _unique, count_fitting, singling_out
from tacita.assess.case import Case
from tacita.errors import TacitaError


def rng():
    return np.random.default_rng(5)


def test_guesses_count_what_they_say(cases):
    frame = cases["copied"].real
    guesses = Guesses(
        columns=np.array([[0, 3], [1, -1], [2, 4]]),
        relations=np.array([[2, 0], [1, 0], [0, 0]], np.int8),
        values=np.array([[50.0, 3.0], [20_000.0, 0.0], [2.0, 5.0]]),
    )
    age, income, school, town, job, _ = frame.values.T
    expected = [(age >= 50) & (town == 3), income <= 20_000, (school == 2) & (job == 5)]
    assert count_fitting(frame, guesses, most=10**9).tolist() == [int(each.sum()) for each in expected]
    assert count_fitting(frame, guesses).max() == 2


def test_singling_out_by_several_attributes(cases):
    found = {name: singling_out(case, rng(), attempts=400) for name, case in cases.items()}
    assert found["copied"].risk[0] > 0.4  # a bootstrap holds most people once or not at all
    assert found["copied"].attack.trials == 400
    for name in ("marginal", "fresh"):
        assert found[name].risk[1] < 0.05, name


def test_singling_out_by_one_attribute(cases):
    """Incomes that were only moved to other rows still belong to one person each."""
    found = {name: singling_out(case, rng(), attempts=400, mode="univariate") for name, case in cases.items()}
    for name in ("copied", "marginal"):
        assert found[name].risk[1] > 0.8, name
    assert found["fresh"].risk[1] < 0.05


@pytest.mark.parametrize("columns", [3, 4])
def test_a_small_control_stands_for_a_large_one(cases, columns):
    """What is worked out from 400 people is near to what all 1,500 give, on average over the 400."""
    case, shares = cases["fresh"], []
    whole = singling_out(case, rng(), attempts=1000, columns=columns)
    for seed in range(6):
        some = case.control.take(np.random.default_rng(seed).choice(1500, 400, replace=False))
        part = singling_out(
            Case(real=case.real, released=case.released, control=some), rng(), attempts=1000, columns=columns
        )
        assert "400 people" in part.notes[-1]
        assert part.attack.share == whole.attack.share
        shares.append(part.control.share)
    assert np.mean(shares) == pytest.approx(whole.control.share, abs=0.06)
    large = Case(real=case.real.take(slice(500)), released=case.released, control=case.control)
    assert not singling_out(large, rng(), attempts=300).notes


def test_a_guess_is_tried_once(cases):
    """Twenty rows allow few descriptions; a thousand trials of them would look like certainty."""
    small = cases["fresh"].first.take(slice(20)).only(["age", "school", "ill"])
    guesses = _unique(small, rng(), 1000, 3)
    assert 0 < len(guesses) < 1000
    parts = zip(guesses.columns.tolist(), guesses.relations.tolist(), guesses.values.tolist(), strict=True)
    said = [frozenset(zip(*part, strict=True)) for part in parts]
    assert len(set(said)) == len(said)
    case = Case(real=cases["fresh"].real, released=(cases["fresh"].first.take(slice(20)),))
    assert "could be made" in singling_out(case, rng(), attempts=5000, columns=2).notes[0]


@pytest.mark.parametrize(("held", "far"), [(100, True), (700, False)])
def test_what_is_worked_out_has_no_more_trials_than_people(cases, held, far):
    case = Case(
        real=cases["fresh"].real, released=cases["fresh"].released, control=cases["fresh"].control.take(slice(held))
    )
    for leak in (singling_out(case, rng(), attempts=1000), exact_copies(case, rng())):
        assert leak.control.trials == held
        assert leak.attack.trials >= 1000
        assert ("A factor above 3" in leak.notes[-1]) == far


@pytest.mark.parametrize(
    "bad",
    [
        lambda case: singling_out(case, rng(), attempts=0),
        lambda case: singling_out(case, rng(), columns=99),
        lambda case: singling_out(case.only(["ill"]), rng(), columns=1),
    ],
)
def test_bad_input(cases, bad):
    with pytest.raises(TacitaError):
        bad(cases["fresh"])
