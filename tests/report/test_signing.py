import os
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from tacita.errors import InvalidInput
from tacita.report.signing import SigningKey, canonical, check_signature, fingerprint_of, read_canonical


def test_a_signature_holds_for_its_bytes_and_its_key():
    key, other = SigningKey.new(), SigningKey.new()
    signed = key.sign(b"yes")
    assert check_signature(b"yes", signed, key.public)
    assert not check_signature(b"no", signed, key.public)
    assert not check_signature(b"yes", signed, other.public)
    assert not check_signature(b"yes", other.sign(b"yes"), key.public)
    for broken in ("", "???", signed[:-4]):
        assert not check_signature(b"yes", broken, key.public)
        assert not check_signature(b"yes", signed, broken)


def test_an_installation_has_one_key(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        keys = list(pool.map(lambda _: SigningKey.of(tmp_path / "home").public, range(16)))
    assert len(set(keys)) == 1
    path = tmp_path / "home" / "signing.key"
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    assert [each.name for each in path.parent.iterdir()] == ["signing.key"]
    assert str(path.read_bytes()) not in repr(SigningKey.of(tmp_path / "home"))
    path.write_bytes(b"short")
    with pytest.raises(InvalidInput):
        SigningKey.of(tmp_path / "home")


def test_equal_data_are_equal_bytes():
    assert canonical({"b": 1, "a": "é"}) == canonical({"a": "é", "b": 1}) == '{"a":"é","b":1}'.encode()
    with pytest.raises(ValueError):
        canonical({"a": float("nan")})
    assert fingerprint_of("x") == fingerprint_of("x") != fingerprint_of("y")


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ('{"epsilon": 0.01, "epsilon": 2.0}', "each member once"),
        ('{"a": {"b": 1, "b": 1}}', "each member once"),
        ('{"a": [{"b": 1, "b": 2}]}', "each member once"),
        ('{"a": NaN}', "must be JSON"),
        ('{"a": "\\ud800"}', "must be JSON"),
        ("[" * 100_000, "must be JSON"),
        ("[]", "JSON object"),
        ("", "must be JSON"),
    ],
)
def test_a_signed_text_means_one_thing(text, rule):
    with pytest.raises(InvalidInput, match=rule):
        read_canonical(text, field="statement")


def test_what_means_one_thing_is_read():
    assert read_canonical('{"a": {"b": [1, null]}, "c": "é"}', field="x") == {"a": {"b": [1, None]}, "c": "é"}
