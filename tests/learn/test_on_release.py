from importlib.util import find_spec

import numpy as np
import pyarrow as pa
import pytest

from tacita.collect.plan import plan_collection
from tacita.collect.tally import simulate
from tacita.domain import Boolean, Categorical, Domain, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput
from tacita.learn import Bayes, Network, Regression, TunedRegression, read_model
from tacita.learn.on_release import ReleasedRows, fit_on_release
from tacita.learn.trees import Trees
from tacita.mechanisms.additive import NoisyTables
from tacita.noise import SeededSource
from tacita.privacy.budget import Budget
from tacita.privacy.event import Pure
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize import Synthesize
from tacita.tables import Workload

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
NETWORK = Network(target="ill", features=("age", "sex"), hidden=(8,))


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
