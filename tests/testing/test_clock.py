"""Every plan is run on an engine that is slow: what it releases must be the same, byte for byte."""

from __future__ import annotations

import json
import time

import numpy as np
import pyarrow as pa
import pytest

from tacita.domain import Boolean, Categorical, Domain, Identifier, Numeric
from tacita.engines.local import LocalEngine
from tacita.learn.functions import Kernel, ReleaseFunction
from tacita.learn.models import recipe_of
from tacita.plans import NoisyTables
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.query.models.bayes import NaiveBayes
from tacita.query.models.kmeans import KMeans
from tacita.query.models.pca import PCA
from tacita.query.sql import compile_sql
from tacita.synthesize import Adaptive, Pairs, PateGan, Synthesize, Wgan
from tacita.synthesize.kinds import METHODS, QUALITY
from tacita.tables.workload import Workload
from tacita.testing.clock import SlowEngine, assert_no_clock, moved_clock

ADD = Neighbours.ADD_REMOVE
PERSON = Unit.parse("person:who:2")
DOMAIN = Domain(
    person="who",
    attributes=[
        Identifier(name="who"),
        Categorical(name="job", levels=("a", "b", "c")),
        Boolean(name="ill"),
        Boolean(name="smokes"),
        Numeric(name="age", bounds=(0, 100), edges=(0, 30, 60, 100)),
        Numeric(name="pay", bounds=(0, 10), edges=(0, 2, 5, 10)),
    ],
)
BUDGET = Budget.approx(3.0, 1e-6)
SMALL = {"latent": 4, "hidden": 8, "starts": 32}
NETS = ("gan", "wgan", "pate-gan")


def _frame():
    rng = np.random.default_rng(5)
    age, job = rng.uniform(0, 100, 300), rng.integers(0, 3, 300)
    return pa.table(
        {
            "who": rng.integers(0, 200, 300).astype(str),
            "job": np.array(["a", "b", "c"])[job],
            "ill": age + 20 * job > 70,
            "smokes": rng.random(300) < 0.4,
            "age": age,
            "pay": np.clip(job + age / 20, 0, 10),
        }
    )


FRAME = _frame()
ROWS = Domain(attributes=DOMAIN.attributes[1:])


@pytest.fixture(scope="module")
def engine():
    return LocalEngine(DOMAIN, FRAME)


def recipes():
    yield "tables", NoisyTables(Workload.of(["job", "ill"], ["age"]))
    yield "sql", compile_sql("SELECT job, COUNT(*), AVG(age), MEDIAN(pay) FROM t GROUP BY job", DOMAIN)
    yield "k-means", KMeans(columns=("age", "pay"), clusters=2)
    yield "pca", PCA(columns=("age", "pay"))
    yield "naive bayes", NaiveBayes(target="ill", features=("smokes", "age"))
    for method in (QUALITY, *METHODS):
        if method not in NETS:
            needs = dict.fromkeys(METHODS[method].needs, "ill") if method in METHODS else {}
            yield method, Synthesize(method=method, attributes=("job", "ill", "smokes", "age"), seconds=1.0, **needs)
    yield "aim in little time", Adaptive(attributes=("job", "ill", "smokes", "age"), seconds=0.05)
    yield "pairs in little time", Pairs(attributes=("job", "ill", "age"), seconds=0.05)
    for kind, target in (("linear", "pay"), ("logistic", "ill"), ("trees", "ill"), ("bayes", "ill")):
        yield f"model {kind}", recipe_of(kind, target=target, features=("age", "smokes"))
    yield "narrowed", recipe_of("linear", target="pay", features=("age",), options={"narrow": 0.2})


@pytest.mark.parametrize("recipe", [each for _, each in recipes()], ids=[name for name, _ in recipes()])
def test_no_release_depends_on_a_clock(engine, recipe):
    assert_no_clock(recipe.calibrate(DOMAIN, BUDGET, unit=PERSON, neighbours=ADD), engine)


def test_no_tuning_depends_on_a_clock(engine):
    options = {"penalties": ((0.1, 0.5), (1.0, 0.5))}
    recipe = recipe_of("linear", target="pay", features=("age",), options=options)
    plan = recipe.calibrate(ROWS, Budget.pure(3.0), unit=Unit.row(), neighbours=ADD)
    assert_no_clock(plan, LocalEngine(ROWS, FRAME))


@pytest.mark.parametrize(
    "recipe",
    [
        lambda: Wgan(**SMALL, critic=8, steps=6, matching=5, rate=0.2, seconds=0.02),
        lambda: PateGan(**SMALL, teachers=5, rounds=3, votes=4, lessons=2, follow=2, judge=4, teacher=3, seconds=0.02),
        lambda: recipe_of(
            "network",
            target="ill",
            features=("age",),
            options={"epochs": 1, "batch": 60, "hidden": (4,), "people": 200},
        ),
    ],
    ids=["wgan", "pate-gan", "network"],
)
def test_no_trained_network_depends_on_a_clock(recipe):
    torch = pytest.importorskip("torch")
    torch.set_num_threads(1)
    plan = recipe().calibrate(ROWS, BUDGET, unit=Unit.row(), neighbours=ADD)
    assert_no_clock(plan, LocalEngine(ROWS, FRAME))


@pytest.mark.parametrize(
    "recipe",
    [
        ReleaseFunction(kind="density", features=("age",), kernel=Kernel(), random=16, form="features"),
        ReleaseFunction(kind="svm", features=("age",), target="ill", random=16, form="features", people=300),
    ],
    ids=["density", "svm"],
)
def test_no_function_depends_on_a_clock(engine, recipe):
    plan = recipe.calibrate(DOMAIN, BUDGET, unit=PERSON, neighbours=ADD)

    class Parameters:
        """What a function releases: everything that answers are made of."""

        def __init__(self, model):
            self._model = model

        def to_json(self):
            return json.dumps(self._model.parameters(), default=float)

    class Fitting:
        def run(self, engine, source):
            return Parameters(plan.fit(engine, source))

    assert_no_clock(Fitting(), engine)


def test_the_contract_catches_a_plan_that_looks_at_a_clock(engine):
    honest = NoisyTables(Workload.of(["job"], ["ill"], ["smokes"])).calibrate(
        DOMAIN, BUDGET, unit=PERSON, neighbours=ADD
    )

    class Hasty:
        """Releases as many tables as a second allows."""

        def run(self, engine, source):
            until = time.monotonic() + 1.0
            released = honest.run(engine, source)
            return type(released)(list(released.values())[: 3 if time.monotonic() < until else 1])

    with pytest.raises(AssertionError, match="how long reading took"):
        assert_no_clock(Hasty(), engine)


def test_an_hour_passes_with_each_call_and_each_batch(engine):
    before = time.monotonic()
    with moved_clock() as passing:
        list(SlowEngine(engine, passing).rows(["age"]))
        assert time.monotonic() - before > 2 * 3600
    assert time.monotonic() - before < 3600
