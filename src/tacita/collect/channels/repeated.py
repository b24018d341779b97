"""Cost of asking the same person repeatedly: the exact composition of one channel with itself.

Privacy: local. The losses of fresh reports about one value add up nearly in full: composition does not protect people
who are asked daily. Memoisation does: a device that keeps its report and sends it again loses nothing more, however
often it is asked, as long as the answer and the question stay the same (`tacita.collect.device.device` does that). A
device that keeps a report for each answer and follows changes would reveal them: waves of a series draw anew, in turns
that look at no answer (docs/claims/waves.md).
Claim page: docs/claims/composition.md.   Flags: unvetted.
"""

from __future__ import annotations

from dataclasses import dataclass

from tacita.collect.channels.protocol import Channel
from tacita.privacy.accountant import epsilon_at
from tacita.privacy.event import Event, Pure, Repeated
from tacita.privacy.unit import Neighbours

__all__ = ["RepeatedLoss", "repeated_loss"]


@dataclass(frozen=True, kw_only=True)
class RepeatedLoss:
    """The loss of many fresh reports, beside the sum and beside one report that is kept.

    Attributes:
        epsilon, delta: Of all reports together.
        added_up: The sum of the single losses, at delta 0.
        memoised: The loss if the first report is kept and sent every time.
        event: What all reports cost, for an account.
    """

    epsilon: float
    delta: float
    added_up: float
    memoised: float
    event: Event


def repeated_loss(channel: Channel, reports: int, delta: float) -> RepeatedLoss:
    """The loss of one person's fresh reports through one channel, all about the same answer.

    The accountant composes the worst pair of laws with this epsilon, that of one bit: exact for randomized response of
    one bit, a bound for all others.

    Args:
        channel: Through which each report goes. reports: Their number. delta: Above 0 and below 1.
    """
    event = Repeated(event=Pure(epsilon=channel.epsilon_upper), count=reports)
    added_up = reports * channel.epsilon_upper
    together = epsilon_at(event, delta, Neighbours.REPLACE_ONE)
    return RepeatedLoss(
        epsilon=min(together, added_up), delta=delta, added_up=added_up, memoised=channel.epsilon_upper, event=event
    )
