import json
import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy import stats

from tacita.collect.analysis.hypothesis import Hypothesis, Verdict
from tacita.collect.analysis.independence import (
    _departure,
    _interactions,
    _jacobians,
    known_total,
    wald_test,
)
from tacita.collect.analysis.independence_counts import central_monte_carlo_test, paper_chi_square
from tacita.collect.analysis.independence_simulated import monte_carlo_test, product_likelihood, product_of_margins
from tacita.collect.channels.channel import RandomizedResponse
from tacita.collect.channels.hadamard import HadamardResponse
from tacita.collect.channels.unary import UnaryEncoding
from tacita.collect.estimating.tally import Reports, Tally
from tacita.collect.planning.design import Asked, CollectionDesign
from tacita.domain import Categorical, Domain
from tacita.errors import InvalidInput, UnknownName
from tacita.noise import SeededSource
from tacita.plans import NoisyTables
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.tables.cells import Cells
from tacita.tables.release import Provenance, Release
from tacita.tables.simplex import norm_sub
from tacita.tables.uncertainty import AdditiveNoise, Correlated, Unknown
from tacita.tables.workload import Workload

RUNS = 500
ROW, COLUMN = np.array([0.5, 0.3, 0.2]), np.array([0.4, 0.3, 0.2, 0.1])
EVEN = np.outer(ROW, COLUMN)
TILT = np.outer([1, -1, 0], [1, -1, 0, 0])
MAKERS = {
    "k-RR": lambda k, eps: RandomizedResponse.k_ary(levels=k, epsilon=eps),
    "OUE": lambda k, eps: UnaryEncoding.optimised(levels=k, epsilon=eps),
    "Hadamard": lambda k, eps: HadamardResponse.of(levels=k, epsilon=eps),
}
XY_GIVEN_Z = Hypothesis.of("x", "y", given=["z"])


def domain_of(shape):
    return Domain(
        attributes=[Categorical(name="xyzw"[i], levels=[str(v) for v in range(k)]) for i, k in enumerate(shape)]
    )


@cache
def design_of(shape, epsilon, kind):
    domain = domain_of(shape)
    asked = Asked(attributes=domain.names, channel=MAKERS[kind](domain.size, epsilon), share=1.0)
    return CollectionDesign(domain=domain, questions=(asked,), epsilon=epsilon, respondents=1000, mode="tables")


def mutual(shape, seed=0):
    rng, table = np.random.default_rng(seed), np.ones(())
    for size in shape:
        table = np.multiply.outer(table, rng.dirichlet(np.full(size, 4.0)))
    return table


def conditional(shape, seed=0):
    """x and y independent given z, but not without: each z has its own margins."""
    rng, (a, b, strata) = np.random.default_rng(seed), shape
    slices = [np.outer(rng.dirichlet(np.full(a, 2.0)), rng.dirichlet(np.full(b, 2.0))) for _ in range(strata)]
    return np.stack(slices, axis=-1) * rng.dirichlet(np.full(strata, 20.0))


class Population:
    """People drawn from a table, asked through a channel, again and again."""

    def __init__(self, table, *, epsilon=1.0, kind="k-RR", n=10_000, seed=1):
        self.design, self.table, self.n = design_of(table.shape, epsilon, kind), table, n
        self.rng, self.source = np.random.default_rng(seed), SeededSource(seed)

    @property
    def key(self):
        return self.design.domain.names

    def tally(self):
        cells = np.repeat(np.arange(self.table.size), self.rng.multinomial(self.n, self.table.reshape(-1)))
        reports = self.design.questions[0].channel.randomize(cells, self.source)
        return Tally(self.design).add(Reports({0: reports}, simulated=True))

    def release(self):
        return self.tally().releases()[self.key]

    def rejected(self, test, runs=RUNS):
        return float(np.mean([test(self.release()).reject() for _ in range(runs)]))


def is_near(rate, alpha=0.05, runs=RUNS):
    return abs(rate - alpha) < 3 * math.sqrt(alpha * (1 - alpha) / runs)


# -- size --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "shape", "epsilon", "n"),
    [
        ("k-RR", (3, 4), 1.0, 5000),
        ("k-RR", (2, 2), 0.5, 5000),
        ("k-RR", (5, 6), 2.0, 5000),
        ("k-RR", (2, 3, 2), 1.0, 5000),
        ("OUE", (3, 4), 1.0, 5000),
        ("OUE", (2, 2), 3.0, 2000),
        ("OUE", (5, 6), 1.0, 5000),
        ("Hadamard", (3, 5), 1.0, 5000),
    ],
)
def test_wald_holds_its_level(kind, shape, epsilon, n):
    assert is_near(Population(mutual(shape), epsilon=epsilon, kind=kind, n=n).rejected(wald_test))


@pytest.mark.parametrize("kind", ["k-RR", "OUE"])
def test_wald_holds_its_level_given_another_attribute(kind):
    population = Population(conditional((2, 3, 2)), epsilon=2.0, kind=kind, n=10_000)
    assert is_near(population.rejected(lambda release: wald_test(release, XY_GIVEN_Z)))
    # the same people without z: dependent, and seen to be
    assert population.rejected(lambda release: wald_test(release, Hypothesis.of("x", "y", "z")), 100) > 0.9


@pytest.mark.parametrize(("kind", "shape"), [("k-RR", (3, 4)), ("OUE", (3, 4)), ("k-RR", (2, 3, 2))])
def test_statistics_follow_the_chi_square_law(kind, shape):
    population = Population(mutual(shape), kind=kind, n=10_000)
    found = [wald_test(population.release()) for _ in range(RUNS)]
    assert stats.kstest([verdict.p_value for verdict in found], "uniform").pvalue > 1e-3
    assert found[0].df == Hypothesis.of(*population.key).df(population.design.domain)


@pytest.mark.parametrize("kind", ["k-RR", "OUE"])
def test_monte_carlo_holds_its_level_where_wald_does_not(kind):
    population, runs = Population(conditional((2, 3, 3)), epsilon=0.5, kind=kind, n=600), 400
    tallies = [population.tally() for _ in range(runs)]
    wald = [wald_test(tally.releases()[population.key], XY_GIVEN_Z) for tally in tallies]
    assert np.mean([verdict.reject() for verdict in wald]) < 0.02  # all noise: the limit is far
    assert all(verdict.caution for verdict in wald)
    found = [
        monte_carlo_test(tally, population.key, XY_GIVEN_Z, simulations=19, seed=seed).reject()
        for seed, tally in enumerate(tallies)
    ]
    assert is_near(np.mean(found), runs=runs)


@pytest.mark.parametrize("kind", ["k-RR", "OUE"])
def test_the_textbook_test_does_not_hold_its_level(kind):
    population = Population(EVEN, kind=kind)
    rate = population.rejected(lambda r: paper_chi_square(r, people=population.n, rule_of_five=False), 100)
    assert rate > 0.95
    verdict = paper_chi_square(population.release(), people=population.n)
    assert not verdict.valid
    assert "not valid" in verdict.method
    assert verdict.method.startswith("paper")


def test_the_size_check_can_fail():
    """A Wald test with the covariance about the respondents leaves out the sampling of people; the check sees it."""
    population = Population(mutual((3, 4)), epsilon=5.0, n=5000)

    def wrong(release):
        channel = population.design.questions[0].channel
        pi = release.values.reshape(-1)
        narrow = channel.covariance(pi, respondents=population.n, about="respondents")
        return wald_test(replace(release, uncertainty=replace(release.uncertainty, covariance=narrow)))

    assert not is_near(population.rejected(wrong, 200), runs=200)
    assert is_near(population.rejected(wald_test))


# -- power -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["k-RR", "OUE"])
def test_power_grows_with_people_and_with_dependence(kind):
    by_people = [Population(EVEN + 0.04 * TILT, kind=kind, n=n).rejected(wald_test, 150) for n in (2000, 8000, 32_000)]
    by_dependence = [Population(EVEN + d * TILT, kind=kind).rejected(wald_test, 150) for d in (0.0, 0.03, 0.08)]
    for low, middle, high in (by_people, by_dependence):
        assert low < middle < high
        assert high > 0.9


def test_monte_carlo_and_wald_agree_when_there_are_many_reports():
    for kind in ("k-RR", "OUE"):
        for d in (0.0, 0.03, 0.1):
            population = Population(EVEN + d * TILT, kind=kind, n=20_000, seed=7)
            tally = population.tally()
            wald = wald_test(tally.releases()[population.key])
            simulated = monte_carlo_test(tally, population.key, simulations=199, seed=1)
            assert simulated.df == wald.df == 6
            assert simulated.statistic == pytest.approx(wald.statistic, rel=0.15, abs=0.3)
            assert simulated.p_value == pytest.approx(wald.p_value, abs=0.12)
            assert simulated.hypothesis == wald.hypothesis == "x and y are independent"


def test_asking_three_ways_round_gives_one_answer():
    population = Population(conditional((2, 3, 2)), epsilon=2.0)
    tally = population.tally()
    release = tally.releases()[population.key]
    same = wald_test(release, XY_GIVEN_Z)
    assert wald_test(release, Hypothesis.of("y", "x", given=["z"])).statistic == pytest.approx(same.statistic)
    assert wald_test(release.project(["z", "y", "x"]), XY_GIVEN_Z).statistic == pytest.approx(same.statistic)
    simulated = monte_carlo_test(tally, population.key, XY_GIVEN_Z, simulations=19, seed=1)
    assert simulated.statistic == pytest.approx(same.statistic, rel=0.2, abs=0.3)


def test_a_question_of_a_larger_design_is_found():
    wide = domain_of((3, 4))
    channel = MAKERS["k-RR"](12, 2.0)
    single = Asked(attributes=("x",), channel=MAKERS["k-RR"](3, 2.0), share=0.5)
    pair = Asked(attributes=("x", "y"), channel=channel, share=0.5)
    design = CollectionDesign(domain=wide, questions=(single, pair), epsilon=2.0, respondents=10, mode="tables")
    cells = np.repeat(np.arange(12), 200)
    tally = Tally(design).add(Reports({1: channel.randomize(cells, SeededSource(1))}, simulated=True))
    assert monte_carlo_test(tally, ["x", "y"], simulations=19, seed=2).p_value > 0.01
    with pytest.raises(UnknownName, match="x"):
        monte_carlo_test(tally, ["x"], Hypothesis.of("x", "y"), seed=1)


# -- the covariance ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "table"), [((1, 3, 4), EVEN), ((1, 2, 3, 2), mutual((2, 3, 2))), ((2, 2, 3), conditional((2, 3, 2)))]
)
def test_the_derivative_is_that_of_h(shape, table):
    rng = np.random.default_rng(1)
    pi = rng.dirichlet(np.ones(math.prod(shape)))
    size = math.prod(shape[1:])
    whole = np.zeros((pi.size, pi.size))
    for z, jacobian in enumerate(_jacobians(pi, shape)):
        block = slice(z * size, (z + 1) * size)
        whole[block, block] = jacobian
    step = 1e-6
    for y in range(pi.size):
        moved = [_departure(pi + sign * step * np.eye(pi.size)[y], shape).reshape(-1) for sign in (1, -1)]
        np.testing.assert_allclose(whole[:, y], (moved[0] - moved[1]) / (2 * step), atol=1e-8)
    # h vanishes under its hypothesis and has no single margins anywhere
    assert np.abs(_departure(pi, shape) @ _interactions(shape[1:]).T).max() > 1e-3
    laid_out = np.moveaxis(table, -1, 0) if shape[0] > 1 else table
    assert np.abs(_departure(laid_out.reshape(-1), shape)).max() < 1e-15


@pytest.mark.parametrize("kind", ["k-RR", "OUE"])
def test_the_covariance_of_h_is_the_one_that_simulation_shows(kind):
    population, shape, runs = Population(EVEN, kind=kind, n=10_000), (1, 3, 4), 1500
    channel = population.design.questions[0].channel
    drawn = []
    for _ in range(runs):
        ((_, counts),) = population.tally()
        found = channel.estimate(counts)
        pi, _ = known_total(np.asarray(found.frequencies), found.uncertainty)
        drawn.append(_interactions(shape[1:]) @ _departure(pi, shape)[0])
    _, covariance = known_total(EVEN.reshape(-1), channel.covariance(EVEN.reshape(-1), respondents=population.n))
    A = _interactions(shape[1:]) @ _jacobians(EVEN.reshape(-1), shape)[0]
    ours, brute = A @ covariance.dense() @ A.T, np.cov(np.array(drawn).T)
    sd = np.sqrt(np.diag(ours))
    # an entry of a correlation matrix from m draws has a standard error of at most sqrt(2/m)
    assert np.abs((ours - brute) / np.outer(sd, sd)).max() < 4.5 * math.sqrt(2 / runs)


def test_a_known_total_is_used():
    channel = MAKERS["OUE"](12, 1.0)
    raw = channel.covariance(EVEN.reshape(-1), respondents=1000)
    pi, better = known_total(EVEN.reshape(-1) + 0.01, raw)
    assert pi.sum() == pytest.approx(1)
    np.testing.assert_allclose(better.dense() @ np.ones(12), 0, atol=1e-12)
    assert (better.variance() < raw.variance()).all()
    exact = MAKERS["k-RR"](12, 1.0).covariance(EVEN.reshape(-1), respondents=1000)
    assert known_total(EVEN.reshape(-1), exact)[1] is exact


def test_pseudo_inverse_by_hand():
    release = Population(EVEN).release()
    pi, covariance = known_total(release.values.reshape(-1), release.uncertainty.covariance)
    J = _jacobians(pi, (1, 3, 4))[0]
    h = release.values - np.outer(release.values.sum(1), release.values.sum(0))
    inverse = np.linalg.pinv(J @ covariance.dense() @ J.T, rcond=1e-9, hermitian=True)
    assert np.linalg.matrix_rank(inverse, rtol=1e-9, hermitian=True) == 6
    assert wald_test(release).statistic == pytest.approx(float(h.reshape(-1) @ inverse @ h.reshape(-1)))


def test_three_hundred_cells():
    population = Population(mutual((15, 20)), epsilon=4.0, n=50_000)
    verdict = wald_test(population.release())
    assert verdict.df == 14 * 19
    assert 0.001 < verdict.p_value < 0.999


# -- the fitted null ---------------------------------------------------------------------------------------------------


def test_the_likelihood_fit_is_a_product_and_the_best_one():
    population = Population(EVEN + 0.03 * TILT, n=5000)
    channel = population.design.questions[0].channel
    ((_, counts),) = population.tally()
    fit = product_likelihood(channel.matrix(), counts, (1, 3, 4), np.full(12, 1 / 12)).reshape(3, 4)
    np.testing.assert_allclose(fit, np.outer(fit.sum(1), fit.sum(0)), atol=1e-12)

    def likelihood(row, column):
        return counts @ np.log(np.outer(row, column).reshape(-1) @ channel.matrix())

    best, rng = likelihood(fit.sum(1), fit.sum(0)), np.random.default_rng(1)
    for _ in range(200):
        row, column = (m * np.exp(0.1 * rng.normal(size=m.size)) for m in (fit.sum(1), fit.sum(0)))
        assert likelihood(row / row.sum(), column / column.sum()) <= best + 0.1


def test_the_product_of_margins_is_a_distribution():
    np.testing.assert_allclose(product_of_margins(EVEN.reshape(-1), (1, 3, 4)), EVEN.reshape(-1))
    rough = product_of_margins(np.random.default_rng(1).normal(0.05, 0.2, size=12), (2, 2, 3))
    assert rough.sum() == pytest.approx(1)
    assert (rough >= 0).all()
    assert np.abs(_departure(rough, (2, 2, 3))).max() < 1e-15


def test_the_documents_first_step_is_norm_sub():
    """No other non-negative table with the same sum has less of g |T - x|_1 + (1 - g) |T - x|_2^2, for any g < 1."""
    rng = np.random.default_rng(1)
    for g in (0.0, 0.01, 0.5, 0.99):
        for total in (2.0, 10.0, 30.0):
            noisy = rng.normal(1.5, 4, size=6)
            ours = norm_sub(noisy, total=total).frequencies

            def objective(x, noisy=noisy, g=g):
                return g * np.abs(noisy - x).sum(-1) + (1 - g) * ((noisy - x) ** 2).sum(-1)

            near = np.abs(ours + rng.normal(size=(20_000, 6)) * rng.choice([1e-3, 0.1, 1], size=(20_000, 1)))
            others = near * total / near.sum(axis=1, keepdims=True)
            assert objective(ours) <= objective(others).min() + 1e-9


# -- degrees of freedom and words --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "hypothesis", "df", "words"),
    [
        ((3, 4), Hypothesis.of("x", "y"), 6, "x and y are independent"),
        ((2, 2), Hypothesis.of("x", "y"), 1, "x and y are independent"),
        ((2, 2, 2), Hypothesis.of("x", "y", "z"), 4, "x, y and z are mutually independent"),
        ((2, 2, 2), XY_GIVEN_Z, 2, "x and y are independent given z"),
        ((2, 2, 2), Hypothesis.of("x", ["y", "z"]), 3, "x and y x z are independent"),
        ((3, 4, 5), Hypothesis.of("x", "y", "z"), 60 - 12 + 2, "x, y and z are mutually independent"),
        ((3, 4, 5), XY_GIVEN_Z, 30, "x and y are independent given z"),
        ((2, 3, 2, 2), Hypothesis.of("x", "y", given=["z", "w"]), 8, "x and y are independent given z, w"),
        ((2, 3, 2, 2), Hypothesis.of(*"xyzw"), 24 - 9 + 3, "x, y, z and w are mutually independent"),
    ],
)
def test_degrees_of_freedom(shape, hypothesis, df, words):
    assert hypothesis.df(domain_of(shape)) == df
    assert hypothesis.words == words
    layout = hypothesis.shape(domain_of(shape))
    assert layout[0] * len(_interactions(layout[1:])) == df  # the space that h lies in has just that dimension


def test_thresholds():
    chi = Verdict(hypothesis="", method="", statistic=4.0, df=1, p_value=float(stats.chi2.sf(4.0, 1)))
    assert chi.threshold(0.05) == pytest.approx(3.8415, abs=1e-4)
    assert chi.reject(0.05)
    assert not chi.reject(0.01)
    drawn = Verdict.simulated_from(95.5, range(1, 100), hypothesis="", method="", df=1)
    assert drawn.threshold(0.05) == 95  # ceil(100 * 0.95)
    assert drawn.p_value == pytest.approx(0.05)
    assert drawn.reject(0.05)
    with pytest.raises(InvalidInput, match="alpha"):
        drawn.reject(0.001)
    for statistic in np.arange(0.5, 100):
        one = Verdict.simulated_from(statistic, range(1, 100), hypothesis="", method="", df=1)
        assert one.reject(0.07) == (one.p_value <= 0.07 + 1e-12)
    assert json.loads(json.dumps(drawn.as_dict()))["df"] == 1


# -- with a curator ----------------------------------------------------------------------------------------------------

CURATED = domain_of((3, 4))
PLAN = NoisyTables(Workload.of(CURATED.names), family="laplace").calibrate(
    CURATED, Budget.pure(0.1), unit=Unit.row(), neighbours=Neighbours.REPLACE_ONE
)


def curated(table, n, rng, source):
    (law,) = PLAN.laws
    return Release(
        estimate=Cells(CURATED, (rng.multinomial(n, table.reshape(-1)) + law.draw(12, source)).reshape(3, 4)),
        quantity="count",
        uncertainty=AdditiveNoise(law=law),
        event=PLAN.event,
        unit=PLAN.unit,
        neighbours=PLAN.neighbours,
        trust="central",
        provenance=Provenance(recipe=PLAN.recipe.as_dict(), simulated=True),
    )


def test_a_curators_table():
    rng, source, n, runs = np.random.default_rng(1), SeededSource(1), 5000, 400
    releases = [curated(EVEN, n, rng, source) for _ in range(runs)]
    naive = np.mean([paper_chi_square(r, people=n, rule_of_five=False).reject() for r in releases])
    monte = [
        central_monte_carlo_test(r, people=n, simulations=39, seed=i, rule_of_five=False)
        for i, r in enumerate(releases)
    ]
    assert naive > 0.15
    assert is_near(np.mean([verdict.reject() for verdict in monte]), runs=runs)
    # more noise than sampling: Laplace's tails are felt, and the verdict says so
    assert all("Laplace" in wald_test(r).caution for r in releases)
    many = [wald_test(curated(EVEN, 100_000, rng, source)) for _ in range(RUNS)]
    assert is_near(np.mean([verdict.reject() for verdict in many]))
    assert not any(verdict.caution for verdict in many)
    dependent = curated(EVEN + 0.05 * TILT, n, rng, source)
    assert central_monte_carlo_test(dependent, people=n, simulations=39, seed=1).reject()
    assert wald_test(dependent).reject()


def test_the_rule_of_five_accepts_and_says_so():
    thin = np.outer([0.98, 0.01, 0.01], COLUMN)
    release = curated(thin, 500, np.random.default_rng(1), SeededSource(1))
    for verdict in (
        paper_chi_square(release, people=500),
        central_monte_carlo_test(release, people=500, simulations=19, seed=1),
    ):
        assert verdict.p_value == 1
        assert not verdict.reject(0.2)
        assert "says nothing" in verdict.caution


# -- refusals ----------------------------------------------------------------------------------------------------------


def made_of(tally, about):
    (release,) = tally.releases(about).values()
    return release


def test_what_cannot_be_tested_is_refused():
    population = Population(EVEN, n=2000)
    tally, release = population.tally(), population.release()
    with pytest.raises(InvalidInput, match="sampling people"):
        wald_test(made_of(tally, about="respondents"))
    with pytest.raises(InvalidInput, match="no covariance"):
        wald_test(replace(release, uncertainty=Unknown()))
    with pytest.raises(InvalidInput, match="additive noise"):
        central_monte_carlo_test(release, people=2000, seed=1)
    with pytest.raises(InvalidInput, match="simulations"):
        monte_carlo_test(tally, population.key, simulations=0, seed=1)
    with pytest.raises(InvalidInput, match="all attributes"):
        monte_carlo_test(tally, population.key, Hypothesis.of("x", "z"), seed=1)
    with pytest.raises(InvalidInput, match="people"):
        paper_chi_square(release, people=0)
    for wrong in ({"parts": (("x",),)}, {"parts": (("x",), ("x",))}, {"parts": (("x",), ())}):
        with pytest.raises(InvalidInput, match="parts"):
            Hypothesis(**wrong)
    with pytest.raises(InvalidInput, match="given"):
        Hypothesis.of("x", "y", given="z")
    with pytest.raises(InvalidInput, match="alpha"):
        wald_test(release).reject(1.5)


def test_too_few_reports_for_wald_are_enough_for_monte_carlo():
    population = Population(mutual((5, 6)), epsilon=3.0, n=30)
    tally = population.tally()
    ((asked, counts),) = tally
    naive = Correlated(covariance=asked.channel.estimate(counts).uncertainty)
    with pytest.raises(InvalidInput, match="too few reports"):
        wald_test(replace(population.release(), uncertainty=naive))  # it knows of no cell that was never sent
    assert 0 < monte_carlo_test(tally, population.key, simulations=19, seed=1).p_value <= 1


def test_blocks_are_tested_together():
    """The first block is independent and the others are not: whoever looked at it alone would see nothing."""
    domain = Domain(attributes=[Categorical(name=n, levels=["0", "1"]) for n in "ab"])
    rng = np.random.default_rng(5)
    questions, counts = [], {}
    for block in range(4):
        fakes = rng.dirichlet([5] * 4)
        channel = RandomizedResponse.with_fakes(distribution=fakes.tolist(), epsilon=2.0, floor=0.5)
        cells = rng.integers(0, 4, 800) if block == 0 else rng.choice([0, 3], 800)
        questions.append(Asked(attributes=("a", "b"), channel=channel, share=1.0, block=block + 1))
        counts[block] = channel.tally(channel.randomize(cells, SeededSource(block)))
    design = CollectionDesign(domain=domain, questions=tuple(questions), epsilon=2.0, respondents=3200, mode="tables")
    together = Tally.counted(design, counts, simulated=True)
    assert monte_carlo_test(together, ("a", "b"), simulations=99, seed=1).p_value == 0.01
    assert wald_test(together.releases()["a", "b"]).p_value < 1e-6
    first = Tally.counted(design, {0: counts[0]}, simulated=True)
    assert monte_carlo_test(first, ("a", "b"), simulations=99, seed=1).p_value > 0.05


def test_blocks_hold_the_level():
    domain = Domain(attributes=[Categorical(name=n, levels=["0", "1"]) for n in "ab"])
    channels = [
        RandomizedResponse.with_fakes(distribution=[0.7, 0.1, 0.1, 0.1], epsilon=2.0, floor=floor)
        for floor in (0.2, 0.6, 1.0)
    ]
    asked = [
        Asked(attributes=("a", "b"), channel=channel, share=1.0, block=n + 1) for n, channel in enumerate(channels)
    ]
    design = CollectionDesign(domain=domain, questions=tuple(asked), epsilon=2.0, respondents=600, mode="tables")
    rng, rejected = np.random.default_rng(3), []
    for run in range(200):
        cells = rng.choice(4, (3, 200), p=np.outer([0.7, 0.3], [0.6, 0.4]).reshape(-1))
        counts = {n: c.tally(c.randomize(cells[n], SeededSource(3 * run + n))) for n, c in enumerate(channels)}
        tally = Tally.counted(design, counts, simulated=True)
        rejected.append(monte_carlo_test(tally, ("a", "b"), simulations=19, seed=run).reject(0.05))
    assert np.mean(rejected) < 0.11  # 0.05 and four standard errors
