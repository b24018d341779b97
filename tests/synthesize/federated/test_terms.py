import json

import pytest

from tacita.domain import Boolean, Domain
from tacita.errors import Conflict, InvalidInput
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Unit
from tacita.synthesize.federated import Terms


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"budget": Budget.approx(1.0, 1e-9), "method": "SL3"},
        {"budget": Budget.zcdp(0.1), "people": 1000},
        {"overlap": "possible"},
    ],
)
def test_terms_travel(make_terms, changes):
    terms = make_terms(**changes)
    again = Terms.from_dict(json.loads(json.dumps(terms.as_dict())))
    assert again == terms
    assert again.digest == terms.digest


def test_every_member_is_part_of_the_digest(make_terms):
    other = {
        "run": "second",
        "schema": "0" * 16,
        "attributes": ("a", "b"),
        "method": "SL1",
        "budget": Budget.pure(5.0),
        "unit": Unit.of_person("id", max_rows=2),
        "neighbours": "replace-one",
        "holders": ("h0", "h1", "h2", "h3", "h9"),
        "quorum": 2,
        "overlap": "possible",
        "degree": 2,
        "split": 0.4,
        "theta": 2.0,
        "people": 5,
    }
    assert set(other) == set(make_terms().as_dict())
    digests = {make_terms().digest} | {make_terms(**{name: value}).digest for name, value in other.items()}
    assert len(digests) == len(other) + 1


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("run", ""),
        ("run", "a b"),
        ("run", "x" * 81),
        ("run", 3),
        ("schema", ""),
        ("attributes", []),
        ("attributes", ["a", "a"]),
        ("attributes", "ab"),
        ("attributes", [1]),
        ("method", "SL4"),
        ("overlap", "some"),
        ("quorum", 0),
        ("quorum", 6),
        ("quorum", True),
        ("quorum", 2.0),
        ("degree", 0),
        ("degree", 4),
        ("split", 0.0),
        ("split", float("nan")),
        ("split", "0.3"),
        ("theta", float("inf")),
        ("theta", -1),
        ("people", 0),
        ("people", 2.5),
        ("people", 1 << 60),
        ("budget", {"epsilon": -1.0}),
        ("budget", {"epsilon": 1.0, "more": 1}),
        ("budget", 1.0),
        ("unit", "nobody"),
        ("unit", 3),
        ("neighbours", "near"),
        ("neighbours", []),
        ("holders", ["h0", "h0"]),
    ],
)
def test_bad_terms_are_refused_by_name(make_terms, field, value):
    data = make_terms().as_dict() | {field: value}
    with pytest.raises(InvalidInput) as refused:
        Terms.from_dict(data)
    assert refused.value.field in (field, "epsilon")


@pytest.mark.parametrize("data", [None, [], "terms", {}, {"run": "x"}])
def test_what_is_no_terms_at_all(data):
    with pytest.raises(InvalidInput, match="terms"):
        Terms.from_dict(data)


def test_members_that_nobody_knows_are_refused(make_terms):
    with pytest.raises(InvalidInput, match="terms"):
        Terms.from_dict(make_terms().as_dict() | {"extra": 1})


def test_another_schema_is_refused_with_both_fingerprints(make_terms, domain):
    other = Domain(attributes=[Boolean(name="a")])
    with pytest.raises(Conflict) as refused:
        make_terms().check_domain(other)
    assert other.fingerprint in str(refused.value)
    assert domain.fingerprint in str(refused.value)
