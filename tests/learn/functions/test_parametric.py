"""Fitted models in the registry: asked as functions are, shown, sealed, moved as often as one likes."""

import base64
import datetime as dt
import json

import numpy as np
import pyarrow as pa
import pytest
import sqlalchemy as sa

from tacita.domain import Boolean, Categorical, Date, Domain, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import Conflict, InvalidInput
from tacita.learn import Bayes, Regression, Trees
from tacita.learn.functions.bundle import export_bundle, load_bundle
from tacita.learn.functions.inputs import points_of
from tacita.learn.functions.parametric import ParametricModel
from tacita.learn.functions.registry import Registry
from tacita.learn.functions.releasing import KeptPlan, activate
from tacita.learn.functions.sealing import Seal
from tacita.learn.functions.service import FunctionService
from tacita.noise import SecureSource
from tacita.plans.session import Session
from tacita.privacy.budget import Budget
from tacita.privacy.ledger import Ledger
from tacita.privacy.unit import Neighbours, Unit
from tacita.report.signing import SigningKey, canonical
from tacita.store import Database, now
from tacita.store.schema import models

DOMAIN = Domain(
    attributes=[
        Numeric(name="age", bounds=(0, 100), bins=5),
        Categorical(name="sex", levels=("f", "m")),
        Boolean(name="old"),
        Date(name="seen", bounds=(dt.date(2020, 1, 1), dt.date(2021, 1, 1)), by="quarter"),
    ]
)
FEATURES = ("age", "sex", "seen")
POINT = [34, "f", "2020-05-06"]
RECIPES = [
    Trees(target="old", features=FEATURES, depth=2),
    Bayes(target="old", features=FEATURES),
    Regression(target="old", features=FEATURES, task="logistic"),
    Regression(target="age", features=("sex", "old", "seen")),
]


def engine():
    rng = np.random.default_rng(0)
    age = rng.uniform(0, 100, 500)
    days = [dt.date(2020, 1, 1) + dt.timedelta(days=int(day)) for day in rng.integers(0, 360, 500)]
    rows = {"age": age, "sex": rng.choice(["f", "m"], 500), "old": age > 50, "seen": days}
    return LocalEngine(DOMAIN, pa.table(rows))


@pytest.fixture
def database(tmp_path):
    found = Database(f"sqlite:///{tmp_path / 'one.db'}")
    yield found
    found.close()


def released(database, recipe, seal=None, name="model"):
    """Paid from an account, as the command line and the server do."""
    ledger, registry = Ledger(database), Registry(database, seal)
    notion = {"unit": Unit.row(), "neighbours": Neighbours.ADD_REMOVE}
    if "people" not in {account.name for account in ledger.accounts()}:
        ledger.open("people", budget=Budget.pure(50.0), **notion)
    plan = recipe.calibrate(DOMAIN, Budget.pure(1.0), **notion)
    session = Session(engine=engine(), ledger=ledger, account="people", principal="me", source=SecureSource())
    return registry, activate(registry, session.ask(KeptPlan(plan=plan, registry=registry, name=name)))


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: f"{type(recipe).__name__} {recipe.target}")
def test_asked_as_functions_are(database, recipe):
    registry, entry = released(database, recipe)
    point = POINT if recipe.target == "old" else ["m", True, "2020-05-06"]
    found = FunctionService(registry, SecureSource()).predict("model", [point, point])
    assert found.values[0] == found.values[1]
    model = registry.model(entry)
    rows = pa.table({name: [value] for name, value in zip(recipe.features, point, strict=True)})
    if recipe.target == "old":
        assert found.labels[0] == model.fitted.predict(rows).to_pylist()[0]
        assert sum(found.values[0]) == pytest.approx(1)
        assert entry.about["classes"] == ["false", "true"]
    else:
        assert found.values[0] == model.fitted.predict(rows).to_pylist()[0]
    assert entry.points == 0  # nothing has to be remembered
    assert model.fitted.provenance.charge == entry.charge
    assert model.parameters()["tacita"] in ("trees/1", "bayes/1", "fitted/1")
    assert ParametricModel.of(model.about, model.payload()).payload() == model.payload()


@pytest.mark.parametrize(
    ("point", "field"),
    [
        ([34, "f"], "points[0]"),
        ([float("nan"), "f", "2020-05-06"], "points[0].age"),
        ([None, "f", "2020-05-06"], "points[0].age"),
        (["34", "f", "2020-05-06"], "points[0].age"),
        ([True, "f", "2020-05-06"], "points[0].age"),
        ([-1, "f", "2020-05-06"], "points[0].age"),
        ([34, "x", "2020-05-06"], "points[0].sex"),
        ([34, None, "2020-05-06"], "points[0].sex"),
        ([34, float("nan"), "2020-05-06"], "points[0].sex"),
        ([34, "f", "in May"], "points[0].seen"),
        ([34, "f", "2031-05-06"], "points[0].seen"),
    ],
)
def test_points_that_cannot_be_are_named(database, point, field):
    registry, _ = released(database, RECIPES[0])
    with pytest.raises(InvalidInput) as caught:
        FunctionService(registry, SecureSource()).predict("model", [point])
    assert caught.value.field == field


def test_rows_name_their_values():
    assert points_of([{"b": 2, "a": 1}], ("a", "b")) == [[1, 2]]
    with pytest.raises(InvalidInput) as unknown:
        points_of([{"a": 1, "b": 2, "c": 3}], ("a", "b"))
    assert unknown.value.field == "rows[0]"
    with pytest.raises(InvalidInput) as lacking:
        points_of([{"a": 1, "b": 2}, {"a": 1}], ("a", "b"))
    assert lacking.value.field == "rows[1].b"


def test_sealed_at_rest_and_copied_as_bundles(database, tmp_path):
    key = Seal(base64.b64encode(bytes(32)).decode())
    registry, entry = released(database, RECIPES[0], key)
    assert entry.sealed
    signer = SigningKey.new()
    bundles = [export_bundle(registry, entry.id, signer) for _ in range(2)]  # parameters may be copied
    told = FunctionService(registry, SecureSource()).predict(entry.id, [POINT])
    for place, bundle in enumerate(bundles):
        other = Database(f"sqlite:///{tmp_path / f'other{place}.db'}")
        elsewhere = Registry(other)
        load_bundle(elsewhere, bundle, trusted=[signer.public])
        assert FunctionService(elsewhere, SecureSource()).predict(entry.id, [POINT]) == told
        other.close()
    with pytest.raises(InvalidInput, match="signature"):
        load_bundle(registry, bundles[0].replace('"model"', '"mine"'), trusted=[signer.public])


def test_versions_count_within_a_name(database):
    released(database, RECIPES[0])
    registry, second = released(database, RECIPES[1])
    released(database, RECIPES[1], name="other")
    assert second.version == 2
    assert [entry.version for entry in registry.list(name="model")] == [2, 1]


def signed(body, signer):
    return json.dumps(body | {"signature": signer.sign(canonical(body))})


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"id": "model"}, "bundle.id"),
        ({"id": 5}, "bundle.id"),
        ({"id": "fn_" + "z" * 32}, "bundle.id"),
        ({"id": "fn_" + "0" * 100_000}, "bundle.id"),
        ({"dataset": None}, "bundle.dataset"),
        ({"charge": {"a": 1}}, "bundle.charge"),
        ({"charge": "ch_other"}, "bundle.about"),
        ({"version": 0}, "bundle.version"),
        ({"created": "yesterday"}, "bundle.created"),
        ({"created": "2999-01-01T00:00:00+00:00"}, "bundle.created"),
        ({"sealed": 0}, "bundle.sealed"),
        ({"points": [["", 0, "", None]]}, "bundle.sealed"),
        ({"about": {"statement": "safe"}}, "bundle.about"),
        ({"about": {"event": {"kind": "pure", "epsilon": "0"}}}, "bundle.about"),
        ({"about": {"features": ["sex", "age", "seen"]}}, "bundle.about"),
        ({"about": {"simulated": None}}, "bundle.about"),
    ],
)
def test_a_trusted_bundle_that_lies_leaves_nothing(database, tmp_path, change, field):
    registry, entry = released(database, RECIPES[0])
    signer = SigningKey.new()
    body = json.loads(export_bundle(registry, entry.id, signer))
    del body["signature"]
    changed = body | {name: body[name] | part if name == "about" else part for name, part in change.items()}
    other = Database(f"sqlite:///{tmp_path / 'other.db'}")
    with pytest.raises(InvalidInput) as caught:
        load_bundle(Registry(other), signed(changed, signer), trusted=[signer.public])
    assert caught.value.field == field
    with other.reading() as connection:
        assert connection.execute(models.select()).all() == []
    load_bundle(Registry(other), signed(body, signer), trusted=[signer.public])  # what was not changed is taken
    other.close()


def test_a_simulated_model_passes_under_no_name(database, tmp_path):
    registry, entry = released(database, RECIPES[1])
    signer = SigningKey.new()
    body = json.loads(export_bundle(registry, entry.id, signer))
    del body["signature"]
    text = base64.b64decode(body["payload"]).decode()
    forged = body | {
        "payload": base64.b64encode(text.replace('"simulated": false', '"simulated": true', 1).encode()).decode()
    }
    other = Database(f"sqlite:///{tmp_path / 'other.db'}")
    with pytest.raises(InvalidInput, match="simulated"):
        load_bundle(Registry(other), signed(forged, signer), trusted=[signer.public])
    assert Registry(other).list() == []
    other.close()


def test_an_old_bundle_becomes_the_newest_only_if_that_is_said(database, tmp_path):
    signer = SigningKey.new()
    registry, first = released(database, RECIPES[0])
    old = export_bundle(registry, first.id, signer)
    _, second = released(database, RECIPES[1])
    new = export_bundle(registry, second.id, signer)
    other = Database(f"sqlite:///{tmp_path / 'other.db'}")
    elsewhere = Registry(other)
    taken = load_bundle(elsewhere, new, trusted=[signer.public])
    assert taken.created == second.created
    with pytest.raises(Conflict, match="before the newest"):
        load_bundle(elsewhere, old, trusted=[signer.public])
    assert elsewhere.get("model").id == second.id
    load_bundle(elsewhere, old, trusted=[signer.public], older=True)
    assert elsewhere.get("model").id == first.id
    other.close()


def test_what_was_paid_for_is_not_forgotten(database):
    """A process that dies between paying and activating: however late somebody asks again, the model is there."""
    ledger, registry = Ledger(database), Registry(database)
    notion = {"unit": Unit.row(), "neighbours": Neighbours.ADD_REMOVE}
    ledger.open("people", budget=Budget.pure(50.0), **notion)
    session = Session(engine=engine(), ledger=ledger, account="people", principal="me", source=SecureSource())
    kept = KeptPlan(plan=RECIPES[0].calibrate(DOMAIN, Budget.pure(1.0), **notion), registry=registry, name="model")
    session.ask(kept, key="k")  # and then nothing: it is pending
    orphan = registry.put(ParametricModel.of_fitted(kept.plan.run(engine(), SecureSource())), "unpaid")
    with database.writing() as connection:
        connection.execute(models.update().values(created=now() - dt.timedelta(days=2)))
    registry.put(ParametricModel.of_fitted(kept.plan.run(engine(), SecureSource())), "other")
    with database.reading() as connection:
        assert orphan not in connection.execute(sa.select(models.c.id)).scalars().all()
    entry = activate(registry, session.ask(kept, key="k"))
    assert entry.state == "active"
    assert FunctionService(registry, SecureSource()).predict("model", [POINT]).labels is not None


def test_a_line_answers_a_point_alone_as_among_many(database):
    """To the last digit: the same point has the same answer, whoever asks beside."""
    registry, _ = released(database, Regression(target="age", features=("sex", "old", "seen"), task="linear"))
    service = FunctionService(registry, SecureSource())
    points = [["m" if i % 3 else "f", bool(i % 2), f"2020-{1 + i % 12:02d}-06"] for i in range(257)]
    together = service.predict("model", points).values
    for size in (1, 2, 3, 64):
        parts = [service.predict("model", points[at : at + size]).values for at in range(0, len(points), size)]
        assert [value for part in parts for value in part] == list(together)
