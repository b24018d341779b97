import json
from dataclasses import replace
from fractions import Fraction

import pytest

from tacita.errors import InvalidInput
from tacita.privacy.event import DiscreteGaussianNoise, NonPrivate, Pure, Repeated
from tacita.privacy.unit import Neighbours, Unit
from tacita.release import Provenance
from tacita.signing import SigningKey, canonical
from tacita.statement import Statement, digest_of, state, verify

KEY = SigningKey.new()
GAUSSIAN = Repeated(event=DiscreteGaussianNoise(sigma2=Fraction(100)), count=3)


def make(tmp_path, event=GAUSSIAN, delta=1e-6, simulated=False):
    (tmp_path / "rows.csv").write_text("a\n1\n")
    return state(
        event=event,
        unit=Unit.row(),
        neighbours=Neighbours.ADD_REMOVE,
        provenance=Provenance(recipe={"method": "x"}, simulated=simulated),
        delta=delta,
        files={"rows.csv": tmp_path / "rows.csv"},
        key=KEY,
    )


def found(statement, **more):
    return {check.what: check.good for check in verify(statement, **more)}


def test_a_true_statement_holds(tmp_path):
    statement = make(tmp_path)
    again = Statement.from_json(statement.to_json())
    assert again == statement
    checks = found(again, files={"rows.csv": tmp_path / "rows.csv"}, key=KEY.public)
    assert checks == {"signature": True, "epsilon": True, "guarantee": True, "file rows.csv": True}
    assert statement.epsilon > 0
    assert make(tmp_path, Pure(epsilon=0.5), delta=0.0).epsilon == 0.5
    assert make(tmp_path, delta=0.0).delta == 1e-9  # Gaussian noise has no pure epsilon


def test_every_member_is_signed(tmp_path):
    statement = make(tmp_path)
    plain = statement.as_dict()
    for name in set(plain) - {"tacita", "signature"}:
        changed = plain | {name: {"kind": "pure", "epsilon": 0.1} if name == "event" else _other(plain[name])}
        assert not found(Statement.from_json(json.dumps(changed)))["signature"], name


def _other(value):
    if isinstance(value, str):
        return value + "x"
    if isinstance(value, dict):
        return value | {"more": "x"}
    if isinstance(value, list):
        return [*value, "x"]
    return 0.125


def test_another_key_is_noticed(tmp_path):
    statement = make(tmp_path)
    stranger = SigningKey.new()
    forged = replace(statement, key=stranger.public, epsilon=0.001)
    forged = replace(forged, signature=stranger.sign(canonical(forged.as_dict(signed=False))))
    assert found(forged)["signature"]  # it is what it was when it was signed
    assert not found(forged)["epsilon"]  # and yet it is not believed
    assert not found(forged, key=KEY.public)["signature"]


def test_a_file_that_was_changed_is_noticed(tmp_path):
    statement = make(tmp_path)
    (tmp_path / "rows.csv").write_text("a\n2\n")
    assert not found(statement, files={"rows.csv": tmp_path / "rows.csv"})["file rows.csv"]
    assert not found(statement, files={"other.csv": tmp_path / "rows.csv"})["file other.csv"]


def test_what_has_no_guarantee_says_so(tmp_path):
    for statement in (make(tmp_path, NonPrivate(reason="exact counts")), make(tmp_path, simulated=True)):
        assert (statement.guarantee, statement.epsilon) == ("none", None)
        assert "no guarantee" in statement.not_protected[0]
        assert all(found(statement).values())
        liar = replace(statement, guarantee="differential privacy", epsilon=1.0)
        liar = replace(liar, signature=KEY.sign(canonical(liar.as_dict(signed=False))))
        assert not found(liar)["guarantee"]


def test_a_folder_has_a_digest(tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "a").write_text("1")
    (folder / "b").write_text("2")
    before = digest_of(folder)
    (folder / "b").rename(folder / "c")
    assert digest_of(folder) != before
    with pytest.raises(InvalidInput):
        digest_of(tmp_path / "nothing")


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"tacita": "privacy-statement/1"}', "null"])
def test_what_is_no_statement(text):
    with pytest.raises(InvalidInput):
        Statement.from_json(text)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("delta", "0"),
        ("delta", 1.0),
        ("delta", -0.1),
        ("delta", True),
        ("delta", None),
        ("delta", 10**400),
        ("epsilon", "1"),
        ("epsilon", False),
        ("epsilon", 10**400),
        ("event", 7),
        ("event", {"kind": "pure", "epsilon": "1e400"}),
        ("event", {"kind": "repeated", "count": 2, "event": []}),
        ("public", 5),
        ("public", [1]),
        ("not_protected", "all"),
        ("provenance", None),
        ("mechanism", [1]),
        ("digests", {"rows.csv": 1}),
        ("digests", []),
        ("key", 3),
        ("signature", None),
        ("unit", "\ud800"),
    ],
)
def test_members_of_the_wrong_kind_are_refused(tmp_path, name, value):
    plain = make(tmp_path).as_dict() | {name: value}
    with pytest.raises(InvalidInput):
        Statement.from_json(json.dumps(plain))


@pytest.mark.parametrize("text", ["[" * 100_000, "NaN", '{"tacita": NaN}', "", "7"])
def test_texts_that_are_no_statement(text):
    with pytest.raises(InvalidInput, match="statement"):
        Statement.from_json(text)


def test_neighbours_that_nobody_knows_do_not_hold(tmp_path):
    plain = make(tmp_path).as_dict() | {"neighbours": "friends"}
    assert not found(Statement.from_json(json.dumps(plain)))["epsilon"]
