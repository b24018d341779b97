"""Singling out, linking, inference, copies: they find copied rows, and find nothing where there is nothing to find."""

import numpy as np
import pytest

from tacita.assess.attacks.copies import exact_copies, nearness
from tacita.assess.attacks.inference import inference
from tacita.assess.attacks.linkability import linkability
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


def test_both_sides_have_as_many_trials(cases):
    case = Case(
        real=cases["fresh"].real, released=cases["fresh"].released, control=cases["fresh"].control.take(slice(200))
    )
    for leak in (inference(case, "job", rng()), linkability(case, (("age",), ("job",)), rng())):
        assert leak.attack.trials == leak.control.trials == 200


def test_linkability(cases):
    parts = (("age", "income"), ("town", "job", "ill"))
    found = {name: linkability(case, parts, rng(), attempts=600) for name, case in cases.items()}
    assert found["copied"].attack.share > 5 * found["copied"].control.share
    assert found["copied"].risk[1] > found["fresh"].risk[0]
    assert found["fresh"].risk[1] < 0.03
    more = linkability(cases["copied"], parts, rng(), attempts=600, neighbours=10)
    assert more.attack.share > found["copied"].attack.share


def test_inference(cases):
    found = {name: inference(case, "town", rng(), attempts=800) for name, case in cases.items()}
    assert found["copied"].risk[0] > 0.4
    for name in ("marginal", "fresh"):
        assert found[name].risk[1] < 0.03
    # what is merely predictable is no leak: jobs follow schools in the whole population
    predictable = inference(cases["fresh"], "job", rng(), attempts=800)
    assert predictable.attack.share > 1.5 * predictable.baseline.share
    assert predictable.risk[1] < 0.05
    # a number counts when it is near
    income = inference(cases["copied"], "income", rng(), attempts=800)
    assert income.risk[0] > 0.4


def test_copies(cases):
    assert exact_copies(cases["copied"], rng()).risk[0] > 0.95
    for name in ("marginal", "fresh"):
        assert exact_copies(cases[name], rng()).risk[1] < 0.01
    fewer = Case(
        real=cases["copied"].real, released=cases["copied"].released, control=cases["copied"].control.take(slice(300))
    )
    assert exact_copies(fewer, rng()).risk[0] > 0.95  # a small control makes no leak small
    # few attributes make copies that are no leak
    coarse = cases["fresh"].only(["school", "ill"])
    leak = exact_copies(coarse, rng())
    assert leak.attack.share == 1
    assert leak.risk[1] < 0.01
    little = Case(real=coarse.real, released=coarse.released, control=coarse.control.take(slice(200)))
    assert exact_copies(little, rng()).risk[1] < 0.05


def test_nearness(cases):
    copied, fresh = (nearness(cases[name], rng()) for name in ("copied", "fresh"))
    assert copied.nearer.share > 0.98
    assert copied.to_real == (0, 0)
    low, high = fresh.nearer.exact(0.999)
    assert low < 0.5 < high
    assert fresh.excess < 0.08


def test_a_small_control_makes_no_nearness_small(cases):
    """All rows are copies, of which a control of 300 can show a fifth: the excess is of all."""
    case = cases["copied"]
    small = nearness(Case(real=case.real, released=case.released, control=case.control.take(slice(300))), rng())
    assert small.looked_at == 0.2
    assert small.nearer.share < 0.7
    assert small.excess > 0.8
    assert small.as_dict()["looked_at"] == 0.2


def test_without_a_control(cases):
    alone = Case(real=cases["fresh"].real, released=cases["fresh"].released)
    assert inference(alone, "job", rng()).control is None
    with pytest.raises(TacitaError, match="Hold some rows back"):
        nearness(alone, rng())


@pytest.mark.parametrize(
    "bad",
    [
        lambda case: singling_out(case, rng(), attempts=0),
        lambda case: singling_out(case, rng(), columns=99),
        lambda case: singling_out(case.only(["ill"]), rng(), columns=1),
        lambda case: linkability(case, (("age",), ("age",)), rng()),
        lambda case: linkability(case, (("age",), ()), rng()),
        lambda case: linkability(case, (("age",), ("nobody",)), rng()),
        lambda case: linkability(case, (("age",), ("town",)), rng(), neighbours=0),
        lambda case: inference(case, "nobody", rng()),
        lambda case: inference(case, "age", rng(), known=["age"]),
        lambda case: inference(case, "age", rng(), tolerance=2),
        lambda case: inference(case, "age", rng(), attempts=0),
    ],
)
def test_bad_input(cases, bad):
    with pytest.raises(TacitaError):
        bad(cases["fresh"])
