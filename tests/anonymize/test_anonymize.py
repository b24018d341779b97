"""Whatever the table, what leaves holds what was asked: counted again here, slowly and independently."""

from __future__ import annotations

import datetime as dt
import itertools
import math
from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tacita.anonymize import Anonymize, Conditions, Hierarchy, Intervals, Mondrian, Periods
from tacita.assess.frame import read_frame
from tacita.domain import Boolean, Categorical, Date, Domain, Identifier, Numeric, Ordinal
from tacita.engines.local import LocalEngine
from tacita.errors import DataError, InternalError, InvalidInput

COLOURS = ["red", "green", "blue", "grey"]
LEVELS = ["low", "mid", "high"]
ILLS = ["flu", "cold", "cough", "ache"]
ATTRIBUTES = [
    Identifier(name="who"),
    Numeric(name="age", bounds=(0, 99), integer=True, role="quasi-identifier"),
    Categorical(name="colour", levels=COLOURS, role="quasi-identifier"),
    Ordinal(name="level", levels=LEVELS, role="quasi-identifier"),
    Date(name="day", bounds=(dt.date(2024, 1, 1), dt.date(2025, 12, 31)), role="quasi-identifier"),
    Categorical(name="ill", levels=ILLS, role="sensitive"),
    Numeric(name="pay", bounds=(0, 9), integer=True),
    Boolean(name="inside"),
    Identifier(name="note"),
]
NOTE = Categorical(name="note", levels=[f"secret {i}" for i in range(40)])
ROWS = Domain(attributes=ATTRIBUTES)
PEOPLE = Domain(attributes=ATTRIBUTES, person="who")
TREES = {
    "colour": Hierarchy.from_tree("colour", {"*": {"warm": ["red"], "cool": ["green", "blue"], "plain": ["grey"]}}),
    "age": Intervals(widths=(5, 20)),
    "day": Periods(by=("month", "year")),
    "ill": Hierarchy.from_tree("ill", {"*": {"nose": ["flu", "cold"], "other": ["cough", "ache"]}}),
}
QUICK = settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


@st.composite
def tables(draw, least=1):
    """Small tables with duplicates, missing values, and people who come back."""
    rows = draw(st.integers(least, 40))

    def column(values, missing=True):
        some = st.sampled_from(values)
        return draw(st.lists(st.one_of(some, some, st.none()) if missing else some, min_size=rows, max_size=rows))

    days = [dt.date(2024, 1, 1) + dt.timedelta(days=40 * i) for i in range(8)]
    return pa.table(
        {
            "who": pa.array(column([f"p{i}" for i in range(12)]), pa.string()),
            "age": pa.array(column([1, 2, 3, 20, 40, 41, 90]), pa.int64()),
            "colour": pa.array(column(COLOURS), pa.string()),
            "level": pa.array(column(LEVELS), pa.string()),
            "day": pa.array(column(days), pa.date32()),
            "ill": pa.array(column(ILLS), pa.string()),
            "pay": pa.array(column(list(range(10))), pa.int64()),
            "inside": pa.array(column([True, False], missing=False), pa.bool_()),
            "note": pa.array([f"secret {i}" for i in range(rows)], pa.string()),
        }
    )


conditions = st.builds(
    Conditions,
    k=st.integers(1, 5),
    l=st.sampled_from([1, 1, 2, 3]),
    l_kind=st.sampled_from(["distinct", "entropy", "recursive"]),
    c=st.sampled_from([0.8, 1.5, 3.0]),
    t=st.sampled_from([None, None, 0.1, 0.3, 0.6]),
    t_distance=st.sampled_from([None, "equal", "ordered"]),
    alpha=st.sampled_from([None, None, 0.5, 0.8]),
)


# -- the slow recount ---------------------------------------------------------------------------------------------


def classes_of(rows, quasi):
    found = defaultdict(list)
    for place, row in enumerate(rows):
        found[tuple(row[name] for name in quasi)].append(place)
    return found


def slow_l(counts, asked):
    """Diverse with the missing values and without: they neither help nor hide."""
    present = {value: count for value, count in counts.items() if value is not None}
    return slow_l_of(counts, asked) and slow_l_of(present, asked)


def slow_l_of(counts, asked):
    if not sum(counts.values()):
        return False
    if asked.l_kind == "distinct":
        return sum(1 for count in counts.values() if count) >= asked.l
    total = sum(counts.values())
    if asked.l_kind == "entropy":
        return -sum(c / total * math.log(c / total) for c in counts.values()) >= math.log(asked.l) - 1e-9
    falling = sorted(counts.values(), reverse=True)
    return falling[0] < asked.c * sum(falling[int(asked.l) - 1 :])


def slow_emd(counts, whole, distance, order):
    """The least work to turn one distribution into the other, by its definition where that is easy."""
    p = [counts[value] / sum(counts.values()) for value in order]
    q = [whole[value] / sum(whole.values()) for value in order]
    if distance == "ordered":
        return sum(abs(sum(p[: i + 1]) - sum(q[: i + 1])) for i in range(len(order))) / max(len(order) - 1, 1)
    return sum(abs(a - b) for a, b in zip(p, q, strict=True)) / 2


def who_is(table, place, people):
    return table["who"][place].as_py() if people else place


def recount_holds(result, asked, table, origin_of, people):
    """Every class of output values holds every condition; people are found by matching rows with where they were."""
    rows = result.rows.to_pylist()
    quasi = ["age", "colour", "level", "day"]
    order = sorted({value for value in table["ill"].to_pylist() if value is not None})
    order = ([None] if None in table["ill"].to_pylist() else []) + order

    def tally(places):
        pairs = {(who_is(table, origin_of[p], people), rows[p]["ill"], 0 if people else p) for p in places}
        return Counter(ill for who, ill, _ in pairs if not people or who is not None)

    everyone = range(table.num_rows)
    whole = Counter()
    for who, ill in {(who_is(table, p, people), table["ill"][p].as_py()) for p in everyone}:
        if who is not None:
            whole[ill] += 1
    for places in classes_of(rows, quasi).values():
        persons = {who_is(table, origin_of[p], people) for p in places} - {None}
        assert len(persons) >= asked.k
        counts = tally(places)
        assert slow_l(counts, asked) or asked.l == 1
        if asked.t is not None:
            distance = asked.t_distance or "equal"
            assert slow_emd(counts, whole, distance, order) <= asked.t + 1e-9
        if asked.alpha is not None:
            assert max(counts.values()) <= asked.alpha * sum(counts.values()) + 1e-9


def true_of(value, label, texts=None):
    """Whether a label covers a value, read as a person would."""
    text = "(missing)" if value is None else str(value)
    if label == text:
        return True
    if label.startswith("(missing) or "):
        return value is None or true_of(value, label.removeprefix("(missing) or "), texts)
    if label.startswith("{"):
        return text in label[1:-1].split(", ")
    if ".." in label and value is not None:
        low, high = label.split("..")
        if texts is not None:
            return texts.index(low) <= texts.index(text) <= texts.index(high)
        kind = type(value)
        read = dt.date.fromisoformat if kind is dt.date else kind
        return read(low) <= value <= read(high)
    return False


# -- the suite ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("people", [False, True], ids=["rows", "people"])
@settings(QUICK, max_examples=150)
@given(data=st.data())
def test_what_leaves_holds_what_was_asked(people, data):
    table, asked = data.draw(tables()), data.draw(conditions)
    trees = {name: tree for name, tree in TREES.items() if name != "ill" and data.draw(st.booleans())}
    suppress = data.draw(st.sampled_from([0.0, 0.0, 0.1, 0.4]))
    choose = data.draw(st.sampled_from(["loss", "span"]))
    domain = (PEOPLE if people else ROWS).model_copy()
    # a note that can leave says which row is which: it is only kept here, to count people without the library's help
    attributes = [a if a.name != "note" else NOTE for a in domain.attributes]
    domain = Domain(attributes=attributes, person=domain.person)
    recipe = Anonymize(
        conditions=asked, keep=("note",), hierarchies=trees, suppress=suppress, method=Mondrian(choose=choose)
    )
    try:
        result = recipe.prepare(domain).run_on(table)
    except InvalidInput:
        assert not possible(table, asked, people)
        return
    place = {note: i for i, note in enumerate(table["note"].to_pylist())}
    origin = [place[note] for note in result.rows["note"].to_pylist()]
    assert len(set(origin)) == len(origin)
    assert table.num_rows - len(origin) <= suppress * table.num_rows
    recount_holds(result, asked, table, origin, people)
    for out, came in zip(result.rows.to_pylist(), origin, strict=True):
        row = {name: table[name][came].as_py() for name in ("age", "colour", "level", "day")}
        assert out["ill"] == table["ill"][came].as_py()
        for name, value in row.items():
            if name not in trees:
                assert true_of(value, out[name], LEVELS if name == "level" else None), (name, value, out[name])
    if asked.k == 1 and not asked.about_values and choose == "loss" and not people:
        assert result.loss.gcp == 0


def possible(table, asked, people):
    """Whether all people together hold what is asked: then nothing may be refused."""
    persons = {who_is(table, p, people) for p in range(table.num_rows)} - {None}
    pairs = {(who_is(table, p, people), table["ill"][p].as_py()) for p in range(table.num_rows)}
    counts = Counter(ill for who, ill in pairs if who is not None)
    if len(persons) < asked.k or not counts:
        return False
    small = asked.alpha is None or max(counts.values()) <= asked.alpha * sum(counts.values())
    return small and (asked.l == 1 or slow_l(counts, asked))


@QUICK
@given(data=st.data(), table=tables(), seed=st.randoms(use_true_random=False))
def test_the_same_bytes_whatever_the_order_of_rows(data, table, seed):
    if data.draw(st.booleans()):
        recipe = Anonymize(conditions=Conditions(k=2), keep=("pay",), method=Mondrian(mode="relaxed"))
    else:
        trees = {name: tree for name, tree in TREES.items() if data.draw(st.booleans())}
        suppress = data.draw(st.sampled_from([0.0, 0.3]))
        recipe = Anonymize(conditions=data.draw(conditions), keep=("pay",), hierarchies=trees, suppress=suppress)
    plan = recipe.prepare(data.draw(st.sampled_from([ROWS, PEOPLE])))
    order = list(range(table.num_rows))
    seed.shuffle(order)
    results = []
    for rows in (table, table.take(pa.array(order))):
        try:
            results.append(plan.run_on(rows).rows)
        except InvalidInput as error:
            results.append(str(error))
    assert results[0] == results[1] if isinstance(results[0], str) else results[0].equals(results[1])


@QUICK
@given(table=tables(), k=st.integers(1, 5))
def test_relaxed_holds_k_and_keeps_all_rows(table, k):
    if table.num_rows < k:
        return
    plan = Anonymize(conditions=Conditions(k=k), method=Mondrian(mode="relaxed")).prepare(ROWS)
    result = plan.run_on(table)
    sizes = Counter(tuple(row.values())[:4] for row in result.rows.to_pylist())
    assert min(sizes.values()) >= k
    assert result.rows.num_rows == table.num_rows


@QUICK
@given(table=tables(least=5), k=st.integers(1, 3), low=st.sampled_from([0.0, 0.2]), high=st.sampled_from([0.6, 1.0]))
def test_presence(table, k, low, high):
    asked = Conditions(k=k, presence=(low, high))
    attributes = [a if a.name != "note" else NOTE for a in ROWS.attributes]
    plan = Anonymize(conditions=asked, part="inside", keep=("note",)).prepare(Domain(attributes=attributes))
    inside = table["inside"].to_pylist()
    try:
        result = plan.run_on(table)
    except InvalidInput:
        share = sum(inside) / len(inside)
        assert sum(inside) < k or not low <= share <= high
        return
    places = {note: i for i, note in enumerate(table["note"].to_pylist())}
    assert all(inside[places[note]] for note in result.rows["note"].to_pylist())
    assert result.rows.num_rows == sum(inside)
    assert min(Counter(tuple(row.values())[:4] for row in result.rows.to_pylist()).values()) >= k
    least, most = result.achieved.presence
    assert low - 1e-9 <= least <= most <= high + 1e-9


def test_hierarchical_distance_is_held():
    ills = list(itertools.islice(itertools.cycle(ILLS), 40))
    table = plain(40, ill=ills)
    asked = Conditions(k=2, t=0.3)
    result = Anonymize(conditions=asked, quasi=("age",), hierarchies={"ill": TREES["ill"]}).prepare(ROWS).run_on(table)
    whole = Counter(ills)
    for places in classes_of(result.rows.to_pylist(), ["age"]).values():
        counts = Counter(result.rows["ill"][p].as_py() for p in places)
        share = {ill: counts[ill] / len(places) - whole[ill] / 40 for ill in ILLS}
        between = abs(share["flu"] + share["cold"])  # what must cross from one branch to the other, at distance 1
        within = sum(map(abs, share.values())) / 2 - between  # and the rest, at distance 1/2
        assert between + within / 2 <= asked.t + 1e-9
    assert result.achieved.classes > 1


def plain(rows, **columns):
    """A table with every column of the domain."""
    table = {
        "who": [f"p{i}" for i in range(rows)],
        "age": [i % 30 for i in range(rows)],
        "colour": [COLOURS[i % 4] for i in range(rows)],
        "level": [LEVELS[i % 3] for i in range(rows)],
        "day": [dt.date(2024, 1, 1)] * rows,
        "ill": [ILLS[i % 4] for i in range(rows)],
        "pay": [i % 10 for i in range(rows)],
        "inside": [True] * rows,
        "note": [f"secret {i}" for i in range(rows)],
    }
    return pa.table(table | columns)


# -- what must not happen -----------------------------------------------------------------------------------------


def test_pure_classes_are_refused_at_a_small_t():
    """The table of the survey: each age has one illness only. At t = 0.01 they must be mixed, so one class is left."""
    table = plain(40, age=[10 * (i % 4) for i in range(40)], ill=[ILLS[i % 4] for i in range(40)])
    for distance in ("equal", "ordered"):
        asked = Conditions(k=2, t=0.01, t_distance=distance)
        result = Anonymize(conditions=asked, quasi=("age",)).prepare(ROWS).run_on(table)
        assert result.achieved.classes == 1
        assert result.achieved.t["ill"] <= 0.01
    assert Anonymize(conditions=Conditions(k=2), quasi=("age",)).prepare(ROWS).run_on(table).achieved.classes == 4


def test_nothing_leaves_that_was_not_asked_for():
    result = Anonymize(conditions=Conditions(k=3), keep=("pay",)).prepare(PEOPLE).run_on(plain(60))
    assert result.rows.column_names == ["age", "colour", "level", "day", "ill", "pay"]
    assert "secret" not in str(result.rows.to_pylist()) + str(result.as_dict()) + repr(result)
    assert result.guarantee == result.as_dict()["guarantee"] == "none"


def test_one_person_with_many_rows_is_one_person():
    table = plain(40, who=["ann"] * 30 + [f"p{i}" for i in range(10)], age=[5] * 30 + [50] * 10)
    result = Anonymize(conditions=Conditions(k=3), quasi=("age",)).prepare(PEOPLE).run_on(table)
    assert result.achieved.people == 11
    assert result.achieved.classes == 1  # the thirty rows are one person, who must hide among the ten
    alone = Anonymize(conditions=Conditions(k=3), quasi=("age",)).prepare(ROWS).run_on(table)
    assert alone.achieved.classes == 2


def test_rows_of_nobody_hide_nobody():
    table = plain(12, who=["", *[None] * 8, "a", "b", "c"], age=list(range(12)))
    result = Anonymize(conditions=Conditions(k=3), quasi=("age",)).prepare(PEOPLE).run_on(table)
    assert (result.achieved.people, result.achieved.k, result.rows.num_rows) == (3, 3, 12)
    with pytest.raises(InvalidInput, match="largest k that these rows allow is 3"):
        Anonymize(conditions=Conditions(k=4), quasi=("age",)).prepare(PEOPLE).run_on(table)


def test_too_few_people_are_refused_with_the_k_that_would_do():
    with pytest.raises(InvalidInput, match="largest k that these rows allow is 7"):
        Anonymize(conditions=Conditions(k=8)).prepare(ROWS).run_on(plain(7))
    with pytest.raises(InvalidInput, match="no one"):
        Anonymize(conditions=Conditions(k=1)).prepare(ROWS).run(
            LocalEngine(ROWS, plain(0, day=pa.array([], pa.date32())))
        )


def test_a_method_that_lies_is_caught():
    class Lies(Mondrian):
        def recode(self, distinct, conditions, *, budget=0):
            return super().recode(distinct, Conditions(k=1))

    with pytest.raises(InternalError, match="k is 1 and should be 3"):
        Anonymize(conditions=Conditions(k=3), method=Lies()).prepare(ROWS).run_on(plain(40))


@pytest.mark.parametrize(
    ("recipe", "words"),
    [
        ({"quasi": ("who",)}, "an identifier is never released"),
        ({"keep": ("note",)}, "an identifier is never released"),
        ({"quasi": ("age", "age")}, "there twice"),
        ({"quasi": ("age",), "keep": ("colour",)}, "would be released unchanged"),
        ({"quasi": ("pay",), "keep": ("pay",)}, "two roles"),
        ({"quasi": ()}, "at least one attribute"),
        ({"quasi": ("nothing",)}, "no such name"),
        ({"hierarchies": {"pay": Intervals(widths=(2,))}}, "no role"),
        ({"suppress": 1.0}, "between 0 and 1"),
        ({"part": "inside"}, "go together"),
        ({"sensitive": (), "conditions": Conditions(k=2, l=2)}, "need a sensitive attribute"),
        ({"quasi": ("ill",), "sensitive": ("ill",)}, "two roles"),
        ({"method": Mondrian(mode="legacy"), "hierarchies": {"age": Intervals(widths=(5,))}}, "knows no hierarchies"),
        ({"method": Mondrian(mode="relaxed"), "conditions": Conditions(k=2, l=2)}, "no condition but k"),
        ({"conditions": Conditions(k=2, l=9)}, "not even one class of all people"),
    ],
)
def test_bad_recipes_are_refused(recipe, words):
    with pytest.raises(InvalidInput, match=words):
        Anonymize(**({"conditions": Conditions(k=2)} | recipe)).prepare(ROWS).run_on(plain(20))


def test_values_that_cannot_be_read_are_refused_and_not_shown():
    table = plain(20).drop_columns(["age"]).append_column("age", pa.array(["17"] * 19 + ["seventeen"]))
    with pytest.raises(DataError, match="out of domain for a numeric attribute") as refused:
        Anonymize(conditions=Conditions(k=2)).prepare(ROWS).run_on(table)
    assert "seventeen" not in f"{refused.value} {refused.value.private}"


def test_modes_that_count_rows_refuse_people_with_several():
    table = plain(20, who=["p"] * 2 + [f"q{i}" for i in range(18)], age=list(range(20)))
    for mode in ("relaxed", "legacy"):
        with pytest.raises(InvalidInput, match="one row for each person"):
            Anonymize(conditions=Conditions(k=2), method=Mondrian(mode=mode)).prepare(PEOPLE).run_on(table)


def test_suppression_buys_less_loss_and_keeps_its_budget():
    table = plain(200, age=[i % 10 for i in range(198)] + [80, 97])
    recipe = {"conditions": Conditions(k=5), "quasi": ("age",)}
    all_rows = Anonymize(**recipe).prepare(ROWS).run_on(table)
    fewer = Anonymize(**recipe, suppress=0.02).prepare(ROWS).run_on(table)
    assert (all_rows.loss.suppressed, fewer.loss.suppressed) == (0, 2)
    assert fewer.rows.num_rows == 198
    assert fewer.loss.gcp < all_rows.loss.gcp
    assert fewer.achieved.k >= 5


def test_levels_that_the_schema_keeps_back_are_not_named():
    work = Categorical(name="work", levels=["Private", "State"], other=True, role="quasi-identifier")
    ill = Categorical(name="ill", levels=["flu"], role="sensitive")
    domain = Domain(attributes=[work, ill])
    rows = {"work": ["Private", "State"] * 5 + ["Without-pay"], "ill": ["flu"] * 10 + ["rare"]}
    found = Anonymize(conditions=Conditions(k=5)).prepare(domain).run_on(pa.table(rows))
    assert "(other)" in "".join(found.rows["work"].to_pylist())
    assert Counter(found.rows["ill"].to_pylist()) == {"flu": 10, "(other)": 1}
    assert "Without-pay" not in str(found.recoding.as_dict()) + str(found.rows.to_pylist())
    # and what reads releases reads these labels
    frame = read_frame(domain, found.rows, rng=np.random.default_rng(0))
    assert set(frame.codes[:, 1].tolist()) == {0, -1}


@pytest.mark.parametrize("kind", ["distinct", "entropy", "recursive"])
def test_classes_are_diverse_without_their_missing_values(kind):
    """Before, a class of one illness and some unknown ones passed as two values."""
    domain = Domain(
        attributes=[
            Numeric(name="age", bounds=(0, 9), bins=10, integer=True, role="quasi-identifier"),
            Categorical(name="ill", levels=["a", "b"], missing=True, role="sensitive"),
        ]
    )
    ages = [age for age in range(10) for _ in range(8)]
    ills = ["a", None, "a", None, "a", None, "a", None] * 5 + ["b", None, "b", None, "b", None, "b", None] * 5
    rows = pa.table({"age": ages, "ill": ills})
    recipe = Anonymize(conditions=Conditions(k=4, l=2, l_kind=kind, c=3.0))
    made = recipe.prepare(domain).run_on(rows)
    classes = made.rows.group_by("age").aggregate([("ill", "count_distinct")])  # counts no nulls
    assert min(classes["ill_count_distinct"].to_pylist()) == 2
    assert made.achieved.l["ill"] >= 1.9
    assert made.warnings == ()
    bare = Anonymize(conditions=Conditions(k=4)).prepare(domain).run_on(rows)
    assert "1 distinct values" in bare.warnings[0]
    assert bare.as_dict()["warnings"] == list(bare.warnings)
