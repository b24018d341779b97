"""Public description of the data: attributes, their levels and bins, and the coding of values."""

from tacita.domain.attributes import (
    Attribute,
    Binned,
    Boolean,
    Categorical,
    Date,
    Identifier,
    Numeric,
    Ordinal,
    Role,
)
from tacita.domain.dialect import CsvDialect
from tacita.domain.domain import Domain
from tacita.domain.encode import Codes, Decode, code_dtype, decode, encode

__all__ = [
    "Attribute",
    "Binned",
    "Boolean",
    "Categorical",
    "Codes",
    "CsvDialect",
    "Date",
    "Decode",
    "Domain",
    "Identifier",
    "Numeric",
    "Ordinal",
    "Role",
    "code_dtype",
    "decode",
    "encode",
]
