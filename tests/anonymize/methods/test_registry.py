"""Every method with every criterion: enforced, which rows alone show, or refused."""

from __future__ import annotations

import json
from collections import Counter, defaultdict

import numpy as np
import pyarrow as pa
import pytest

from tacita.anonymize import Anonymize, Conditions, Hierarchy, Intervals, KmAnonymity, MicroBatches, Mondrian
from tacita.anonymize.methods.registry import METHODS, all_options, make_method
from tacita.anonymize.parameters import parameters_of
from tacita.domain import Categorical, Domain, Identifier, Numeric
from tacita.errors import InvalidInput, TacitaError, UnknownName

TOWNS = ["Ulm", "Bonn", "Lyon", "Nice"]
ILLS = ["flu", "cold", "gout", "cough"]
ATTRIBUTES = [
    Identifier(name="who"),
    Numeric(name="age", bounds=(0, 59), integer=True, role="quasi-identifier"),
    Categorical(name="town", levels=TOWNS, role="quasi-identifier"),
    Categorical(name="ill", levels=ILLS, role="sensitive"),
]
TREES = {
    "age": Intervals(widths=(10, 30), bounds=(0, 59)),
    "town": Hierarchy.from_tree("town", {"*": {"Germany": ["Ulm", "Bonn"], "France": ["Lyon", "Nice"]}}),
}


def table(seed, rows=60, people=40):
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "who": [f"p{i}" for i in rng.integers(0, people, rows)],
            "age": rng.choice([3, 4, 12, 25, 41, 55], rows),
            "town": rng.choice(TOWNS, rows),
            "ill": rng.choice(ILLS, rows, p=[0.4, 0.3, 0.2, 0.1]),
        }
    )


def top_two_of(rows, persons=None):
    """The share of the two most frequent values in the worst class, from nothing but released rows."""
    groups = defaultdict(list)
    for place, row in enumerate(rows.to_pylist()):
        groups[row["age"], row["town"]].append((place if persons is None else persons[place], row["ill"]))
    worst = 0.0
    for pairs in groups.values():
        falling = sorted(Counter(ill for _, ill in set(pairs)).values(), reverse=True)
        worst = max(worst, sum(falling[:2]) / sum(falling))
    return worst


def run(method, conditions, seed, **more):
    domain = Domain(attributes=ATTRIBUTES)
    recipe = Anonymize(conditions=conditions, hierarchies=TREES, method=method, **more)
    return recipe.prepare(domain).run_on(table(seed))


@pytest.mark.parametrize("suppress", [0.0, 0.2])
@pytest.mark.parametrize("name", METHODS)
def test_a_criterion_without_compiled_code_is_enforced_by_every_method(name, suppress, top_two):
    """Ten lines and a line in the registry: no method knows this criterion, and all hold it."""
    shown = 0
    for seed in range(6):
        asked = Conditions.of({"k": 3, "top_two": 0.8})
        result = run(make_method(name, {"most": 300} if name == "bayardo" else {}), asked, seed, suppress=suppress)
        found = top_two_of(result.rows)
        assert found <= 0.8 + 1e-12
        assert result.achieved.more == {"top_two": {"ill": pytest.approx(found)}}
        assert result.as_dict()["asked"] == {"k": 3, "top_two": 0.8}
        assert json.loads(json.dumps(result.as_dict()["achieved"]))["top_two"]["ill"] == pytest.approx(found)
        assert result.warnings == ()
        without = run(make_method(name, {"most": 300} if name == "bayardo" else {}), Conditions(k=3), seed)
        shown += top_two_of(without.rows) > 0.8
    assert shown >= 1 or name == "datafly"  # without it classes break it; datafly raises too far for that


@pytest.mark.parametrize("mode", ["relaxed", "legacy"])
def test_modes_that_hold_k_alone_refuse_every_other_criterion(mode, top_two):
    with pytest.raises(InvalidInput, match="no condition but k"):
        run(Mondrian(mode=mode), Conditions.of({"k": 3, "top_two": 0.8}), 0)


@pytest.mark.parametrize("name", METHODS)
def test_people_who_come_back_count_once(name, top_two):
    """With a person's key the figure is about people; what cannot be held is refused, never released."""
    domain = Domain(attributes=ATTRIBUTES, person="who")
    released = 0
    for seed in range(6):
        rows, asked = table(seed), Conditions.of({"k": 3, "top_two": 0.85})
        method = make_method(name, {"most": 300} if name == "bayardo" else {})
        try:
            result = Anonymize(conditions=asked, hierarchies=TREES, method=method).prepare(domain).run_on(rows)
        except TacitaError:
            continue
        released += 1
        assert result.achieved.more["top_two"]["ill"] <= 0.85 + 1e-9
    assert released >= 3


def test_micro_batches_enforce_it(top_two):
    domain = Domain(attributes=ATTRIBUTES, person="who")
    plan = Anonymize(conditions=Conditions.of({"k": 3, "top_two": 0.8}), hierarchies=TREES).prepare(domain)
    batches = MicroBatches(plan, least=10, deadline=5)
    made = [result for now in range(12) for result in batches.push(table(now, rows=15, people=400), now)]
    assert made
    for result in made:
        assert result.achieved.more["top_two"]["ill"] <= 0.8 + 1e-9


def test_sets_of_items_take_no_criterion_on_values():
    with pytest.raises(TypeError):
        KmAnonymity(k=2, m=1, alpha=0.5)  # type: ignore[call-arg]


def test_methods_are_made_from_names_and_options():
    for name, kind in METHODS.items():
        made = make_method(name)
        assert isinstance(made, kind)
        assert made.as_dict()["method"] == name
        assert kind.summary
    assert make_method("ola", {"loss": "entropy", "mode": None}) == METHODS["ola"](loss="entropy")
    assert make_method("bayardo").as_dict()["early"] == "best"
    with pytest.raises(UnknownName):
        make_method("magic")
    with pytest.raises(InvalidInput, match="no option of ola"):
        make_method("ola", {"mode": "relaxed"})
    known = {option.name for option in all_options()}
    assert known == {option.name for kind in METHODS.values() for option in parameters_of(kind)}
