"""Which equivalence class the rows of a table go to, and what stands in them instead of their values."""

from tacita.tables.recoding.axis import MISSING, OTHER, Axis
from tacita.tables.recoding.recoding import SUPPRESSED, Recoding
from tacita.tables.recoding.render import recode

__all__ = ["MISSING", "OTHER", "SUPPRESSED", "Axis", "Recoding", "recode"]
