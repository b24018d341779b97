"""Reconstruction from noisy counts: of exact counts by averaging, of people's secrets by solving many questions.

    averaging   m tables with fresh noise: their mean, rounded, is the truth once the noise of the mean is below a half
    solving     counts of many subsets of the people, each with noise: the 0/1 secret of each person by least squares
                [Dinur, Nissim 2003]

A cell of a released table over known attributes and a secret is such a question: how many of the people with these
known values have this secret? An attacker who knows the attributes of all people in the data solves all cells of all
tables for the share of each secret among people who are alike, and guesses the largest share. The same guess for people
who are not in the data is the control: tables reveal the population to anyone.

A privacy budget prevents both. They show an owner what repeated releases without a budget would reveal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse

from tacita.assess.attacks.attack import Attack, Outcome, attempt
from tacita.assess.case import Case
from tacita.assess.frame import Frame, write_frame
from tacita.assess.options import AssessmentOptions
from tacita.assess.rates import Leak, Rate, Risk
from tacita.errors import InvalidInput
from tacita.tables.release import Release

__all__ = ["RECONSTRUCTION", "Reconstructed", "average_releases", "reconstruct_secret", "solve_subsets"]

_NEAR = 1e-4  # shares are rounded or compared: more digits change no guess
Array = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Reconstructed:
    """Result of a reconstruction.

    Attributes:
        right: Number of cells, or people, that are exactly right.
        blind: Number that a guess without the releases gets right: the most frequent value.
        error: Mean absolute error.
        questions: Releases averaged, or subsets asked.
        of: The reconstructed numbers, in words.
    """

    right: Rate
    blind: Rate
    error: float
    questions: int
    of: str = ""

    @property
    def name(self) -> str:
        """The attack."""
        return "reconstruction of " + (self.of or "counts")

    def risks_at(self, level: float) -> tuple[Risk, ...]:
        """Return nothing: an exact count is no guess about a person."""
        return ()

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """The result in words, for a page."""
        words = f"{self.right.share:.1%} of {self.right.trials:,} exactly right from {self.questions} tables"
        return ((self.name, f"{words}; guessing {self.blind.share:.1%}; off by {self.error:.2f} on average"),)

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "name": self.name,
            "right": self.right.as_dict(),
            "blind": self.blind.as_dict(),
            "error": self.error,
            "questions": self.questions,
        }


def average_releases(truth: Any, released: Sequence[Any], *, of: str = "") -> Reconstructed:
    """Round the mean of several noisy versions of a table of counts, and compare it with the exact table."""
    exact = np.asarray(truth, np.float64).ravel()
    if not released:
        raise InvalidInput("must be at least one", field="released")
    tables = [np.asarray(each, np.float64).ravel() for each in released]
    if any(each.shape != exact.shape for each in tables):
        raise InvalidInput("must have the cells of the exact table", field="released")
    mean = np.mean(tables, axis=0)
    guess = np.maximum(np.rint(mean), 0)
    return Reconstructed(
        right=Rate.of(guess == exact),
        blind=Rate.of(exact == _most_frequent(exact)),
        error=float(np.abs(guess - exact).mean()),
        questions=len(tables),
        of=of,
    )


def solve_subsets(secret: Any, subsets: Any, answers: Any) -> Reconstructed:
    """Estimate the 0/1 secret of each person from noisy counts of subsets, by bounded least squares.

    Args:
        secret: 0 or 1 for each person.
        subsets: For each question, the people who are counted.
        answers: The noisy number of people in each subset whose secret is 1.
    """
    truth = np.asarray(secret, np.float64).ravel()
    asked, said = np.asarray(subsets, np.float64), np.asarray(answers, np.float64).ravel()
    if asked.shape != (len(said), len(truth)):
        raise InvalidInput("must have a row for each answer and a column for each person", field="subsets")
    if not np.isin(truth, (0, 1)).all():
        raise InvalidInput("must be 0 or 1 for each person", field="secret")
    found = _solve(asked, said)
    guess = np.rint(found)
    return Reconstructed(
        right=Rate.of(guess == truth),
        blind=Rate.of(truth == _most_frequent(truth)),
        error=float(np.abs(found - truth).mean()),
        questions=len(said),
    )


def _solve(asked: Any, said: Array) -> Array:
    """Return shares between 0 and 1 whose sums are nearest to the answers."""
    coarse = {"tol": _NEAR, "lsmr_tol": _NEAR} if sparse.issparse(asked) else {}
    return np.asarray(optimize.lsq_linear(asked, said, bounds=(0, 1), **coarse).x, np.float64)


def _most_frequent(values: Array) -> float:
    distinct, counts = np.unique(values, return_counts=True)
    return float(distinct[counts.argmax()])


# -- released tables --------------------------------------------------------------------------------------------------


def reconstruct_secret(case: Case, secret: str) -> Leak:
    """Solve all released tables that hold a secret for the secret of each person.

    Args:
        case: Released tables of counts, the people in the data, and a control if there is one.
        secret: The sensitive attribute.
    """
    tables = [table for table in _counts_of(case) if secret in table.attributes and len(table.attributes) > 1]
    if not tables:
        rule = "must hold the secret beside a known attribute, in at least one table"
        raise InvalidInput(rule, field="tables", value=secret)
    known = tuple(dict.fromkeys(name for table in tables for name in table.attributes if name != secret))
    real, truth = _codes(case.real, known), _codes(case.real, (secret,))[:, 0]
    alike, which, sizes = np.unique(real, axis=0, return_inverse=True, return_counts=True)
    parts, answers = [], []
    for table in tables:
        moved = np.moveaxis(np.asarray(table.values, np.float64), table.attributes.index(secret), -1)
        others = [name for name in table.attributes if name != secret]
        cell = np.ravel_multi_index(tuple(alike[:, known.index(name)] for name in others), moved.shape[:-1])
        cells = int(np.prod(moved.shape[:-1]))
        part = sparse.csr_matrix((sizes.astype(np.float64), (cell, np.arange(len(alike)))), (cells, len(alike)))
        parts.append(part)
        answers.append(moved.reshape(cells, -1))
    asked, said = sparse.vstack(parts).tocsr(), np.concatenate(answers)
    filled = np.diff(asked.indptr) > 0  # cells without people ask nothing
    shares = np.stack([_solve(asked[filled], said[filled, level]) for level in range(said.shape[1])], axis=1)
    guess = shares.argmax(axis=1)
    common = int((shares * sizes[:, None]).sum(axis=0).argmax())
    return Leak(
        name=f"reconstruction of {secret}",
        attack=Rate.of(guess[which.reshape(-1)] == truth),
        baseline=Rate.of(truth == common),
        control=None if case.control is None else _beside(case.control, known, secret, alike, guess, common),
        notes=(f"{int(filled.sum()):,} cells of {len(tables)} tables, {len(alike):,} groups of people who are alike",),
    )


def _beside(control: Frame, known: tuple[str, ...], secret: str, alike: Codes, guess: Codes, common: int) -> Rate:
    """Measure the same guesses on people who are not in the data; the most frequent secret where no one is alike."""
    guesses = {tuple(row): int(level) for row, level in zip(alike.tolist(), guess, strict=True)}
    theirs = np.array([guesses.get(tuple(row), common) for row in _codes(control, known).tolist()])
    return Rate.of(theirs == _codes(control, (secret,))[:, 0])


def _codes(frame: Frame, names: Sequence[str]) -> Codes:
    """Return the cell of each person on the axes of tables over these attributes."""
    found = frame.domain.encode(write_frame(frame.only(names)), names)
    return np.stack([np.asarray(found[name], np.int64) for name in names], axis=1)


def _counts_of(case: Case) -> tuple[Release, ...]:
    """Return the tables of counts over attributes of the case, with its levels and bins."""

    def fits(table: Release) -> bool:
        return all(
            name in case.names and table.domain[name].all_labels == case.domain[name].all_labels
            for name in table.attributes
        )

    return tuple(table for table in case.tables if table.quantity == "count" and table.attributes and fits(table))


def _average(case: Case, tables: Sequence[Release]) -> Reconstructed:
    names = tables[0].attributes
    codes = _codes(case.real, names)
    truth = np.zeros(tables[0].values.shape)
    np.add.at(truth, tuple(codes.T), 1)
    return average_releases(truth, [table.values for table in tables], of=f"counts by {', '.join(names)}")


def _run(case: Case, options: AssessmentOptions, rng: np.random.Generator) -> Iterator[Outcome]:
    tables = _counts_of(case)
    if not tables:
        raise InvalidInput(
            "must be counts over attributes of the real rows, with the same levels and bins", field="tables"
        )
    for names in dict.fromkeys(table.attributes for table in tables):
        same = [table for table in tables if table.attributes == names]
        yield attempt(f"reconstruction of counts by {', '.join(names)}", partial(_average, case, same))
    for secret in options.secrets:
        yield attempt(f"reconstruction of {secret}", partial(reconstruct_secret, case, secret))


RECONSTRUCTION = Attack(
    name="reconstruction",
    title="reconstruction",
    question="Do released tables with noise reveal exact counts, and the secret attribute of each person?",
    needs="released tables of counts",
    run=_run,
    applies=lambda case, options: None if case.tables else "It needs released tables of counts.",
)
