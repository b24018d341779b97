"""Teachers and votes: what one unit can move, the charge, and what the judge and the generator see."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from scipy import stats  # noqa: E402

from tacita.engines.coded import CodedUnits, coded_units  # noqa: E402
from tacita.engines.local import LocalEngine  # noqa: E402
from tacita.errors import InvalidInput  # noqa: E402
from tacita.noise import DiscreteGaussian, SeededSource  # noqa: E402
from tacita.privacy.accountant import cost  # noqa: E402
from tacita.privacy.budget import Budget, exact  # noqa: E402
from tacita.privacy.event import DiscreteGaussianNoise, Repeated  # noqa: E402
from tacita.privacy.unit import Neighbours, Unit  # noqa: E402
from tacita.synthesize import PateGan  # noqa: E402
from tacita.synthesize.estimate import measurements_of  # noqa: E402
from tacita.synthesize.gan.encode import Encoding  # noqa: E402
from tacita.synthesize.gan.maker import Maker  # noqa: E402
from tacita.synthesize.gan.pate_gan import Teachers, assign_units, noisy_votes  # noqa: E402

from .conftest import DOMAIN, SMALL, rows  # noqa: E402

torch.set_num_threads(1)
ADD, REPLACE, ROW = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE, Unit.row()
QUICK = SMALL | {"teachers": 12, "rounds": 2, "votes": 9, "lessons": 8, "follow": 5, "judge": 8, "teacher": 4}
BUDGETS = [Budget.approx(2.0, 1e-6), Budget.zcdp(0.3)]


def planned(budget=BUDGETS[0], neighbours=ADD, **parts):
    return PateGan(**(QUICK | parts)).calibrate(DOMAIN, budget, unit=ROW, neighbours=neighbours)


@pytest.mark.parametrize("neighbours", [ADD, REPLACE])
@pytest.mark.parametrize("budget", BUDGETS)
def test_every_vote_is_charged_and_all_cost_the_budget(budget, neighbours):
    plan = planned(budget, neighbours)
    votes = plan.event.events[-1]
    assert votes == Repeated(event=DiscreteGaussianNoise(sigma2=plan.law.sigma2), count=18)
    spent = cost([(plan.event, 1)], budget, neighbours)
    assert exact(budget.amount) * exact(0.998) < spent <= exact(budget.amount)


@pytest.fixture(scope="module")
def taught():
    """Votes of teachers for given units and teachers, everything else the same."""
    engine = LocalEngine(DOMAIN, rows(150))
    plan = planned()
    targets, _, _ = measurements_of(list(plan.tables.run(engine, SeededSource(1)).values()))
    units = coded_units(engine, DOMAIN.names, ROW)

    def votes(codes, teacher_of):
        maker = Maker(Encoding(domain=DOMAIN), targets, None, **SMALL, learning_rate=0.05, source=SeededSource(7))
        held = CodedUnits(codes=codes, there=np.ones(codes.shape[:2], bool))
        teachers = Teachers(held, teacher_of, maker, plan.recipe)
        found = []
        for _ in range(3):
            teachers.learn(10)
            found.append(teachers.votes(maker.rows(40)))
        return np.concatenate(found)

    return units.codes, assign_units(len(units), 12, SeededSource(3)), votes


def test_a_unit_that_comes_goes_or_changes_moves_each_count_by_at_most_one(taught):
    codes, teacher_of, votes = taught
    before = votes(codes, teacher_of)
    rng, moved = np.random.default_rng(0), 0
    strange = np.array([size - 1 for size in DOMAIN.shape], codes.dtype)[None, None]
    for _ in range(12):
        at = int(rng.integers(len(codes)))
        fewer = votes(np.delete(codes, at, 0), np.delete(teacher_of, at))
        place = int(rng.integers(len(codes) + 1))
        more = votes(np.insert(codes, place, strange[0], 0), np.insert(teacher_of, place, rng.integers(12)))
        other = codes.copy()
        other[at] = strange[0]
        changed = votes(other, teacher_of)
        for after in (fewer, more, changed):
            assert np.abs(after - before).max() <= 1
            moved += int(np.abs(after - before).max())
    assert moved > 0  # the bound is reached, so the test can see something


def test_one_shared_network_would_break_that(taught):
    """Flaw F6 of a published tool: all teachers are one, so a unit moves all votes at once."""
    codes, _, votes = taught
    alone = votes(codes[:1], np.zeros(1, np.int64))
    none = votes(codes[:0], np.zeros(0, np.int64))
    # one teacher hears one unit; were all twelve the same network, each of these moves would be twelve
    assert np.abs(alone - none).max() == 1


def test_teachers_are_drawn_evenly_and_each_unit_for_itself():
    drawn = assign_units(12_000, 12, SeededSource(5))
    assert stats.chisquare(np.bincount(drawn, minlength=12)).pvalue > 1e-3
    assert (assign_units(11_999, 12, SeededSource(5)) == drawn[:-1]).all()


def test_noise_on_votes_has_the_calibrated_law():
    law = DiscreteGaussian.at_least(30.0)
    noise = noisy_votes(np.full(40_000, 6), law, SeededSource(2)) - 6
    assert noise.dtype.kind == "i"
    assert noise.var() == pytest.approx(30.0, rel=0.05)


def test_a_model_comes_out_and_says_how_loud_the_noise_is(engine):
    result = planned().run(engine, SeededSource(1))
    assert result.sample(20, np.random.default_rng(0)).num_rows == 20
    assert any("18 synthetic rows" in note for note in result.notes)
    quiet = planned(Budget.approx(0.01, 1e-6)).run(engine, SeededSource(1))
    assert any("hides the votes" in note for note in quiet.notes)


def test_an_empty_table_and_a_single_row_are_answered():
    for count in (0, 1):
        result = planned().run(LocalEngine(DOMAIN, rows(count)), SeededSource(1))
        assert result.sample(5, np.random.default_rng(0)).num_rows == 5


def test_bad_input_is_refused():
    with pytest.raises(InvalidInput, match="pure"):
        planned(Budget.pure(1.0))
    for wrong in ({"teachers": 0}, {"tables": 1.0}, {"trust": 0.0}, {"votes": 1.5}):
        with pytest.raises(InvalidInput, match=next(iter(wrong))):
            PateGan(**wrong)
