"""Private networks of numbers: sensitivity by brute force, the contract with broken twins, and what is found."""

import itertools
import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from tests.models.continuous.random_gaussian import random_gaussian

from tacita.domain import Categorical, Domain, Identifier, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput, UnknownName
from tacita.models.continuous import GaussianBIC, Moments
from tacita.models.links import shd
from tacita.models.search import Search
from tacita.noise import DiscreteLaplace, SeededSource, Stepped
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.query.models.network import NumericNetwork, column_sums, fair_reach, narrowed_ends
from tacita.query.models.pca import shorten, triangle
from tacita.query.models.points import STEPS
from tacita.query.models.released_network import ReleasedNetwork
from tacita.testing.points import SQUARE, PointsContract

ADD, REPLACE, ROW = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE, Unit.row()
NAMES = ("a", "b", "c")


@pytest.mark.parametrize("columns", [2, 3])
@pytest.mark.parametrize("neighbours", [ADD, REPLACE])
def test_no_neighbour_moves_the_sums_of_a_stage_further_than_was_claimed(columns, neighbours):
    recipe = NumericNetwork(columns=NAMES[:columns])
    rng = np.random.default_rng(2)
    corners = np.array(list(itertools.product([0.0, 0.3, 0.5, 1.0], repeat=columns)))
    places = np.concatenate([corners, rng.random((300, columns))])
    first, second = column_sums(2 * places - 1), triangle(shorten(places, recipe.second.radius))
    for family, order in (("laplace", 1), ("gaussian", 2)):
        shifts = recipe._shifts(family, ROW, neighbours)
        for sums, shift in zip((first, second), shifts, strict=True):
            moved = sums.astype(float)
            if neighbours is REPLACE:
                moved = (moved[:, None, :] - moved[None, :, :]).reshape(-1, moved.shape[1])
            largest = np.linalg.norm(moved, ord=order, axis=1).max()
            assert largest <= shift
            if neighbours is ADD:
                assert largest > 0.8 * shift
        # a person of three rows moves three times as much
        assert recipe._shifts(family, Unit.of_person("who", max_rows=3), neighbours) == tuple(
            3 * each for each in shifts
        )


def test_the_second_stage_is_bounded_whatever_the_first_released():
    """Ends may be anywhere: places are clipped before they are shortened."""
    recipe, rng = NumericNetwork(columns=NAMES), np.random.default_rng(4)
    rows = rng.uniform(-1, 1, (500, 3))
    for _ in range(30):
        ends = narrowed_ends(rng.normal(0, 200, 7), float(rng.uniform(0.1, 50)), float(rng.uniform(1, 12)))
        assert (ends[:, 1] > ends[:, 0]).all()
        places = np.clip((rows - ends[:, 0]) / (ends[:, 1] - ends[:, 0]), 0, 1)
        moved = triangle(shorten(places, recipe.second.radius)).astype(float)
        assert np.abs(moved).sum(axis=1).max() <= recipe._shifts("laplace", ROW, ADD)[1]
        assert np.linalg.norm(moved, axis=1).max() <= recipe._shifts("gaussian", ROW, ADD)[1]


class TestContract(PointsContract):
    def recipes(self):
        yield NumericNetwork(columns=("a", "b"))
        yield NumericNetwork(columns=("a", "b"), narrow=0.0)

    def figures(self, answer):
        return answer.moments.matrix[np.triu_indices(3)]

    @pytest.mark.parametrize("stage", [0, 1])
    def test_noise_that_is_too_narrow_is_found(self, stage):
        """The contract is able to fail: a broken twin of a stage draws a fortieth of its noise."""
        plan = NumericNetwork(columns=("a", "b")).calibrate(SQUARE, Budget.pure(1.0), unit=ROW, neighbours=ADD)
        honest = DiscreteLaplace.draw
        broken = type("Narrow", (DiscreteLaplace,), {"draw": lambda self, n, s: honest(self, n, s) // 40})
        laws = list(plan.laws)
        laws[stage] = Stepped(law=broken(scale=laws[stage].law.scale), of=Fraction(1, STEPS))
        twin = replace(plan, laws=tuple(laws))
        if stage == 0:  # its sums are not in the answer, but the ends that are read off them are
            figures, self.figures = self.figures, lambda answer: answer.moments.ends
        with pytest.raises(AssertionError, match="attack"):
            self.attack(twin)
        if stage == 0:
            self.attack(plan)
            self.figures = figures


def test_too_small_a_sensitivity_would_be_found():
    plan = NumericNetwork(columns=("a", "b"), narrow=0.0)

    class Small(NumericNetwork):
        def _shifts(self, family, unit, neighbours):
            return tuple(shift // 8 for shift in super()._shifts(family, unit, neighbours))

    small = Small(columns=plan.columns, narrow=0.0).calibrate(SQUARE, Budget.pure(1.0), unit=ROW, neighbours=ADD)
    with pytest.raises(AssertionError, match="attack"):
        TestContract().attack(small)


# -- what is found -----------------------------------------------------------------------------------------------------


def people(network, rows, seed=1, wide=10.0):
    """Rows of a network, with bounds a number of standard deviations away."""
    columns = network.sample(rows, np.random.default_rng(seed))
    spread = wide * np.sqrt(np.diag(network.covariance))
    ends = zip(network.names, network.mean - spread, network.mean + spread, strict=True)
    domain = Domain(attributes=[Numeric(name=name, bounds=(low, high), bins=4) for name, low, high in ends])
    return columns, LocalEngine(domain, pa.table(columns))


def released(engine, budget, seed=1, **settings):
    recipe = NumericNetwork(columns=engine.domain.names, **settings)
    return recipe.calibrate(engine.domain, budget, unit=ROW, neighbours=ADD).run(engine, SeededSource(seed))


@pytest.mark.parametrize("budget", [Budget.pure(8.0), Budget.approx(4.0, 1e-6), Budget.zcdp(1.0)], ids=str)
def test_with_many_rows_it_finds_the_class_and_the_coefficients(budget):
    network = random_gaussian(5, 6)
    columns, engine = people(network, 60_000)
    found = released(engine, budget)
    exact = Search().run(network.names, GaussianBIC(moments=Moments.of(columns)))
    assert shd(exact, network.parents, classes=True) == 0
    assert shd(found.parents, exact, classes=True) == 0
    for row in found.links():
        if row["parent"] in network.parents[row["child"]]:
            truth = network.lines[row["child"]].coefficients[row["parent"]]
            assert abs(row["coefficient"] - truth) < 6 * row["std"]
            assert row["std"] < 0.05


def test_narrowing_finds_more_than_wide_bounds_allow():
    network = random_gaussian(5, 6)
    _, engine = people(network, 20_000, wide=60.0)
    links = {share: len(released(engine, Budget.approx(1.0, 1e-6), narrow=share).network.edges) for share in (0.0, 0.2)}
    assert links[0.0] == 0
    assert links[0.2] >= len(network.edges) - 1


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 5.0])
def test_noise_alone_makes_no_links(epsilon):
    """Independent columns with bounds that are near and far: without its own cost, noise makes several links."""
    rng, wide = np.random.default_rng(3), (5, 10, 50, 200, 1000)
    names = [f"x{place}" for place in range(5)]
    domain = Domain(attributes=[Numeric(name=n, bounds=(-w, w), bins=2) for n, w in zip(names, wide, strict=True)])
    columns = {name: rng.normal(size=3000) for name in names}
    engine = LocalEngine(domain, pa.table(columns))
    links = [len(released(engine, Budget.approx(epsilon, 1e-6), seed=seed).network.edges) for seed in range(10)]
    assert sum(links) <= 1


def test_intervals_of_effects_cover_the_truth_with_noise():
    network = random_gaussian(4, 11, density=0.8)
    hits = total = 0
    for seed in range(25):
        _, engine = people(network, 4000, seed=seed)
        found = released(engine, Budget.approx(2.0, 1e-6), seed=seed, narrow=0.0)
        given = replace(found, network=network)  # the true structure
        for each in given.effects("x3"):
            truth = network.total_effect(each.cause, "x3")
            hits, total = hits + (each.low <= truth <= each.high), total + 1
    assert total == 75
    assert hits >= 63  # 95 % of 75 are 71


def test_rules_hold_and_the_search_is_stated():
    network = random_gaussian(5, 6)
    _, engine = people(network, 20_000)
    found = released(engine, Budget.zcdp(1.0), search="hill", forbid=("x4:*",), require=("x0:x1",), degree=2)
    assert "x0" in found.parents["x1"]
    assert all("x4" not in above for above in found.parents.values())
    assert max(map(len, found.parents.values())) <= 2
    assert found.search == "hill"
    assert released(engine, Budget.zcdp(1.0), search="rsmax2").search == "rsmax2"


def test_it_is_read_back_and_states_its_guarantee():
    network = random_gaussian(4, 6)
    _, engine = people(network, 2000)
    found = released(engine, Budget.pure(1.0))
    again = ReleasedNetwork.from_json(found.to_json())
    assert again.as_dict() == found.as_dict()
    assert [each.as_dict() for each in again.effects("x3")] == [each.as_dict() for each in found.effects("x3")]
    assert "simulated" in found.statement()
    assert found.guarantee == "none"
    assert json.loads(found.to_json())["tacita"] == "numeric-network/1"
    assert [row["child"] for row in found.links() if row["parent"] is None] == list(network.names)


def test_ends_reach_as_far_as_noise_allows():
    assert fair_reach(1e8, 1.0) == 12
    assert fair_reach(100, 1e3) == 3
    assert fair_reach(160_000, 10.0) == pytest.approx(np.sqrt(200 / 10))
    exact = np.array([1000.0, 100.0, 0.0, 1000 * (0.01 + 0.02**2), 1000 * 0.5])
    ends = narrowed_ends(exact, 1e-9, 4.0)
    assert ends[0] == pytest.approx([0.1 - 0.08, 0.1 + 0.08], abs=1e-3)
    assert ends[1] == pytest.approx([-1, 1])  # 0.7 times 4 is beyond the bounds
    wider = narrowed_ends(exact, 5.0, 4.0)
    assert wider[0, 1] - wider[0, 0] > ends[0, 1] - ends[0, 0]


def test_a_person_is_protected_with_all_their_rows():
    domain = Domain(
        person="who",
        attributes=[Identifier(name="who"), *(Numeric(name=n, bounds=(0, 1), bins=2) for n in ("a", "b"))],
    )
    unit = Unit.of_person("who", max_rows=2)
    plan = NumericNetwork(columns=("a", "b")).calibrate(domain, Budget.pure(50.0), unit=unit, neighbours=ADD)
    rows = pa.table({"who": ["p"] * 200 + ["q"], "a": [0.5] * 201, "b": [0.5] * 201})
    found = plan.run(LocalEngine(domain, rows), SeededSource(2))
    assert found.moments.matrix[0, 0] == pytest.approx(3, abs=8)


@pytest.mark.parametrize(
    "settings",
    [
        {"columns": ()},
        {"search": "best"},
        {"narrow": 1.0},
        {"narrow": -0.1},
        {"reach": 0.5},
        {"norm": 0.0},
        {"degree": -1},
        {"forbid": ("a",)},
        {"require": ("a:b", "b:a")},
        {"columns": tuple("abcdefghijklmnopqr"), "search": "exact"},
        {"columns": ("a", "a")},
    ],
    ids=str,
)
def test_settings_are_checked(settings):
    with pytest.raises(InvalidInput):
        NumericNetwork(**{"columns": ("a", "b")} | settings).calibrate(
            SQUARE, Budget.pure(1.0), unit=ROW, neighbours=ADD
        )


def test_columns_are_numbers_with_bounds():
    domain = Domain(attributes=[Numeric(name="a", bounds=(0, 1), bins=1), Categorical(name="b", levels=["x", "y"])])
    with pytest.raises(InvalidInput, match="bounds"):
        NumericNetwork(columns=("a", "b")).calibrate(domain, Budget.pure(1.0), unit=ROW, neighbours=ADD)
    with pytest.raises(UnknownName):
        NumericNetwork(columns=("a", "c")).calibrate(domain, Budget.pure(1.0), unit=ROW, neighbours=ADD)
    assert NumericNetwork(columns=tuple("abcdefghijklmnopqr")).finder.kind == "hill"
