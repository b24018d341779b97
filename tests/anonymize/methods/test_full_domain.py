"""Full-domain methods against a search through every node, and what they release against a slow recount."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pytest

from tacita.anonymize import Anonymize, Conditions, Hierarchy, Intervals, read_distinct_rows
from tacita.anonymize.methods.bayardo import Bayardo, Splits
from tacita.anonymize.methods.datafly import Datafly
from tacita.anonymize.methods.grouping import Grouping
from tacita.anonymize.methods.incognito import Incognito
from tacita.anonymize.methods.lattice import Lattice
from tacita.anonymize.methods.ola import Ola, minimal_nodes
from tacita.anonymize.methods.samarati import Samarati
from tacita.domain import Categorical, Domain, Identifier, Numeric
from tacita.errors import InvalidInput

COLOURS = ["red", "rose", "green", "blue", "grey"]
PETS = ["cat", "dog", "eel"]
ILLS = ["flu", "cold", "cough"]
ATTRIBUTES = [
    Identifier(name="who"),
    Numeric(name="age", bounds=(0, 99), integer=True, role="quasi-identifier"),
    Categorical(name="colour", levels=COLOURS, role="quasi-identifier"),
    Categorical(name="pet", levels=PETS, role="quasi-identifier"),
    Categorical(name="ill", levels=ILLS, role="sensitive"),
]
ROWS = Domain(attributes=ATTRIBUTES)
PEOPLE = Domain(attributes=ATTRIBUTES, person="who")
QUASI = ("age", "colour", "pet")
TREES = {
    "age": Intervals(widths=(5, 20), bounds=(0, 59)),
    "colour": Hierarchy.from_tree("colour", {"*": {"warm": ["red", "rose"], "cool": ["green", "blue"], "g": ["grey"]}}),
}
CHAINS = {
    "age": lambda age: [
        str(age),
        f"{age // 5 * 5}..{age // 5 * 5 + 4}",
        f"{age // 20 * 20}..{age // 20 * 20 + 19}",
        "*",
    ],
    "colour": lambda c: [c, {"red": "warm", "rose": "warm", "grey": "g"}.get(c, "cool"), "*"],
    "pet": lambda pet: [pet, "*"],
}


def some_table(rng, rows, people=8):
    return pa.table(
        {
            "who": [f"p{i}" for i in rng.integers(0, people, rows)],
            "age": rng.choice([1, 2, 7, 22, 23, 41], rows),
            "colour": rng.choice(COLOURS, rows),
            "pet": rng.choice(PETS, rows, p=[0.6, 0.3, 0.1]),
            "ill": rng.choice(ILLS, rows),
        }
    )


def some_conditions(rng):
    kinds = [
        {},
        {"l": 2},
        {"l": 1.6, "l_kind": "entropy"},
        {"l": 2, "l_kind": "recursive", "c": 1.7},
        {"t": 0.37, "t_distance": "equal"},
        {"alpha": 0.7},
    ]
    return Conditions(k=int(rng.integers(1, 6)), **kinds[rng.integers(len(kinds))])


# -- the slow way --------------------------------------------------------------------------------------------------


def slow_holds(rows, whole, asked, people):
    """Whether some rows may be a class, from nothing but the rows."""

    def tally(some):
        pairs = {(row["who"] if people else place, row["ill"]) for place, row in enumerate(some)}
        return Counter(ill for _, ill in pairs)

    persons = len({row["who"] for row in rows}) if people else len(rows)
    counts, every = tally(rows), tally(whole)
    falling, total = sorted(counts.values(), reverse=True), sum(counts.values())
    if persons < asked.k:
        return False
    if asked.l > 1:
        if asked.l_kind == "distinct" and len(counts) < asked.l:
            return False
        entropy = -sum(c / total * math.log(c / total) for c in falling)
        if asked.l_kind == "entropy" and entropy < math.log(asked.l):
            return False
        if asked.l_kind == "recursive" and falling[0] >= asked.c * sum(falling[int(asked.l) - 1 :]):
            return False
    if asked.t is not None:
        apart = sum(abs(counts[ill] / total - every[ill] / sum(every.values())) for ill in ILLS) / 2
        if apart > asked.t:
            return False
    return asked.alpha is None or falling[0] <= asked.alpha * total


def slow_node(table, node, asked, people):
    """Rows that a node suppresses, and the sizes of its classes."""
    rows = table.to_pylist()
    groups = defaultdict(list)
    for row in rows:
        groups[tuple(CHAINS[name](row[name])[level] for name, level in zip(QUASI, node, strict=True))].append(row)
    good = {labels: part for labels, part in groups.items() if slow_holds(part, rows, asked, people)}
    return len(rows) - sum(len(part) for part in good.values()), good


def leaves_below(name, label, table):
    """How many leaves a label stands for, and how many there are, by asking every leaf."""
    leaves = {"age": range(60), "colour": COLOURS, "pet": sorted(set(table["pet"].to_pylist()))}[name]
    return sum(label in CHAINS[name](leaf) for leaf in leaves), len(leaves)


def slow_gcp(table, node, asked, people):
    suppressed, good = slow_node(table, node, asked, people)
    total = 0.0
    for labels, part in good.items():
        for name, label in zip(QUASI, labels, strict=True):
            below, every = leaves_below(name, label, table)
            total += len(part) * (below - 1) / max(every - 1, 1)
    return (total + suppressed * len(QUASI)) / (table.num_rows * len(QUASI))


def slow_dm(table, node, asked, people):
    suppressed, good = slow_node(table, node, asked, people)
    return sum(len(part) ** 2 for part in good.values()) + suppressed * table.num_rows


def cases(count, seed):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        table = some_table(rng, int(rng.integers(6, 30)))
        people, asked = bool(rng.integers(2)), some_conditions(rng)
        budget = int(rng.integers(0, 1 + table.num_rows // 4)) if rng.integers(2) else 0
        crowd = read_distinct_rows(PEOPLE if people else ROWS, table, QUASI, sensitive=("ill",), hierarchies=TREES)
        yield table, people, asked, budget, crowd


# -- against every node --------------------------------------------------------------------------------------------


def test_every_method_finds_what_a_search_through_all_nodes_finds():
    searched = pruned = skipped = falling = 0
    for table, people, asked, budget, crowd in cases(200, seed=1):
        nodes = list(Lattice.of(crowd, asked).nodes())
        gone = {node: slow_node(table, node, asked, people)[0] for node in nodes}
        holding = [node for node in nodes if gone[node] <= budget]
        lattice = Lattice.of(crowd, asked, budget=budget)
        if not holding:
            for method in (Samarati(), Ola(), Incognito()):
                with pytest.raises(InvalidInput, match="not even one class of all people"):
                    method.choose(Lattice.of(crowd, asked, budget=budget))
            continue
        searched += 1
        found = Incognito().holding(lattice)
        pruned += lattice.looked < len(nodes)
        assert [tuple(node) for node in np.argwhere(found).tolist()] == holding
        least = min(sum(node) for node in holding)
        chosen = Samarati().choose(Lattice.of(crowd, asked, budget=budget))
        assert sum(chosen) == least
        assert chosen in holding
        costs = {node: slow_gcp(table, node, asked, people) for node in holding}
        same_height = [costs[node] for node in holding if sum(node) == least]
        assert costs[chosen] == pytest.approx(min(same_height))
        for method in (Ola(), Incognito()):
            own = Lattice.of(crowd, asked, budget=budget)
            assert costs[method.choose(own)] == pytest.approx(min(costs.values()))
        best = Ola(loss="discernibility").choose(Lattice.of(crowd, asked, budget=budget, loss="discernibility"))
        assert slow_dm(table, best, asked, people) == min(slow_dm(table, node, asked, people) for node in holding)
        if lattice.grouping.rolls_up:
            low = [n for n in holding if not any(m != n and np.less_equal(m, n).all() for m in holding)]
            own = Lattice.of(crowd, asked, budget=budget)
            assert minimal_nodes(own) == low
            skipped += own.looked < len(nodes)
            falling += min(costs[node] for node in low) > min(costs.values()) + 1e-9
    assert searched > 100
    assert skipped > 50
    assert pruned > 50
    assert falling > 0  # the lowest nodes that hold are not always the best ones, once something is suppressed


def test_rolling_up_is_claimed_only_where_it_is_true():
    refuted = 0
    for table, people, asked, budget, crowd in cases(150, seed=2):
        grouping = Grouping(crowd=crowd, conditions=asked, budget=budget)
        lattice = Lattice.of(crowd, asked)
        gone = {node: slow_node(table, node, asked, people)[0] for node in lattice.nodes()}
        for node, upper in itertools.product(gone, repeat=2):
            if sum(upper) == sum(node) + 1 and np.less_equal(node, upper).all():
                worse = gone[node] <= budget < gone[upper]
                assert not (grouping.rolls_up and worse)
                assert not (grouping.nested and gone[upper] > gone[node])
                refuted += worse
    assert refuted > 0  # the conditions that are not claimed to roll up really do not


def test_people_who_come_back_can_break_a_condition_on_the_way_up():
    columns = {"who": ["a", "b", "c", "b"], "age": [1, 1, 7, 7], "colour": ["red"] * 4, "pet": ["cat"] * 4}
    table = pa.table(columns | {"ill": ["flu", "cold", "flu", "cold"]})
    asked = Conditions(k=1, alpha=0.5)
    for domain, rolls_up in ((ROWS, True), (PEOPLE, False)):
        crowd = read_distinct_rows(domain, table, QUASI, sensitive=("ill",), hierarchies=TREES)
        lattice = Lattice.of(crowd, asked)
        assert lattice.holds((0, 0, 0))
        assert lattice.holds((2, 0, 0)) is rolls_up  # together two of three people have the flu
        assert lattice.grouping.rolls_up is rolls_up
        assert Ola().choose(lattice) == (0, 0, 0)


def test_the_losses_of_a_node_are_those_of_its_labels():
    for table, people, asked, _, crowd in cases(40, seed=3):
        gcp, dm = Lattice.of(crowd, asked), Lattice.of(crowd, asked, loss="discernibility")
        precision = Lattice.of(crowd, asked, loss="precision")
        for node in gcp.nodes():
            seen = gcp.look(node)
            suppressed, _ = slow_node(table, node, asked, people)
            assert seen.suppressed == suppressed
            assert seen.cost == pytest.approx(slow_gcp(table, node, asked, people))
            assert dm.look(node).cost == slow_dm(table, node, asked, people)
            levels = sum(level / top for level, top in zip(node, gcp.top, strict=True)) / len(node)
            share = suppressed / table.num_rows
            assert precision.look(node).cost == pytest.approx(share + (1 - share) * levels)


@pytest.mark.parametrize("loss", ["gcp", "precision", "entropy", "discernibility"])
def test_nothing_above_a_node_loses_less_than_its_bound(loss):
    for _, _, asked, _, crowd in cases(25, seed=4):
        lattice = Lattice.of(crowd, asked, loss=loss)
        for node, upper in itertools.product(lattice.nodes(), repeat=2):
            if np.less_equal(node, upper).all():
                assert lattice.look(node).bound <= lattice.look(upper).cost * (1 + 1e-9)
            assert lattice.bounds[node] <= lattice.look(node).bound * (1 + 1e-9)


def test_entropy_of_nothing_is_none_and_of_everything_is_all():
    table = some_table(np.random.default_rng(5), 25)
    crowd = read_distinct_rows(ROWS, table, QUASI, hierarchies=TREES)
    lattice = Lattice.of(crowd, Conditions(k=1), loss="entropy")
    assert lattice.look((0, 0, 0)).cost == 0
    assert lattice.look(lattice.top).cost == pytest.approx(1)
    assert Lattice.of(crowd, Conditions(k=26), loss="entropy").look((0, 0, 0)).cost == pytest.approx(1)


# -- Datafly -------------------------------------------------------------------------------------------------------


def test_datafly_stops_at_k_and_raises_what_has_most_values():
    columns = {"who": ["p"] * 6, "age": [1, 1, 1, 22, 22, 22], "colour": ["red"] * 6, "pet": ["cat"] * 6}
    table = pa.table(columns | {"ill": ["flu"] * 6})
    crowd = read_distinct_rows(ROWS, table, QUASI, hierarchies=TREES)
    assert Datafly().choose(Lattice.of(crowd, Conditions(k=3))) == (0, 0, 0)  # classes of exactly k are classes
    assert Datafly().choose(Lattice.of(crowd, Conditions(k=4))) == (3, 0, 0)
    assert Datafly().choose(Lattice.of(crowd, Conditions(k=4), budget=6)) == (0, 0, 0)
    # colour has three values and age two: colour goes first, though ages lie further apart
    table = table.set_column(2, "colour", [["red", "green", "grey"] * 2])
    crowd = read_distinct_rows(ROWS, table, QUASI, hierarchies=TREES)
    assert Datafly().choose(Lattice.of(crowd, Conditions(k=3))) == (0, 2, 0)


# -- Bayardo and Agrawal -------------------------------------------------------------------------------------------


def slow_splits(splits):
    """The least loss over every set of splits whose parents are in it."""
    best = math.inf
    for size in range(len(splits.every) + 1):
        for chosen in itertools.combinations(range(len(splits.every)), size):
            if all(splits.every[s].parent in (-1, *chosen) for s in chosen):
                cost, groups = splits.look(frozenset(chosen))
                if groups.suppressed <= splits.grouping.budget:
                    best = min(best, cost)
    return best


@pytest.mark.parametrize("loss", ["discernibility", "gcp"])
@pytest.mark.parametrize("climbing", [True, False])
def test_the_best_set_of_splits_is_found_and_proved(loss, climbing, monkeypatch):
    if not climbing:  # then the bounds must do all the work
        monkeypatch.setattr(Splits, "starts", lambda self: iter(()))
    rng = np.random.default_rng(6)
    pruned = 0
    for turn in range(60):
        table = some_table(rng, int(rng.integers(5, 25)))
        trees = TREES if turn % 2 else {"colour": TREES["colour"]}
        quasi = ("age", "colour") if turn % 2 else ("colour", "pet")
        people, asked = bool(rng.integers(2)), some_conditions(rng)
        budget = int(rng.integers(0, 5))
        domain = PEOPLE if people else ROWS
        crowd = read_distinct_rows(
            domain, table, quasi, sensitive=("ill",), hierarchies={name: trees[name] for name in quasi if name in trees}
        )
        splits = Splits(grouping=Grouping(crowd=crowd, conditions=asked, budget=budget), loss=loss)
        best = slow_splits(splits)
        if best == math.inf:
            with pytest.raises(InvalidInput, match="not even one class of all people"):
                Bayardo(loss=loss).search(splits)
            continue
        found = Bayardo(loss=loss).search(splits)
        assert found.proved
        assert found.cost == pytest.approx(best)
        pruned += found.looked < 2 ** len(splits.every)
    assert pruned > 0


def test_a_group_that_is_no_class_may_have_parts_that_are(monkeypatch):
    monkeypatch.setattr(Splits, "starts", lambda self: iter(()))
    table = pa.table({"age": [1, 1, 9, 9, 9], "ill": ["flu", "cold", "flu", "flu", "flu"]})
    crowd = read_distinct_rows(ROWS, table, ("age",), sensitive=("ill",))
    asked = Conditions(k=1, alpha=0.6)
    splits = Splits(grouping=Grouping(crowd=crowd, conditions=asked, budget=5), loss="discernibility")
    assert splits.look(frozenset())[0] == 25  # all is suppressed
    found = Bayardo().search(splits)
    assert (found.cost, found.proved) == (2**2 + 3 * 5, True)


def test_intervals_of_plain_numbers_are_costed_as_a_reader_would():
    rng = np.random.default_rng(7)
    for _ in range(20):
        table = some_table(rng, 15)
        crowd = read_distinct_rows(ROWS, table, ("age", "pet"))
        splits = Splits(grouping=Grouping(crowd=crowd, conditions=Conditions(k=2), budget=4), loss="gcp")
        ages, pets = (sorted(set(table[name].to_pylist())) for name in ("age", "pet"))
        chosen = frozenset(i for i in range(len(splits.every)) if rng.integers(2))
        cut_ages = {ages[i + 1] for i in chosen if i < len(ages) - 1}
        cut_pets = {pets[i - len(ages) + 2] for i in chosen if i >= len(ages) - 1}

        def part(value, values, cuts):
            ends = [v for v in values if v in cuts]
            number = sum(end <= value for end in ends)
            return [v for v in values if sum(end <= v for end in ends) == number]

        groups = defaultdict(list)
        for row in table.to_pylist():
            box = part(row["age"], ages, cut_ages), part(row["pet"], pets, cut_pets)
            groups[str(box)].append(box)
        cost = dm = 0.0
        for boxes in groups.values():
            (some, others), size = boxes[0], len(boxes)
            wide = (some[-1] - some[0]) / max(ages[-1] - ages[0], 1) + (len(others) - 1) / max(len(pets) - 1, 1)
            cost += size * (wide / 2 if size >= 2 else 1)
            dm += size**2 if size >= 2 else size * 15
        assert splits.look(chosen)[0] == pytest.approx(cost / 15)
        assert Splits(grouping=splits.grouping, loss="discernibility").look(chosen)[0] == dm


def test_a_search_that_is_given_up_says_so():
    table = some_table(np.random.default_rng(8), 40)
    recipe = {"conditions": Conditions(k=3), "hierarchies": TREES, "suppress": 0.2}
    with pytest.raises(InvalidInput, match="too many ways to prove one the best"):
        Anonymize(**recipe, method=Bayardo(most=3)).prepare(ROWS).run_on(table)
    early = Anonymize(**recipe, method=Bayardo(most=3, early="best")).prepare(ROWS).run_on(table)
    assert early.achieved.k >= 3
    best = Anonymize(**recipe, method=Bayardo()).prepare(ROWS).run_on(table)
    assert best.loss.discernibility <= early.loss.discernibility


# -- what leaves ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", ["level", "tight"])
@pytest.mark.parametrize("method", [Datafly, Samarati, Ola, Incognito, Bayardo])
def test_what_leaves_holds_what_was_asked(method, labels):
    rng = np.random.default_rng(9)
    left = 0
    made = method(labels=labels, most=5000, early="best") if method is Bayardo else method(labels=labels)
    for _ in range(15):
        table = some_table(rng, int(rng.integers(8, 40)))
        asked, people = some_conditions(rng), bool(rng.integers(2))
        recipe = Anonymize(conditions=asked, hierarchies=TREES, suppress=0.2, method=made)
        try:
            result = recipe.prepare(PEOPLE if people else ROWS).run_on(table)  # which counts the rows again
        except InvalidInput:
            continue
        left += 1
        assert result.rows.column_names == ["age", "colour", "pet", "ill"]
        assert result.loss.suppressed <= 0.2 * table.num_rows
        sizes = Counter(tuple(row[name] for name in QUASI) for row in result.rows.to_pylist())
        assert min(sizes.values(), default=asked.k) >= (1 if people else asked.k)
        turned = recipe.prepare(PEOPLE if people else ROWS).run_on(table.take(rng.permutation(table.num_rows)))
        assert turned.rows.equals(result.rows)
    assert left > 5


@pytest.mark.parametrize("method", [Datafly(), Samarati(), Ola(), Incognito()])
def test_level_labels_are_of_one_level_and_true_of_their_rows(method):
    table = some_table(np.random.default_rng(10), 60)
    crowd = read_distinct_rows(ROWS, table, QUASI, hierarchies=TREES)
    lattice = Lattice.of(crowd, Conditions(k=4), budget=10)
    node = method.choose(lattice)
    result = Anonymize(conditions=Conditions(k=4), hierarchies=TREES, suppress=10 / 60, method=method)
    rows = result.prepare(ROWS).run_on(table).rows.to_pylist()
    _, good = slow_node(table, node, Conditions(k=4), False)
    expected = Counter((*labels, row["ill"]) for labels, part in good.items() for row in part)
    assert Counter(tuple(row[name] for name in (*QUASI, "ill")) for row in rows) == expected


# -- bad input -----------------------------------------------------------------------------------------------------


def test_bad_options_are_refused():
    with pytest.raises(InvalidInput, match="loss: must be gcp, precision"):
        Ola(loss="height")
    with pytest.raises(InvalidInput, match="labels: must be level or tight"):
        Samarati(labels="short")
    with pytest.raises(InvalidInput, match="loss: must be discernibility or gcp"):
        Bayardo(loss="entropy")
    with pytest.raises(InvalidInput, match="most: must be 1 or more"):
        Bayardo(most=0)


def test_a_lattice_that_is_too_large_is_refused_and_datafly_still_runs(monkeypatch):
    monkeypatch.setattr("tacita.anonymize.methods.lattice.MOST_NODES", 20)
    table = some_table(np.random.default_rng(11), 40)
    recipe = {"conditions": Conditions(k=3), "hierarchies": TREES}
    with pytest.raises(InvalidInput, match="the lattice has more than"):
        Anonymize(**recipe, method=Ola()).prepare(ROWS).run_on(table)
    assert Anonymize(**recipe, method=Datafly()).prepare(ROWS).run_on(table).achieved.k >= 3
