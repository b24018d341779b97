import numpy as np
import pytest

from tacita.collect.protocols.mixed import MixedDesign, MixedTally, plan_mixed, respond_mixed
from tacita.domain import Categorical, Domain, Numeric
from tacita.errors import InvalidInput, UnknownName
from tacita.noise import SeededSource

DOMAIN = Domain(
    attributes=[
        Categorical(name="sex", levels=["f", "m"]),
        Categorical(name="region", levels=["n", "s", "w"]),
        Numeric(name="age", bounds=(0, 100), bins=32),
        Numeric(name="income", bounds=(0, 1000), bins=10),
        Numeric(name="debt", bounds=(0, 10), bins=5, missing=True),
    ]
)


def plan(**changes):
    parts = {"tables": [("sex", "region")], "curves": ["age"], "means": ["income"]}
    return plan_mixed(DOMAIN, **(parts | {"respondents": 60_000, "epsilon": 2.0} | changes))


def people(count, seed=1):
    rng = np.random.default_rng(seed)
    sex, region = rng.integers(0, 2, count), rng.choice(3, count, p=[0.5, 0.3, 0.2])
    age = rng.beta(3, 2, count) * 100
    income = rng.normal(400, 100, count) + 50 * sex
    codes = {"sex": sex, "region": region, "age": np.minimum(age // 3.125, 31).astype(int)}
    return codes, {"income": income}


def test_every_answer_costs_at_most_epsilon():
    design = plan()
    assert 1.99 <= design.epsilon_upper <= 2.0
    assert sum(design.shares.values()) == pytest.approx(1)


def test_everybody_answers_one_question():
    codes, values = people(3000)
    sent = respond_mixed(plan(), codes, values, SeededSource(1), seed=2)
    told = sum(len(batch) for batch in sent.tables.by_question.values()) + sum(len(b) for b in sent.numbers.values())
    assert told == 3000


def test_who_has_no_place_answers_too():
    """How many reports a question gets must not tell who is missing."""
    codes, values = people(3000)
    nowhere = {name: np.full(3000, DOMAIN[name].out_of_domain) for name in codes}
    missing = {"income": np.full(3000, np.nan)}
    one, two = (respond_mixed(plan(), *who, SeededSource(1), seed=2) for who in ((codes, values), (nowhere, missing)))
    assert {k: len(v) for k, v in one.numbers.items()} == {k: len(v) for k, v in two.numbers.items()}
    assert {k: len(v) for k, v in one.tables.by_question.items()} == {
        k: len(v) for k, v in two.tables.by_question.items()
    }


def test_all_kinds_come_out():
    codes, values = people(60_000)
    tally = MixedTally(plan()).add(respond_mixed(plan(), codes, values, SeededSource(1), seed=2))
    low, high = tally.mean("income").interval(0.9999)
    assert low <= values["income"].mean() <= high
    assert high - low < 60
    curve = tally.curve("age").values
    truth = np.bincount(codes["age"], minlength=32) / 60_000
    assert np.abs(np.cumsum(curve - truth)).mean() < 0.03
    pair = tally.tables.releases()["sex", "region"]
    low, high = pair.interval(0.9999)
    exact = np.zeros((2, 3))
    np.add.at(exact, (codes["sex"], codes["region"]), 1 / 60_000)
    assert ((low <= exact) & (exact <= high)).all()


def test_tallies_of_disjoint_people_add_up():
    codes, values = people(4000)
    design = plan()
    halves = []
    for part in (slice(0, 2000), slice(2000, 4000)):
        own = {n: c[part] for n, c in codes.items()}, {n: c[part] for n, c in values.items()}
        halves.append(MixedTally(design).add(respond_mixed(design, *own, SeededSource(3), seed=4)))
    merged = halves[0].merge(halves[1])
    assert merged.mean("income").respondents == sum(half.mean("income").respondents for half in halves)
    assert merged.simulated
    with pytest.raises(InvalidInput, match="same design"):
        halves[0].merge(MixedTally(plan(epsilon=1.0)))


def test_only_numbers_and_only_tables():
    codes, values = people(500)
    numbers = plan(tables=())
    assert numbers.tables is None
    tally = MixedTally(numbers).add(respond_mixed(numbers, codes, values, SeededSource(1), seed=1))
    assert tally.mean("income").respondents + 0 < 500
    only = plan(curves=(), means=())
    assert respond_mixed(only, codes, values, SeededSource(1), seed=1).numbers == {}


def test_what_is_refused():
    with pytest.raises(InvalidInput, match="at least one table, curve or mean"):
        plan(tables=(), curves=(), means=())
    with pytest.raises(InvalidInput, match="sex"):
        plan(curves=["sex"])
    with pytest.raises(InvalidInput, match="bucket"):
        plan(means=["debt"])
    with pytest.raises(InvalidInput, match="table_share"):
        design = plan()
        MixedDesign(domain=DOMAIN, tables=design.tables, curves=design.curves, means=design.means, table_share=1.5)
    with pytest.raises(InvalidInput, match="one row"):
        respond_mixed(plan(), {"sex": np.zeros(2, int)}, {"income": np.zeros(3)}, SeededSource(1), seed=1)
    with pytest.raises(UnknownName):
        MixedTally(plan()).mean("income")
