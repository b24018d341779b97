"""Datasets: register, list, look at the schema. Nothing here was counted."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends

from tacita.domain import Domain
from tacita.errors import Conflict, InvalidInput, SourceUnavailable
from tacita.privacy.unit import Neighbours, Unit
from tacita.server.auth.auth import Has, Services_, allow, allow_on, check_scope
from tacita.server.auth.token_first import TokenFirst
from tacita.server.auth.tokens import Token
from tacita.server.http.errors import DOCUMENTED
from tacita.server.releasing.kind import dataset_of
from tacita.wire import DatasetInfo, NewDataset

__all__ = ["neighbours_of", "router"]

router = APIRouter(tags=["datasets"], responses=DOCUMENTED, route_class=TokenFirst)

Steward = Annotated[Token, Depends(allow("steward"))]
Owner = Annotated[Token, Depends(allow_on("steward"))]
Reader = Annotated[Token, Depends(allow_on("steward", "analyst", "reader"))]


def neighbours_of(text: str) -> Neighbours:
    """The notion of that name."""
    if text not in list(Neighbours):
        raise InvalidInput("must be " + " or ".join(Neighbours), field="neighbours", value=text)
    return Neighbours(text)


@router.post("/v1/datasets", status_code=201, summary="Register a dataset and open its account")
def create_dataset(body: NewDataset, token: Steward, services: Services_) -> DatasetInfo:
    """The source is read once: it must be readable and have all columns of the schema. May take a while."""
    check_scope(token, body.name)
    check_scope(token, body.source, field="source")  # else a budget of the caller's own for data outside its scope
    neighbours, domain = neighbours_of(body.neighbours), Domain.from_dict(body.domain)
    try:
        with services.sources.held():  # the file that is read is the file that is registered
            dataset = services.datasets.register(
                name=body.name,
                source=body.source,
                domain=domain,
                unit=Unit.of_schema(domain) if body.unit is None else Unit.parse(body.unit),
                neighbours=neighbours,
                budget=body.budget.budget(),
                principal=token.principal,
                again=body.again,
            )
    except Conflict as error:
        if error.field != "data":
            raise
        # which account it is may be outside the caller's scope
        hint = "Use the dataset that has it, or say why there may be another: `again`"
        raise Conflict("has an account already", field="data", hint=hint) from None
    except SourceUnavailable as error:
        raise SourceUnavailable(error.rule, field=error.field or "source", hint=error.hint) from error
    return DatasetInfo.model_validate(dataset.as_dict())


@router.get("/v1/datasets", summary="List the datasets in scope")
def list_datasets(token: Has, services: Services_) -> list[DatasetInfo]:
    """Only those that the token may use."""
    found = [dataset for dataset in services.datasets.list() if token.covers(dataset.name)]
    return [DatasetInfo.model_validate(dataset.as_dict()) for dataset in found]


@router.get("/v1/datasets/{name}", summary="Look at one dataset")
def get_dataset(name: str, token: Reader, services: Services_) -> DatasetInfo:
    """Public facts about a dataset."""
    return DatasetInfo.model_validate(dataset_of(services, token, name).as_dict())


@router.delete("/v1/datasets/{name}", summary="Remove a dataset and close its account")
def remove_dataset(name: str, token: Owner, services: Services_) -> DatasetInfo:
    """Only while nothing was charged and no rows were released. Its source can be registered again."""
    found = dataset_of(services, token, name)
    services.datasets.remove(name, principal=token.principal)
    return DatasetInfo.model_validate(found.as_dict())


@router.get("/v1/datasets/{name}/schema", summary="The public schema of a dataset")
def get_schema(name: str, token: Reader, services: Services_) -> dict[str, Any]:
    """As `tacita schema` writes it: attributes, levels, bounds and bins."""
    return dataset_of(services, token, name).domain.as_dict()
