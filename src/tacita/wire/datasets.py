"""Datasets."""

from __future__ import annotations

import datetime as dt
from typing import Any

from pydantic import Field

from tacita.wire.base import Name, RequestModel, ResponseModel
from tacita.wire.budgets import BudgetModel

__all__ = ["DatasetInfo", "NewDataset"]


class NewDataset(RequestModel):
    """A dataset to register: a named source with its public schema and its account."""

    name: Name
    source: str = Field(description="Name of a source in the server's settings.")
    domain: dict[str, Any] = Field(alias="schema", description="The schema, as `tacita schema` writes it.")
    unit: str | None = Field(
        default=None,
        description="Who is protected: `row` or `person:KEY:MAX_ROWS`. If not given, the schema decides: its person "
        "with one row, or a row.",
    )
    neighbours: str = Field(description="`add-remove` or `replace-one`.")
    budget: BudgetModel
    again: str | None = Field(
        default=None,
        max_length=1000,
        description="Why data that an account was charged for may have another account; it is kept.",
    )


class ReplaceAccount(RequestModel):
    """Other terms for the account of a dataset, while nothing was charged."""

    unit: str | None = Field(default=None, description="Who is protected; as before if not given.")
    neighbours: str | None = Field(default=None, description="`add-remove` or `replace-one`; as before if not given.")
    budget: BudgetModel


class DatasetInfo(ResponseModel):
    """Facts about a dataset for anyone with access. The number of rows is not one of them."""

    name: str
    title: str
    source: str
    attributes: list[str]
    unit: str
    neighbours: str
    budget: dict[str, float]
    fingerprint: str = Field(description="Digest of the schema.")
    created: dt.datetime
