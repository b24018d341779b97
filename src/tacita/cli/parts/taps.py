"""Tap records on the command line: reading them, and pages about them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from tacita.cli.parts.options import engine_of
from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.figures.charts import Curve, curves
from tacita.figures.flow_map import flow_map
from tacita.report.report import Section, write
from tacita.synthesize.mobility.places import Places
from tacita.synthesize.mobility.reading import Fold, Trips, Visits, read_trips
from tacita.synthesize.mobility.schema import TapSchema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tacita.assess.mobility import TapAssessment
    from tacita.synthesize.mobility.topic_models.communities import Community
    from tacita.synthesize.mobility.topic_models.topics import TopicModel

__all__ = [
    "Columns",
    "PlacesFile",
    "assessment_page",
    "community_page",
    "compare_louvain",
    "given_columns",
    "read_places",
    "read_taps",
    "schema_of",
]

PlacesFile = Annotated[
    Path | None,
    typer.Option("--places", help="CSV of public places: id, name, zone, x and y in km (or lon and lat), mode."),
]
Columns = Annotated[
    str | None,
    typer.Option(help="Columns with other names: origin=from,destination=to. An empty name: no such column."),
]


def given_columns(text: str | None) -> dict[str, str | None]:
    """Parse ROLE=COLUMN,…; an empty column means that there is none."""
    found: dict[str, str | None] = {}
    for part in (text or "").split(","):
        role, equals, name = (piece.strip() for piece in part.partition("="))
        if not part.strip():
            continue
        if not equals:
            raise InvalidInput("must be written ROLE=COLUMN,ROLE=COLUMN", field="columns", value=part)
        found[role] = name or None
    return found


def read_places(path: Path | None) -> Places | None:
    """Read the public places, if a file is given."""
    return None if path is None else Places.read(path)


def schema_of(domain: Domain, places: Path | None, columns: str | None) -> TapSchema:
    """Return the schema of tap records."""
    return TapSchema.of(domain, places=read_places(places), columns=given_columns(columns))


def read_taps(data: str, schema: Path, places: Path | None, columns: str | None, table: str | None = None) -> Trips:
    """Read tap records of a source. Exact: for their owner."""
    taps = schema_of(Domain.read(schema), places, columns)
    return read_trips(engine_of(data, taps.domain, table), taps)


def compare_louvain(model: TopicModel, visits: Visits, rng: np.random.Generator, tau: float | None) -> dict[str, Any]:
    """Match the communities of topics with Louvain's."""
    from tacita.synthesize.mobility.topic_models.communities import (
        assign,
        jaccard_matrix,
        match_communities,
        members_of,
    )
    from tacita.synthesize.mobility.topic_models.louvain import commuter_graph, louvain

    labels = louvain(commuter_graph(visits), rng)
    matrix = jaccard_matrix(members_of(labels), assign(model.theta, tau=tau))
    return {"communities": int(labels.max()) + 1, "jaccard": float(match_communities(matrix)[2].mean())}


def community_page(
    path: Path,
    trips: Trips,
    model: TopicModel,
    found: Sequence[Community],
    fold: Fold,
    tau: float | None,
) -> None:
    """Write a page: a section for each community, with its places, its times and its flows."""
    from tacita.synthesize.mobility.topic_models.communities import assign

    places = trips.schema.places
    points = None if places.points is None else [(float(x), float(y)) for x, y in places.points]
    sections = [
        Section(
            title="All cards",
            text="Flows between places, the heaviest ones. These figures come from exact records: they have no "
            "guarantee, and are for the owner of the data.",
            facts=[("cards", f"{trips.cards:,}"), ("R-hat of the sampler", f"{model.rhat:.2f}")],
            picture=flow_map(places.labels, _flows(trips), points=points, title="flows of all cards"),
        )
    ]
    for community, cards in zip(found, assign(model.theta, tau=tau), strict=True):
        members = trips.of_cards(cards)
        profile = community.profile
        line = Curve(label="share of visits", x=list(range(len(profile))), y=profile.tolist())
        picture = curves([line], across=fold.replace("-", " "), up="share of visits", title="times of visits")
        picture += flow_map(
            places.labels, _flows(members), points=points, title=f"flows of community {community.number}"
        )
        named = ", ".join(f"{name} ({share:.1%})" for name, share in community.places)
        facts = [("cards", f"{community.cards:,}"), ("places", named), ("times", ", ".join(community.peaks))]
        sections.append(Section(title=f"Community {community.number}", facts=facts, picture=picture))
    write(path, "Communities of cards", f"{len(found)} communities by {model.recipe.kind.upper()}", sections)


def _flows(trips: Trips) -> list[tuple[int, int, float]]:
    from tacita.synthesize.mobility.walk import count_edges

    origin, destination, weight, _ = count_edges(trips.complete())
    return list(zip(origin.tolist(), destination.tolist(), weight.astype(float).tolist(), strict=True))


def assessment_page(path: Path | None, found: TapAssessment) -> list[Section]:
    """Return the sections of an assessment, and write them as a page if there is a path."""
    risks = [(each.name, f"{each.value:.3f} of 1 ({each.low:.3f} to {each.high:.3f})") for each in found.risks]
    sections = [
        Section(
            title="Success of attacks beyond people who were held back",
            text="0 means that the release reveals no more about the people in the data than about others.",
            facts=risks,
        ),
        Section(title="Attacks", facts=[fact for result in found.results for fact in result.facts]),
    ]
    if found.travel is not None:
        sections.append(Section(title="Trips, beside people who were held back", facts=found.travel.facts))
    if found.communities is not None:
        sections.append(Section(title="Communities", facts=found.communities.facts))
    if path is not None:
        lead = f"{found.cards:,} released cards, {found.people:,} cards of the data, {found.control:,} held back"
        write(path, "Assessment of tap records", lead, sections)
    return sections
