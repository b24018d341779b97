"""Intersection attack: several releases of the same people, joined.

In each release a person is one of the rows that fit their quasi-identifiers: their class. An attacker who knows the
quasi-identifiers keeps only the sensitive values that occur in the person's class in every release. k-anonymity of each
release does not bound how many values remain.  [Ganta et al. 2008]

An attack on a person succeeds if one value remains and is right. People who are in no release are the control: a value
that remains for them as often follows from the population.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacita.assess.attacks.attack import Attack, Outcome, attempt
from tacita.assess.attacks.linkability import both_sides
from tacita.assess.case import Case
from tacita.assess.frame import Frame
from tacita.assess.options import AssessmentOptions
from tacita.assess.rates import Leak, Rate, Risk
from tacita.errors import InvalidInput

__all__ = ["INTERSECTION", "Intersection", "intersect", "intersection"]

Flags = NDArray[np.bool_]
_AT_ONCE = 1 << 25  # pairs of a person and a class that are compared at once


@dataclass(frozen=True, kw_only=True)
class Intersection:
    """Result of an intersection attack.

    Attributes:
        certain: People for whom all releases together leave one sensitive value, the right one.
        alone: The same from the best single release.
        candidates: Mean number of values left, from each single release on average and from all.
        releases: Number of releases.
        secret: The sensitive attribute, where it is known.
        baseline: People with one value left whose value is the most frequent one of the first release: the attack
            makes no guess about the others, and neither does its baseline.
        control: Success on people who are not in the data.
    """

    certain: Rate
    alone: Rate
    candidates: tuple[float, float]
    releases: int
    secret: str = ""
    baseline: Rate | None = None
    control: Rate | None = None

    @property
    def name(self) -> str:
        """The attack."""
        return f"intersection of {self.releases} releases" + (f", {self.secret}" if self.secret else "")

    @property
    def leak(self) -> Leak:
        """Success beside that of guesses and that on people who are not in the data."""
        nothing = Rate(successes=0, trials=self.certain.trials)
        return Leak(name=self.name, attack=self.certain, baseline=self.baseline or nothing, control=self.control)

    def risks_at(self, level: float) -> tuple[Risk, ...]:
        """Return the risk with its interval of this confidence."""
        return self.leak.risks_at(level)

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """The result in words, for a page."""
        ((name, words),) = self.leak.facts
        one, both = self.candidates
        more = (
            f"{both:.1f} values left on average, {one:.1f} by one release; certain by one alone {self.alone.share:.3f}"
        )
        return ((name, f"{words}; {more}"),)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "name": self.name,
            "secret": self.secret or None,
            "certain": self.certain.as_dict(),
            "alone": self.alone.as_dict(),
            "candidates_alone": self.candidates[0],
            "candidates_together": self.candidates[1],
            "releases": self.releases,
            "baseline": None if self.baseline is None else self.baseline.as_dict(),
            "control": None if self.control is None else self.control.as_dict(),
        }


def intersect(classes: Sequence[Any], sensitive: Any) -> Intersection:
    """Intersect the sensitive values of each person's classes over all releases.

    Args:
        classes: For each release, the class of each person; -1 where the person was suppressed.
        sensitive: The sensitive value of each person, as a code; every release holds it unchanged.
    """
    values = np.asarray(sensitive, np.int64).ravel()
    if len(classes) < 2:
        raise InvalidInput("must be at least two", field="classes", value=len(classes))
    sides = [np.asarray(each, np.int64).ravel() for each in classes]
    if any(len(side) != len(values) for side in sides) or not len(values):
        raise InvalidInput("must name a class for each person", field="classes")
    _, codes = np.unique(values, return_inverse=True)
    left = _narrow([_values_of(side, codes) for side in sides], codes)
    return Intersection(
        certain=Rate.of(left.right), alone=Rate.of(left.alone), candidates=left.candidates, releases=len(sides)
    )


class _Left(NamedTuple):
    """The people for whom one value is left, those for whom it is right, also by one release, and the values left."""

    single: Flags
    right: Flags
    alone: Flags
    candidates: tuple[float, float]


def _narrow(possible: Sequence[Flags], codes: NDArray[np.int64]) -> _Left:
    """Intersect possible values (person by value) over releases."""

    def right(flags: Flags) -> Flags:
        return np.asarray((flags.sum(axis=1) == 1) & flags[np.arange(len(codes)), codes], bool)

    left = np.logical_and.reduce(possible)
    counts = left.sum(axis=1)
    each = float(np.mean([flags.sum(axis=1) for flags in possible]))
    alone = np.logical_or.reduce([right(flags) for flags in possible])
    return _Left(counts == 1, right(left), alone, (each, float(counts.mean())))


def _values_of(side: NDArray[np.int64], codes: NDArray[np.int64]) -> Flags:
    """Flag the values that occur in each person's class; all values for suppressed people."""
    place = side + 1
    there = np.zeros((int(place.max()) + 1, int(codes.max()) + 1), bool)
    there[place, codes] = True
    there[0] = True
    return there[place]


def intersection(
    case: Case, secret: str, known: Sequence[str], rng: np.random.Generator, *, attempts: int
) -> Intersection:
    """Attack all releases of a case together.

    Args:
        case: Several releases, and the people. Generalised cells fit all values that their labels allow.
        secret: The sensitive attribute, compared by levels and bins of the schema.
        known: The quasi-identifiers.
        rng: Picks the people.
        attempts: Number of people on each side; all of the smaller side if there are fewer.
    """
    secret = case.domain.check_countable([secret])[0]
    names = tuple(name for name in case.domain.check_countable(known) if name != secret)
    if len(case.released) < 2:
        raise InvalidInput("must be at least two", field="released", value=len(case.released))
    if not names:
        raise InvalidInput("must be at least one attribute, and not the secret", field="known")
    if any(_vague(release, secret) for release in case.released):
        raise InvalidInput(
            "holds labels of several values in the sensitive attribute: no single value can remain",
            field="released",
            value=secret,
        )
    people, control = both_sides(case, attempts, rng)
    classes = [_classes(release, secret, names) for release in case.released]

    def attacked(frame: Frame) -> _Left:
        return _narrow([_possible(frame, each) for each in classes], _secrets(frame, secret))

    left = attacked(people)
    common = np.bincount(_secrets(case.first, secret)).argmax()
    return Intersection(
        certain=Rate.of(left.right),
        alone=Rate.of(left.alone),
        candidates=left.candidates,
        releases=len(case.released),
        secret=secret,
        baseline=Rate.of(left.single & (_secrets(people, secret) == common)),
        control=None if control is None else Rate.of(attacked(control).right),
    )


def _vague(release: Frame, secret: str) -> bool:
    """Return whether a label of the secret allows values of several levels or bins."""
    if secret not in release.labels:
        return False
    domain = release.domain.project([secret])

    def several(allowed: Any) -> bool:
        if not isinstance(allowed, np.ndarray):
            low, high, whole = allowed
            allowed = np.array([low, high if whole or low == high else np.nextafter(high, low)])
        return len(np.unique(Frame(domain=domain, values=allowed.reshape(-1, 1)).codes)) > 1

    return any(several(allowed) for allowed in release.labels[secret].allowed)


def _secrets(frame: Frame, secret: str) -> NDArray[np.int64]:
    """Return the level or bin of the secret; 0 where it is missing."""
    return np.asarray(frame.codes[:, frame.place(secret)] + 1)


@dataclass(frozen=True, eq=False)
class _Classes:
    """Classes of a release: for each known attribute the cell of each class, and the secrets that occur in a class."""

    release: Frame
    names: tuple[str, ...]
    cells: NDArray[np.int64]
    exact: dict[str, NDArray[np.float64]]
    there: Flags


def _classes(release: Frame, secret: str, names: tuple[str, ...]) -> _Classes:
    exact: dict[str, NDArray[np.float64]] = {}
    keys = []
    for name in names:
        if name in release.labels:
            keys.append(release.labels[name].rows)
        else:
            exact[name], key = np.unique(_filled(release.column(name)), return_inverse=True)
            keys.append(key)
    cells, which = np.unique(np.stack(keys, axis=1), axis=0, return_inverse=True)
    there = np.zeros((len(cells), len(release.domain[secret].labels) + 1), bool)
    there[which.reshape(-1), _secrets(release, secret)] = True
    return _Classes(release, names, cells, exact, there)


def _filled(column: NDArray[np.float64]) -> NDArray[np.float64]:
    """Make a missing value equal to itself."""
    return np.nan_to_num(column, nan=np.finfo(np.float64).max)


def _possible(people: Frame, classes: _Classes) -> Flags:
    """Flag the secrets that occur in the classes that fit each person; all of them if no class fits."""
    found = np.empty((len(people), classes.there.shape[1]), bool)
    step = max(1, _AT_ONCE // len(classes.cells))
    for start in range(0, len(people), step):
        some = people.take(slice(start, start + step))
        fits = np.ones((len(classes.cells), len(some)), bool)
        for place, name in enumerate(classes.names):
            column, cell = some.column(name), classes.cells[:, place]
            if name in classes.exact:
                fits &= classes.exact[name][cell][:, None] == _filled(column)[None, :]
            else:
                fits &= classes.release.labels[name].fits(column)[cell]
        seen = fits.T.astype(np.float32) @ classes.there.astype(np.float32) > 0
        absent = np.asarray(~fits.any(axis=0), bool)
        found[start : start + step] = seen | absent[:, None]
    return found


def _run(case: Case, options: AssessmentOptions, rng: np.random.Generator) -> Iterator[Outcome]:
    known = tuple(name for name in case.names if name not in options.secrets)
    for secret in options.secrets:
        work = partial(intersection, case, secret, known, rng, attempts=options.attempts)
        yield attempt(f"intersection, {secret}", work)


def _applies(case: Case, options: AssessmentOptions) -> str | None:
    if len(case.released) < 2:
        return "It needs at least two releases of the same people."
    return None if set(case.names) - set(options.secrets) else "It needs an attribute that is not secret."


INTERSECTION = Attack(
    name="intersection",
    title="intersection",
    question="Do several releases of the same people, joined, leave one value of a secret attribute?",
    needs="at least two releases of the same people, an attribute that is not secret",
    run=_run,
    applies=_applies,
)
