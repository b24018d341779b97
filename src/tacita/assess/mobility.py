"""Assessment of released tap records: attacks on trajectories, and the utility of trips.

Tap records have two ends; attacks on trajectories read visits. Both come from the same trips here:

    visits    card, hour since the first date, place: one for each tap
    attacks   those of the registry that are about trajectories
    utility   `utility.travel`, and the agreement of communities

The figures come from exact records: for the owner of the data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tacita.assess.attacks.attack import Result, Skipped
from tacita.assess.attacks.registry import select
from tacita.assess.attacks.trajectory_copies import TimedTracks, trajectory_keys
from tacita.assess.case import Case, Travel
from tacita.assess.frame import read_frame
from tacita.assess.options import AssessmentOptions
from tacita.assess.rates import Risk
from tacita.assess.tracks import Route, Timed, Tracks, read_timed
from tacita.assess.utility.travel import Agreement, Travelled, agreement, travel_utility
from tacita.domain import Categorical, Domain, Identifier, Numeric
from tacita.engines.base import Engine
from tacita.errors import InvalidInput, TacitaError
from tacita.synthesize.mobility.reading import Trips, read_trips
from tacita.synthesize.mobility.schema import DAY, TapSchema

__all__ = ["ATTACKS", "TapAssessment", "assess_taps", "case_of", "visits_table"]

ATTACKS = ("trajectories", "trajectory-copies", "trajectory-points", "membership-trajectory")
Progress = Callable[[float, str], None]
_COPIED = 0.5


def visits_table(trips: Trips) -> tuple[Domain, pa.Table]:
    """Return the visits of trips as a table with its schema: card, hour since the first date, place."""
    places = trips.schema.places
    hours = (trips.schema.days + 1) * 24
    domain = Domain(
        person="card",
        attributes=[
            Identifier(name="card"),
            Numeric(name="hour", bounds=(0, hours - 1), integer=True),
            Categorical(name="place", levels=places.ids),
        ],
    )
    start = trips.day * DAY + trips.entry
    time = np.stack([start, start + np.maximum(trips.minutes, 0)], axis=1)
    place = np.stack([trips.origin, trips.destination], axis=1)
    used = place >= 0
    owner = np.repeat(trips.card[:, None], 2, axis=1)[used]
    order = np.lexsort((time[used], owner))
    return domain, pa.table(
        {
            "card": pa.array(owner[order]),
            "hour": pa.array(np.minimum(time[used][order] // 60, hours - 1)),
            "place": pa.array(places.ids).take(pa.array(place[used][order])),
        }
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class TapAssessment:
    """Risk and utility of released tap records.

    Attributes:
        cards, people, control: Number of cards of the release, of the data, and of the control.
        results: Of the attacks.
        travel: Distances of the trips' statistics.
        communities: Agreement of communities; None if it was not wanted.
        skipped: Attacks that did not apply, with the reason.
    """

    cards: int
    people: int
    control: int
    results: tuple[Result, ...]
    travel: Travelled | None
    communities: Agreement | None
    skipped: tuple[Skipped, ...] = ()

    @property
    def risks(self) -> tuple[Risk, ...]:
        """Each attack with its success beyond the control group."""
        return tuple(risk for result in self.results for risk in result.risks_at(0.95))

    @property
    def risk(self) -> float:
        """The largest of them."""
        return max((each.value for each in self.risks), default=0.0)

    def as_dict(self) -> dict[str, Any]:
        """Plain data without any person's trip."""
        return {
            "tacita": "tap-assessment/1",
            "for": "the owner of the data: figures were read off exact records",
            "cards": self.cards,
            "people": self.people,
            "control": self.control,
            "risk": self.risk,
            "risks": [dict(zip(("name", "risk", "low", "high"), each[:4], strict=True)) for each in self.risks],
            "attacks": [each.as_dict() for each in self.results],
            "travel": None if self.travel is None else self.travel.as_dict(),
            "communities": None if self.communities is None else self.communities.as_dict(),
            "skipped": [list(each) for each in self.skipped],
        }


def case_of(schema: TapSchema, real: Trips, released: Trips, control: Trips | None) -> Case:
    """Return the case of released trips: visits as rows, trajectories, and the trips themselves."""
    domain, ours = visits_table(real)
    _, theirs = visits_table(released)
    beside = None if control is None else visits_table(control)[1]
    route = Route(person="card", time="hour", place="place")
    timed = [read_timed(domain, table, route) for table in (theirs, ours)]
    held = (None, None) if beside is None else read_timed(domain, beside, route)
    tracks = Tracks(
        released=timed[0][0],
        real=timed[1][0],
        control=held[0],
        timed=Timed(released=timed[0][1], real=timed[1][1], control=held[1]),
        points=schema.places.points,
    )
    if held[0] is not None and held[1] is not None:
        _check_others((held[0], held[1]), timed[1])
    return Case(
        real=read_frame(domain, ours),
        released=(read_frame(domain, theirs),),
        control=None if beside is None else read_frame(domain, beside),
        tracks=tracks,
        travel=Travel(released=released, real=real, control=control),
    )


def _check_others(control: TimedTracks, real: TimedTracks) -> None:
    """Refuse a control that holds the people whose data was used: most of its trajectories equal theirs."""
    known = set(trajectory_keys(real))
    keys = trajectory_keys(control)
    copied = sum(key in known for key in keys)
    if copied > _COPIED * len(keys):
        raise InvalidInput(
            "must be people whose data was not used; these are the real records",
            field="control",
            value=f"{copied} of {len(keys)} trajectories equal a real one",
            hint="Hold some cards back before releasing",
        )


def assess_taps(
    schema: TapSchema,
    real: pa.Table | Engine,
    released: pa.Table | Engine,
    rng: np.random.Generator,
    *,
    control: pa.Table | Engine | None = None,
    attempts: int = 500,
    attacks: Sequence[str] = ATTACKS,
    topics: int | None = None,
    progress: Progress | None = None,
) -> TapAssessment:
    """Attack released tap records and measure their utility.

    Args:
        schema: Of all tables.
        real: The records of the data: a table, or an engine over the domain of the schema.
        released: Released records.
        rng: For guesses and samples.
        control: Records of cards that were not used.
        attempts: Trials of each attack: released trajectories, and people, that are drawn at most.
        attacks: Names of the attacks to run.
        topics: Number of communities to compare; none if not given.
        progress: Called with the share done and the name of the next step.
    """
    notify = progress or (lambda share, what: None)
    sides = [None if table is None else read_trips(table, schema).complete() for table in (real, released, control)]
    assert sides[0] is not None
    assert sides[1] is not None
    case = case_of(schema, sides[0], sides[1], sides[2])
    options = AssessmentOptions(attempts=attempts)
    results: list[Result] = []
    skipped: list[Skipped] = []
    chosen = select(tuple(attacks))
    for place, (attack, own) in enumerate(zip(chosen, rng.spawn(len(chosen)), strict=True)):
        notify(0.7 * place / len(chosen), attack.title)
        reason = attack.applies(case, options)
        if reason:
            skipped.append(Skipped(attack.title, reason))
            continue
        try:
            for each in attack.run(case, options, own):
                (skipped if isinstance(each, Skipped) else results).append(each)  # type: ignore[arg-type]
        except TacitaError as error:
            skipped.append(Skipped(attack.title, str(error)))
    notify(0.75, "trips")
    travel = travel_utility(case)
    found = None
    if topics is not None:
        notify(0.8, "communities")
        found = agreement(sides[0], sides[1], rng, topics=topics, judged=sides[2])
    notify(1.0, "done")
    return TapAssessment(
        cards=sides[1].cards,
        people=sides[0].cards,
        control=0 if sides[2] is None else sides[2].cards,
        results=tuple(results),
        travel=travel,
        communities=found,
        skipped=tuple(skipped),
    )
