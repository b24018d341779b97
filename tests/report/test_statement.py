import json
from dataclasses import replace
from fractions import Fraction

import pytest

from tacita.errors import InvalidInput
from tacita.privacy.event import DiscreteGaussianNoise, NonPrivate, Pure, Repeated
from tacita.privacy.unit import Neighbours, Unit
from tacita.report.signing import SigningKey, canonical
from tacita.report.statement import Statement, digest_of, state, verify
from tacita.tables.release import Provenance

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


def test_a_member_that_is_there_twice_is_refused(tmp_path):
    text = make(tmp_path).to_json()
    assert Statement.from_json(text)
    for hidden in ('"epsilon": 0.01,', '"guarantee": "differential privacy",', '"delta": 0.0,'):
        with pytest.raises(InvalidInput, match="each member once"):
            Statement.from_json("{" + hidden + text.lstrip()[1:])
    nested = text.replace('"provenance": {', '"provenance": {"simulated": true,', 1)
    with pytest.raises(InvalidInput, match="each member once"):
        Statement.from_json(nested)


def test_folders_and_files_never_share_a_digest(tmp_path):
    one, two, file = tmp_path / "one", tmp_path / "two", tmp_path / "file"
    one.mkdir()
    two.mkdir()
    # names and contents, one after the other, gave the same bytes for all three
    (one / "a").write_bytes(b"xb\0y")
    (two / "a").write_bytes(b"x")
    (two / "b").write_bytes(b"y")
    file.write_bytes(b"a\0xb\0y")
    assert len({digest_of(one), digest_of(two), digest_of(file)}) == 3
    (one / "a").rename(one / "c")
    before = digest_of(two)
    (two / "b").rename(two / "d")
    assert digest_of(two) != before
    listed = canonical({"c": digest_of(one / "c")})
    file.write_bytes(listed)
    assert digest_of(file) != digest_of(one)


def test_a_delta_that_promises_nothing_does_not_hold(tmp_path):
    statement = make(tmp_path, delta=1e-6)
    weak = replace(statement, delta=0.995, epsilon=100.0, signature="")
    weak = replace(weak, signature=KEY.sign(canonical(weak.as_dict(signed=False))))
    assert found(weak) == {"signature": True, "epsilon": False, "guarantee": True}
