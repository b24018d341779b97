import itertools

import numpy as np
import pyarrow as pa
import pytest

from tacita.domain import Boolean, Categorical, Domain
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput
from tacita.noise import SeededSource
from tacita.privacy.accountant import pure_epsilon
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize import PrivBayes
from tacita.synthesize.privbayes import BARE, useful_parents
from tacita.synthesize.scores import r_score, sensitivity
from tacita.testing.mechanism import FixedEngine

ROW, ADD, REPLACE = Unit.row(), Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
MUCH = Budget.zcdp(5.0)


def planned(recipe, domain, budget=MUCH, neighbours=ADD, unit=ROW):
    return recipe.calibrate(domain, budget, unit=unit, neighbours=neighbours)


def edges(result):
    return {frozenset(edge) for edge in result.model.edges}


@pytest.mark.parametrize(
    ("recipe", "neighbours"),
    [
        (PrivBayes(degree=1), ADD),
        (PrivBayes(degree=1), REPLACE),
        (PrivBayes(degree=1, score="mi", people=20_000), REPLACE),
    ],
    ids=["R add-remove", "R replace-one", "mi"],
)
def test_a_known_chain_is_found(recipe, neighbours, domain, engine):
    result = planned(recipe, domain, neighbours=neighbours).run(engine, SeededSource(1))
    assert {frozenset("ab"), frozenset("bc")} <= edges(result)


def test_f_finds_a_chain_of_two_levels():
    domain = Domain(attributes=[Boolean(name=name) for name in "xyz"])
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, 4000)
    z = rng.integers(0, 2, 4000)
    y = np.where(rng.random(4000) < 0.9, z, 1 - z)
    engine = FixedEngine(domain, np.stack([x, y, z], axis=1))
    result = planned(PrivBayes(score="F", degree=1), domain).run(engine, SeededSource(1))
    assert frozenset("yz") in edges(result)


def test_the_degree_follows_the_budget(domain, engine):
    parents = []
    for rho in (1e-8, 2e-5, 5.0):
        result = planned(PrivBayes(), domain, Budget.zcdp(rho)).run(engine, SeededSource(2))
        parents.append(sum(len(above) for above in result.model.parents.values()))
        assert (BARE in result.notes) == (parents[-1] == 0)
    assert parents[0] == 0
    assert parents[0] < parents[1] < parents[2]


def test_a_given_structure_costs_nothing_to_choose(domain, engine):
    structure = {"a": (), "b": ("a",), "c": ("b",), "d": ()}
    plan = planned(PrivBayes(structure=structure), domain, Budget.pure(1.0))
    assert plan.choice is None
    assert plan.tables.scale == 4  # four tables, one cell each moves by one
    result = plan.run(engine, SeededSource(1))
    assert dict(result.model.parents) == structure
    truth = engine.project(("b", "c")).normalize().values
    assert np.abs(result.project(("b", "c")).values - truth).sum() / 2 < 0.02


def test_noise_scales_of_the_paper(domain):
    """d tables at (1 - split) epsilon: Lap(2 d / epsilon2) on counts for replace-one, half of it for add-remove."""
    for neighbours, moves in ((REPLACE, 2), (ADD, 1)):
        plan = planned(PrivBayes(people=1000), domain, Budget.pure(1.0), neighbours)
        assert float(plan.tables.scale) == pytest.approx(moves * 4 / 0.7)
        assert 3 * float(plan.choice.epsilon) == pytest.approx(0.3)
        assert pure_epsilon(plan.event, neighbours) <= 1


def test_the_score_is_noised_by_its_own_sensitivity(domain):
    for neighbours in (ADD, REPLACE):
        assert planned(PrivBayes(), domain, neighbours=neighbours).bound == sensitivity("R", ROW, neighbours, None)


def test_the_choice_between_structures_is_private_by_enumeration():
    """All neighbours of a small table: the exact law of the first choice moves by no more than what is charged."""
    domain = Domain(attributes=[Boolean(name=name) for name in "xyz"])
    plan = planned(PrivBayes(degree=1, people=6), domain, Budget.pure(2.0))
    epsilon = float(plan.choice.epsilon)
    rng = np.random.default_rng(0)
    worst = 0.0
    for _ in range(40):
        rows = rng.integers(0, 2, (5, 3))
        one = law(rows, epsilon, plan.bound)
        for row in itertools.product((0, 1), repeat=3):
            two = law(np.vstack([rows, row]), epsilon, plan.bound)
            worst = max(worst, float(np.abs(np.log(one / two)).max()))
    assert 0.05 * epsilon < worst <= epsilon


def test_structures_are_drawn_by_that_law():
    """Not in proportion to the scores, and not the best one: the exponential mechanism."""
    domain = Domain(attributes=[Boolean(name=name) for name in "xyz"])
    rows = np.array([(0, 0, 0)] * 9 + [(1, 1, 0)] * 8 + [(0, 1, 1)] * 4 + [(1, 0, 1)] * 3)
    plan = planned(PrivBayes(degree=1, people=24, theta=1e-6), domain, Budget.pure(6.0))
    engine, runs = FixedEngine(domain, rows), 1500
    first = [plan._structure(engine, SeededSource(k))[0] for k in range(runs)]
    # y takes x as its parent whenever it is placed first, and else only if it is chosen so in the second step
    hits = np.mean([each["z"] == ("y",) or (each["y"] == ("x",) and each["z"] == ("x",)) for each in first])
    chosen = law(rows, float(plan.choice.epsilon), plan.bound)
    second = law_of_second(rows, float(plan.choice.epsilon), plan.bound)
    expected = chosen[0] + chosen[1] * second
    assert hits == pytest.approx(expected, abs=5 * 0.5 / runs**0.5)
    assert 0.1 < chosen[0] < 0.97


def law_of_second(rows, epsilon, bound):
    """Probability that y takes x, when z was placed first."""
    scores = []
    for parent in (0, 2):
        counts = np.zeros((2, 2), int)
        np.add.at(counts, (rows[:, parent], rows[:, 1]), 1)
        scores.append(r_score(counts))
    weights = np.exp(np.array(scores) * epsilon / (2 * bound))
    return weights[0] / weights.sum()


def law(rows, epsilon, bound):
    scores = []
    for child in (1, 2):
        counts = np.zeros((2, 2), int)
        np.add.at(counts, (rows[:, 0], rows[:, child]), 1)
        scores.append(r_score(counts))
    weights = np.exp(np.array(scores) * epsilon / (2 * bound))
    return weights / weights.sum()


def test_candidates_are_the_largest_sets_that_are_useful(domain):
    assert useful_parents(domain, "d", ("a", "b", "c"), 3, 72) == [("a", "b", "c")]
    assert useful_parents(domain, "d", ("a", "b", "c"), 3, 30) == [("a", "c"), ("b", "c")]
    assert useful_parents(domain, "d", ("a", "b", "c"), 1, 30) == [("a",), ("b",), ("c",)]
    assert useful_parents(domain, "d", ("a", "b"), 3, 8) == [()]


def test_candidates_against_a_search_over_all_sets():
    rng = np.random.default_rng(0)
    for _ in range(60):
        sizes = rng.integers(2, 6, 6)
        some = Domain(
            attributes=[Categorical(name=f"n{i}", levels=[str(x) for x in range(s)]) for i, s in enumerate(sizes)]
        )
        degree, most = int(rng.integers(1, 5)), float(rng.integers(2, 200))
        placed = some.names[1:]
        fit = [
            set(above)
            for size in range(1, degree + 1)
            for above in itertools.combinations(placed, size)
            if some.project((*above, "n0")).size <= most
        ]
        largest = [each for each in fit if not any(each < other for other in fit)]
        found = useful_parents(some, "n0", placed, degree, most)
        assert sorted(map(sorted, found)) == sorted(map(sorted, largest or [()]))


def wide(count):
    return Domain(attributes=[Boolean(name=f"n{i}") for i in range(count)])


def test_a_wide_table_has_fewer_parents_and_is_told_so():
    """With three parents, 100 attributes would be four million tables."""
    domain = wide(100)
    plan = planned(PrivBayes(people=10**6), domain, Budget.zcdp(50.0))
    assert plan.degree == 1
    rows = np.random.default_rng(0).integers(0, 2, (200, 100))
    result = plan.run(FixedEngine(domain, rows), SeededSource(1))
    assert max(map(len, result.model.parents.values())) == 1
    assert any("No more than 1 parents" in note for note in result.notes)


def test_a_degree_that_cannot_be_counted_is_refused_before_it_is_paid_for():
    with pytest.raises(InvalidInput, match="degree"):
        planned(PrivBayes(degree=3), wide(100))
    assert planned(PrivBayes(degree=1), wide(100)).degree == 1
    assert planned(PrivBayes(), wide(300)).degree == 1
    assert planned(PrivBayes(), wide(1100)).choice is None  # not even pairs: nothing is spent on a structure


def test_large_tables_lower_the_degree(monkeypatch, domain, engine):
    monkeypatch.setattr("tacita.synthesize.privbayes._MOST_COUNTED", 60)
    result = planned(PrivBayes(), domain).run(engine, SeededSource(1))
    assert max(map(len, result.model.parents.values())) < 3
    assert any("parents were looked at" in note for note in result.notes)


def test_only_tables_are_asked_for_and_in_batches(domain, engine_of, chain):
    engine = engine_of(chain(3000))
    planned(PrivBayes(degree=2), domain).run(engine, SeededSource(1))
    asked = [frozenset(key) for workload in engine.asked for key in workload]
    assert max(len(key) for key in asked) == 3
    assert len(engine.asked) <= 2 + 3  # the count, a batch for each step, the tables


def test_a_person_moves_all_by_its_rows(domain):
    person = Domain(person="id", attributes=[{"name": "id", "kind": "identifier"}, *domain.attributes])
    unit = Unit.of_person("id", max_rows=5)
    plan = planned(PrivBayes(people=1000), person, Budget.pure(1.0), unit=unit)
    alone = planned(PrivBayes(people=1000), domain, Budget.pure(1.0))
    assert plan.tables.scale == 5 * alone.tables.scale
    assert plan.bound == 5 * alone.bound


@pytest.mark.parametrize(
    "bad",
    [{"degree": -1}, {"theta": 0.0}, {"split": 1.0}, {"score": "Q"}, {"people": 0}],
)
def test_bad_input(bad):
    with pytest.raises(InvalidInput, match=next(iter(bad))):
        PrivBayes(**bad)


def test_bad_structures(domain):
    with pytest.raises(InvalidInput, match="structure"):
        planned(PrivBayes(structure={"a": ()}), domain)
    with pytest.raises(InvalidInput, match="cycle"):
        planned(PrivBayes(structure={"a": ("b",), "b": ("a",), "c": (), "d": ()}), domain)
    wide = Domain(attributes=[Categorical(name=name, levels=[str(i) for i in range(200)]) for name in "abcd"])
    with pytest.raises(InvalidInput, match="cells"):
        planned(PrivBayes(structure={"a": (), "b": (), "c": (), "d": ("a", "b", "c")}), wide)


def test_mutual_information_takes_the_true_number_of_rows_if_fewer_were_stated():
    """Brute force: with people stated too low, no replaced row moves a score further than was calibrated for."""
    domain = Domain(attributes=[Boolean(name="x"), Boolean(name="y")])
    plan = PrivBayes(degree=1, score="mi", people=3).calibrate(domain, Budget.pure(1.0), unit=ROW, neighbours=REPLACE)
    cells = list(itertools.product((0, 1), repeat=2))

    def score(rows):
        engine = FixedEngine(domain, rows)
        known = {frozenset(("x", "y")): engine.project(("x", "y"))}
        return plan._score(known, "y", ("x",), plan._rows(engine))

    worst = 0.0
    for rows in itertools.combinations_with_replacement(cells, 6):
        here = score(list(rows))
        for place in range(6):
            for other in cells:
                worst = max(worst, abs(score([*rows[:place], other, *rows[place + 1 :]]) - here))
    assert worst <= plan.bound
    with pytest.raises(InvalidInput, match="fewer rows"):
        score([(0, 0), (1, 1)])


def test_theta_decides_how_many_parents_there_are():
    """A parity of five needs five parents; with more noise fewer are looked at."""
    rng = np.random.default_rng(4)
    bits = rng.integers(0, 2, (20_000, 5))
    columns = {f"n{at}": bits[:, at].astype(bool) for at in range(5)} | {"n5": bits.sum(axis=1) % 2 == 1}
    domain, table = wide(6), pa.table(columns)
    degrees = []
    for epsilon in (0.02, 0.5, 50.0):
        made = planned(PrivBayes(), domain, Budget.pure(epsilon)).run(LocalEngine(domain, table), SeededSource(2))
        degrees.append(max(map(len, made.model.parents.values())))
    assert degrees == sorted(degrees)
    assert degrees[0] < 3 < degrees[-1]
