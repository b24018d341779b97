"""The Survey network of Scutari and Denis, as the published tables give it."""

import numpy as np
import pytest

from tacita.domain import Categorical, Domain
from tacita.models import BayesianNetwork
from tacita.tables.cells import Cells

DOMAIN = Domain(
    attributes=[
        Categorical(name="A", levels=["young", "adult", "old"]),
        Categorical(name="S", levels=["M", "F"]),
        Categorical(name="E", levels=["high", "uni"]),
        Categorical(name="O", levels=["emp", "self"]),
        Categorical(name="R", levels=["small", "big"]),
        Categorical(name="T", levels=["car", "train", "other"]),
    ]
)

PARENTS = {"A": (), "S": (), "E": ("A", "S"), "O": ("E",), "R": ("E",), "T": ("O", "R")}

_HIGH = [[0.75, 0.64], [0.72, 0.70], [0.88, 0.90]]
_TABLES = {
    "A": [0.3, 0.5, 0.2],
    "S": [0.6, 0.4],
    "E": np.stack([_HIGH, 1 - np.array(_HIGH)], axis=-1),
    "O": [[0.96, 0.04], [0.92, 0.08]],
    "R": [[0.25, 0.75], [0.20, 0.80]],
    "T": [[[0.48, 0.42, 0.10], [0.58, 0.24, 0.18]], [[0.56, 0.36, 0.08], [0.70, 0.21, 0.09]]],
}


@pytest.fixture(scope="session")
def survey() -> BayesianNetwork:
    tables = {
        name: Cells(DOMAIN.project((*PARENTS[name], name)), np.array(values, float)) for name, values in _TABLES.items()
    }
    return BayesianNetwork(domain=DOMAIN, parents=PARENTS, conditionals=tables)
