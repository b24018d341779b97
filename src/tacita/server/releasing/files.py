"""Files that the service keeps: rows and models of releases, pages about them."""

from __future__ import annotations

from pathlib import Path

from tacita.server.services import Services

__all__ = ["model_of", "page_of", "rows_of"]


def rows_of(services: Services, id: str) -> Path:
    """Path of the rows of a release."""
    return services.settings.home / "releases" / f"{id}.parquet"


def model_of(services: Services, id: str) -> Path:
    """Path of the model of a release, from which more rows can be drawn."""
    return rows_of(services, id).with_suffix(".json")


def page_of(services: Services, id: str) -> Path:
    """Path of the page of an assessment or a comparison."""
    return services.settings.home / "assessments" / f"{id}.html"
