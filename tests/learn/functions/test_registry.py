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
from tacita.learn.functions.releasing import KeptPlan, activate
from tacita.learn.functions.sealing import Seal
from tacita.learn.functions.service import FunctionService
from tacita.noise import SecureSource
from tacita.plans.session import Session
from tacita.privacy.budget import Budget
from tacita.privacy.ledger import Ledger
from tacita.privacy.unit import Neighbours, Unit
from tacita.report.signing import SigningKey, canonical
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
    for ref in ("nobody", "people@9", "people@x", "people@\u00b2", "people@" + "9" * 40, "fn_0"):
        with pytest.raises(UnknownName):
            registry.get(ref)
    for name in ("", "a@1", "fn_x", "job_1"):
        with pytest.raises(InvalidInput, match="name"):
            registry.put(kit.fit("histogram"), name)


def test_a_name_belongs_to_its_dataset(kit, registry) -> None:
    model = kit.fit("histogram")
    one, other = (registry.activate(registry.put(model, "f"), charge="c", dataset=name).id for name in ("d", "e"))
    assert (registry.get("f", ["d"]).id, registry.get("f@1", ["e"]).id) == (one, other)
    assert (registry.get(one).version, registry.get(other).version) == (1, 1)
    with pytest.raises(UnknownName):
        registry.get(one, ["e"])
    with pytest.raises(Conflict, match="several"):
        registry.get("f")


def test_a_bad_name_is_refused_before_it_costs(kit, registry) -> None:
    _, plan = paying(registry, kit)
    with pytest.raises(InvalidInput, match="name"):
        KeptPlan(plan=plan.plan, registry=registry, name="job_1")


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
    id = kit.release(registry, kit.fit("svm", form="features", source=SecureSource()))
    text = export_bundle(registry, id, signer)
    other = elsewhere(tmp_path)
    load_bundle(other, text, trusted=[signer.public])
    assert serve(other).predict(id, POINTS) == serve(registry).predict(id, POINTS)
    assert registry.get(id).state == "active"


def test_a_path_moves(kit, url, tmp_path) -> None:
    sealed, signer = Registry(Database(url), Seal(KEY)), SigningKey.new()
    id = kit.release(sealed, kit.fit("density", source=SecureSource()))
    answers = serve(sealed).predict(id, POINTS).values
    text = export_bundle(sealed, id, signer)
    with pytest.raises(Conflict, match="moved"):  # a second file could be taken up after the first has gone on
        export_bundle(sealed, id, signer)
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
    id = kit.release(sealed, kit.fit("density", source=SecureSource()))
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
    unsealed = kit.release(registry, kit.fit("density", source=SecureSource()))
    with pytest.raises(Conflict, match="key"):
        export_bundle(registry, unsealed, signer)


def test_simulated_functions_are_not_taken_up(kit, registry, tmp_path) -> None:
    signer = SigningKey.new()
    text = export_bundle(registry, kit.release(registry, kit.fit("histogram")), signer)
    with pytest.raises(InvalidInput, match="simulated"):
        load_bundle(elsewhere(tmp_path), text, trusted=[signer.public])


def test_bundles_that_lack_parts(kit, registry, tmp_path) -> None:
    """Signed by somebody who is trusted, and still no bundle."""
    signer = SigningKey.new()
    text = export_bundle(registry, kit.release(registry, kit.fit("histogram", source=SecureSource())), signer)
    for change in ({"points": [["x"]]}, {"payload": "!"}, {"payload": "AAAA"}, {"about": {}}, {"name": None}):
        body = {name: value for name, value in json.loads(text).items() if name != "signature"} | change
        signed = json.dumps(body | {"signature": signer.sign(canonical(body))})
        with pytest.raises(InvalidInput, match=r"bundle|name"):
            load_bundle(elsewhere(tmp_path), signed, trusted=[signer.public])
    assert elsewhere(tmp_path).list() == []


def test_after_a_restore_no_path_goes_on(kit, sealed, tmp_path) -> None:
    path = kit.release(sealed, kit.fit("density", source=SecureSource()))
    table = kit.release(sealed, kit.fit("histogram", source=SecureSource()), "table")
    answers = serve(sealed).predict(path, POINTS).values
    assert (sealed.halt_paths(), sealed.halt_paths()) == (1, 0)
    assert serve(sealed).predict(path, POINTS).values == answers
    with pytest.raises(Conflict, match="moved"):
        serve(sealed).predict(path, [[7.0, 0.1]])
    with pytest.raises(Conflict, match="moved"):
        export_bundle(sealed, path, SigningKey.new())
    assert sealed.get(table).state == "active"


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
    entry = activate(registry, session.ask(plan, key="k"))
    spent = session.balance().spent
    assert 0.9 < spent <= 1
    for _ in range(3):
        serve(registry).predict("people", POINTS)
    assert session.balance().spent == spent
    assert (entry.dataset, entry.state, entry.about["simulated"]) == ("d", "active", False)
    assert activate(registry, session.ask(plan, key="k")) == registry.get("people")
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
    activate(registry, session.ask(plan, key="k"))
    with registry.database.reading() as connection:
        states = sorted(connection.execute(sa.select(models.c.state)).scalars())
    assert states == ["active", "pending"]
    assert [entry.state for entry in registry.list()] == ["active"]
