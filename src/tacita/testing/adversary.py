"""Exact evaluation of an adaptive adversary, who chooses each question by the answers before it.

Events have privacy losses on a lattice, so that the loss of any history is a whole number of steps. Dynamic programming
over (charged events, loss so far) finds the best of all adaptive strategies against a rule of acceptance; single
strategies are followed through all their histories.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from tacita.privacy.event import Approximate, DiscreteGaussianNoise, DiscreteLaplaceNoise, Event, Pure

__all__ = ["Counts", "LatticeEvent", "best_strategy", "composed_delta", "lattice_event", "random_strategy"]

Counts = tuple[int, ...]
_TAIL = 1e-30  # outputs rarer than this are counted as if they revealed everything


@dataclass(frozen=True)
class LatticeEvent:
    """Distribution of one event's privacy loss: probability of each number of steps; the rest to 1 is infinite loss."""

    event: Event
    losses: npt.NDArray[np.int64]
    probabilities: npt.NDArray[np.float64]


def lattice_event(event: Event, step: Fraction) -> LatticeEvent:
    """Return the loss distribution of an event whose losses are multiples of a step, for its worst pair."""
    match event:
        case Pure(epsilon=epsilon):
            return lattice_event(DiscreteLaplaceNoise(scale=1 / Fraction(epsilon)), step)
        case DiscreteLaplaceNoise(scale=scale, sensitivity=shift):
            reach = math.ceil(-math.log(_TAIL) * scale) + shift
            outputs = np.arange(-reach, reach + 1)
            losses = np.abs(outputs - shift) - np.abs(outputs)
            weights = np.exp(-np.abs(outputs) / float(scale))
            each = 1 / scale / step
        case DiscreteGaussianNoise(sigma2=sigma2, sensitivity=shift):
            reach = math.ceil(math.sqrt(-2 * math.log(_TAIL) * sigma2))
            outputs = np.arange(-reach, reach + 1)
            losses = shift * shift - 2 * outputs * shift
            weights = np.exp(-(outputs.astype(float) ** 2) / (2 * float(sigma2)))
            each = 1 / (2 * sigma2) / step
        case Approximate(epsilon=epsilon, delta=delta):
            inner = lattice_event(Pure(epsilon=Fraction(epsilon).limit_denominator(10**6)), step)
            return LatticeEvent(event, inner.losses, inner.probabilities * (1 - delta))
        case _:
            raise ValueError(f"no lattice for {event.kind}")
    if each.denominator != 1:
        raise ValueError("the losses are no multiples of the step")
    steps, inverse = np.unique(losses * int(each), return_inverse=True)
    return LatticeEvent(event, steps, np.bincount(inverse, weights=weights / weights.sum()).astype(np.float64))


def _excess(losses: npt.NDArray[np.floating], epsilon: float) -> npt.NDArray[np.float64]:
    return np.asarray(np.maximum(0.0, -np.expm1(np.minimum(0.0, epsilon - losses))))


def composed_delta(events: list[LatticeEvent], counts: Counts, step: Fraction, epsilon: float) -> float:
    """Compute the delta of events that were fixed beforehand, from their loss distributions."""
    law, low, left = np.ones(1), 0, 1.0
    for event, count in zip(events, counts, strict=True):
        dense = np.zeros(event.losses[-1] - event.losses[0] + 1)
        dense[event.losses - event.losses[0]] = event.probabilities
        for _ in range(count):
            law, low = np.convolve(law, dense), low + int(event.losses[0])
            left *= event.probabilities.sum()
    return float(law @ _excess((low + np.arange(len(law))) * float(step), epsilon)) + max(0.0, 1 - left)


def best_strategy(
    events: list[LatticeEvent], accepts: Callable[[Counts], bool], step: Fraction, epsilon: float, most: int
) -> float:
    """Compute the largest delta at this epsilon that any adaptive strategy reaches, with free stopping.

    Args:
        events: Events that may be asked, each as often as the rule accepts.
        accepts: The rule: whether a history may be charged.
        step: Step of the lattice.
        epsilon: Epsilon of the guarantee.
        most: Most steps in either direction: a smaller loss is rounded up to -most, a larger one counts as infinite.
    """
    stop = _excess(np.arange(-most, most + 1) * float(step), epsilon)
    known: dict[Counts, npt.NDArray[np.float64]] = {}
    answers: dict[Counts, bool] = {}

    def value(counts: Counts) -> npt.NDArray[np.float64]:
        if counts in known:
            return known[counts]
        best = stop.copy()
        for place, event in enumerate(events):
            after = (*counts[:place], counts[place] + 1, *counts[place + 1 :])
            if after not in answers:
                answers[after] = accepts(after)
            if answers[after]:
                best = np.maximum(best, _step(value(after), event, most))
        known[counts] = best
        return best

    return float(value((0,) * len(events))[most])


def _step(after: npt.NDArray[np.float64], event: LatticeEvent, most: int) -> npt.NDArray[np.float64]:
    """Compute the expected value after one event, for each loss before it."""
    total = np.full_like(after, max(0.0, 1 - event.probabilities.sum()))  # the missing probability reveals everything
    places = np.arange(2 * most + 1)
    for loss, probability in zip(event.losses, event.probabilities, strict=True):
        moved = places + loss
        total += probability * np.where(moved > 2 * most, 1.0, after[np.clip(moved, 0, 2 * most)])
    return total


def random_strategy(
    events: list[LatticeEvent],
    accepts: Callable[[Counts], bool],
    step: Fraction,
    epsilon: float,
    rng: np.random.Generator,
    depth: int,
) -> float:
    """Compute exactly the delta of one random strategy: at every answer it picks the next event, or stops, by chance.

    The choice depends on the loss so far, which is all that matters of the answers, and on the charged events.
    """
    states: dict[tuple[Counts, int], float] = {((0,) * len(events), 0): 1.0}
    delta = 0.0
    for _ in range(depth):
        following: dict[tuple[Counts, int], float] = {}
        for (counts, loss), weight in states.items():
            allowed = [place for place in range(len(events)) if accepts(_more(counts, place))]
            pick = int(rng.integers(len(allowed) + 1)) - 1 if rng.random() < 0.2 or not allowed else None
            place = allowed[int(rng.integers(len(allowed)))] if pick is None else (allowed[pick] if pick >= 0 else None)
            if place is None:
                delta += weight * float(_excess(np.array([loss * float(step)]), epsilon)[0])
                continue
            after = _more(counts, place)
            delta += weight * max(0.0, 1 - float(events[place].probabilities.sum()))
            for move, probability in zip(events[place].losses, events[place].probabilities, strict=True):
                if weight * probability > _TAIL:
                    at = (after, loss + int(move))
                    following[at] = following.get(at, 0.0) + weight * float(probability)
                else:
                    delta += weight * float(probability)
        states = following
    for (_, loss), weight in states.items():
        delta += weight * float(_excess(np.array([loss * float(step)]), epsilon)[0])
    return delta


def _more(counts: Counts, place: int) -> Counts:
    return (*counts[:place], counts[place] + 1, *counts[place + 1 :])
