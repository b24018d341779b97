"""Decisions about released tables and campaigns over REST; they cost nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tacita.errors import InvalidInput, UnknownName
from tacita.privacy.budget import Budget


@pytest.fixture
def released(world: Any) -> Any:
    world.register()
    with world.client("analyst") as client:
        job = client.release(
            "tables", dataset="patients", tables=[["smokes", "age"]], budget=Budget.pure(0.6), purpose="test"
        )
        world.work()
        client.wait_answer(job.id, every=0.01)
        yield client, job.id


def test_every_question_is_answered_for_nothing(world: Any, released: Any) -> None:
    client, id = released
    before = world.spent()
    tested = client.decide("test", id, by=["smokes", "age"], simulations=99)
    assert (tested.question, tested.values["reject"]) == ("test", False)  # age and smoking are independent there
    flip = client.decide("flip", id, by=["smokes", "age"], draws=500)
    assert 0 <= flip.values["low"] <= flip.values["probability"] <= flip.values["high"] <= 1
    stable = client.decide("stability", id, draws=10)
    assert stable.picture is not None
    assert stable.picture.startswith("<svg")
    assert world.spent() == before


def test_wrong_questions_are_refused(world: Any, released: Any) -> None:
    client, id = released
    with pytest.raises(InvalidInput):
        client.decide("test", id, by=["smokes"])
    with pytest.raises(UnknownName):
        client.decide("test", id, by=["smokes", "height"])
    with pytest.raises(InvalidInput, match="s of computing"):
        client.decide("stability", id, draws=2000)
    with world.client("analyst") as other, pytest.raises(UnknownName):
        other.decide("test", id, by=["smokes", "age"])
    synthetic = client.release(
        "synthetic", dataset="patients", method="independent", budget=Budget.pure(0.3), rows=10, purpose="test"
    )
    world.work()
    client.wait_release(synthetic.id, every=0.01)
    with pytest.raises(InvalidInput, match="must be released tables"):
        client.decide("test", synthetic.id, by=["smokes", "age"])
