"""Trust in public tables: right ones help, wrong ones cost nearly nothing, intervals stay those without a prior."""

import itertools

import numpy as np
import pytest

from tacita.collect.analysis import findings
from tacita.collect.estimating.prior import Prior
from tacita.collect.estimating.tally import Tally, respond
from tacita.collect.planning.plan import plan_collection
from tacita.domain import Categorical, Domain, Numeric
from tacita.errors import InvalidInput
from tacita.noise import SeededSource
from tacita.tables.cells import Cells
from tacita.tables.workload import Workload

COLUMNS, PEOPLE, BINS = 6, 6000, 24
DOMAIN = Domain(attributes=[Categorical(name=f"x{i}", levels=["no", "yes"]) for i in range(COLUMNS)])
KEYS = list(itertools.combinations(DOMAIN.names, 2))
LINE = Domain(attributes=[Numeric(name="v", bounds=(0.0, 1.0), bins=BINS)])


def population(seed: int, strength: float) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    trait, cuts = rng.normal(size=PEOPLE), rng.uniform(-1, 1.5, COLUMNS)
    yes = 1 / (1 + np.exp(-strength * (trait[:, None] - cuts)))
    held = rng.random((PEOPLE, COLUMNS)) < yes
    return {name: held[:, place].astype(np.int64) for place, name in enumerate(DOMAIN.names)}


def pairs_of(codes: dict[str, np.ndarray]) -> dict[tuple[str, ...], np.ndarray]:
    found = {}
    for key in KEYS:
        found[key] = np.zeros((2, 2))
        np.add.at(found[key], tuple(codes[name] for name in key), 1 / PEOPLE)
    return found


def prior_of(codes: dict[str, np.ndarray], *, singles: bool = False) -> Prior:
    tables = [Cells(DOMAIN.project(key), table) for key, table in pairs_of(codes).items()]
    if singles:
        tables = [table.project((name,)) for table in tables for name in table.attributes]
    return Prior.of(DOMAIN, tables)


def collected(codes: dict[str, np.ndarray], seed: int, epsilon: float = 1.0) -> Tally:
    design = plan_collection(DOMAIN, Workload.all(DOMAIN, 2), respondents=PEOPLE, epsilon=epsilon, mode="tables")
    return Tally(design).add(respond(design, codes, SeededSource(seed), seed=seed))


@pytest.fixture(scope="module")
def errors() -> dict[str, list[float]]:
    """Mean distance of the pairs and the weight of the prior, for each prior, over collections."""
    found: dict[str, list[float]] = {}
    for seed in (1, 2, 3):
        codes = population(seed, 2.0)
        truth, tally = pairs_of(codes), collected(codes, seed)
        wrong = {name: 1 - column for name, column in population(seed + 20, 0.5).items()}
        priors = {
            "none": None,
            "right": prior_of(codes),
            "right singles": prior_of(codes, singles=True),
            "wrong": prior_of(wrong),
            "wrong singles": prior_of(wrong, singles=True),
        }
        for name, prior in priors.items():
            releases = findings.published(tally, prior=prior)
            gaps = [np.abs(releases.project(key).values - table).sum() / 2 for key, table in truth.items()]
            found.setdefault(name, []).append(float(np.mean(gaps)))
            if prior is not None:
                recipe = releases["x0", "x1"].provenance.recipe["prior"]
                assert sum(recipe["weights"].values()) == pytest.approx(1, abs=1e-3)
                found.setdefault(f"{name} trust", []).append(recipe["trust"])
    return found


def test_a_right_prior_helps(errors):
    assert np.mean(errors["right"]) < 0.75 * np.mean(errors["none"])
    assert np.mean(errors["right singles"]) < 0.9 * np.mean(errors["none"])
    assert min(errors["right trust"]) > 0.4


def test_a_wrong_prior_costs_nearly_nothing(errors):
    for name in ("wrong", "wrong singles"):
        assert np.mean(errors[name]) < 1.05 * np.mean(errors["none"])
        assert max(errors[f"{name} trust"]) < 0.2


def test_intervals_are_those_without_a_prior():
    codes = population(4, 2.0)
    tally = collected(codes, 4)
    plain = findings.published(tally, "pooled")
    for prior in (prior_of(codes), prior_of(population(30, 0.1))):
        for key, release in findings.published(tally, prior=prior).items():
            np.testing.assert_allclose(release.std(), plain.project(key).std())
            np.testing.assert_allclose(
                np.asarray(release.uncertainty.centre).reshape(release.values.shape), plain.project(key).values
            )


def test_a_prior_reaches_tables_that_no_question_held():
    codes = population(5, 3.0)
    names = ("x0", "x1", "x2")
    truth = np.zeros((2, 2, 2))
    np.add.at(truth, tuple(codes[name] for name in names), 1 / PEOPLE)
    prior = Prior.of(DOMAIN, [Cells(DOMAIN.project(names), truth)]) + prior_of(codes)
    tally = collected(codes, 5, 0.5)
    with_prior, without = (findings.table(tally, names, prior=each).values for each in (prior, None))
    assert np.abs(with_prior - truth).sum() < 0.6 * np.abs(without - truth).sum()


def test_the_ratio_to_the_prior_of_an_ordered_attribute_is_smoothed():
    rough = np.random.default_rng(6).dirichlet(np.full(BINS, 2.0))
    slope = np.exp(np.linspace(-0.4, 0.4, BINS))
    truth = rough * slope / (rough * slope).sum()
    design = plan_collection(LINE, Workload.of(("v",)), respondents=50_000, epsilon=1.0, channel="wave")
    codes = {"v": np.random.default_rng(7).choice(BINS, 50_000, p=truth)}
    tally = Tally(design).add(respond(design, codes, SeededSource(7), seed=7))

    def error(shares: np.ndarray | None) -> float:
        prior = None if shares is None else Prior.of(LINE, [Cells(LINE, shares)])
        return float(np.abs(findings.published(tally, prior=prior)["v",].values - truth).sum())

    earlier, wrong = error(rough), error(rough[::-1])
    assert earlier < 0.4 * error(None)
    assert earlier < np.abs(rough - truth).sum()
    assert wrong < 1.3 * error(None)


def test_where_there_is_no_place_for_a_prior():
    codes = population(8, 1.0)
    tally, prior = collected(codes, 8), prior_of(codes)
    for how in ("raw", "pooled", "consistent", "singles"):
        with pytest.raises(InvalidInput, match="auto or modelled"):
            findings.published(tally, how, prior=prior)
    margins = plan_collection(DOMAIN, Workload.all(DOMAIN, 2), respondents=PEOPLE, epsilon=1.0, channel="fourier")
    asked = Tally(margins).add(respond(margins, codes, SeededSource(8), seed=8))
    with pytest.raises(InvalidInput, match="not for margins"):
        findings.published(asked, prior=prior)


def test_a_simulated_release_is_no_prior_of_real_reports():
    codes = population(9, 1.0)
    tally = collected(codes, 9)
    prior = Prior.of(DOMAIN, tally.releases().values())
    assert findings.published(tally, prior=prior)
    tally.simulated = False
    with pytest.raises(InvalidInput, match="simulated"):
        findings.published(tally, prior=prior)


def test_the_weights_are_explained():
    codes = population(10, 2.0)
    lines = findings.explain(findings.published(collected(codes, 10), prior=prior_of(codes)))
    assert any("The prior was trusted to" in line for line in lines)
