"""Sources of data."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from tacita.wire.base import RequestModel, ResponseModel

__all__ = ["MEDIA", "DialectModel", "DraftInfo", "FileKind", "SourceInfo"]

FileKind = Literal["csv", "tsv", "parquet", "arrow", "xlsx", "xls", "ods", "dta", "sav", "sas7bdat", "xpt"]
MEDIA: dict[str, FileKind] = {
    "text/csv": "csv",
    "text/tab-separated-values": "tsv",
    "application/vnd.apache.parquet": "parquet",
    "application/vnd.apache.arrow.file": "arrow",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": "xlsx",
    "application/vnd.ms-excel": "xls",
    "application/vnd.oasis.opendocument.spreadsheet": "ods",
    "application/x-stata-dta": "dta",
    "application/x-spss-sav": "sav",
    "application/x-sas-data": "sas7bdat",
    "application/x-sas-xport": "xpt",
}
"""Media types of files that may be sent, and their endings."""


class SourceInfo(ResponseModel):
    """A source by name; never its address."""

    name: str
    kind: Literal["file", "database"]
    brought: bool = Field(description="Whether it is a file that was sent here, and can be removed.")
    dataset: str | None = Field(description="The dataset that is registered over it.")


class DialectModel(RequestModel):
    """Known parts of the dialect of a text file; parts that are not stated are found."""

    delimiter: str | None = Field(default=None, min_length=1, max_length=1, description="Between values.")
    quote: str | None = Field(default=None, max_length=1, description="Around values; empty for none.")
    encoding: str | None = Field(default=None, max_length=40, description="Encoding, such as cp1252.")
    decimal: Literal[".", ","] | None = Field(default=None, description="Decimal mark of numbers.")
    thousands: str | None = Field(default=None, max_length=1, description="Mark between groups of three digits.")
    dates: list[str] | None = Field(default=None, max_length=10, description="Formats of dates, such as %d.%m.%Y.")
    header: bool | None = Field(default=None, description="Whether the first line has the names of the columns.")
    columns: list[str] | None = Field(
        default=None, min_length=1, max_length=10_000, description="Names of the columns, for a file without a header."
    )
    skip: int | None = Field(default=None, ge=0, le=1000, description="Lines before the header.")
    trim: bool | None = Field(default=None, description="Whether spaces around values are left out.")
    absent: dict[str, list[str]] | None = Field(
        default=None, max_length=10_000, description="Texts that mean a missing value in one column."
    )
    nulls: list[str] | None = Field(
        default=None, max_length=100, description="Texts that mean a missing value in all columns."
    )


class DraftInfo(ResponseModel):
    """A drafted schema, and why it is as it is. It is private until its owner has confirmed it."""

    domain: dict[str, Any]
    reasons: dict[str, str] = Field(description="The reason for the kind of each attribute.")
    notes: list[str] = Field(description="What was found about the file, and what to look at.")
    preview: list[list[str]] = Field(
        description="Names of the columns, and the first rows with letters as x and digits as 9."
    )
