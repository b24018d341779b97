"""Recodings: the equivalence class of each row of a table, and the texts that replace its values."""

from tacita.tables.recoding.axis import MISSING, OTHER, Axis
from tacita.tables.recoding.recoding import SUPPRESSED, Recoding
from tacita.tables.recoding.render import recode

__all__ = ["MISSING", "OTHER", "SUPPRESSED", "Axis", "Recoding", "recode"]
