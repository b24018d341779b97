"""Releases of rows: policies, anonymized rows, synthetic rows and privacy statements."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable
from typing import Any, Literal, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, create_model, model_validator

from tacita.anonymize.criteria.registry import CRITERIA, all_parameters
from tacita.anonymize.methods.registry import DEFAULT_METHOD, METHODS, all_options, make_method, method_help
from tacita.anonymize.parameters import Parameter, one_of
from tacita.domain import Decode
from tacita.synthesize.kinds import FitOn, Given, ImputedKind, Method, Missing, Numbers, Quantity, TrainOn
from tacita.wire.base import Name, RequestModel, ResponseModel
from tacita.wire.budgets import AccountQuote, BudgetModel

__all__ = [
    "AnonymizeOptions",
    "AnonymizedInfo",
    "AnonymizedPlan",
    "AnonymizedRequest",
    "BoundsInfo",
    "DrawRequest",
    "ImputedInfo",
    "ImputedPlan",
    "ImputedRequest",
    "ModelInfo",
    "NumericNetworkInfo",
    "PaidPlan",
    "PaidRequest",
    "PolicyInfo",
    "PolicyModel",
    "ReleaseKindInfo",
    "ReleasedInfo",
    "SharesInfo",
    "SharesRequest",
    "StatementInfo",
    "SyntheticInfo",
    "SyntheticPlan",
    "SyntheticRequest",
]


M = TypeVar("M", bound=BaseModel)


def with_members(members: Iterable[tuple[str, Any, Any]]) -> Callable[[type[M]], type[M]]:
    """Add members to a model that are made from parameters of the library: name, type and `Field`."""

    def extend(model: type[M]) -> type[M]:
        fields: dict[str, Any] = {name: (kind, field) for name, kind, field in members}
        made = create_model(
            model.__name__, __base__=model, __module__=model.__module__, __doc__=model.__doc__, **fields
        )
        made.__qualname__ = model.__qualname__
        return made

    return extend


def _member(each: Parameter, *, optional: bool = False) -> tuple[str, Any, Any]:
    """A parameter as a member; one that is optional is null for the default of someone else."""
    # a pair comes as a list once a stored request is read again, which strict models refuse
    limits: dict[str, Any] = {**each.bounds} | ({"strict": False} if each.parse is not None else {})
    default = None if optional else each.default
    kind = each.optional if default is None else each.type
    return each.name, kind, Field(default=default, description=each.help, **limits)


def _criteria(*left_out: str, optional: bool = False) -> list[tuple[str, Any, Any]]:
    return [_member(each, optional=optional) for each in all_parameters() if each.name not in left_out]


def _methods() -> list[tuple[str, Any, Any]]:
    named = ("method", one_of(METHODS), Field(default=DEFAULT_METHOD, description=method_help()))
    return [named, *(_member(each, optional=True) for each in all_options())]


_METHOD_NAMES = {"method", *(each.name for each in all_options())}


@with_members(_criteria("k", "l"))
class PolicyModel(RequestModel):
    """A release policy: the rows that an owner allows to be released, and on which conditions."""

    quasi: list[str] = Field(
        min_length=1, description="Quasi-identifiers: attributes that an attacker could know. Released generalised."
    )
    sensitive: list[str] = Field(
        default=[], description="Sensitive attributes, which no one should learn of a person. Released unchanged."
    )
    keep: list[str] = Field(default=[], description="Other attributes that are released unchanged.")
    k: int = Field(ge=2, description="k-anonymity: the least number of people in a class.")
    l: float | None = Field(  # noqa: E741
        default=None,
        ge=1,
        description="l-diversity of the sensitive values; 1 for none. Sensitive attributes need l or t.",
    )
    suppress: float = Field(default=0.0, ge=0, lt=1, description="Largest share of rows that may be suppressed.")
    hierarchies: dict[str, list[list[str]]] = Field(default={}, description="Rows of levels, leaf first.")
    several: bool = Field(default=False, description="Whether rows may be released in other classes than before.")
    part: str | None = Field(
        default=None,
        description="For presence: a boolean attribute. Rows with true may be released; the others are the population.",
    )

    @model_validator(mode="after")
    def _check_sensitive(self) -> Self:
        about = [kind.name for kind in CRITERIA if kind.about == "values"]
        if self.sensitive and all(getattr(self, name) is None for name in about):
            raise ValueError("l or t must be chosen for sensitive attributes; l of 1 releases them without diversity")
        return self

    def policy(self) -> dict[str, Any]:
        """Plain data for a policy."""
        return self.model_dump(exclude=_METHOD_NAMES) | {"l": 1.0 if self.l is None else self.l}


@with_members(_methods())
class AnonymizeOptions(PolicyModel):
    """Options for anonymizing a file: a policy, and the method."""

    def method_made(self) -> Any:
        """The method with its options."""
        return _method_of(self)


@with_members(_criteria("k", "l"))
class PolicyInfo(ResponseModel):
    """A release policy as it is stored."""

    quasi: list[str]
    sensitive: list[str]
    keep: list[str]
    k: int
    l: float  # noqa: E741
    suppress: float
    hierarchies: dict[str, list[list[str]]]
    several: bool
    part: str | None = None


class ReleasedInfo(ResponseModel):
    """One past release, for the owner."""

    id: str
    kind: str
    attributes: list[str]
    classes: str = Field(description="Digest of which rows were made equal.")
    recipient: str
    at: dt.datetime


class ReleaseKindInfo(ResponseModel):
    """One kind of release that the server makes."""

    name: str = Field(description="In paths: `/v1/releases/NAME/plan` and `/v1/releases/NAME`.")
    summary: str
    job: str = Field(description="Kind of its jobs.")
    roles: list[str] = Field(description="Who may ask for it, besides admins.")
    request: dict[str, Any] = Field(description="JSON Schema of the request.")


class PaidRequest(RequestModel):
    """Members of every request that the account of a dataset pays for."""

    dataset: Name
    budget: BudgetModel
    purpose: str = Field(
        default="release", min_length=1, max_length=200, description="Purpose, which is stored in the history."
    )


class PaidPlan(AccountQuote):
    """Cost of a release, before any data is read; some kinds add members."""

    model_config = ConfigDict(extra="allow")

    recipe: dict[str, Any]
    unit: str
    neighbours: str
    budget: dict[str, float]
    cost: float = Field(description="In the currency of the request's budget.")
    event: dict[str, Any]


class ModelInfo(ResponseModel):
    """Released arrays of numbers over some columns: cluster centres or principal components."""

    tacita: Literal["model/1"]
    kind: str
    columns: list[str]
    arrays: dict[str, Any]
    event: dict[str, Any]
    unit: dict[str, Any]
    neighbours: str
    provenance: dict[str, Any]


class NumericNetworkInfo(ResponseModel):
    """Released Bayesian network of numbers, with the noisy moments that it was read off."""

    tacita: Literal["numeric-network/1"]
    network: dict[str, Any]
    moments: dict[str, Any]
    search: str
    event: dict[str, Any]
    unit: dict[str, Any]
    neighbours: str
    provenance: dict[str, Any]


class BoundsInfo(ResponseModel):
    """Released bounds of a number, with the noisy histogram that they were read off."""

    tacita: Literal["bounds/1"]
    column: str
    low: float | None = Field(description="null when no bin stands out of the noise.")
    high: float | None
    share: float
    level: float
    histogram: dict[str, Any]
    event: dict[str, Any]
    unit: dict[str, Any]
    neighbours: str
    provenance: dict[str, Any]


@with_members([*_criteria("k", optional=True), *_methods()])
class AnonymizedRequest(RequestModel):
    """A release of anonymized rows, at least as strict as the owner's policy: criteria that are null are its own."""

    dataset: Name
    k: int = Field(ge=2, description="k-anonymity: the least number of people in a class.")
    suppress: float | None = Field(
        default=None, ge=0, lt=1, description="Largest share of rows that may be suppressed."
    )
    columns: list[str] | None = Field(
        default=None, description="Columns among those that may be released; all if not given."
    )
    purpose: str = Field(default="release", min_length=1, max_length=200, description="What the rows are for.")

    def asked(self) -> dict[str, Any]:
        """Return the conditions from which a policy makes a recipe."""
        return self.model_dump(exclude={"dataset", "columns", "purpose", *_METHOD_NAMES}) | {"method": _method_of(self)}


def _method_of(body: BaseModel) -> Any:
    """The method that a request names, with its options."""
    given = {name: getattr(body, name) for name in _METHOD_NAMES}
    return make_method(given.pop("method"), given)


class SyntheticRequest(RequestModel):
    """Synthetic rows, charged to the account of the dataset."""

    dataset: Name
    budget: BudgetModel
    method: Method = Field(default="quality", description="`quality` picks one and states why.")
    attributes: list[str] | None = Field(default=None, description="All that can be counted if not given.")
    rows: int | None = Field(
        default=None, ge=0, le=100_000_000, description="How many; about as many as the data has if not given."
    )
    people: int | None = Field(default=None, ge=2, description="About how many rows the data has, where it is public.")
    target: str | None = Field(
        default=None, description="An attribute that will be predicted from the others: for `quality` and `targeted`."
    )
    seconds: float = Field(
        default=60.0,
        gt=0,
        le=3600,
        description="About how long fitting may take; it fixes the number of steps before data is read.",
    )
    numbers: Numbers = Field(
        default="binned",
        description="`binned`: numbers and dates in the bins of the schema. `fine`: bins are found privately, for a "
        "share of the budget, and numbers are kept as numbers.",
    )
    decode: Decode = Field(
        default="auto", description="How a bin is written; `auto`: a number where numbers are fine, else its label."
    )
    rules: list[dict[str, Any]] | None = Field(
        default=None, max_length=1000, description="Public rules that every row keeps; they cost nothing."
    )
    options: dict[str, Any] = Field(
        default={}, description="Options of the method: of PrivBayes degree, theta, score, split and structure."
    )
    purpose: str = Field(default="release", min_length=1, max_length=200, description="What the rows are for.")


class DrawRequest(RequestModel):
    """More rows from the model of synthetic rows; costs nothing."""

    rows: int = Field(ge=0, le=1_000_000, description="Number of rows.")
    where: list[str] = Field(default=[], max_length=100, description="Conditions that all rows meet: `age >= 30`.")
    decode: Decode = Field(
        default="auto", description="How a bin is written; `auto`: a number where numbers are fine, else its label."
    )


class SharesRequest(RequestModel):
    """Tables of shares from the model of synthetic rows; costs nothing."""

    tables: list[list[str]] = Field(min_length=1, max_length=100, description="Attributes of each table.")
    where: list[str] = Field(default=[], max_length=100, description="Conditions on the rows: `age >= 30`.")
    level: float = Field(default=0.95, gt=0, lt=1, description="Confidence of the intervals.")
    together: bool = Field(
        default=False, description="Whether it is the confidence that all intervals of a table hold, not each."
    )
    quantity: Quantity = Field(default="share", description="Shares of the rows that meet the conditions, or counts.")


class SharesInfo(ResponseModel):
    """Shares or counts that a model has: one table for each that was asked for."""

    class Table(ResponseModel):
        """Labels of each cell, its share or count, and the interval of the true one; null where there is none."""

        attributes: list[str]
        cells: list[list[str]]
        shares: list[float]
        low: list[float | None]
        high: list[float | None]
        claim: str = Field(description="What the intervals are, in words.")
        basis: str = Field(description="Measured tables that the intervals come from, or `none`.")

    statement: str
    where: list[str]
    level: float
    together: bool
    quantity: Quantity
    tables: list[Table]


class ImputedRequest(RequestModel):
    """Rows by multiple imputation, without a privacy guarantee."""

    dataset: Name
    no_guarantee: Literal[True] = Field(description="Confirms that nothing protects the rows: assess them first.")
    replace: list[str] = Field(
        default=[],
        max_length=1000,
        description="Attributes to draw anew, in order; with a condition on the cells: `income: income > 70000`.",
    )
    kind: ImputedKind = Field(default="partial", description="What a release is.")
    backend: Literal["linear", "cart", "forest", "network"] = Field(default="cart", description="Model that draws.")
    m: int = Field(default=5, ge=2, le=100, description="Number of releases.")
    rows: int | None = Field(
        default=None, ge=1, le=100_000_000, description="Rows of a release, for `all` and `frame`."
    )
    frame: Name | None = Field(
        default=None, description="For the kind `frame`: a dataset of people who are not in the data."
    )
    attributes: list[str] | None = Field(default=None, description="Attributes to release; all if not given.")
    fit_on: FitOn = Field(default="original", description="Values that models are fitted to.")
    train_on: TrainOn = Field(default="auto", description="Rows that models are fitted to.")
    given: Given = Field(default="others", description="Attributes that a value is drawn from.")
    missing: Missing = Field(default="keep", description="Whether missing cells stay missing.")
    purpose: str = Field(default="release", min_length=1, max_length=200, description="What the rows are for.")


class ImputedPlan(ResponseModel):
    """Attributes of imputed rows, before any data is read."""

    recipe: dict[str, Any]
    attributes: list[str]
    replaced: list[str]
    guarantee: Literal["none"]


class ImputedInfo(ResponseModel):
    """Facts about imputed rows; the column `release` numbers the releases."""

    tacita: Literal["imputed/1"]
    guarantee: Literal["none"]
    statement: str
    event: dict[str, Any]
    kind: str
    replaced: list[str]
    releases: int
    rows: int = Field(description="Rows of each release.")
    columns: list[str]
    notes: list[str]
    warnings: list[str] = Field(description="Earlier releases that this one could be joined with.")
    provenance: dict[str, Any]


class FineNumbersInfo(ResponseModel):
    """Search for the bins of numbers, before any data is read."""

    share: float = Field(description="Share of the budget.")
    noise: float | None = Field(description="Standard deviation of the noise of a count.")
    bins: dict[str, int] = Field(description="Most bins of each number or date.")
    found: list[str] = Field(description="Numbers and dates whose bins are found privately.")


class SyntheticPlan(AccountQuote):
    """Cost of synthetic rows, and the method that would make them."""

    recipe: dict[str, Any]
    unit: str
    neighbours: str
    budget: dict[str, float]
    cost: float
    event: dict[str, Any]
    attributes: list[str]
    reason: str
    numbers: FineNumbersInfo | None = Field(default=None, description="Where numbers are fine: how bins are found.")


class SyntheticInfo(ResponseModel):
    """Facts about synthetic rows: their cost, their guarantee and how they were made."""

    tacita: Literal["synthesized/1"]
    guarantee: str
    statement: str
    event: dict[str, Any]
    unit: dict[str, Any]
    neighbours: str
    people: float = Field(description="About how many rows the data has: an estimate with noise.")
    people_std: float
    notes: list[str]
    rows: int
    columns: list[str]
    provenance: dict[str, Any]


class StatementInfo(ResponseModel):
    """A signed statement of the guarantee of a release; `tacita verify` checks it."""

    tacita: Literal["privacy-statement/1"]
    mechanism: dict[str, Any]
    guarantee: str
    unit: str
    neighbours: str
    epsilon: float | None
    delta: float
    event: dict[str, Any]
    public: list[str]
    not_protected: list[str]
    digests: dict[str, str]
    provenance: dict[str, Any]
    key: str
    signature: str


class AnonymizedPlan(ResponseModel):
    """Columns and conditions of a release, before any data is read."""

    columns: list[str]
    generalised: list[str]
    conditions: dict[str, Any]
    warnings: list[str] = Field(default=[], description="Sensitive attributes that nothing protects.")


class AnonymizedInfo(ResponseModel):
    """Facts about anonymized rows: the conditions asked for, those that hold, and the information lost."""

    tacita: Literal["anonymized/1"]
    guarantee: Literal["none"] = Field(description="In the sense of differential privacy.")
    asked: dict[str, Any]
    achieved: dict[str, Any]
    loss: dict[str, Any]
    rows: int
    columns: list[str]
    recipe: dict[str, Any]
    warnings: list[str] = Field(
        description="Sensitive attributes that nothing protects; earlier releases that this one could be joined with."
    )
