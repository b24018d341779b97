"""What travels over HTTP, as pydantic models: the server checks with them, the client reads with them.

No model has a field that could hold a `Table` or an exact count. Answers about data are releases, whose JSON
is made by `Release.as_dict` alone.
"""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Any, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from tacita.domain import Decode
from tacita.learn.functions.kinds import Calibration, Form, FunctionKind
from tacita.privacy.budget import Budget
from tacita.server.roles import Role
from tacita.synthesize.quality import Method

__all__ = [
    "Accepted",
    "AnonymizedInfo",
    "AnonymizedPlan",
    "AnonymizedRequest",
    "AssessmentInfo",
    "AssessmentRequest",
    "BudgetModel",
    "CampaignInfo",
    "ChargeInfo",
    "ChargePage",
    "CollectionPlan",
    "ComparisonInfo",
    "ComparisonRequest",
    "DatasetInfo",
    "FunctionInfo",
    "FunctionParameters",
    "FunctionPlanInfo",
    "FunctionRequest",
    "Health",
    "IntegrityInfo",
    "JobInfo",
    "NetworkInfo",
    "NewCampaign",
    "NewDataset",
    "NewToken",
    "Plan",
    "PlannedCollection",
    "PolicyInfo",
    "PolicyModel",
    "PredictRequest",
    "PredictionsInfo",
    "Problem",
    "QueryJob",
    "QueryRequest",
    "RaiseBudget",
    "ReleaseModel",
    "ReleasedInfo",
    "ReleasesModel",
    "ReportBatch",
    "RuleInfo",
    "Sheet",
    "SqlPlan",
    "SqlRequest",
    "StatementInfo",
    "StatisticsModel",
    "SyntheticInfo",
    "SyntheticPlan",
    "SyntheticRequest",
    "TableQuery",
    "TallyInfo",
    "TallyModel",
    "TokenInfo",
    "TokenIssued",
    "VerdictInfo",
]

Name = Annotated[
    str,
    Field(
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$",
        description="1 to 64 letters, digits, dots, dashes or underscores, a letter or digit first.",
    ),
]


class _Request(BaseModel):
    """What a caller sends: nothing unknown, nothing converted behind their back."""

    model_config = ConfigDict(extra="forbid", strict=True)


class _Answer(BaseModel):
    model_config = ConfigDict(extra="ignore")


# -- errors --------------------------------------------------------------------------------------------------


class Problem(BaseModel):
    """Every error, on every route (RFC 9457). Some codes add members, such as `remaining`."""

    model_config = ConfigDict(extra="allow")

    type: str = Field(description="A URN that names the kind of problem: urn:tacita:problem:CODE.")
    title: str
    status: int
    detail: str = Field(description="The whole of it as one sentence.")
    instance: str = Field(description="The path that was asked, without its query.")
    code: str = Field(description="The kind of problem as a word for programs.")
    field: str | None = Field(default=None, description="The input that the rule is about.")
    rule: str | None = Field(default=None, description="What must hold.")
    value: str | None = Field(default=None, description="What was given instead.")
    hint: str | None = Field(default=None, description="The way out.")
    request_id: str


# -- budgets and charges -------------------------------------------------------------------------------------


class BudgetModel(_Request):
    """Epsilon, epsilon at a delta, or rho."""

    epsilon: float | None = None
    delta: float = 0.0
    rho: float | None = None

    def budget(self) -> Budget:
        """The budget, checked."""
        return Budget(epsilon=self.epsilon, delta=self.delta, rho=self.rho)


class RaiseBudget(_Request):
    """A new, larger total."""

    budget: BudgetModel


class Balance(_Answer):
    """Where an account stands, in the currency of its budget."""

    account: str
    unit: str
    neighbours: str
    budget: dict[str, float]
    currency: str
    spent: float | None = Field(description="null when something without a guarantee was charged.")
    remaining: float
    charges: int


class ChargeInfo(_Answer):
    """One entry of an account's history."""

    id: str
    account: str
    key: str
    event: dict[str, Any]
    principal: str
    purpose: str
    state: Literal["reserved", "settled", "failed"]
    created: dt.datetime
    settled: dt.datetime | None


class ChargePage(_Answer):
    """A part of the history, oldest first."""

    charges: list[ChargeInfo]
    next_offset: int | None = Field(description="Where the next page begins; null at the end.")


# -- datasets ------------------------------------------------------------------------------------------------


class NewDataset(_Request):
    """A dataset to register: a named source with its public schema and its account."""

    name: Name
    source: str = Field(description="Name of a source in the server's settings.")
    domain: dict[str, Any] = Field(alias="schema", description="The schema, as `tacita schema` writes it.")
    unit: str = Field(description="Who is protected: `row` or `person:KEY:MAX_ROWS`.")
    neighbours: str = Field(description="`add-remove` or `replace-one`.")
    budget: BudgetModel


class DatasetInfo(_Answer):
    """What anybody with access may know of a dataset. How many rows it has is not among it."""

    name: str
    title: str
    source: str
    attributes: list[str]
    unit: str
    neighbours: str
    budget: dict[str, float]
    fingerprint: str = Field(description="Digest of the schema.")
    created: dt.datetime


# -- queries -------------------------------------------------------------------------------------------------


class TableQuery(_Request):
    """Tables to release with noise, and what they may cost."""

    tables: list[list[str]] = Field(max_length=1000, description="One list of attributes for each table.")
    weights: list[float] | None = Field(default=None, description="How much each table matters; all the same.")
    family: Literal["auto", "laplace", "gaussian"] = "auto"
    budget: BudgetModel
    purpose: str = Field(default="query", min_length=1, max_length=200, description="Stands in the history.")


class QueryRequest(TableQuery):
    """A query that is answered at once, or only planned."""

    dry_run: bool = Field(default=False, description="Only plan: charges nothing and does not touch the data.")


class Plan(_Answer):
    """What a query would cost and how good it would be, before any data is read."""

    recipe: dict[str, Any]
    unit: str
    neighbours: str
    budget: dict[str, float]
    cost: float = Field(description="In the currency of the request's budget.")
    event: dict[str, Any]
    noise: list[dict[str, Any]]
    predictions: list[dict[str, Any]]
    account_cost: float | None = Field(description="In the currency of the account; null when infinite.")
    account_remaining: float
    affordable: bool


class ReleaseModel(_Answer):
    """Released numbers with their error, cost and provenance."""

    tacita: Literal["release/1"]
    domain: dict[str, Any]
    quantity: Literal["count", "share"]
    estimate: list[float]
    uncertainty: dict[str, Any]
    guarantee: str
    trust: Literal["central", "local"]
    event: dict[str, Any]
    unit: dict[str, Any]
    neighbours: str
    provenance: dict[str, Any]


class ReleasesModel(_Answer):
    """Releases that were made together."""

    tacita: Literal["releases/1"]
    releases: list[ReleaseModel]


class SqlRequest(_Request):
    """A question in SQL; the name after FROM is the dataset."""

    sql: str = Field(min_length=1, max_length=20_000, description="SELECT agg(…) FROM dataset [WHERE …] [GROUP BY …]")
    budget: BudgetModel
    family: Literal["auto", "laplace", "gaussian"] = "auto"
    level: float = Field(default=0.95, gt=0, lt=1, description="Of the intervals.")
    purpose: str = Field(default="query", min_length=1, max_length=200, description="Stands in the history.")
    fresh: bool = Field(default=False, description="Pay for new noise although it has been answered before.")
    dry_run: bool = Field(default=False, description="Only plan: charges nothing and does not touch the data.")


class StatisticsModel(_Answer):
    """Released statistics: one row for each group."""

    tacita: Literal["statistics/1"]
    by: list[str]
    groups: list[list[str]]
    columns: dict[str, dict[str, list[float | None]]]
    level: float
    event: dict[str, Any]
    unit: dict[str, Any]
    neighbours: str
    provenance: dict[str, Any]


class SqlPlan(_Answer):
    """What a question would cost, how its budget is split, and how exact the answer would be."""

    recipe: dict[str, Any]
    cost: float
    account_cost: float | None
    account_remaining: float
    affordable: bool
    split: list[dict[str, Any]]
    expected: list[dict[str, Any]]


# -- rows ----------------------------------------------------------------------------------------------------


class PolicyModel(_Request):
    """What an owner lets leave as rows."""

    quasi: list[str] = Field(min_length=1, description="What somebody could know; leaves generalised.")
    sensitive: list[str] = Field(default=[], description="What nobody should learn; leaves as it is.")
    keep: list[str] = Field(default=[], description="What else leaves as it is.")
    k: int = Field(ge=2, description="Least people that nobody can tell apart.")
    l: float = Field(default=1.0, ge=1, description="Least diversity of sensitive values.")  # noqa: E741
    t: float | None = Field(default=None, ge=0, le=1, description="Most distance of sensitive values from the whole.")
    suppress: float = Field(default=0.0, ge=0, lt=1, description="Most share of rows that may be left out.")
    hierarchies: dict[str, list[list[str]]] = Field(default={}, description="Rows of levels, leaf first.")
    several: bool = Field(default=False, description="Whether rows may leave in other classes than before.")


class PolicyInfo(_Answer):
    """What an owner lets leave as rows."""

    quasi: list[str]
    sensitive: list[str]
    keep: list[str]
    k: int
    l: float  # noqa: E741
    t: float | None
    suppress: float
    hierarchies: dict[str, list[list[str]]]
    several: bool


class ReleasedInfo(_Answer):
    """One release that left, for the owner."""

    id: str
    kind: str
    attributes: list[str]
    classes: str = Field(description="Digest of which rows were made equal.")
    recipient: str
    at: dt.datetime


class AnonymizedRequest(_Request):
    """A release of rows that goes at least as far as the owner asks."""

    dataset: Name
    k: int = Field(ge=2)
    l: float | None = Field(default=None, ge=1)  # noqa: E741
    t: float | None = Field(default=None, ge=0, le=1)
    suppress: float | None = Field(default=None, ge=0, lt=1)
    columns: list[str] | None = Field(default=None, description="Among those that may leave; all if not given.")
    purpose: str = Field(default="release", min_length=1, max_length=200, description="What the rows are for.")

    def asked(self) -> dict[str, Any]:
        """What a policy makes a recipe of."""
        return self.model_dump(exclude={"dataset", "columns", "purpose"})


class SyntheticRequest(_Request):
    """Made-up rows, paid for by the account of the dataset."""

    dataset: Name
    budget: BudgetModel
    method: Method = Field(default="quality", description="`quality` picks one and says why.")
    attributes: list[str] | None = Field(default=None, description="All that can be counted if not given.")
    rows: int | None = Field(
        default=None, ge=0, le=100_000_000, description="How many; about as many as the data has if not given."
    )
    people: int | None = Field(default=None, ge=2, description="About how many rows the data has, where it is public.")
    seconds: float = Field(default=60.0, gt=0, le=3600, description="About how long fitting may take.")
    decode: Decode = Field(default="label", description="What stands for a bin.")
    purpose: str = Field(default="release", min_length=1, max_length=200, description="What the rows are for.")


class SyntheticPlan(_Answer):
    """What made-up rows would cost, and how they would be made."""

    recipe: dict[str, Any]
    unit: str
    neighbours: str
    budget: dict[str, float]
    cost: float
    event: dict[str, Any]
    attributes: list[str]
    reason: str
    account_cost: float | None = Field(description="null when no budget would be enough.")
    account_remaining: float
    affordable: bool


class SyntheticInfo(_Answer):
    """What is known of made-up rows: what they cost, what is promised, how they were made."""

    tacita: Literal["synthesized/1"]
    guarantee: str
    statement: str
    event: dict[str, Any]
    unit: dict[str, Any]
    neighbours: str
    people: float = Field(description="About how many rows the data has, read off noise.")
    people_std: float
    notes: list[str]
    rows: int
    columns: list[str]
    provenance: dict[str, Any]


class KernelModel(_Request):
    """The kernel of a function; a part of what is public about it."""

    name: str = Field(default="gaussian", description="gaussian, matern12, matern32 or matern52.")
    bandwidth: float = Field(default=0.1, description="How far it reaches, as a share of the public ranges.")


class FunctionRequest(_Request):
    """A function of the rows of a dataset, released once and asked for ever; paid for by the dataset's account."""

    dataset: Name
    name: Name = Field(description="What it is called; a name that is taken gets a new version.")
    kind: FunctionKind
    features: list[str] = Field(min_length=1, description="What it is a function of.")
    target: str | None = Field(default=None, description="The response, or the class.")
    budget: BudgetModel
    kernel: KernelModel = Field(default_factory=KernelModel)
    form: Form = Field(default="path", description="`features` has constant memory, and its parameters may be shown.")
    random: int = Field(default=256, ge=1, le=4096, description="Random frequencies, for the form `features`.")
    seed: int = Field(default=0, ge=0, description="Public seed of those.")
    calibration: Calibration = "analytic"
    noise: float = Field(default=0.1, description="For a Gaussian process: variance of noise over that of the signal.")
    c: float = Field(default=10.0, description="For a kernel machine: what all rows weigh against its norm.")
    people: int | None = Field(default=None, ge=1, description="About how many rows there are, where it is not public.")
    public_inputs: bool = Field(
        default=False, description="That the features are public; a steward must say so for a Gaussian process."
    )
    purpose: str = Field(default="release", min_length=1, max_length=200, description="What it is for.")


class FunctionPlanInfo(_Answer):
    """What a function would cost."""

    recipe: dict[str, Any]
    unit: str
    neighbours: str
    budget: dict[str, float]
    cost: float
    event: dict[str, Any]
    account_cost: float | None = Field(description="null when no budget would be enough.")
    account_remaining: float
    affordable: bool


class FunctionInfo(_Answer):
    """What is public about a function."""

    id: str
    name: str
    version: int
    dataset: str
    charge: str | None
    state: str
    about: dict[str, Any]
    sealed: bool = Field(description="Whether what it answers from is encrypted at rest.")
    points: int = Field(description="How many different points it has answered and remembers.")
    created: AwareDatetime


class PredictRequest(_Request):
    """A batch of points, each with a value for every feature, in order."""

    points: list[list[float | int | bool | str | None]] = Field(min_length=1, max_length=10_000)


class PredictionsInfo(_Answer):
    """Answers in the order of the points. The same point has the same answer for ever."""

    model: str
    values: list[float | list[float]] = Field(description="With classes, the scores of all functions of a point.")
    labels: list[str] | None = Field(description="The class of each point, where there are classes.")
    noise_std: float | None = Field(description="Standard deviation of the noise in each value.")


class FunctionParameters(_Answer):
    """The noisy numbers that a function answers from."""

    model: str
    about: dict[str, Any]
    parameters: dict[str, Any]


class AssessmentRequest(_Request):
    """Attack a release, with the rows that it was made from."""

    release: str = Field(min_length=1, max_length=100, description="The id of a release that is done.")
    control: Name | None = Field(
        default=None, description="A dataset of people like them who were not used; without, leaks look like guesses."
    )
    attempts: int = Field(default=2000, ge=50, le=100_000, description="Trials of each attack.")
    secrets: list[str] | None = Field(default=None, description="What nobody should infer.")
    target: str | None = Field(default=None, description="What classifiers learn to predict.")
    group: str | None = Field(default=None, description="Compare accuracy over its levels.")
    seed: int = Field(default=0, ge=0, description="The same seed gives the same figures.")


class ComparisonRequest(_Request):
    """Make several releases in simulation and assess them alike."""

    dataset: Name
    releases: list[dict[str, Any]] = Field(min_length=1, max_length=20, description="As in `tacita compare`.")
    control: float = Field(default=0.3, gt=0, lt=1, description="The share of rows that is held back.")
    sensitive: list[str] = Field(default_factory=list)
    quasi: list[str] = Field(default_factory=list)
    attributes: list[str] = Field(default_factory=list)
    target: str | None = None
    group: str | None = None
    attempts: int = Field(default=2000, ge=50, le=100_000)
    most_risk: float = Field(default=0.1, gt=0, le=1)
    seed: int = Field(default=0, ge=0)

    def plan(self) -> dict[str, Any]:
        """As a plan's file would say it."""
        given = self.model_dump(exclude={"dataset"}, exclude_none=True)
        return given | {"data": self.dataset, "schema": self.dataset}


class ComparisonInfo(_Answer):
    """Several releases side by side; figures were read off exact rows, and all noise was simulated."""

    tacita: Literal["comparison/1"]
    dataset: str
    people: int
    control: int
    most_risk: float
    results: list[dict[str, Any]]
    references: list[dict[str, Any]]
    front: list[str]
    recommended: str | None
    reasons: list[str]


class AssessmentInfo(_Answer):
    """What a release gives away and what it is worth; figures were read off exact rows, for their owner."""

    tacita: Literal["assessment/1"]
    release: str
    dataset: str
    rows: int
    people: int
    control: int
    risk: float
    worst: str
    kept: float
    leaks: list[dict[str, Any]]
    membership: list[dict[str, Any]]
    nearness: dict[str, Any] | None
    disclosure: dict[str, Any] | None
    margins: dict[str, Any]
    associations: dict[str, Any] | None
    propensity: dict[str, Any] | None
    queries: dict[str, Any] | None
    learned: dict[str, Any] | None
    means: list[dict[str, Any]]
    regression: list[dict[str, Any]]
    structure: dict[str, Any] | None
    skipped: list[list[str]]


class StatementInfo(_Answer):
    """What is promised about a release, signed; `tacita verify` checks it."""

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


class AnonymizedPlan(_Answer):
    """What a release would be, before any data is read."""

    columns: list[str]
    generalised: list[str]
    conditions: dict[str, Any]


class AnonymizedInfo(_Answer):
    """What is known of a release: what was asked, what holds for its rows, what was lost."""

    tacita: Literal["anonymized/1"]
    guarantee: Literal["none"] = Field(description="In the sense of differential privacy.")
    asked: dict[str, Any]
    achieved: dict[str, Any]
    loss: dict[str, Any]
    rows: int
    columns: list[str]
    recipe: dict[str, Any]
    warnings: list[str] = Field(description="Earlier releases of the same people that this one could be laid over.")


# -- campaigns -----------------------------------------------------------------------------------------------


class CollectionPlan(_Request):
    """What is to be known, of whom, and what answering may cost each of them."""

    domain: dict[str, Any] = Field(alias="schema", description="Attributes and levels, as `tacita schema` writes.")
    tables: list[list[str]] = Field(min_length=1, description="The tables that matter.")
    epsilon: float
    respondents: int = Field(ge=1, description="How many are expected to answer.")
    mode: Literal["auto", "singles", "tables", "views"] = "auto"
    answers: Literal["one", "view"] = "one"
    channel: Literal["auto", "rr"] = "auto"
    dependence: float = Field(default=0.1, ge=0, le=1)


class RoundsModel(_Request):
    """Blocks of respondents."""

    size: int = Field(ge=1, description="Reports that fill a block.")
    floor: float = Field(default=0.5, gt=0, le=1, description="Weight of the uniform among the fakes.")
    seconds: float | None = Field(default=None, gt=0, description="A block closes after so long in any case.")


class StopModel(_Request):
    """When a campaign is accurate enough to close by itself."""

    half_width: float = Field(gt=0, description="Half the width of every cell's interval.")
    level: float = Field(default=0.95, gt=0, lt=1)


class NewCampaign(CollectionPlan):
    """Questions to ask, the most that answering may cost, and how long to go on."""

    title: str = Field(min_length=1, max_length=200)
    minimum: int = Field(default=100, ge=1, description="No table is released before so many have answered for it.")
    closes: AwareDatetime | None = Field(default=None, strict=False)
    rounds: RoundsModel | None = None
    stop: StopModel | None = None
    keep_reports: bool = Field(default=False, description="Keep reports after they were counted.")
    shard: tuple[int, int] | None = Field(default=None, strict=False, description="(i, m): the i-th of m aggregators.")
    draft: bool = Field(default=False, description="Ask nobody yet; open it later.")
    id: Name | None = Field(default=None, description="The id of the same campaign at another aggregator.")


class PlannedQuestion(_Answer):
    """One question of a plan."""

    attributes: list[str]
    channel: str
    levels: int
    share: float
    expected: int
    view: int


class PlannedCollection(_Answer):
    """What would be asked of whom, and how exact it would be."""

    mode: Literal["singles", "tables"]
    answers: int = Field(description="Questions that one respondent answers.")
    why: str
    rehearsed: float | None
    epsilon: float
    epsilon_exact: float
    respondents: int
    questions: list[PlannedQuestion]
    predictions: list[dict[str, Any]]


class CampaignQuestion(_Answer):
    """One question of a campaign."""

    id: str
    attributes: list[str]
    channel: str
    cells: int
    block: int
    share: float
    received: int


class CampaignInfo(_Answer):
    """A campaign and how many have answered."""

    id: str
    title: str
    state: Literal["draft", "open", "closed"]
    reason: str
    block: int
    received: int
    epsilon: float = Field(description="The most that answering costs a respondent, exact, rounded up.")
    terms: dict[str, Any]
    questions: list[CampaignQuestion]
    created: dt.datetime
    closed: dt.datetime | None


class Sheet(_Answer):
    """The questions for one respondent; a device checks them before it answers."""

    title: str = Field(description="What the campaign calls itself.")
    questions: list[dict[str, Any]]


class TallyModel(_Request):
    """What another aggregator of the same campaign has counted."""

    tacita: Literal["tally/1"]
    campaign: str
    questions: dict[str, str]
    counts: dict[str, list[int]]
    received: dict[str, int]
    reports: list[str]


class TallyInfo(_Answer):
    """Counts of randomised answers, for another aggregator of the same campaign."""

    tacita: Literal["tally/1"]
    campaign: str
    questions: dict[str, str] = Field(description="Digest of each question.")
    counts: dict[str, list[int]]
    received: dict[str, int]
    reports: list[str] = Field(description="Ids of the reports that the counts hold.")


class VerdictInfo(_Answer):
    """The outcome of a test of independence."""

    hypothesis: str
    method: str
    statistic: float
    df: int
    p_value: float
    valid: bool = Field(description="Whether the test holds its level.")
    caution: str | None = Field(description="Why it may not hold it this time.")


class NetworkInfo(_Answer):
    """A Bayesian network, and what its edges rest on."""

    network: dict[str, Any]
    links: list[dict[str, Any]]
    event: dict[str, Any]


class MeasureInfo(_Answer):
    """A number with its error."""

    value: float | None
    std: float | None
    low: float | None
    high: float | None


class RuleInfo(_Answer):
    """If `given`, then `then`."""

    given: dict[str, str]
    then: dict[str, str]
    support: MeasureInfo
    confidence: MeasureInfo
    lift: MeasureInfo
    p_value: float
    adjusted: float


class IntegrityInfo(_Answer):
    """How far liars could have moved one table, and whether its tally looks like honest reports."""

    attributes: list[str]
    block: int
    reports: int
    one_report: float
    one_percent: float
    excess: float | None
    p_value: float | None
    note: str


class ReportBatch(_Request):
    """Reports from devices; wire form in docs/reference/wire.md."""

    reports: list[dict[str, Any]] = Field(min_length=1)


class Accepted(_Answer):
    """What became of a batch; durable when it is sent."""

    accepted: int
    replayed: list[str] = Field(description="Ids that had counted before.")


# -- jobs ----------------------------------------------------------------------------------------------------


class QueryJob(TableQuery):
    """A query that runs in the background, and is charged when it does."""

    kind: Literal["query"]
    dataset: Name


class JobInfo(_Answer):
    """A job and how far it is."""

    id: str
    kind: str
    owner: str
    state: Literal["queued", "running", "cancelling", "done", "failed", "cancelled"]
    progress: float
    note: str
    attempts: int
    error: dict[str, Any] | None
    created: dt.datetime
    finished: dt.datetime | None


# -- tokens and health ---------------------------------------------------------------------------------------


class NewToken(_Request):
    """A token to make."""

    name: str
    role: Role
    datasets: list[str] | None = Field(default=None, description="Datasets and campaigns; null for all.")
    expires: AwareDatetime | None = Field(default=None, strict=False)


class TokenInfo(_Answer):
    """A token without its secret."""

    id: str
    name: str
    role: Role
    datasets: list[str] | None
    created: dt.datetime
    expires: dt.datetime | None
    revoked: dt.datetime | None


class TokenIssued(TokenInfo):
    """A new token. The text is shown here and never again."""

    token: str


class Health(_Answer):
    """Whether the server is well."""

    status: Literal["ok"]
    version: str
