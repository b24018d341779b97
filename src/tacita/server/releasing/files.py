"""Files that the service keeps: rows and models of releases, pages about them."""

from __future__ import annotations

from pathlib import Path

from tacita.server.services import Services

__all__ = ["model_of", "page_of", "rows_of"]


def rows_of(services: Services, id: str) -> Path:
    """Where the rows of a release are."""
    return services.settings.home / "releases" / f"{id}.parquet"


def model_of(services: Services, id: str) -> Path:
    """Where the model of a release is: more rows can be drawn from it."""
    return rows_of(services, id).with_suffix(".json")


def page_of(services: Services, id: str) -> Path:
    """Where the page of an assessment or a comparison is."""
    return services.settings.home / "assessments" / f"{id}.html"
