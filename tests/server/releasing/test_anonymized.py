"""Every method and criterion over REST, as `Client` asks for them; never less than the owner asks."""

from __future__ import annotations

import io
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import pyarrow.csv as pa_csv
import pytest

from tacita.anonymize.criteria.registry import CRITERIA
from tacita.anonymize.methods.registry import METHODS
from tacita.client import Client
from tacita.errors import Forbidden, InvalidInput
from tacita.server.data.policies import Policy

STRICTER: dict[str, dict[str, Any]] = {
    "k": {"k": 7},
    "l": {"l": 1.7, "l_kind": "entropy"},
    "t": {"t": 0.2, "t_distance": "equal"},
    "alpha": {"alpha": 0.8},
    "beta": {"beta": 0.6},
    "disclosure": {"disclosure": 0.9},
}
WEAKER: dict[str, dict[str, Any]] = {
    "k": {"k": 4},
    "l": {"l": 1},
    "t": {"t": 0.6},
    "alpha": {"alpha": 0.96},
    "beta": {"beta": 2.0},
    "disclosure": {"disclosure": 3.0},
}
WHOLE = (1 / 3, 2 / 3)  # shares of daily and never in the source
POLICY: dict[str, Any] = {
    "quasi": ["age"],
    "sensitive": ["smokes"],
    "k": 5,
    "l": 1.5,
    "l_kind": "entropy",
    "t": 0.4,
    "t_distance": "equal",
    "alpha": 0.9,
    "beta": 1.0,
    "disclosure": 1.5,
    "several": True,
    "suppress": 0.3,
}


@pytest.fixture
def client(world: Any) -> Iterator[Client]:
    world.register()
    with world.client("steward") as made:
        yield made


def fetched(client: Client, **asked: Any) -> tuple[Any, dict[str, Counter[str]]]:
    """What is said of a release, and the values of each class in its rows."""
    id = client.anonymize("patients", **asked).id
    about = client.wait_release(id, every=0.01)
    assert client.statement(id).mechanism["asked"] == about.asked
    groups: dict[str, Counter[str]] = defaultdict(Counter)
    for row in pa_csv.read_csv(io.BytesIO(client.rows(id))).to_pylist():
        groups[str(row["age"])][row["smokes"]] += 1
    return about, groups


@pytest.mark.parametrize("method", METHODS)
def test_every_method_is_asked_for_by_its_name(client: Client, method: str) -> None:
    client.set_policy("patients", quasi=["age"], k=5, sensitive=["smokes"], l=2.0, suppress=0.5, several=True)
    options = {"most": 300} if method == "bayardo" else {}
    about, groups = fetched(client, k=5, method=method, **options)
    assert about.recipe["method"]["method"] == method
    assert groups
    for values in groups.values():
        assert sum(values.values()) >= 5
        assert len(values) >= 2


def test_every_criterion_is_held_and_stated(client: Client) -> None:
    """Presence needs a population: test_releases.py."""
    assert {kind.name for kind in CRITERIA} == set(STRICTER) | {"presence"}
    known = client.set_policy("patients", **POLICY)
    assert {name: getattr(known, name) for name in POLICY} == POLICY
    assert client.policy("patients") == known
    for name, asked in STRICTER.items():
        plan = client.plan_release("anonymized", dataset="patients", **{"k": 5} | asked)
        assert plan["conditions"].items() >= asked.items()
        about, groups = fetched(client, **{"k": 5} | asked)
        assert about.asked.items() >= asked.items()
        assert name in about.achieved
        for values in groups.values():
            shares = [values[value] / sum(values.values()) for value in ("daily", "never")]
            assert max(shares) <= asked.get("alpha", 0.9)
            assert (
                max(share / all_ - 1 for share, all_ in zip(shares, WHOLE, strict=True))
                <= asked.get("beta", 1.0) + 0.01
            )


@pytest.mark.parametrize("name", WEAKER)
def test_nobody_gets_less_than_the_policy_asks(client: Client, name: str) -> None:
    client.set_policy("patients", **POLICY)
    with pytest.raises(Forbidden, match="at least as far as the owner asks"):
        client.plan_release("anonymized", dataset="patients", **{"k": 5} | WEAKER[name])


def test_other_kinds_of_a_criterion_are_not_taken_for_stricter(client: Client) -> None:
    client.set_policy("patients", **POLICY)
    for other in ({"l": 2, "l_kind": "distinct"}, {"t": 0.1, "t_distance": "ordered"}):
        with pytest.raises(Forbidden):
            client.plan_release("anonymized", dataset="patients", k=5, **other)


def test_options_of_another_method_are_refused(client: Client) -> None:
    client.set_policy("patients", quasi=["age"], k=5)
    with pytest.raises(InvalidInput, match="no option of ola"):
        client.plan_release("anonymized", dataset="patients", k=5, method="ola", mode="relaxed")
    with pytest.raises(InvalidInput):
        client.plan_release("anonymized", dataset="patients", k=5, method="magic")
    with pytest.raises(InvalidInput):
        client.plan_release("anonymized", dataset="patients", k=5, presence=[0.1, 0.5])  # the policy has no part


def test_no_release_reveals_the_order_of_rows(client: Client) -> None:
    client.set_policy("patients", quasi=["age"], k=5)
    with pytest.raises(InvalidInput, match="order of the rows"):
        client.plan_release("anonymized", dataset="patients", k=5, mode="legacy")
    assert client.plan_release("anonymized", dataset="patients", k=5, mode="relaxed")["conditions"] == {"k": 5}


def test_a_policy_without_new_criteria_is_stored_as_before() -> None:
    plain = Policy(quasi=("age",), k=5, t=0.3)
    names = "quasi sensitive keep k l t suppress hierarchies several presence part"
    assert list(plain.as_dict()) == names.split()
    assert Policy.from_dict(plain.as_dict()) == plain
    wide = Policy(quasi=("age",), k=5, more={"beta": 2.0})
    assert wide.as_dict()["beta"] == 2.0
    assert Policy.from_dict(wide.as_dict()) == wide
