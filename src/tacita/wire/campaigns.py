"""Campaigns and their results."""

from __future__ import annotations

import datetime as dt
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from tacita.collect.device.channels import ChannelName, Penalty
from tacita.wire.base import Moment, Name, RequestModel, ResponseModel

__all__ = [
    "Accepted",
    "BlindSignature",
    "BlockInfo",
    "BlockModel",
    "BlockTable",
    "CampaignInfo",
    "CampaignQuestion",
    "ChangeInfo",
    "CollectionPlan",
    "IntegrityInfo",
    "InvitationCodes",
    "InvitationsInfo",
    "MeanInfo",
    "MeasureInfo",
    "NetworkInfo",
    "NewCampaign",
    "NewInvitations",
    "NewWave",
    "PlannedCollection",
    "PlannedQuestion",
    "PublicTable",
    "PublishWithPrior",
    "Redemption",
    "ReportBatch",
    "RoundsModel",
    "RuleInfo",
    "SeriesInfo",
    "Sheet",
    "StopModel",
    "TallyInfo",
    "TallyModel",
    "VerdictInfo",
]


class CollectionPlan(RequestModel):
    """The tables to estimate, the number of respondents, and the most that answering may cost each of them."""

    domain: dict[str, Any] = Field(alias="schema", description="Attributes and levels, as `tacita schema` writes.")
    tables: list[list[str]] = Field(min_length=1, description="The tables that matter.")
    epsilon: float
    respondents: int = Field(
        ge=1, description="How many are expected to answer; in a series, the people of the whole panel."
    )
    mode: Literal["auto", "singles", "tables", "views"] = "auto"
    answers: Literal["one", "view"] = "one"
    channel: ChannelName = Field(
        default="auto",
        description="The best channel for each table (auto); means of numbers and tables of all else (mixed); or one "
        "kind of `docs/reference/wire.md` throughout.",
    )
    dependence: float = Field(default=0.1, ge=0, le=1)
    penalty: Penalty = Field(
        default="distance",
        description="For the channel optimal: cost of reporting one cell for another. Places apart on ordered "
        "attributes (distance), their square (squared), or 1 for every wrong cell (exact).",
    )
    phases: Literal["auto", "one", "two"] = Field(
        default="one",
        description="Two phases: after a first share of the respondents, the others are asked what the first reports "
        "show to be worth asking. auto: where the expected error is smaller.",
    )
    first: float = Field(
        default=0.3, ge=0.05, le=0.95, description="With two phases: the share of the respondents in the first."
    )
    waves: int = Field(
        default=1,
        ge=1,
        le=1000,
        description="Number of waves of a series in which the same is asked. Epsilon is then that of all of them.",
    )
    turns: int = Field(
        default=1, ge=1, le=1000, description="Number of the waves in which each respondent answers, chosen at random."
    )


class PublicTable(RequestModel):
    """A public table of some attributes: as CSV, as releases of Tacita, or as shares."""

    csv: str | None = Field(
        default=None, description="A column for each attribute, and `count` or `share`; without these, public rows."
    )
    releases: dict[str, Any] | None = Field(default=None, description="A release or releases, as their JSON form is.")
    attributes: list[str] | None = None
    levels: list[list[str]] | None = Field(default=None, description="Levels of each attribute, in the table's order.")
    shares: list[Annotated[float, Field(ge=0, allow_inf_nan=False)]] | None = Field(
        default=None, description="Shares or counts of all cells in row-major order."
    )

    @model_validator(mode="after")
    def _check(self) -> PublicTable:
        listed = self.attributes is not None and self.levels is not None and self.shares is not None
        if [self.csv is not None, self.releases is not None, listed].count(True) != 1:
            raise ValueError("give csv, or releases, or attributes with levels and shares")
        return self


class PublishWithPrior(RequestModel):
    """Public tables, and the tables to publish with them."""

    prior: list[PublicTable] = Field(
        min_length=1,
        max_length=1000,
        description="Tables that are public, or releases. Never private ones: what is published may show them.",
    )
    published: Literal["auto", "modelled"] = "auto"
    by: list[str] = Field(default=[], description="Attributes of one table, which may be larger than any question.")


class RoundsModel(RequestModel):
    """Blocks of respondents."""

    size: int = Field(ge=1, description="Reports that fill a block.")
    floor: float = Field(
        default=0.5, gt=0, le=1, description="Weight of the uniform among fakes, or of randomized response in a matrix."
    )
    seconds: float | None = Field(default=None, gt=0, description="A block closes after so long in any case.")


class StopModel(RequestModel):
    """The accuracy at which a campaign closes by itself."""

    half_width: float = Field(gt=0, description="Half the width of every cell's interval.")
    level: float = Field(default=0.95, gt=0, lt=1)


class NewCampaign(CollectionPlan):
    """Questions to ask, the most that answering may cost, and how long to go on."""

    title: str = Field(min_length=1, max_length=200)
    minimum: int = Field(default=100, ge=1, description="No table is released before so many have answered for it.")
    closes: Moment | None = None
    rounds: RoundsModel | None = None
    stop: StopModel | None = None
    keep_reports: bool = Field(default=False, description="Keep reports after they were counted.")
    shard: tuple[int, int] | None = Field(default=None, strict=False, description="(i, m): the i-th of m aggregators.")
    aggregators: list[str] | None = Field(
        default=None, description="With `shard`: the origins by which respondents reach the m aggregators, in order."
    )
    invited: bool = Field(
        default=False, description="Respondents need one-time codes: each moves at most one sheet of reports."
    )
    raised_limits: bool = Field(
        default=False,
        description="Respondents have raised the limits of their devices; otherwise epsilon above 2 is refused.",
    )
    draft: bool = Field(default=False, description="Ask no one yet; open it later.")
    id: Name | None = Field(
        default=None, description="A readable id, or that of the same campaign at another aggregator."
    )


class PlannedQuestion(ResponseModel):
    """One question of a plan."""

    attributes: list[str]
    channel: str
    levels: int
    share: float
    expected: int
    view: int


class PlannedCollection(ResponseModel):
    """Questions of a planned collection, and the predicted accuracy."""

    mode: Literal["singles", "tables"]
    answers: int = Field(description="Questions that one respondent answers.")
    why: str
    rehearsed: float | None
    epsilon: float
    epsilon_exact: float
    respondents: int
    phases: int = Field(description="2 where a second block follows from the first one's reports.")
    first: float | None = Field(description="Share of the respondents in the first of two phases.")
    waves: int = Field(description="Waves of a series; epsilon and respondents are those of one wave.")
    turns: int = Field(description="Waves in which each respondent answers.")
    epsilon_series: float = Field(description="The most that a respondent loses in all waves together.")
    questions: list[PlannedQuestion]
    predictions: list[dict[str, Any]]


class CampaignQuestion(ResponseModel):
    """One question of a campaign."""

    id: str
    attributes: list[str]
    channel: str
    cells: int
    block: int
    share: float
    received: int
    one_report: float = Field(
        description="The most that one further report moves an estimated share; of a mean, as a share of its range."
    )


class SeriesInfo(ResponseModel):
    """The series that a campaign is a wave of."""

    id: str = Field(description="The same in all waves; the id of the first.")
    wave: int
    waves: int
    turns: int = Field(description="Waves in which each respondent answers, chosen at random.")
    epsilon: float = Field(description="The most that a respondent loses in all waves together.")


class NewWave(RequestModel):
    """The next wave of a series: everything but its end is as in the waves before."""

    wave: int = Field(ge=2, le=1000, description="Its number. A wave that is open already stays as it is.")
    closes: Moment | None = None


class ChangeInfo(ResponseModel):
    """The change of a share, or of a mean, between two waves."""

    attributes: list[str]
    levels: list[str] = Field(description="Of the attributes; empty for a mean.")
    before: float
    after: float
    change: float
    std: float
    low: float
    high: float
    p_value: float = Field(description="That nothing has changed, of this change alone.")
    adjusted: float = Field(description="The same for all changes of the answer together.")


class CampaignInfo(ResponseModel):
    """A campaign and how many have answered."""

    id: str
    title: str
    state: Literal["draft", "open", "closed"]
    reason: str
    block: int
    fingerprint: str = Field(description="Publish it: respondents compare it with what their page shows.")
    received: int = Field(description="Reports that counted.")
    respondents: int = Field(description="People who answered; one may send several reports.")
    epsilon: float = Field(description="The most that answering costs a respondent, exact, rounded up.")
    phases: int = Field(description="2 where block 2 follows from the reports of block 1.")
    first_respondents: int | None = Field(description="The number after whom the second phase begins.")
    series: SeriesInfo | None = Field(description="The series that it is a wave of; null where it stands alone.")
    participation: Literal["open", "invited"]
    influence: str = Field(description="How far one sender can move a table.")
    terms: dict[str, Any]
    questions: list[CampaignQuestion]
    created: dt.datetime
    closed: dt.datetime | None


class Sheet(ResponseModel):
    """The questions for one respondent; a device checks them before it answers."""

    title: str = Field(description="The title of the campaign.")
    questions: list[dict[str, Any]]
    digests: list[str] = Field(description="Of all questions of the block; with the title they give the fingerprint.")


class TallyModel(RequestModel):
    """Counts by another aggregator of the same campaign."""

    tacita: Literal["tally/1"]
    campaign: str
    questions: dict[str, str]
    counts: dict[str, list[int]]
    received: dict[str, int]
    reports: list[str]


class TallyInfo(ResponseModel):
    """Counts of randomised answers, for another aggregator of the same campaign."""

    tacita: Literal["tally/1"]
    campaign: str
    questions: dict[str, str] = Field(description="Digest of each question.")
    counts: dict[str, list[int]]
    received: dict[str, int]
    reports: list[str] = Field(description="Ids of the reports that the counts hold.")


class BlockTable(RequestModel):
    """One table of a second phase, and the share of its respondents."""

    attributes: list[str] = Field(min_length=1)
    share: float = Field(gt=0, le=1)


class BlockModel(RequestModel):
    """The questions of a block, as the leading aggregator of the campaign has opened it."""

    tacita: Literal["block/1"]
    campaign: str
    block: int
    questions: list[dict[str, Any]]
    tables: list[BlockTable] | None = Field(default=None, description="Of a second phase: what each question is about.")


class BlockInfo(ResponseModel):
    """The questions of the block that is open, for aggregators that share the campaign."""

    tacita: Literal["block/1"]
    campaign: str
    block: int
    questions: list[dict[str, Any]]
    tables: list[BlockTable] | None = Field(default=None, description="Of a second phase: what each question is about.")


class NewInvitations(RequestModel):
    """The number of one-time codes to make."""

    count: int = Field(ge=1, le=100_000)


class InvitationCodes(ResponseModel):
    """One-time codes. They are shown once: only digests are stored."""

    codes: list[str]


class InvitationsInfo(ResponseModel):
    """Number of codes made, and of codes traded for a token."""

    made: int
    used: int


class Redemption(RequestModel):
    """A code, and the blinded message that it is traded for a signature of (RFC 9474)."""

    code: str = Field(min_length=1, max_length=100)
    blinded: str = Field(pattern="^[0-9a-f]{512}$")


class BlindSignature(ResponseModel):
    """The signature of a blinded message."""

    signature: str


class VerdictInfo(ResponseModel):
    """The outcome of a test of independence."""

    hypothesis: str
    method: str
    statistic: float
    df: int
    p_value: float
    valid: bool = Field(description="Whether the test holds its level.")
    caution: str | None = Field(description="Why it may not hold it this time.")


class NetworkInfo(ResponseModel):
    """A Bayesian network, and what its edges rest on."""

    network: dict[str, Any]
    links: list[dict[str, Any]]
    event: dict[str, Any]


class MeasureInfo(ResponseModel):
    """A number with its error."""

    value: float | None
    std: float | None
    low: float | None
    high: float | None


class MeanInfo(ResponseModel):
    """The mean of a number in bins, with its error, in the units of the data."""

    attribute: str
    channel: str
    respondents: int
    mean: float = Field(description="Unbiased for the middles of the bins.")
    std: float
    low: float
    high: float
    level: float
    bounds: list[float] = Field(description="Middles of the first and the last bin.")
    epsilon: float = Field(description="The most that a respondent has lost.")
    simulated: bool


class RuleInfo(ResponseModel):
    """If `given`, then `then`."""

    given: dict[str, str]
    then: dict[str, str]
    support: MeasureInfo
    confidence: MeasureInfo
    lift: MeasureInfo
    p_value: float
    adjusted: float


class IntegrityInfo(ResponseModel):
    """Largest effect of false reports on one table, and whether its tally looks like honest reports."""

    attributes: list[str]
    block: int
    reports: int
    one_report: float
    one_percent: float
    excess: float | None
    p_value: float | None
    note: str


class ReportBatch(RequestModel):
    """Reports from devices; wire form in docs/reference/wire.md."""

    reports: list[dict[str, Any]] = Field(min_length=1)


class Accepted(ResponseModel):
    """Outcome of a batch; the reports are stored durably before this is sent."""

    accepted: int
    replayed: list[str] = Field(description="Ids that had counted before.")
