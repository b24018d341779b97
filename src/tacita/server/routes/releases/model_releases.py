"""Functions and fitted models: plan, release, move as bundles, delete."""

from __future__ import annotations

import json
from typing import Annotated

from fastapi import APIRouter, Depends, Response
from fastapi.responses import JSONResponse

from tacita.learn.functions.bundle import dataset_of_bundle, export_bundle, load_bundle
from tacita.report.signing import SigningKey
from tacita.server.auth.auth import Services_, allow, check_scope
from tacita.server.auth.token_first import TokenFirst
from tacita.server.auth.tokens import Token
from tacita.server.http.errors import DOCUMENTED
from tacita.server.releasing.kind import dataset_of
from tacita.server.routes.releases.models import find, info_of, served
from tacita.wire import BundleRequest, FunctionInfo

__all__ = ["router"]

router = APIRouter(tags=["models"], responses=DOCUMENTED, route_class=TokenFirst)

Steward = Annotated[Token, Depends(allow("steward"))]


@router.post("/v1/models/bundles", status_code=201, summary="Import a function or model from a signed bundle")
def load_function(body: BundleRequest, token: Steward, services: Services_) -> FunctionInfo:
    """Refused unless the signature is right and by a key that is named, or by this installation's own.

    Its dataset must be one of this server.
    """
    trusted = body.signed_by or [SigningKey.of(services.settings.home).public]
    text = json.dumps(body.bundle)
    dataset = dataset_of_bundle(text, trusted=trusted)
    check_scope(token, dataset)
    dataset_of(services, token, dataset)  # whose it would be must be known here
    entry = load_bundle(services.functions.registry, text, trusted=trusted, principal=token.principal, older=body.older)
    return info_of(entry)


@router.post(
    "/v1/models/{id}/export",
    summary="A function or model as a signed bundle",
    response_class=Response,
    response_model=None,
    responses={200: {"content": {"application/json": {}}}},
)
def export_function(id: str, token: Steward, services: Services_) -> Response:
    """One with a noise path is moved: it answers no new points here any more, and its bundle is sealed."""
    entry = served(services, token, id)
    signer = SigningKey.of(services.settings.home)
    text = export_bundle(services.functions.registry, entry.id, signer, principal=token.principal)
    return JSONResponse(json.loads(text))


@router.delete("/v1/models/{id}", summary="Delete a function or model")
def delete_function(id: str, token: Steward, services: Services_) -> FunctionInfo:
    """Deletes its parameters and all its answers. Its cost stays spent."""
    return info_of(services.functions.registry.delete(find(services, token, id).id, principal=token.principal))
