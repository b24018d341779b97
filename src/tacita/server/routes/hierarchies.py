"""Generalisation hierarchies of a dataset's attributes: built from the schema, previewed, stored in the policy."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter, Depends

from tacita.anonymize.hierarchies.building import HierarchySpec, build_hierarchy
from tacita.anonymize.hierarchies.hierarchy import Hierarchy
from tacita.anonymize.hierarchies.preview import preview_hierarchy
from tacita.anonymize.hierarchies.reading import CodeList
from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.server.auth.auth import Services_, allow_on
from tacita.server.auth.token_first import TokenFirst
from tacita.server.auth.tokens import Token
from tacita.server.http.errors import DOCUMENTED
from tacita.server.releasing.kind import dataset_of
from tacita.wire import HierarchyInfo, HierarchyRequest

__all__ = ["router"]

router = APIRouter(tags=["releases"], responses=DOCUMENTED, route_class=TokenFirst)

Steward = Annotated[Token, Depends(allow_on("steward"))]

MOST_LEAVES = 50_000
"""Leaves of a hierarchy that is sent."""


@router.post("/v1/datasets/{name}/hierarchies", summary="Build a hierarchy of an attribute")
def post_hierarchy(name: str, body: HierarchyRequest, token: Steward, services: Services_) -> HierarchyInfo:
    """Build it from the schema, or check lines of one's own; say what each level loses; reads no rows.

    With `store` it becomes part of the release policy, so that releases from now on use it and name its digest.
    """
    dataset = dataset_of(services, token, name)
    made = _made(dataset.domain, body)
    if len(made.paths) > MOST_LEAVES:
        hint = "Narrow the bounds in the schema, or use Mondrian, which needs no hierarchy for numbers and dates"
        raise InvalidInput(f"has more than {MOST_LEAVES:,} leaves", field=body.attribute, hint=hint)
    if body.store:
        old = services.policies.get(name)
        policy = replace(old, hierarchies={**old.hierarchies, body.attribute: made.rows})
        policy.check(dataset.domain)
        services.policies.put(name, policy, principal=token.principal)
    plain: dict[str, Any] = preview_hierarchy(made, body.attribute).as_dict()
    return HierarchyInfo.model_validate(plain | {"rows": made.rows, "sha256": made.digest, "stored": body.store})


def _made(domain: Domain, body: HierarchyRequest) -> Hierarchy:
    attribute = domain[body.attribute]
    if body.rows is not None:
        if body.kind != "auto":
            raise InvalidInput("goes without rows of your own", field="kind", value=body.kind)
        own = Hierarchy.from_rows(attribute.name, body.rows)
        own.check(attribute)
        return own
    codes = None
    if body.codes is not None:
        codes = CodeList.from_lines("codes", [(at, row) for at, row in enumerate(body.codes, 1) if any(row)])
    spec = HierarchySpec(
        attribute=attribute.name,
        kind=body.kind,
        widths=None if body.widths is None else tuple(body.widths),
        origin=body.origin,
        by=None if body.by is None else tuple(body.by),
        mask=None if body.mask is None else tuple(body.mask),
        keep=None if body.keep is None else tuple(body.keep),
        merge=body.merge,
        codes=codes,
        labels=body.labels,
    )
    return build_hierarchy(domain, spec)
