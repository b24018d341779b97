"""The recipe of masked rows: roles, order of steps, weights, guarantee, hostile inputs."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tacita.anonymize import Mask, Microaggregate, Pram, Round, SuppressLocally, TopCode
from tacita.domain import Domain
from tacita.engines.connect import connect
from tacita.errors import DataError, InvalidInput, UnknownName
from tacita.noise import SecureSource, SeededSource

from .conftest import people

ROUND = Round(attributes=("income",), base=1000)


def test_only_what_is_named_is_released(domain: Domain, table: pa.Table) -> None:
    plan = Mask(steps=(ROUND, Pram(attributes=("job",), keep=0.8)), keep=("grade",), weight="weight").prepare(domain)
    made = plan.run(connect(table, domain), SecureSource())
    assert made.rows.column_names == ["income", "job", "grade", "weight"] == list(plan.leaving)
    assert made.rows.num_rows == 300
    assert sorted(made.rows.column("weight").to_pylist()) == sorted(table.column("weight").to_pylist())
    assert all(value % 1000 == 0 for value in made.rows.column("income").to_pylist())
    assert not any(f"p{i}" in str(made.rows.to_pylist()) for i in range(3))


def test_steps_run_in_their_order(domain: Domain) -> None:
    table = people(5).set_column(5, "income", pa.array([1.0, 2.0, 3.0, 4.0, 1400.0]))
    top, rounded = TopCode(attributes=("income",), threshold=1400.0), ROUND
    one = Mask(steps=(TopCode(attributes=("income",), threshold=600.0), rounded)).prepare(domain)
    other = Mask(steps=(rounded, TopCode(attributes=("income",), threshold=600.0))).prepare(domain)
    assert max(one.run_on(table, SeededSource(1)).rows.column("income").to_pylist()) == 1000
    assert max(other.run_on(table, SeededSource(1)).rows.column("income").to_pylist()) == 600
    made = Mask(steps=(top, rounded)).prepare(domain).run_on(table, SeededSource(1))
    assert [next(iter(step.step)) for step in made.steps] == ["top", "round"]


@pytest.mark.parametrize("person", [None, "who"])
def test_local_suppression_holds_on_the_released_rows(domain: Domain, table: pa.Table, person: str | None) -> None:
    known = Domain.from_dict(domain.as_dict() | ({"person": person} if person else {}))
    steps = (Round(attributes=("age",), base=10), SuppressLocally(k=4))
    made = Mask(steps=steps).prepare(known).run_on(table, SeededSource(1))
    keys = zip(*(made.rows.column(name).to_pylist() for name in ("age", "sex", "job")), strict=True)
    assert min(Counter(keys).values()) >= 4
    assert made.guarantee == "none"
    assert not [warning for warning in made.warnings if "quasi" in warning]


def test_a_person_with_many_rows_counts_once(domain: Domain) -> None:
    table = people(60)
    table = table.set_column(0, "who", pa.array([f"p{i % 20}" for i in range(60)]))
    known = Domain.from_dict(domain.as_dict() | {"person": "who"})
    with pytest.raises(InvalidInput, match="fewer people"):
        Mask(steps=(SuppressLocally(k=21),)).prepare(known).run_on(table, SeededSource(1))


def test_all_attributes_randomised_are_local_privacy(domain: Domain, table: pa.Table) -> None:
    steps = (Pram(attributes=("job",), epsilon=1.0), Pram(attributes=("sex", "grade"), keep=0.8))
    made = Mask(steps=steps).prepare(domain).run_on(table, SecureSource())
    losses = [matrix.epsilon for matrix in made.matrices.values()]
    assert made.epsilon == pytest.approx(sum(losses), rel=1e-12)  # type: ignore[arg-type]
    assert made.epsilon >= sum(losses)  # type: ignore[arg-type,operator]
    assert made.guarantee.startswith("local differential privacy")
    # nothing about the exact rows is in the result
    assert not made.changes
    assert not any(step.changes or step.figures for step in made.steps)
    after = Mask(steps=(*steps, SuppressLocally(attributes=("job", "sex"), k=5))).prepare(domain)
    assert after.run_on(table, SecureSource()).epsilon == made.epsilon  # what follows a channel costs nothing


def test_suppression_that_reads_persons_has_no_guarantee(domain: Domain, table: pa.Table) -> None:
    known = Domain.from_dict(domain.as_dict() | {"person": "who"})
    steps = (Pram(attributes=("job", "sex"), keep=0.8),)
    assert "several rows" in Mask(steps=steps).prepare(known).run_on(table, SecureSource()).statement
    made = Mask(steps=(*steps, SuppressLocally(attributes=("job",), k=5))).prepare(known)
    assert made.run_on(table, SecureSource()).epsilon is None


@pytest.mark.parametrize(
    "more",
    [
        {"keep": ("age",)},
        {"weight": "weight"},
        {"steps": (Pram(attributes=("job",), keep=0.8), ROUND)},
        {"steps": (Pram(attributes=("job",), keep=0.8, invariant=True),)},
    ],
)
def test_anything_else_has_no_guarantee(domain: Domain, table: pa.Table, more: dict[str, Any]) -> None:
    recipe = Mask(**{"steps": (Pram(attributes=("job",), keep=0.8),)} | more)
    made = recipe.prepare(domain).run_on(table, SecureSource())
    assert (made.guarantee, made.epsilon) == ("none", None)


def test_simulated_noise_guarantees_nothing(domain: Domain, table: pa.Table) -> None:
    made = Mask(steps=(Pram(attributes=("job",), keep=0.8),)).prepare(domain).run_on(table, SeededSource(1))
    assert made.simulated
    assert made.guarantee == "none"


def test_warnings_name_what_is_left_open(domain: Domain) -> None:
    plan = Mask(steps=(ROUND,), keep=("age", "sex"), weight="weight").prepare(domain)
    text = " ".join(plan.warnings)
    assert "released unmasked: age, sex" in text
    assert "k-anonymous" in text
    assert "rare weight" in text
    person = Domain.from_dict(domain.as_dict() | {"person": "who"})
    (only,) = Mask(steps=(Microaggregate(attributes=("income",), k=3),)).prepare(person).warnings
    assert "count rows" in only


@pytest.mark.parametrize(
    ("recipe", "words"),
    [
        ({"keep": ("who",)}, "identifier"),
        ({"weight": "who"}, "identifier"),
        ({"weight": "job"}, "must be a number"),
        ({"weight": "income"}, "cannot be masked"),
        ({"keep": ("income",)}, "is masked"),
        ({"keep": ("grade", "grade")}, "twice"),
        ({"steps": (SuppressLocally(k=3), Round(attributes=("age",), base=10))}, "after local suppression"),
        ({"steps": (SuppressLocally(k=3), SuppressLocally(attributes=("age",), k=3))}, "after local suppression"),
        ({"steps": (Pram(attributes=("job",), keep=0.8),) * 2}, "and once"),
    ],
)
def test_recipes_that_cannot_be(domain: Domain, recipe: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        Mask(**{"steps": (ROUND,)} | recipe).prepare(domain)


def test_unknown_names(domain: Domain) -> None:
    with pytest.raises(UnknownName):
        Mask(steps=(ROUND,), keep=("wage",)).prepare(domain)
    with pytest.raises(UnknownName):
        Mask(steps=(ROUND,), weight="wage").prepare(domain)
    with pytest.raises(InvalidInput, match="at least one step"):
        Mask(steps=())
    with pytest.raises(InvalidInput, match="list of names"):
        Mask(steps=(ROUND,), keep="age")  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [-1.0, float("nan"), None])
def test_weights_must_be_there_and_not_negative(domain: Domain, bad: float | None) -> None:
    table = people(4)
    table = table.set_column(8, "weight", pa.array([1.0, 2.0, 3.0, bad]))
    with pytest.raises(DataError) as raised:
        Mask(steps=(ROUND,), weight="weight").prepare(domain).run_on(table, SeededSource(1))
    assert raised.value.field == "weight"
    assert "-1" not in str(raised.value)
    none = table.set_column(8, "weight", pa.array([0.0] * 4))
    with pytest.raises(DataError, match="not all 0"):
        Mask(steps=(ROUND,), weight="weight").prepare(domain).run_on(none, SeededSource(1))


@pytest.mark.parametrize("size", [1e300, 1.7e308, 1e-310])
def test_very_large_and_small_numbers(domain: Domain, size: float) -> None:
    table = people(12)
    values = np.array([1, 2, 3, 4, 5, 6, -1, -2, -3, -4, -5, 0.5]) / 6 * size
    table = table.set_column(5, "income", pa.array(values)).set_column(6, "debt", pa.array(values[::-1]))
    steps = (
        TopCode(attributes=("income",), threshold=0.4 * size, replace="mean", least=2),
        Microaggregate(attributes=("income", "debt"), k=3),
        Round(attributes=("debt",), base=1.0),
    )
    made = Mask(steps=steps).prepare(domain).run_on(table, SeededSource(1))
    assert np.isfinite(made.rows.column("income").to_numpy()).all()
    json.dumps(made.as_dict(), allow_nan=False)
    assert min(Counter(made.rows.column("income").to_pylist()).values()) >= 3


def test_an_empty_table(domain: Domain) -> None:
    made = Mask(steps=(ROUND,), weight="weight").prepare(domain).run_on(people(0), SeededSource(1))
    assert made.rows.num_rows == 0
    with pytest.raises(InvalidInput, match="fewer"):
        Mask(steps=(SuppressLocally(k=2),)).prepare(domain).run_on(people(0), SeededSource(1))


def test_the_engine_must_have_the_schema_of_the_plan(domain: Domain, table: pa.Table) -> None:
    other = Domain.from_dict({"tacita": 1, "attributes": domain.as_dict()["attributes"][1:]})
    with pytest.raises(InvalidInput, match="schema"):
        Mask(steps=(ROUND,)).prepare(domain).run(connect(table, other), SeededSource(1))


def test_the_order_of_rows_does_not_matter(domain: Domain, table: pa.Table) -> None:
    steps = (Microaggregate(attributes=("income", "debt"), k=3), SuppressLocally(k=3))
    plan = Mask(steps=steps).prepare(domain)
    mixed = table.take(pa.array(np.random.default_rng(1).permutation(300)))
    one, other = (plan.run_on(each, SeededSource(1)).rows for each in (table, mixed))
    assert one.select(["age", "sex", "job"]).equals(other.select(["age", "sex", "job"]))
    assert np.allclose(sorted(one.column("income").to_numpy()), sorted(other.column("income").to_numpy()))
