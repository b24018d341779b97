"""Terms that the owner of a campaign sets besides its questions: when it publishes, proceeds, stops and closes."""

from __future__ import annotations

import datetime as dt
from dataclasses import asdict, dataclass
from typing import Any, Self

from tacita.collect.device.question import MAX_AGGREGATORS, check_origin
from tacita.collect.planning.stopping import StopRule
from tacita.errors import InvalidInput

__all__ = ["Rounds", "Terms"]


@dataclass(frozen=True, kw_only=True)
class Rounds:
    """Blocks of respondents: after each, channels follow the tables learnt so far, at the same promise.

    Randomized response draws its fakes from them: use it for reports that look like the population. A matrix
    ("optimal")
    is refitted to them: use it for reports that are each as near to the truth as they can be. At a given loss the
    uniform fakes of one single block estimate shares best (docs/claims/rrba.md, docs/claims/adaptive-hybrid.md).

    Args:
        size: Reports that fill a block.
        floor: Weight of the uniform among the fakes, or of randomized response in a matrix; above 0 and at most 1.
        seconds: A block that is not full by then is closed all the same, if anyone has answered; None for no limit.
    """

    size: int
    floor: float = 0.5
    seconds: float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.size, bool) or not isinstance(self.size, int) or self.size < 1:
            raise InvalidInput("must be a whole number of at least 1", field="rounds.size", value=self.size)
        if not 0 < self.floor <= 1:
            raise InvalidInput("must be above 0 and at most 1", field="rounds.floor", value=self.floor)
        if self.seconds is not None and not self.seconds > 0:
            raise InvalidInput("must be positive", field="rounds.seconds", value=self.seconds)


@dataclass(frozen=True, kw_only=True)
class Terms:
    """Rules by which a campaign runs.

    Args:
        minimum: The number of people who must have answered for a table before it is published.
        closes: When it closes by itself.
        rounds: Whether it runs in blocks.
        stop: When it is accurate enough to close by itself.
        keep_reports: Whether reports are kept after they were counted.
        shard: (i, m) where m aggregators share the campaign: this one takes the reports whose id, as a number, is i
            modulo m. So no report is counted by two of them. The first, 0, leads: where there are rounds, the others
            adopt its blocks.
        aggregators: With `shard`, the origins by which respondents reach the m aggregators, in their order. Devices
            draw ids that belong to the aggregator that asks them.
        invited: Whether respondents need a one-time code: then each sends at most one sheet of reports. Otherwise the
            campaign is open, and the influence of one sender is not bounded.
        raised_limits: Whether respondents have raised the limits of their devices. Otherwise a design that a stock
            device refuses is not created.
    """

    minimum: int = 100
    closes: dt.datetime | None = None
    rounds: Rounds | None = None
    stop: StopRule | None = None
    keep_reports: bool = False
    shard: tuple[int, int] | None = None
    aggregators: tuple[str, ...] | None = None
    invited: bool = False
    raised_limits: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.minimum, bool) or not isinstance(self.minimum, int) or self.minimum < 1:
            raise InvalidInput("must be a whole number of at least 1", field="minimum", value=self.minimum)
        if self.closes is not None and self.closes.tzinfo is None:
            raise InvalidInput("must have a time zone", field="closes", value=self.closes.isoformat())
        if self.shard is not None and not 0 <= self.shard[0] < self.shard[1]:
            raise InvalidInput("must be (i, m) with 0 <= i < m", field="shard", value=self.shard)
        self._check_aggregators()
        if self.invited and self.shard is not None:
            raise InvalidInput("must have one aggregator: tokens are signed and counted in one place", field="invited")

    def _check_aggregators(self) -> None:
        parts = self.shard[1] if self.shard else 0
        if len(self.aggregators or ()) != parts:
            raise InvalidInput(
                "must name the origin of each of the m aggregators of `shard` (i, m)",
                field="aggregators",
                hint="Devices draw ids that belong to the aggregator that asks them, and need all addresses for that",
            )
        if self.aggregators is not None:
            for place, origin in enumerate(self.aggregators):
                check_origin(origin, f"aggregators[{place}]")
            if not 1 < len(set(self.aggregators)) == len(self.aggregators) <= MAX_AGGREGATORS:
                raise InvalidInput(f"must be 2 to {MAX_AGGREGATORS} different origins", field="aggregators")

    @property
    def follows(self) -> bool:
        """Whether another aggregator opens its blocks."""
        return self.shard is not None and self.shard[0] > 0

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "minimum": self.minimum,
            "closes": self.closes.isoformat() if self.closes else None,
            "rounds": asdict(self.rounds) if self.rounds else None,
            "stop": asdict(self.stop) if self.stop else None,
            "keep_reports": self.keep_reports,
            "shard": list(self.shard) if self.shard else None,
            "aggregators": list(self.aggregators) if self.aggregators else None,
            "invited": self.invited,
            "raised_limits": self.raised_limits,
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        """Read the output of `as_dict`."""
        return cls(
            minimum=data["minimum"],
            closes=dt.datetime.fromisoformat(data["closes"]) if data["closes"] else None,
            rounds=Rounds(**data["rounds"]) if data["rounds"] else None,
            stop=StopRule(**data["stop"]) if data["stop"] else None,
            keep_reports=data["keep_reports"],
            # a shard without addresses, of an earlier version, would refuse reports that devices have paid for
            shard=(data["shard"][0], data["shard"][1]) if data["shard"] and data.get("aggregators") else None,
            aggregators=tuple(data["aggregators"]) if data.get("aggregators") else None,
            invited=data.get("invited", False),
            raised_limits=data.get("raised_limits", False),
        )
