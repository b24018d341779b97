"""Datasets."""

from __future__ import annotations

import datetime as dt
from typing import Any

from pydantic import Field

from tacita.server.models.base import Name, Sent, Told
from tacita.server.models.budgets import BudgetModel

__all__ = ["DatasetInfo", "NewDataset"]


class NewDataset(Sent):
    """A dataset to register: a named source with its public schema and its account."""

    name: Name
    source: str = Field(description="Name of a source in the server's settings.")
    domain: dict[str, Any] = Field(alias="schema", description="The schema, as `tacita schema` writes it.")
    unit: str = Field(description="Who is protected: `row` or `person:KEY:MAX_ROWS`.")
    neighbours: str = Field(description="`add-remove` or `replace-one`.")
    budget: BudgetModel
    again: str | None = Field(
        default=None,
        max_length=1000,
        description="Why data that an account was charged for may have another account; it is kept.",
    )


class DatasetInfo(Told):
    """What anybody with access may know of a dataset. How many rows it has is not among it."""

    name: str
    title: str
    source: str
    attributes: list[str]
    unit: str
    neighbours: str
    budget: dict[str, float]
    fingerprint: str = Field(description="Digest of the schema.")
    created: dt.datetime
