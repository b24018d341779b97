"""Compatibility: the two routes of the P-PPA service, with its parameter names and response shapes.

For clients that exist. New ones use /v1: named sources, roles, jobs and stored answers are there. What was unsound in
the original is not carried over: no credentials, hosts or paths in a request, no choice of quasi-identifiers or of
columns that leave unchanged by a buyer, no bounds or bins from the data, no weights.

    data_source       the name of a registered dataset. The original's kinds (csv, postgresql, mongodb) are understood
                      too: then csv_path or table_coll_data is that name
    token             the Authorization header is preferred: a query string ends up in logs
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import JSONResponse, Response
from fastapi.security import HTTPBearer

from tacita.anonymize import Anonymized
from tacita.anonymize.already import already_anonymous, project_rows, together
from tacita.anonymize.labels import legacy_label
from tacita.anonymize.quasi import joined
from tacita.domain import Domain, Numeric
from tacita.errors import Forbidden, InvalidInput, Unauthorized, UnknownName
from tacita.plans import NoisyTables
from tacita.privacy.budget import Budget
from tacita.query.aggregates import Aggregate, Aggregates
from tacita.query.numbers import check_reach
from tacita.server.auth.auth import Services_, check_anonymous, check_scope, note_refused
from tacita.server.auth.tokens import Token
from tacita.server.data.datasets import Dataset
from tacita.server.data.policies import Policy
from tacita.server.http.errors import DOCUMENTED
from tacita.server.releasing.anonymized import make_anonymized, record
from tacita.server.releasing.kind import dataset_of
from tacita.server.releasing.queries import answer, check_cells
from tacita.server.services import Services
from tacita.tables.workload import Workload
from tacita.wire.refusals import BadRequest, UnknownSource

__all__ = ["router"]

router = APIRouter(
    tags=["compatibility"],
    responses=DOCUMENTED
    | {
        400: DOCUMENTED[400] | {"description": "A parameter is missing, or is one that is not taken."},
        415: DOCUMENTED[415] | {"description": "There is no dataset of that name."},
    },
)

Text = Annotated[str | None, Query()]
Numbers = Annotated[list[str] | None, Query()]
_KINDS = ("csv", "postgresql", "postgres", "mongodb", "mongo")
_REFUSED = ("server_data", "host_data", "port_data", "user_data", "pass_data", "db_data")
_STATISTICS = ("sum", "mean", "var", "std")
_MOST_COLUMNS = 8


# only for OpenAPI; `_who` reads the header or, as the original did, the query
_BEARER = Depends(HTTPBearer(auto_error=False, scheme_name="token", description="An API token: tct_<id>_<secret>."))


def _who(request: Request, services: Services_, token: Text = None) -> Token:
    """A dependency, so that callers without a good token hear nothing about their other parameters."""
    header = request.headers.get("authorization", "")
    given = header.partition(" ")[2].strip() if header else token
    if not given:
        raise Unauthorized(
            "an API token is needed", field="token", hint="Send the header Authorization: Bearer tct_..."
        )
    try:
        found = services.tokens.authenticate(given)
    except Unauthorized as error:
        note_refused(request, services, error)
        check_anonymous(request.scope, services)
        raise
    request.scope["state"]["token"] = found.id
    services.limiter.take(f"token:{found.id}", services.settings.rate_limit)
    if found.role not in ("admin", "steward", "analyst"):
        raise Forbidden("needs the role steward or analyst", field="role", value=found.role)
    return found


Buyer = Annotated[Token, Depends(_who)]


def _answer_of(description: str, kind: str | None = None) -> dict[str, Any]:
    """The answer of a route for OpenAPI."""
    schema = {} if kind is None else {"type": kind, "items": {}}
    return {"description": description, "content": {"application/json": {"schema": schema}}}


def _dataset(request: Request, services: Services, token: Token, source: str | None, *names: str | None) -> Dataset:
    for name in _REFUSED:
        if name in request.query_params:
            hint = "Sources are named in the server's settings; register one and give its name as data_source"
            raise BadRequest("no address or credential is taken in a request", field=name, hint=hint)
    if not source:
        raise BadRequest("must name a dataset", field="data_source")
    name = source
    if source.lower() in _KINDS:
        found = next((name for name in names if name), None)
        if found is None:
            raise BadRequest("must name a dataset: csv_path or table_coll_data", field="data_source", value=source)
        name = found
    check_scope(token, name)
    try:
        return dataset_of(services, token, name)
    except UnknownName:
        raise UnknownSource("no such source", field="data_source", value=name) from None


def _listed(values: Sequence[str] | None, field: str) -> list[int] | None:
    """Whole numbers that were repeated or separated by commas."""
    if values is None:
        return None
    texts = [part.strip(" []()") for text in values for part in text.split(",")]
    try:
        return [int(text) for text in texts if text]
    except ValueError:
        raise InvalidInput("must be whole numbers, repeated or separated by commas", field=field) from None


def _named(domain: Domain, indexes: Sequence[int], field: str) -> tuple[str, ...]:
    names = domain.names
    for index in indexes:
        if not 0 <= index < len(names):
            raise InvalidInput(f"must be positions from 0 to {len(names) - 1}", field=field, value=index)
    return tuple(dict.fromkeys(names[index] for index in indexes))


# -- /kanon ----------------------------------------------------------------------------------------------------------


@router.get(
    "/kanon",
    summary="Anonymized rows, as the P-PPA service gave them",
    response_model=None,
    dependencies=[_BEARER],
    responses={200: _answer_of("Rows: objects, or with `format=legacy` lists of objects of one member.", "array")},
)
def kanon(
    request: Request,
    services: Services_,
    who: Buyer,
    k: int,
    user_choice_index: Numbers = None,
    qi_indexes: Numbers = None,
    whitelist: Numbers = None,
    data_source: Text = None,
    csv_path: Text = None,
    table_coll_data: Text = None,
    purpose: str = "release",
    format: Literal["records", "legacy"] = "records",
) -> Response:
    """Positions are those of the schema. Which columns are quasi-identifiers is the owner's choice, so a buyer's
    `qi_indexes`, `whitelist` and `user_choice_index` are refused."""
    dataset = _dataset(request, services, who, data_source, csv_path, table_coll_data)
    lists = {"qi_indexes": qi_indexes, "whitelist": whitelist, "user_choice_index": user_choice_index}
    owner = who.role in ("admin", "steward")
    for name, values in lists.items():
        if values is not None and not owner:
            hint = "The steward sets a policy; see PUT /v1/datasets/{name}/policy"
            raise Forbidden("is the owner's choice", field=name, hint=hint)
    if not owner or (qi_indexes is None and whitelist is None and user_choice_index is None):
        made, concerns = make_anonymized(services, dataset, k=k, recipient=who.principal, purpose=purpose)
        return _rows(made, concerns, format)
    unchanged = _named(dataset.domain, _listed(whitelist, "whitelist") or [], "whitelist")
    chosen = _listed(user_choice_index, "user_choice_index")
    if chosen is not None:
        names = tuple(n for n in _named(dataset.domain, chosen, "user_choice_index") if n not in unchanged)
        person = () if dataset.domain.person is None else (dataset.domain.person,)
        reading = tuple(dict.fromkeys((*names, *unchanged, *person)))
        table = joined(services.engine(dataset, purpose).rows(reading), reading)
        free = already_anonymous(dataset.domain, table, names, k) if names else ()
        if free:
            found = project_rows(dataset.domain, table, free, k, keep=unchanged)
            recipe = {"already": k} | ({"keep": list(unchanged)} if unchanged else {})
            concerns = record(
                services, dataset, found.column_names, found, recipe, who.principal, kind="unchanged columns"
            )
            held = together(dataset.domain, table, [free])
            return _answer(found.to_pylist(), held.k, 0.0, held.classes, concerns, format)
    positions = _listed(qi_indexes, "qi_indexes")
    every = [name for name in dataset.domain.names if dataset.domain[name].kind != "identifier"]
    quasi = _named(dataset.domain, positions, "qi_indexes") if positions else tuple(every)
    generalised = Policy(quasi=tuple(n for n in quasi if n not in unchanged), keep=unchanged, k=k).recipe(k=k)
    made = generalised.prepare(dataset.domain).run(services.engine(dataset, purpose))
    leaving = tuple(made.rows.column_names)
    concerns = record(services, dataset, leaving, made.rows.select(generalised.quasi), made.recipe, who.principal)
    return _rows(made, concerns, format)


def _shaped(rows: list[dict[str, Any]], format: str) -> list[Any]:
    texts = [{name: str(value) for name, value in row.items()} for row in rows]
    return [[{name: value} for name, value in row.items()] for row in texts] if format == "legacy" else list(texts)


def _rows(made: Anonymized, concerns: Sequence[str], format: str) -> Response:
    rows = made.rows.to_pylist()
    if format == "legacy":
        ordered = {axis.name: axis.kind != "set" for axis in made.recoding.axes}
        for row in rows:
            row |= {name: legacy_label(str(row[name]), ordered=line) for name, line in ordered.items()}
    warnings = (*made.warnings, *concerns)
    return _answer(rows, made.achieved.k, made.loss.gcp, made.achieved.classes, warnings, format)


def _answer(
    rows: list[dict[str, Any]], k: int, gcp: float, classes: int, warnings: Sequence[str], format: str
) -> Response:
    """Rows, with what holds for them in headers."""
    known = {"X-Tacita-K": str(k), "X-Tacita-GCP": f"{gcp:.6f}", "X-Tacita-Classes": str(classes)}
    if warnings:
        known["X-Tacita-Warnings"] = json.dumps(list(warnings))
    return JSONResponse(_shaped(rows, format), headers=known)


# -- /diffpriv -------------------------------------------------------------------------------------------------------


@router.get(
    "/diffpriv",
    summary="A private statistic, as the P-PPA service gave it",
    response_model=None,
    dependencies=[_BEARER],
    responses={
        200: _answer_of("A number or a list of them; counts and edges of a histogram; texts with `format=legacy`.")
    },
)
def diffpriv(
    request: Request,
    services: Services_,
    who: Buyer,
    query: str,
    epsilon: float,
    column_indexes: Numbers,
    bounds: Numbers = None,
    bins: Numbers = None,
    density: bool = False,
    axis: Text = None,
    dtype: Text = None,
    keepdims: Text = None,
    weights: Text = None,
    data_source: Text = None,
    csv_path: Text = None,
    table_coll_data: Text = None,
    purpose: str = "query",
    format: Literal["nested", "legacy"] = "nested",
) -> Response:
    """sum, mean, var, std and their nan forms, histogram, histogram2d, histogramdd. Bounds must be given, or be in
    the schema; they are never taken from the data."""
    dataset = _dataset(request, services, who, data_source, csv_path, table_coll_data)
    for name, value in (("weights", weights), ("axis", axis), ("dtype", dtype), ("keepdims", keepdims)):
        if value not in (None, "", "0", "None"):
            hint = "Each column has a statistic of its own; a weight has no bound" if name == "weights" else None
            raise InvalidInput("is not supported", field=name, hint=hint)
    columns = _named(dataset.domain, _listed(column_indexes, "column_indexes") or [], "column_indexes")
    if not 1 <= len(columns) <= _MOST_COLUMNS:
        raise InvalidInput(f"must be 1 to {_MOST_COLUMNS} columns", field="column_indexes", value=len(columns))
    limits = _bounds(bounds, columns)
    kind = query.lower()
    budget = Budget.pure(epsilon)
    if kind.removeprefix("nan") in _STATISTICS:
        given = dict(zip(columns, limits, strict=True)) if limits else {}
        wanted = [Aggregate(kind=kind, column=name, bounds=given.get(name), name=name) for name in columns]
        plan = Aggregates(aggregates=tuple(wanted)).calibrate(
            dataset.domain, budget, unit=dataset.account.unit, neighbours=dataset.account.neighbours
        )
        found = answer(services, dataset, plan, principal=who.principal, purpose=purpose, key=None, repeat=False)
        values = [float(found[name].value[0]) for name in columns]
        numbers = [value if math.isfinite(value) else None for value in values]
        scalar = numbers[0] if len(numbers) == 1 else numbers
        return JSONResponse(str(scalar) if format == "legacy" else scalar)
    if kind not in ("histogram", "histogram2d", "histogramdd"):
        known = [*_STATISTICS, *(f"nan{name}" for name in _STATISTICS), "histogram", "histogram2d", "histogramdd"]
        raise UnknownName(query, field="query", available=known)
    if {"histogram": 1, "histogram2d": 2}.get(kind, len(columns)) != len(columns):
        raise InvalidInput(f"{kind} has another number of columns", field="column_indexes", value=len(columns))
    return _histogram(services, dataset, who.principal, purpose, kind, columns, limits, bins, budget, density, format)


def _bounds(texts: Sequence[str] | None, columns: Sequence[str]) -> list[tuple[float, float]] | None:
    if not texts:
        return None
    parts = [part.strip(" []()") for text in texts for part in text.split(",")]
    try:
        ends = [float(part) for part in parts if part]
    except ValueError:
        raise InvalidInput("must be numbers: low,high for each column", field="bounds") from None
    if len(ends) == 2:
        ends *= len(columns)
    pairs = list(zip(ends[::2], ends[1::2], strict=False))
    if len(ends) != 2 * len(columns) or not all(math.isfinite(a) and math.isfinite(b) and a < b for a, b in pairs):
        raise InvalidInput("must be low,high for each column, low below high", field="bounds")
    for low, high in pairs:
        check_reach("column", low, high)
    return pairs


def _histogram(
    services: Services,
    dataset: Dataset,
    principal: str,
    purpose: str,
    kind: str,
    columns: tuple[str, ...],
    limits: list[tuple[float, float]] | None,
    bins: Sequence[str] | None,
    budget: Budget,
    density: bool,
    format: str,
) -> Response:
    domain = _binned(services, dataset.domain, columns, limits, bins)
    plan = NoisyTables(Workload.of(columns)).calibrate(
        domain, budget, unit=dataset.account.unit, neighbours=dataset.account.neighbours
    )
    found = answer(services, dataset, plan, principal=principal, purpose=purpose, key=None, repeat=False, domain=domain)
    counts = np.asarray(found[columns].values, dtype=float)
    cut = tuple(slice(0, len(domain[name].labels)) for name in columns)
    edges = [[*domain[name].starts, domain[name].line_bounds[1]] for name in columns]  # type: ignore[union-attr]
    values = counts[cut]
    if density:
        widths = np.ones_like(values)
        for axis, ends in enumerate(edges):
            shape = [1] * values.ndim
            shape[axis] = -1
            widths = widths * np.diff(ends).reshape(shape)
        values = values / max(float(values.sum()), 1.0) / widths
    parts = [values.tolist(), *(edges if kind != "histogramdd" else [edges])]
    return JSONResponse([json.dumps(part) for part in parts] if format == "legacy" else parts)


def _binned(
    services: Services,
    domain: Domain,
    columns: Sequence[str],
    limits: list[tuple[float, float]] | None,
    bins: Sequence[str] | None,
) -> Domain:
    """The schema with the bins that were asked for; they come from the request or the schema, never from the data."""
    counts = _listed(bins, "bins") if bins else None
    if counts is not None and len(counts) == 1:
        counts *= len(columns)
    if counts is not None and (len(counts) != len(columns) or min(counts) < 1):
        raise InvalidInput("must be one number of bins, or one for each column", field="bins")
    check_cells(services, math.prod(counts) if counts else domain.project(columns).size, "bins")
    attributes = []
    for attribute in domain.attributes:
        if attribute.name not in columns:
            attributes.append(attribute)
            continue
        if not isinstance(attribute, Numeric):
            raise InvalidInput("must be a number", field=attribute.name, value=attribute.kind)
        place = list(columns).index(attribute.name)
        low, high = limits[place] if limits else attribute.line_bounds
        number = counts[place] if counts else len(attribute.labels)
        plain = {"name": attribute.name, "bounds": (low, high), "bins": number, "missing": attribute.missing}
        same = limits is None and counts is None
        attributes.append(attribute if same else Numeric(**plain))
    return Domain(title=domain.title, person=domain.person, nulls=domain.nulls, attributes=tuple(attributes))
