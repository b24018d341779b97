"""Attribute inference: a secret attribute of a person, guessed from known attributes.  [Giomi et al. 2023]

An attacker knows some attributes of a person, finds the nearest row of the release by them, and guesses that the secret
has the value of that row. A guess is right if it has the same level, or is a number within a share of the truth. A
success that is as frequent for people who are not in the data is a property of the population; the control removes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tacita.assess._nearest import nearest
from tacita.assess.attacks.attack import Attack, Outcome, attempt, needs_rows
from tacita.assess.attacks.linkability import both_sides
from tacita.assess.case import Case
from tacita.assess.frame import Frame
from tacita.assess.options import AssessmentOptions
from tacita.assess.rates import Leak, Rate
from tacita.domain import Binned
from tacita.errors import InvalidInput

__all__ = ["INFERENCE", "inference"]


def inference(
    case: Case,
    secret: str,
    rng: np.random.Generator,
    *,
    known: Sequence[str] | None = None,
    attempts: int = 2000,
    tolerance: float = 0.05,
) -> Leak:
    """Measure how often a secret attribute is guessed right from the first release.

    Args:
        case: The release and the people.
        secret: The attribute to guess.
        rng: Picks the people, and the guesses of the baseline.
        known: Attributes that the attacker knows; by default all but the secret.
        attempts: Number of people on each side; all of the smaller side if there are fewer.
        tolerance: For a number, the largest error of a right guess, as a share of the truth.
    """
    secret = case.domain.check_countable([secret])[0]
    names = (
        tuple(name for name in case.names if name != secret) if known is None else case.domain.check_countable(known)
    )
    if not names or secret in names:
        raise InvalidInput("must be at least one attribute, and not the secret", field="known", value=list(names))
    if not 0 <= tolerance < 1:
        raise InvalidInput("must lie between 0 and 1", field="tolerance", value=tolerance)
    release = case.first
    people, control = both_sides(case, attempts, rng)

    def worked(frame: Frame) -> NDArray[np.bool_]:
        place = nearest(frame, release, names)[0][:, 0]
        return _right(release.column(secret)[place], frame.column(secret), frame, secret, tolerance)

    blind = rng.choice(release.column(secret), len(people))
    return Leak(
        name=f"inference of {secret}",
        attack=Rate.of(worked(people)),
        baseline=Rate.of(_right(blind, people.column(secret), people, secret, tolerance)),
        control=None if control is None else Rate.of(worked(control)),
    )


def _right(
    guess: NDArray[np.float64], truth: NDArray[np.float64], frame: Frame, secret: str, tolerance: float
) -> NDArray[np.bool_]:
    if not isinstance(frame.domain[secret], Binned):
        return np.asarray((guess == truth) | (np.isnan(guess) & np.isnan(truth)))
    with np.errstate(invalid="ignore"):
        near = np.abs(guess - truth) <= tolerance * np.abs(truth) + 1e-12
    return np.asarray(near | (np.isnan(guess) & np.isnan(truth)))


def _run(case: Case, options: AssessmentOptions, rng: np.random.Generator) -> Iterator[Outcome]:
    for secret in options.secrets:
        work = partial(inference, case, secret, rng, attempts=options.attempts)
        yield attempt(f"inference of {secret}", work)


def _applies(case: Case, options: AssessmentOptions) -> str | None:
    return "It needs at least two attributes." if len(case.names) < 2 else needs_rows(case, options)


INFERENCE = Attack(
    name="inference",
    title="inference",
    question="Does the nearest released row reveal the secret attribute of a person?",
    needs="released rows, at least two attributes",
    run=_run,
    applies=_applies,
    shared=True,
)
