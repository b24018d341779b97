"""The three tables of the learning study: Adult and Credit from their published files, Diabetes made up.

The readmission data of 130 hospitals is not at hand. `diabetes` draws rows with its schema (26 attributes, two
categorical for each numeric, a majority of 1.5 to 1) from a latent state of health, so that the study runs; its figures
are about made-up people and say so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from tacita.domain import Categorical, Domain, Numeric
from tacita.errors import DataError, SourceUnavailable

__all__ = ["DATASETS", "StudyData", "load"]

ADULT = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "educationnum",
    "maritalstatus",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capitalgain",
    "capitalloss",
    "hoursperweek",
    "nativecountry",
    "income",
]
_CLASSES = {"adult": "income", "credit": "default", "diabetes": "readmitted"}


@dataclass(frozen=True, kw_only=True)
class StudyData:
    """A table to learn from.

    Attributes:
        name: Of the dataset.
        rows: Complete rows, without a missing value.
        domain: Their schema; bounds and levels are those of the data, which the study's owner may know.
        target: The class, two values.
        simulated: Whether the rows are made up.
    """

    name: str
    rows: pa.Table = field(repr=False)
    domain: Domain = field(repr=False)
    target: str
    simulated: bool

    @property
    def features(self) -> tuple[str, ...]:
        """All attributes but the class."""
        return tuple(name for name in self.rows.column_names if name != self.target)


def _domain(rows: pa.Table, title: str) -> Domain:
    attributes: list[Categorical | Numeric] = []
    for name in rows.column_names:
        column = rows.column(name)
        if pa.types.is_string(column.type):
            attributes.append(Categorical(name=name, levels=sorted(column.unique().to_pylist())))
            continue
        low, high = float(pc.min(column).as_py()), float(pc.max(column).as_py())
        attributes.append(Numeric(name=name, bounds=(low, high if high > low else low + 1), bins=2))
    return Domain(title=title, attributes=tuple(attributes))


def _made(name: str, rows: pa.Table, *, simulated: bool = False) -> StudyData:
    return StudyData(name=name, rows=rows, domain=_domain(rows, name), target=_CLASSES[name], simulated=simulated)


def adult(folder: Path) -> StudyData:
    """Census income: the training file, rows with a missing value left out, 14 attributes."""
    options = pacsv.ReadOptions(column_names=ADULT)
    strings = pacsv.ConvertOptions(strings_can_be_null=False)
    rows = pacsv.read_csv(_found(folder / "adult.data"), read_options=options, convert_options=strings)
    texts = [name for name in ADULT if pa.types.is_string(rows.schema.field(name).type)]
    for name in texts:
        trimmed = pc.utf8_trim_whitespace(rows.column(name))
        rows = rows.set_column(rows.schema.get_field_index(name), name, trimmed)
    complete = pc.and_kleene(*[pc.not_equal(rows.column(name), "?") for name in ("workclass", "occupation")])
    complete = pc.and_kleene(complete, pc.not_equal(rows.column("nativecountry"), "?"))
    return _made("adult", rows.filter(complete))


def credit(folder: Path) -> StudyData:
    """Default of credit card clients: 23 attributes, all numbers."""
    rows = pacsv.read_csv(_found(folder / "credit-default.csv"))
    names = [name.lower() for name in rows.column_names[:-1]] + ["default"]
    if len(names) != 24:
        raise DataError("must have 24 columns", field="credit-default.csv", value=len(names))
    rows = rows.rename_columns(names)
    label = pc.if_else(pc.equal(rows.column("default"), 1), "yes", "no")
    return _made("credit", rows.set_column(23, "default", label))


_LEVELS = {
    "race": 5, "gender": 2, "admission_type_id": 6, "discharge_disposition_id": 10, "admission_source_id": 8,
    "diag_1": 9, "diag_2": 9, "diag_3": 9, "a1cresult": 4, "metformin": 4, "glipizide": 4, "glyburide": 4,
    "pioglitazone": 4, "rosiglitazone": 4, "insulin": 4, "change": 2, "diabetesmed": 2,
}  # fmt: skip
_NUMBERS = {
    "age": 95, "time_in_hospital": 14, "num_lab_procedures": 120, "num_procedures": 6, "num_medications": 60,
    "number_outpatient": 15, "number_emergency": 10, "number_inpatient": 12, "number_diagnoses": 16,
}  # fmt: skip


def diabetes(_folder: Path, *, people: int = 20_000, seed: int = 0) -> StudyData:
    """Made-up readmissions: every attribute leans on how ill somebody is, and so does the class."""
    rng = np.random.default_rng(seed)
    ill = rng.normal(size=people)
    columns: dict[str, pa.Array] = {}
    for name, size in _LEVELS.items():
        base, tilt = rng.gamma(0.6, size=size) + 0.05, rng.normal(scale=0.7, size=size)
        weights = base * np.exp(np.outer(ill, tilt))
        drawn = (np.cumsum(weights, axis=1) < rng.random(people)[:, None] * weights.sum(axis=1, keepdims=True)).sum(
            axis=1
        )
        columns[name] = pa.array([f"{name}{code}" for code in drawn])
    for name, top in _NUMBERS.items():
        mean = 0.3 * top * np.exp(rng.normal(scale=0.3) * ill)
        columns[name] = pa.array(np.minimum(rng.poisson(mean), top))
    chance = 1 / (1 + np.exp(0.45 - 0.9 * ill))
    columns["readmitted"] = pa.array(np.where(rng.random(people) < chance, "yes", "no"))
    return _made("diabetes", pa.table(columns), simulated=True)


DATASETS: dict[str, Callable[[Path], StudyData]] = {"adult": adult, "credit": credit, "diabetes": diabetes}


def load(name: str, folder: Path) -> StudyData:
    """A table by its name; the files of the first two lie in `folder` under their published names."""
    return DATASETS[name](folder)


def _found(path: Path) -> Path:
    if not path.is_file():
        raise SourceUnavailable("no such file", field="data", value=path.name, hint="Give its folder with --data")
    return path
