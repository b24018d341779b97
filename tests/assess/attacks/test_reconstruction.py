"""Reconstruction from released tables: people are found by many exact cells, and not by few or noisy ones."""

import numpy as np
import pytest

from tacita.assess.assessment import AssessmentOptions, assess
from tacita.assess.attacks.reconstruction import average_releases, reconstruct_secret, solve_subsets
from tacita.assess.case import read_case
from tacita.domain import Domain, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput
from tacita.noise import SeededSource
from tacita.plans import NoisyTables
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.tables.workload import Workload

MANY = (("age", "town", "job", "ill"), ("age", "school", "job", "ill"), ("town", "school", "ill"))


@pytest.fixture(scope="module")
def noisy(tables, domain):
    def release(keys, epsilon, seed=1):
        recipe = NoisyTables(Workload(tuple(keys), ()), "auto")
        plan = recipe.calibrate(domain, Budget.pure(epsilon), unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE)
        return list(plan.run(LocalEngine(domain, tables["real"]), SeededSource(seed)).values())

    return release


@pytest.fixture(scope="module")
def case_of(tables, domain):
    return lambda noisy: read_case(domain, real=tables["real"], released=[], control=tables["control"], noisy=noisy)


def test_many_exact_cells_give_people_away(noisy, case_of):
    leaky = reconstruct_secret(case_of(noisy(MANY, 1000.0)), "ill")
    assert leaky.risk[1] > 0.3
    assert leaky.strong
    private = reconstruct_secret(case_of(noisy(MANY, 0.1)), "ill")
    assert private.risk[1] < 0.02


def test_a_table_of_the_population_is_no_leak(noisy, case_of):
    """Guesses from a small exact table are as good for people who are not in the data."""
    found = reconstruct_secret(case_of(noisy([("age", "ill")], 1000.0)), "ill")
    assert found.risk_at(0.999)[1] == 0


def test_a_cell_of_one_person_is_solved_exactly(noisy, case_of, tables):
    """With one exact table, the guess of each person is the most frequent illness of their cell: by hand."""
    case = case_of(noisy([("age", "town", "job", "ill")], 1000.0))
    found = reconstruct_secret(case, "ill")
    real = case.real
    keys = [tuple(row) for row in real.codes[:, real.places(["age", "town", "job"])]]
    ill = real.codes[:, real.place("ill")]
    cells = {}
    for key, level in zip(keys, ill, strict=True):
        cells.setdefault(key, []).append(level)
    least = sum(max(each.count(level) for level in each) for each in cells.values())
    assert found.attack.trials == len(real)
    assert found.attack.successes == least  # whichever of two equally frequent ones is guessed, as many are right


def test_an_assessment_of_tables_alone(noisy, case_of):
    case = case_of([each for seed in range(8) for each in noisy([("town", "ill")], 1.0, seed)])
    found = assess(case, np.random.default_rng(1), options=AssessmentOptions(attempts=100, secrets=("ill",)))
    told = found.as_dict()
    assert [each["name"] for each in told["attacks"] if each["ran"]] == ["reconstruction"]
    assert [each["name"] for each in told["risks"]] == ["reconstruction of ill"]
    (averaged,) = told["further"]
    assert (averaged["name"], averaged["questions"]) == ("reconstruction of counts by town, ill", 8)
    one = assess(case_of(noisy([("town", "ill")], 1.0)), np.random.default_rng(1)).as_dict()["further"][0]
    assert averaged["right"]["share"] > one["right"]["share"]  # fresh noise averages out
    assert averaged["error"] < one["error"]


def test_tables_of_another_schema_are_skipped(noisy, case_of, domain, tables):
    """Other bins are other questions: they are never solved as if they were these."""
    age = Numeric(name="age", bounds=(0, 99), bins=3, integer=True)
    other = Domain(attributes=[age if each.name == "age" else each for each in domain.attributes])
    case = read_case(other, real=tables["real"], released=[], noisy=noisy([("age", "ill")], 1.0))
    found = assess(case, np.random.default_rng(1), options=AssessmentOptions(attempts=100, secrets=("ill",)))
    assert "bins" in dict(found.skipped)["reconstruction"]
    assert not found.risks


def test_tables_without_the_secret_are_skipped(noisy, case_of):
    case = case_of(noisy([("town",)], 1.0))
    with pytest.raises(InvalidInput, match="secret"):
        reconstruct_secret(case, "ill")
    found = assess(case, np.random.default_rng(1), options=AssessmentOptions(attempts=100, secrets=("ill",)))
    assert "reconstruction of ill" in dict(found.skipped)
    assert found.further[0].right.trials == 12


def test_fresh_noise_averages_out():
    rng = np.random.default_rng(1)
    truth = rng.poisson(8, 300)
    noisy = [truth + rng.laplace(scale=2, size=300) for _ in range(200)]
    few, many = average_releases(truth, noisy[:1]), average_releases(truth, noisy)
    assert many.right.share > 0.95
    assert few.right.share < 0.4
    assert many.blind.share < 0.3
    same = average_releases(truth, noisy[:1] * 200)  # the same answer again and again gives nothing more
    assert same.right.share == few.right.share


def test_many_subsets_give_everybody_away():
    rng = np.random.default_rng(2)
    secret = (rng.random(100) < 0.3).astype(int)
    subsets = rng.random((800, 100)) < 0.5
    little = solve_subsets(secret, subsets, subsets @ secret + rng.normal(scale=1, size=800))
    much = solve_subsets(secret, subsets, subsets @ secret + rng.normal(scale=60, size=800))
    assert little.right.share > 0.97
    assert much.right.share < 0.85
    assert little.blind.share == pytest.approx(1 - secret.mean())


def test_answers_that_do_not_fit_are_refused():
    for call in (
        lambda: average_releases([1, 2], []),
        lambda: average_releases([1, 2], [[1]]),
        lambda: solve_subsets([0, 2], [[1, 1]], [1]),
        lambda: solve_subsets([0, 1], [[1, 1, 1]], [1]),
    ):
        with pytest.raises(InvalidInput):
            call()
