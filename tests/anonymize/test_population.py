"""Everyone beside those in the data: each combination has as many rows as the population has."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

from tacita.anonymize.population import add_population
from tacita.domain import Categorical, Domain, Numeric
from tacita.errors import DataError, InvalidInput

DOMAIN = Domain(
    attributes=[
        Numeric(name="age", bounds=(0, 9), integer=True),
        Categorical(name="town", levels=("Ulm", "Bonn")),
        Categorical(name="ill", levels=("no", "flu")),
    ]
)
QUASI = ("age", "town")


def test_rows_of_everyone():
    rng = np.random.default_rng(1)
    everyone = pa.table({"town": np.array(["Ulm", "Bonn"])[rng.integers(0, 2, 300)], "age": rng.integers(0, 9, 300)})
    inside = np.sort(rng.permutation(300)[:100])
    data = everyone.take(pa.array(inside)).append_column("ill", pa.array(["no"] * 100))
    for population in (everyone, everyone.set_column(1, "age", [[f"{age}.0" for age in everyone["age"].to_pylist()]])):
        table, part = add_population(DOMAIN, data, population.take(pa.array(rng.permutation(300))), QUASI)
        assert (table.num_rows, part.sum()) == (300, 100)
        assert table.slice(0, 100)["ill"].to_pylist() == ["no"] * 100
        assert table.slice(100)["ill"].null_count == 200
        rows = Counter((float(row["age"]), row["town"]) for row in table.to_pylist())
        assert rows == Counter((float(row["age"]), row["town"]) for row in everyone.to_pylist())


def test_who_is_not_everyone():
    data = pa.table({"age": [1, 1], "town": ["Ulm", "Ulm"], "ill": ["no", "flu"]})
    with pytest.raises(InvalidInput, match="everyone"):
        add_population(DOMAIN, data, pa.table({"age": [1, 2], "town": ["Ulm", "Ulm"]}), QUASI)
    with pytest.raises(DataError, match="town"):
        add_population(DOMAIN, data, pa.table({"age": [1, 1]}), QUASI)
