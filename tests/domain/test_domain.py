import json
from pathlib import Path

import jsonschema
import pyarrow as pa
import pytest
import yaml

from tacita.domain import Boolean, Categorical, Domain, Identifier, Numeric
from tacita.errors import InvalidInput, NotPublic, SchemaError, UnknownName

SCHEMA = Path(__file__).parents[2] / "spec" / "schema" / "domain.schema.json"


@pytest.fixture
def domain():
    return Domain(
        title="people",
        person="id",
        attributes=[
            Identifier(name="id"),
            Categorical(name="sex", levels=["f", "m"], role="quasi-identifier"),
            Numeric(name="age", bounds=(0, 99), bins=10, integer=True, missing=True),
            Boolean(name="ill", role="sensitive"),
        ],
    )


def test_sizes(domain):
    assert domain.countable == ("sex", "age", "ill")
    assert domain.project(["ill", "age"]).shape == (2, 11)
    assert domain.project(["ill", "age"]).size == 22


@pytest.mark.parametrize("form", ["to_yaml", "to_json"])
def test_round_trip(domain, form):
    again = Domain.from_text(getattr(domain, form)())
    assert again == domain
    assert again.fingerprint == domain.fingerprint


@pytest.mark.parametrize("name", ["d.yaml", "d.json"])
def test_files(domain, tmp_path, name):
    domain.write(tmp_path / name)
    assert Domain.read(tmp_path / name) == domain


def test_published_schema_accepts_what_we_write(domain):
    published = json.loads(SCHEMA.read_text())
    jsonschema.validate(yaml.safe_load(domain.to_yaml()), published)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({"attributes": [{"name": "a", "kind": "colour"}]}, published)


def test_published_schema_is_up_to_date():
    assert json.loads(SCHEMA.read_text()) == Domain.model_json_schema()


def test_fingerprint_tells_domains_apart(domain):
    other = domain.model_copy(update={"title": "others"})
    assert Domain.from_dict(other.as_dict()).fingerprint != domain.fingerprint


def test_merge(domain):
    left, right = domain.project(["sex", "age"]), domain.project(["age", "ill"])
    assert left.merge(right).names == ("sex", "age", "ill")
    changed = Domain(attributes=[Numeric(name="age", bounds=(0, 50), bins=5)])
    with pytest.raises(InvalidInput, match="age"):
        left.merge(changed)


def test_encode_many(domain):
    batch = pa.record_batch({"id": ["a"], "sex": ["m"], "age": [33], "ill": [True]})
    assert {name: codes.tolist() for name, codes in domain.encode(batch).items()} == {
        "sex": [1],
        "age": [3],
        "ill": [1],
    }


def test_nothing_derived_passes_as_public(domain):
    drafted = Domain(attributes=[Boolean(name="a", derived=("kind",)), Boolean(name="b", derived=("kind",))])
    with pytest.raises(NotPublic, match="a: its kind"):
        drafted.require_public()
    half = drafted.confirm(["a"])
    assert half.unconfirmed == {"b": ("kind",)}
    with pytest.raises(NotPublic, match="b"):
        half.require_public()
    drafted.confirm().require_public()
    domain.require_public()


def test_unknown_names_help(domain):
    with pytest.raises(UnknownName, match="Did you mean 'age'"):
        domain["agee"]
    with pytest.raises(UnknownName):
        domain.confirm(["nobody"])


def test_what_cannot_be_counted(domain):
    with pytest.raises(InvalidInput, match="identifier"):
        domain.project(["id"])
    with pytest.raises(InvalidInput, match="distinct"):
        domain.project(["sex", "sex"])
    with pytest.raises(InvalidInput, match="list"):
        domain.project("sex")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("attributes: [", "line 1"),
        ("just text", "mapping"),
        ("attributes: []", "attributes"),
        ("attributes: [{name: a, kind: colour}]", "a.kind: must be one of"),
        ("{attributes: [{name: a, kind: boolean}, {name: a, kind: boolean}]}", "'a' is there twice"),
        ("{person: x, attributes: [{name: a, kind: boolean}]}", "'x' is none"),
        ("{person: a, attributes: [{name: a, kind: boolean}]}", "kind identifier"),
        ("{tacita: 2, attributes: [{name: a, kind: boolean}]}", "tacita"),
    ],
)
def test_bad_schemas_are_refused(text, says):
    with pytest.raises(SchemaError, match=says):
        Domain.from_text(text)


def test_unreadable_files(tmp_path):
    with pytest.raises(SchemaError, match="no such file"):
        Domain.read(tmp_path / "none.yaml")
    (tmp_path / "bad.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(SchemaError, match="UTF-8"):
        Domain.read(tmp_path / "bad.yaml")
