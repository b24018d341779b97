"""Versions, seals, bundles; one charge gives one function."""

from __future__ import annotations

import base64
import json

import pytest
import sqlalchemy as sa

from tacita.errors import Conflict, Forbidden, InvalidInput, UnknownName
from tacita.learn.functions import ReleaseFunction
from tacita.learn.functions.bundle import export_bundle, load_bundle
from tacita.learn.functions.registry import Registry
from tacita.learn.functions.releasing import KeptPlan, activated
from tacita.learn.functions.sealing import Seal
from tacita.learn.functions.service import FunctionService
from tacita.noise import SecureSource
from tacita.privacy.budget import Budget
from tacita.privacy.ledger import Ledger
from tacita.privacy.unit import Neighbours, Unit
from tacita.query import Session
from tacita.signing import SigningKey
from tacita.store import Database
from tacita.store.schema import model_points, models

KEY = base64.b64encode(bytes(range(32))).decode()
OTHER_KEY = base64.b64encode(bytes(range(1, 33))).decode()
POINTS = [[1.0, 0.0], [2.0, 0.5], [2.0, 0.5000001]]


@pytest.fixture
def sealed(registry) -> Registry:
    return Registry(registry.database, Seal(KEY))


def serve(registry: Registry) -> FunctionService:
    return FunctionService(registry, SecureSource())


def elsewhere(tmp_path, key: str | None = None) -> Registry:
    return Registry(Database(f"sqlite:///{tmp_path}/elsewhere/state.db"), Seal(key))


def test_versions(kit, registry) -> None:
    first, second = (kit.release(registry, kit.fit("density"), "people") for _ in range(2))
    kit.release(registry, kit.fit("histogram"), "others")
    assert (registry.get("people").id, registry.get("people@1").id, registry.get(first).version) == (second, first, 1)
    assert [entry.name for entry in registry.list()] == ["others", "people", "people"]
    registry.delete("people@2")
    assert registry.get("people").id == first
    assert registry.get(second).state == "deleted"
    for ref in ("nobody", "people@9", "people@x", "fn_0"):
        with pytest.raises(UnknownName):
            registry.get(ref)
    for name in ("", "a@1", "fn_x"):
        with pytest.raises(InvalidInput, match="name"):
            registry.put(kit.fit("histogram"), name)


def test_deleting_leaves_nothing_to_answer_from(kit, registry) -> None:
    id = kit.release(registry, kit.fit("density"))
    service = serve(registry)
    service.predict(id, POINTS)
    registry.delete(id)
    with pytest.raises(Conflict, match="deleted"):
        service.predict(id, POINTS)
    with registry.database.reading() as connection:
        assert connection.execute(sa.select(sa.func.count()).select_from(model_points)).scalar_one() == 0
        assert connection.execute(sa.select(models.c.payload)).scalar_one() == b""


def test_a_service_shows_no_parameters(kit, registry) -> None:
    with pytest.raises(Forbidden, match="only answers"):
        registry.model(registry.get(kit.release(registry, kit.fit("density")))).parameters()
    shown = registry.model(registry.get(kit.release(registry, kit.fit("density", form="features")))).parameters()
    assert list(shown) == ["weights"]


def test_what_is_public_holds_no_row(kit, registry) -> None:
    entry = registry.get(kit.release(registry, kit.fit("density")))
    text = json.dumps(entry.as_dict())
    assert "centres" not in text
    assert len(text) < 5000


def test_secrets_are_sealed(kit, registry, sealed) -> None:
    model = kit.fit("density")
    open_id, id = kit.release(registry, model, "open"), kit.release(sealed, model, "closed")
    answers = serve(sealed).predict(id, POINTS).values
    serve(registry).predict(open_id, POINTS)
    with registry.database.reading() as connection:
        payloads = dict(connection.execute(sa.select(models.c.id, models.c.payload)).all())
        hidden = connection.execute(
            sa.select(model_points.c.model, model_points.c.hidden).where(model_points.c.hidden.is_not(None))
        ).all()
    assert payloads[open_id] == model.payload()
    assert payloads[id][12:].find(model.payload()[:16]) == -1
    assert {(row.model, len(row.hidden)) for row in hidden} == {(open_id, 8), (id, 12 + 8 + 16)}
    assert serve(Registry(registry.database, Seal(KEY))).predict(id, POINTS).values == answers
    for key in (None, OTHER_KEY):
        with pytest.raises(Forbidden, match="key"):
            serve(Registry(registry.database, Seal(key))).predict(id, POINTS)
    assert KEY not in repr(sealed.seal)


def test_seals_cannot_be_swapped() -> None:
    seal = Seal(KEY)
    assert seal.open(seal.close(b"rows", "one"), "one") == b"rows"
    for data, about in [(seal.close(b"rows", "one"), "two"), (seal.close(b"rows", "one")[:-1], "one"), (b"", "one")]:
        with pytest.raises(Forbidden):
            seal.open(data, about)
    for key in ("", "short", base64.b64encode(bytes(16)).decode()):
        with pytest.raises(InvalidInput, match="openssl"):
            Seal(key)


def test_a_bundle_of_noisy_numbers_is_copied(kit, registry, tmp_path) -> None:
    signer = SigningKey.new()
    id = kit.release(registry, kit.fit("svm", form="features"))
    text = export_bundle(registry, id, signer)
    other = elsewhere(tmp_path)
    load_bundle(other, text, trusted=[signer.public])
    assert serve(other).predict(id, POINTS) == serve(registry).predict(id, POINTS)
    assert registry.get(id).state == "active"


def test_a_path_moves(kit, url, tmp_path) -> None:
    sealed, signer = Registry(Database(url), Seal(KEY)), SigningKey.new()
    id = kit.release(sealed, kit.fit("density"))
    answers = serve(sealed).predict(id, POINTS).values
    text = export_bundle(sealed, id, signer)
    assert export_bundle(sealed, id, signer) == text  # a lost file can be written again
    other = elsewhere(tmp_path, KEY)
    load_bundle(other, text, trusted=[signer.public])
    there = serve(other)
    assert there.predict(id, POINTS).values == answers
    there.predict(id, [[7.0, 0.1]])
    assert serve(sealed).predict(id, POINTS).values == answers
    with pytest.raises(Conflict, match="moved"):
        serve(sealed).predict(id, [[7.0, 0.1]])
    for store in (other, sealed):  # and never back to a state that others have gone on from
        with pytest.raises(Conflict, match="once"):
            load_bundle(store, text, trusted=[signer.public])


def test_bundles_that_are_refused(kit, registry, sealed, tmp_path) -> None:
    signer, stranger = SigningKey.new(), SigningKey.new()
    id = kit.release(sealed, kit.fit("density"))
    text = export_bundle(sealed, id, signer)
    other = elsewhere(tmp_path, KEY)

    def refused(changed: str, match: str, trusted: list[str] | None = None) -> None:
        with pytest.raises((InvalidInput, Forbidden), match=match):
            load_bundle(other, changed, trusted=[signer.public] if trusted is None else trusted)

    body = json.loads(text)
    refused(text, "not trusted", [stranger.public])
    refused(json.dumps(body | {"signer": stranger.public}), "does not fit", [stranger.public])
    refused(json.dumps(body | {"about": body["about"] | {"sigma": 0.0}}), "does not fit")
    refused(json.dumps(body | {"signature": stranger.sign(b"x")}), "does not fit")
    refused(json.dumps(body | {"signature": "no base64"}), "does not fit")
    refused(json.dumps({"tacita": "else"}), "bundle")
    refused("[]", "bundle")
    refused("not json", "bundle")
    with pytest.raises(Forbidden, match="key"):
        load_bundle(elsewhere(tmp_path, OTHER_KEY), text, trusted=[signer.public])
    assert other.list() == []
    unsealed = kit.release(registry, kit.fit("density"))
    with pytest.raises(Conflict, match="key"):
        export_bundle(registry, unsealed, signer)


# -- paid for once -----------------------------------------------------------------------------------------------------


def paying(registry: Registry, kit) -> tuple[Session, KeptPlan]:
    ledger = Ledger(registry.database)
    account = ledger.open("d", unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE, budget=Budget.approx(1.5, 1e-5))
    plan = ReleaseFunction(kind="density", **kit.parts["density"]).calibrate(
        kit.domain, kit.budget, unit=account.unit, neighbours=account.neighbours
    )
    session = Session(engine=kit.engine, ledger=ledger, account="d", principal="me", source=SecureSource())
    return session, KeptPlan(plan=plan, registry=registry, name="people")


def test_a_function_is_charged_once_and_answers_are_free(kit, registry) -> None:
    session, plan = paying(registry, kit)
    entry = activated(registry, session.ask(plan, key="k"))
    spent = session.balance().spent
    assert 0.9 < spent <= 1
    for _ in range(3):
        serve(registry).predict("people", POINTS)
    assert session.balance().spent == spent
    assert (entry.dataset, entry.state, entry.about["simulated"]) == ("d", "active", False)
    assert activated(registry, session.ask(plan, key="k")) == registry.get("people")
    assert session.balance().spent == spent


def test_a_run_that_was_cut_off_gives_no_second_function(kit, registry, monkeypatch) -> None:
    session, plan = paying(registry, kit)

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Ledger, "settle", crash)
    with pytest.raises(KeyboardInterrupt):
        session.ask(plan, key="k")
    monkeypatch.undo()
    assert registry.list() == []
    activated(registry, session.ask(plan, key="k"))
    with registry.database.reading() as connection:
        states = sorted(connection.execute(sa.select(models.c.state)).scalars())
    assert states == ["active", "pending"]
    assert [entry.state for entry in registry.list()] == ["active"]
