"""Kinds of release that have a form of their own."""

from __future__ import annotations

from tacita.console.parts.asking import AnonymizedForm, ModelForm, ReleaseForm, SyntheticForm, TablesForm
from tacita.console.parts.taps import MobilityForm

__all__ = ["FORMS", "OWN_FORMS"]

FORMS: dict[str, type[ReleaseForm]] = {
    "synthetic": SyntheticForm,
    "tables": TablesForm,
    "anonymized": AnonymizedForm,
    "model": ModelForm,
    "mobility": MobilityForm,
}
"""Forms by kind; all other kinds have one that is made from the schema of their request."""
OWN_FORMS = {*FORMS, "federated", "headlines"}
"""The same, with federated rows, which the page of holders makes, and headlines, whose words come from a file."""
