from dataclasses import replace
from importlib.util import find_spec

import numpy as np
import pyarrow as pa
import pytest

from tacita.collect.estimating.tally import simulate
from tacita.collect.planning.plan import plan_collection
from tacita.domain import Boolean, Categorical, Domain, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput, NotPublic
from tacita.learn import Bayes, NarrowedRegression, NeuralNetwork, Regression, TunedRegression, read_model
from tacita.learn.on_release import ReleasedRows, fit_on_release
from tacita.learn.trees.trees import Trees
from tacita.noise import SecureSource, SeededSource
from tacita.plans.additive import NoisyTables
from tacita.privacy.accountant import cost
from tacita.privacy.budget import Budget
from tacita.privacy.event import NonPrivate, Pure
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize import Synthesize
from tacita.tables.release import Release, Releases
from tacita.tables.workload import Workload

ADD, ROW = Neighbours.ADD_REMOVE, Unit.row()
DOMAIN = Domain(
    attributes=[
        Numeric(name="age", bounds=(0, 80), bins=8),
        Categorical(name="sex", levels=("f", "m")),
        Boolean(name="ill"),
        Numeric(name="cost", bounds=(0, 100), bins=10),
    ]
)
LINE = Regression(target="cost", features=("age", "sex"))
ODDS = Regression(target="ill", features=("age", "sex"), task="logistic")
TREE = Trees(target="ill", features=("age", "sex"), depth=2)


def people(rows=8000):
    rng = np.random.default_rng(0)
    age, sex = rng.uniform(0, 80, rows), rng.integers(0, 2, rows)
    cost = np.clip(10 + 0.8 * age + 10 * sex + rng.normal(0, 5, rows), 0, 100)
    ill = rng.random(rows) < 1 / (1 + np.exp(-(age - 40) / 8))
    return pa.table({"age": age, "sex": np.array(["f", "m"])[sex], "ill": ill, "cost": cost})


TUNED = TunedRegression(base=LINE, penalties=((1.0, 1.0), (10.0, 0.5), (1e6, 1.0)))
BAYES = Bayes(target="ill", features=("age", "sex"))
NETWORK = NeuralNetwork(target="ill", features=("age", "sex"), hidden=(8,))


def right(model):
    test = people().slice(0, 1000)
    truth = test["ill"].to_numpy(zero_copy_only=False)
    return float(((np.array(model.predict(test).to_pylist()) == "true") == truth).mean())


def check_others(release):
    """Bayes, a tuned line and a network: the same call, the promise of the release, and JSON that comes back."""
    rng = np.random.default_rng(2)
    tuned, bayes = fit_on_release(TUNED, release, rng), fit_on_release(BAYES, release, rng)
    assert tuned.named["age"] == pytest.approx(0.8, abs=0.15)
    assert tuned.notes["penalty"] < 1e6  # which would flatten the line
    assert right(bayes) > 0.8
    models = [tuned, bayes]
    if find_spec("torch"):
        models.append(fit_on_release(NETWORK, release, rng))
        assert right(models[-1]) > 0.8
    for model in models:
        assert model.event == release.event
        assert model.statement() == fit_on_release(LINE, release, rng).statement()
        assert read_model(model.to_json()).to_json() == model.to_json()


def check(release):
    check_others(release)
    rng = np.random.default_rng(1)
    line, odds, tree = (fit_on_release(recipe, release, rng) for recipe in (LINE, ODDS, TREE))
    assert line.named["age"] == pytest.approx(0.8, abs=0.15)
    assert odds.named["age"] == pytest.approx(1 / 8, abs=0.04)
    assert right(tree) > 0.8
    for model in (line, odds, tree):
        assert model.event == release.event
        assert type(model).from_json(model.to_json()).to_json() == model.to_json()
    return line


def test_on_made_up_rows():
    plan = Synthesize(method="quality").calibrate(DOMAIN, Budget.approx(4.0, 1e-6), unit=ROW, neighbours=ADD)
    line = check(plan.run(LocalEngine(DOMAIN, people()), SeededSource(0)))
    assert "NOT private" in line.statement()


def test_on_a_noisy_table():
    recipe = NoisyTables(Workload.of(["age", "sex", "ill", "cost"]))
    plan = recipe.calibrate(DOMAIN, Budget.pure(4.0), unit=ROW, neighbours=ADD)
    releases = plan.run(LocalEngine(DOMAIN, people()), SeededSource(0))
    check(releases["age", "sex", "ill", "cost"])


def test_naive_bayes_on_collected_tables():
    """Nobody but the respondents ever held the rows; the classifier is read off what their devices sent."""
    domain = Domain(attributes=[Boolean(name="old"), Categorical(name="sex", levels=("f", "m")), Boolean(name="ill")])
    rng = np.random.default_rng(3)
    old = rng.random(20_000) < 0.5
    ill = rng.random(20_000) < np.where(old, 0.8, 0.2)
    rows = pa.table({"old": old, "sex": rng.choice(["f", "m"], 20_000), "ill": ill})
    pairs = Workload.of(["ill", "old"], ["ill", "sex"])
    design = plan_collection(domain, pairs, respondents=20_000, epsilon=2.0)
    collected = simulate(design, LocalEngine(domain, rows), SeededSource(0)).releases()
    model = fit_on_release(Bayes(target="ill", features=("old", "sex")), collected, rng)
    told = model.probabilities(pa.table({"old": [True, False], "sex": ["f", "f"]}))[:, 1]
    assert told == pytest.approx([0.8, 0.2], abs=0.1)
    assert model.releases["ill", "old"].trust == "local"
    assert "NOT private" in model.statement()  # the devices were simulated
    with pytest.raises(InvalidInput, match="together"):
        fit_on_release(ODDS, collected, rng)


def test_on_an_anonymised_table():
    rows = people()
    low = (np.floor(rows["age"].to_numpy() / 10) * 10).astype(int)
    coarse = rows.set_column(0, "age", pa.array([f"{a}..{a + 9}" for a in low]))
    line = check(ReleasedRows(domain=DOMAIN, rows=coarse))
    assert line.statement().startswith("No guarantee")


def test_what_the_caller_says_about_rows_stands_in_the_model():
    release = ReleasedRows(domain=DOMAIN, rows=people(500), event=Pure(epsilon=1.0))
    model = fit_on_release(LINE, release, np.random.default_rng(0))
    assert model.event == Pure(epsilon=1.0)
    assert "private" in model.statement()


def test_target_and_features_must_be_there():
    with pytest.raises(InvalidInput, match="release"):
        fit_on_release(LINE, ReleasedRows(domain=DOMAIN, rows=people(9).drop(["age"])), np.random.default_rng(0))
    recipe = NoisyTables(Workload.of(["age", "sex"]))
    plan = recipe.calibrate(DOMAIN, Budget.pure(1.0), unit=ROW, neighbours=ADD)
    releases = plan.run(LocalEngine(DOMAIN, people(50)), SeededSource(0))
    with pytest.raises(InvalidInput, match="together"):
        fit_on_release(LINE, releases["age", "sex"], np.random.default_rng(0))


# -- naive Bayes of several releases ----------------------------------------------------------------------------------


def table_of(feature, epsilon=1.0, source=None, neighbours=ADD):
    plan = Bayes(target="ill", features=(feature,)).calibrate(
        DOMAIN, Budget.pure(epsilon), unit=ROW, neighbours=neighbours
    )
    return next(iter(plan.run(LocalEngine(DOMAIN, people(500)), source or SecureSource()).releases.values()))


def bayes_of(*releases):
    return fit_on_release(BAYES, Releases(releases), np.random.default_rng(0))


def spent(model):
    return float(cost([(model.event, 1)], Budget.pure(1.0), model.neighbours))


@pytest.mark.parametrize("order", [1, -1])
def test_several_releases_cost_what_all_of_them_cost(order):
    pair = [table_of("age", 0.1), table_of("sex", 9.0)][::order]
    model = bayes_of(*pair)
    assert spent(model) == pytest.approx(9.1)
    assert read_model(model.to_json()).event == model.event
    assert model.provenance.charge is None
    assert not model.provenance.simulated


@pytest.mark.parametrize("order", [1, -1])
def test_one_simulated_release_makes_a_simulated_model(order):
    pair = [table_of("age"), table_of("sex", source=SeededSource(1))][::order]
    model = read_model(bayes_of(*pair).to_json())
    assert model.provenance.simulated
    assert "NOT private" in model.statement()


@pytest.mark.parametrize("order", [1, -1])
def test_one_release_without_a_guarantee_leaves_none(order):
    raw = replace(table_of("sex"), event=NonPrivate(reason="exact"))
    assert bayes_of(*[table_of("age"), raw][::order]).statement().startswith("No guarantee")


@pytest.mark.parametrize("order", [1, -1])
def test_notions_are_not_mixed(order):
    pair = [table_of("age"), table_of("sex", neighbours=Neighbours.REPLACE_ONE)][::order]
    with pytest.raises(InvalidInput, match="neighbours"):
        bayes_of(*pair)
    person = replace(pair[0], unit=Unit.of_person("who", max_rows=2))
    with pytest.raises(InvalidInput, match="unit"):
        bayes_of(person, replace(pair[1], neighbours=person.neighbours))
    text = bayes_of(table_of("age"), table_of("sex")).to_json()
    with pytest.raises(InvalidInput, match="neighbours"):
        read_model(text.replace('"add-remove"', '"replace-one"', 1))


def test_one_run_counts_once_and_two_charges_twice():
    plan = BAYES.calibrate(DOMAIN, Budget.pure(1.0), unit=ROW, neighbours=ADD)
    engine = LocalEngine(DOMAIN, people(500))
    one, other = (list(plan.tables.run(engine, SecureSource()).values()) for _ in range(2))
    assert bayes_of(*one).event == plan.event
    charged = [release.with_charge("ch_1", "people") for release in one]
    assert bayes_of(*charged).event == plan.event
    assert bayes_of(*charged).provenance.charge == "ch_1"
    later = replace(charged[1], provenance=replace(charged[1].provenance, created="2020-01-01T00:00:00+00:00"))
    assert bayes_of(charged[0], later).event == plan.event
    mixed = bayes_of(charged[0], other[1].with_charge("ch_2", "people"))
    assert spent(mixed) == pytest.approx(2)
    assert (mixed.provenance.charge, mixed.provenance.dataset) == (None, "people")
    assert spent(mixed.with_charge("ch_3", "people")) == pytest.approx(2)


def as_before_runs(release):
    """What the JSON of a release says that was written before there were runs."""
    data = release.as_dict()
    del data["provenance"]["run"]
    return Release.from_dict(data)


def test_two_runs_of_one_second_without_a_charge_both_count():
    """All that was known of them is alike: only the run tells that the noise was drawn twice."""
    plan = BAYES.calibrate(DOMAIN, Budget.pure(1.0), unit=ROW, neighbours=ADD)
    engine = LocalEngine(DOMAIN, people(500))
    one, other = (list(plan.tables.run(engine, SecureSource()).values()) for _ in range(2))
    mine, yours = one[0].provenance, replace(other[1].provenance, created=one[0].provenance.created)
    assert yours != mine
    assert replace(yours, run=mine.run) == mine
    pair = [one[0], replace(other[1], provenance=yours)]
    for releases in (pair, [Release.from_json(release.to_json()) for release in pair]):
        model = bayes_of(*releases)
        assert spent(model) == pytest.approx(2)
        assert spent(read_model(model.to_json())) == pytest.approx(2)
        assert model.provenance.run is None  # it comes of two
    whole = bayes_of(*(Release.from_json(release.to_json()) for release in one))
    assert whole.event == plan.event
    assert whole.provenance.run == mine.run


def test_what_was_written_before_there_were_runs_counts_table_by_table():
    """Two runs of one second looked alike then: nothing tells them from two tables of one."""
    plan = BAYES.calibrate(DOMAIN, Budget.pure(1.0), unit=ROW, neighbours=ADD)
    one = [
        as_before_runs(release)
        for release in plan.tables.run(LocalEngine(DOMAIN, people(500)), SecureSource()).values()
    ]
    assert [release.provenance.run for release in one] == [None, None]
    assert "run" not in one[0].as_dict()["provenance"]
    assert spent(bayes_of(*one)) == pytest.approx(2)
    assert spent(read_model(bayes_of(*one).to_json())) == pytest.approx(2)
    paid = [release.with_charge("ch_1", "people") for release in one]
    assert bayes_of(*paid).event == plan.event


def test_charges_say_more_than_run_ids():
    """An id that was copied, or is empty, does not make one run of two."""
    plan = BAYES.calibrate(DOMAIN, Budget.pure(1.0), unit=ROW, neighbours=ADD)
    one, two = plan.tables.run(LocalEngine(DOMAIN, people(500)), SecureSource()).values()
    assert spent(bayes_of(one.with_charge("ch_1", "people"), two.with_charge("ch_2", "people"))) == pytest.approx(2)
    empty = [replace(each, provenance=replace(each.provenance, run="")) for each in (one, two)]
    assert spent(bayes_of(*empty)) == pytest.approx(2)


def test_tables_of_one_campaign_cost_once_and_of_two_twice():
    """Each person answered one question, whichever it was."""
    domain = Domain(attributes=[Boolean(name="old"), Categorical(name="sex", levels=("f", "m")), Boolean(name="ill")])
    rows = pa.table({"old": [True, False] * 500, "sex": ["f", "m"] * 500, "ill": [True, False] * 500})
    design = plan_collection(domain, Workload.of(["ill", "old"], ["ill", "sex"]), respondents=1000, epsilon=2.0)
    tallies = [simulate(design, LocalEngine(domain, rows), SeededSource(seed)) for seed in (0, 1)]
    one, other = (tally.releases() for tally in tallies)
    recipe = Bayes(target="ill", features=("old", "sex"))
    dear = max(one.values(), key=lambda release: release.event.epsilon)
    alike = Releases(replace(release, event=dear.event) for release in one.values())
    assert fit_on_release(recipe, alike, None).event == dear.event
    mixed = Releases([alike["ill", "old"], replace(other["ill", "sex"], event=dear.event)])
    model = fit_on_release(recipe, mixed, None)
    assert spent(model) == pytest.approx(2 * float(cost([(dear.event, 1)], Budget.pure(1.0), model.neighbours)))


def test_a_model_names_the_run_that_was_paid_for():
    plan = Synthesize(method="quality").calibrate(DOMAIN, Budget.approx(4.0, 1e-6), unit=ROW, neighbours=ADD)
    made = plan.run(LocalEngine(DOMAIN, people(500)), SecureSource())
    models = [fit_on_release(recipe, made, np.random.default_rng(0)) for recipe in (LINE, BAYES)]
    assert {model.provenance.run for model in models} == {made.provenance.run}


def test_campaigns_that_look_alike_both_count():
    """From before runs: same size, same second, nothing that names them. In doubt, both are counted."""
    domain = Domain(attributes=[Boolean(name="old"), Categorical(name="sex", levels=("f", "m")), Boolean(name="ill")])
    rows = pa.table({"old": [True, False] * 500, "sex": ["f", "m"] * 500, "ill": [True, False] * 500})
    pairs = Workload.of(["ill", "old"], ["ill", "sex"])
    design = plan_collection(domain, pairs, respondents=1000, epsilon=2.0)
    one, other = (simulate(design, LocalEngine(domain, rows), SeededSource(seed)).releases() for seed in (0, 1))
    first, second = as_before_runs(one["ill", "old"]), other["ill", "sex"]
    alike = replace(second, provenance=replace(first.provenance), event=first.event)
    model = fit_on_release(Bayes(target="ill", features=("old", "sex")), Releases([first, alike]), None)
    assert spent(model) == pytest.approx(2 * float(cost([(first.event, 1)], Budget.pure(1.0), first.neighbours)))
    assert read_model(model.to_json()).event == model.event
    joint = collected_people()
    both = fit_on_release(Bayes(target="ill", features=("edu", "cost")), joint, None)
    assert both.event == joint.event
    assert read_model(both.to_json()).event == joint.event


# -- shares, rows beyond the bounds, schemas that are not public ------------------------------------------------------


def collected_people():
    domain = Domain(
        attributes=[
            Categorical(name="edu", levels=("a", "b", "c")),
            Boolean(name="ill"),
            Numeric(name="cost", bounds=(0, 10), bins=5),
        ]
    )
    rng = np.random.default_rng(5)
    edu = rng.integers(0, 3, 40_000)
    ill = rng.random(40_000) < 0.1 + 0.4 * edu
    rows = pa.table({"edu": np.array(["a", "b", "c"])[edu], "ill": ill, "cost": np.clip(1 + 4.0 * edu, 0, 10)})
    design = plan_collection(domain, Workload.of(["edu", "ill", "cost"]), respondents=40_000, epsilon=6.0)
    return simulate(design, LocalEngine(domain, rows), SeededSource(0)).releases()["edu", "ill", "cost"]


def test_collected_shares_weigh_as_much_as_they_tell():
    """As one row they would be nothing beside a ridge, a prior of a leaf, or a penalty."""
    release, rng = collected_people(), np.random.default_rng(0)
    assert release.quantity == "share"
    three = pa.table({"edu": ["a", "b", "c"]})
    line = fit_on_release(Regression(target="cost", features=("edu",), penalty=1.0), release, rng)
    assert line.notes["rows"] > 1000
    assert line.predict(three).to_pylist() == pytest.approx([1, 5, 9], abs=0.5)
    told = pytest.approx([0.1, 0.5, 0.9], abs=0.07)
    odds = fit_on_release(Regression(target="ill", features=("edu",), task="logistic", penalty=1.0), release, rng)
    assert odds.probabilities(three).tolist() == told
    tree = fit_on_release(Trees(target="ill", features=("edu",), depth=2), release, rng)
    assert tree.probabilities(three)[:, 1].tolist() == told
    if find_spec("torch"):
        network = fit_on_release(NeuralNetwork(target="ill", features=("edu",), hidden=(8,)), release, rng)
        assert network.notes["rows"] > 1000
        assert network.probabilities(three)[:, 1].tolist() == told


def test_rows_beyond_the_bounds_and_long_rows_are_treated_as_private_ones_are():
    rows = pa.table({"age": ["10", "30", "50", "9999"] * 50, "sex": ["f"] * 200, "cost": ["10", "30", "50", "0"] * 50})
    release, rng = ReleasedRows(domain=DOMAIN, rows=rows), np.random.default_rng(0)
    slopes = {}
    for outside in ("clip", "leave-out"):
        slopes[outside] = fit_on_release(replace(LINE, outside=outside), release, rng).named["age"]
    assert slopes["leave-out"] == pytest.approx(1, abs=0.01)
    assert slopes["clip"] < 0.5
    short = fit_on_release(replace(LINE, norm=0.5, outside="leave-out"), release, rng)
    assert short.named["age"] != pytest.approx(slopes["leave-out"], abs=0.05)


def test_a_schema_that_nobody_has_confirmed_is_refused():
    seen = Domain(attributes=[each.model_copy(update={"derived": ("bounds",)}) for each in DOMAIN.attributes[:1]])
    seen = Domain(attributes=[*seen.attributes, *DOMAIN.attributes[1:]])
    with pytest.raises(NotPublic):
        fit_on_release(LINE, ReleasedRows(domain=seen, rows=people(50)), np.random.default_rng(0))


def test_bounds_are_not_narrowed_where_nothing_is_paid():
    release = ReleasedRows(domain=DOMAIN, rows=people(500))
    plain, narrow = (
        fit_on_release(each, release, np.random.default_rng(1)) for each in (LINE, NarrowedRegression(base=LINE))
    )
    assert np.array_equal(plain.coefficients, narrow.coefficients)
    assert narrow.limits is None
