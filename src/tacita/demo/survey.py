"""A simulated travel survey: six attributes from the published tables of the Survey network.  [Scutari, Denis 2014]

Age and sex decide on schooling, schooling on occupation and residence, and these two on how people travel:

    A, S -> E -> O, R -> T

No row is about a real person. The true tables are known, so that the results of a collection can be compared with them.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.domain import Categorical, Domain
from tacita.tables.cells import Cells

__all__ = ["DOMAIN", "PARENT_SETS", "simulate", "truth"]

Array = NDArray[np.float64]

DOMAIN = Domain(
    title="a simulated travel survey",
    attributes=(
        Categorical(name="A", levels=("young", "adult", "old"), description="Age"),
        Categorical(name="R", levels=("small", "big"), description="Size of the town of residence"),
        Categorical(name="E", levels=("high", "uni"), description="Schooling: high school or university"),
        Categorical(name="O", levels=("emp", "self"), description="Employed or self-employed"),
        Categorical(name="S", levels=("M", "F"), description="Sex"),
        Categorical(name="T", levels=("car", "train", "other"), description="How they travel"),
    ),
)

PARENT_SETS = (("A", "E", "R", "S"), ("A", "E", "R", "T"), ("O", "E", "R", "T"))
"""Each attribute with its parents in a network of degree 3 that was learned from these data."""

AGE: Array = np.array([0.3, 0.5, 0.2])
SEX: Array = np.array([0.6, 0.4])
HIGH_SCHOOL: Array = np.array([[0.75, 0.64], [0.72, 0.70], [0.88, 0.90]])  # by age and sex
EMPLOYED: Array = np.array([0.96, 0.92])  # by schooling
SMALL_TOWN: Array = np.array([0.25, 0.20])  # by schooling
TRAVEL: Array = np.array(  # by occupation and residence
    [[[0.48, 0.42, 0.10], [0.58, 0.24, 0.18]], [[0.56, 0.36, 0.08], [0.70, 0.21, 0.09]]]
)


def simulate(rows: int, seed: int) -> pa.Table:
    """Draw a table of simulated people; the same one for the same seed."""
    rng = np.random.default_rng(seed)
    age, sex = rng.choice(3, rows, p=AGE), rng.choice(2, rows, p=SEX)
    schooling = (rng.random(rows) >= HIGH_SCHOOL[age, sex]).astype(np.int64)
    occupation = (rng.random(rows) >= EMPLOYED[schooling]).astype(np.int64)
    residence = (rng.random(rows) >= SMALL_TOWN[schooling]).astype(np.int64)
    steps = TRAVEL[occupation, residence].cumsum(axis=1)
    travel = (rng.random(rows)[:, None] >= steps[:, :2]).sum(axis=1)
    codes = {"A": age, "R": residence, "E": schooling, "O": occupation, "S": sex, "T": travel}
    return pa.table({name: pa.array(DOMAIN[name].labels).take(pa.array(column)) for name, column in codes.items()})


def truth() -> Cells:
    """The share of every cell of the whole table, from which all others are sums."""
    shares = np.einsum(
        "a,s,ase,eo,er,ort->areost",
        AGE,
        SEX,
        _both(HIGH_SCHOOL),
        _both(EMPLOYED),
        _both(SMALL_TOWN),
        TRAVEL,
    )
    return Cells(DOMAIN, shares)


def _both(first: Array) -> Array:
    """The shares of both levels, given that of the first."""
    return np.stack([first, 1 - first], axis=-1)
