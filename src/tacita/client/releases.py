"""Releases of every kind, and their assessment, over REST: the part of `Client` that reads the server's registry."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from pkgutil import resolve_name
from typing import Any, Literal
from urllib.parse import quote

from pydantic import BaseModel, TypeAdapter

from tacita.client.calls import Calls
from tacita.errors import InvalidInput
from tacita.privacy.budget import Budget
from tacita.synthesize.kinds import Quantity
from tacita.wire import (
    AnonymizedInfo,
    AssessmentInfo,
    AttackInfo,
    ComparisonInfo,
    DecisionInfo,
    DisclosureInfo,
    EventsInfo,
    HeadlinesInfo,
    ImputedInfo,
    JobInfo,
    MaskedInfo,
    MobilityInfo,
    ReleaseFitInfo,
    ReleaseKindInfo,
    RiskMeasureInfo,
    SetsInfo,
    SharesInfo,
    StatementInfo,
    SuppressedInfo,
    SyntheticInfo,
)

__all__ = ["ReleaseCalls", "answer_of"]

_ANSWERS = {
    "releases/1": "tacita.tables.release:Releases",
    "statistics/1": "tacita.query.answer:Answer",
    "model/1": "tacita.query.models.point_model:PointModel",
    "bounds/1": "tacita.query.bounds:Bounds",
    "numeric-network/1": "tacita.query.models.released_network:ReleasedNetwork",
}
"""Classes of paid answers by their mark; loaded on use, because a client needs few of them."""
_LIST_ATTACKS = TypeAdapter(list[AttackInfo])
_LIST_MEASURES = TypeAdapter(list[RiskMeasureInfo])
_LIST_KINDS = TypeAdapter(list[ReleaseKindInfo])
ReleasedRows = (
    AnonymizedInfo
    | MaskedInfo
    | SyntheticInfo
    | MobilityInfo
    | HeadlinesInfo
    | ImputedInfo
    | EventsInfo
    | SetsInfo
    | SuppressedInfo
)
_KNOWN: TypeAdapter[ReleasedRows] = TypeAdapter(ReleasedRows)


class ReleaseCalls(Calls):
    """Calls about releases; `Client` sends them."""

    def release_kinds(self) -> list[ReleaseKindInfo]:
        """List the kinds of release that the server makes, each with the schema of its request."""
        return _LIST_KINDS.validate_json(self._get("/v1/releases/kinds"))

    def plan_release(self, kind: str, /, **asked: Any) -> dict[str, Any]:
        """Plan a release; reads no data and charges nothing.

        Args:
            kind: One of `release_kinds`: anonymized, masked, synthetic, imputed, events, sets, suppressed, federated,
                mobility, headlines, function, model, tables, statistics, clusters, components, bounds, network.
            asked: The members of its request. A `Budget` may be given as such.
        """
        body = self._post(f"/v1/releases/{quote(kind, safe='')}/plan", _plain(asked), safe=True)
        return dict(TypeAdapter(dict[str, Any]).validate_json(body))

    def release(self, kind: str, /, *, key: str | None = None, **asked: Any) -> JobInfo:
        """Make a release: a job, for `wait_release`; the arguments are those of `plan_release`.

        Args:
            kind: One of `release_kinds`.
            key: The same key again gives the same job.
            asked: The members of its request.
        """
        body = self._post(f"/v1/releases/{quote(kind, safe='')}", _plain(asked), key=key or uuid.uuid4().hex)
        return JobInfo.model_validate_json(body)

    def wait_release(self, id: str, *, timeout: float = 600.0, every: float = 0.5) -> ReleasedRows:
        """Wait for the job of released rows; raises the error of one that failed."""
        self._finished(id, timeout, every)
        return self.released(id)

    def released(self, id: str) -> ReleasedRows:
        """Describe released rows: request, guarantee, loss or cost."""
        text = self._get(_of(id))
        if json.loads(text).get("tacita") in _ANSWERS:
            raise InvalidInput("is an answer and has no rows of people", field="release", value=id, hint="Use `answer`")
        return _KNOWN.validate_json(text)

    def wait_answer(self, id: str, *, timeout: float = 600.0, every: float = 0.5) -> Any:
        """Wait for the job of a paid answer; raises the error of one that failed. See `answer`."""
        self._finished(id, timeout, every)
        return self.answer(id)

    def answer(self, id: str) -> Any:
        """Fetch a paid answer as an object of the library.

        `Releases` for tables, `Answer` for statistics, `Model` for clusters and components, `Bounds` for bounds,
        `ReleasedNetwork` for a network.
        """
        return answer_of(self._get(_of(id)).decode())

    def synthetic_model(self, id: str) -> str:
        """Fetch the model of synthetic rows as JSON text, for `Synthesized.from_json`."""
        return self._get(f"{_of(id)}/model").decode()

    def draw(
        self,
        id: str,
        rows: int,
        *,
        where: Sequence[str] = (),
        decode: str = "auto",
        format: Literal["csv", "ndjson", "arrow"] = "csv",
    ) -> bytes:
        """Draw more synthetic rows from a release's model; costs nothing.

        Args:
            id: Release of synthetic rows.
            rows: Number of rows, at most a million.
            where: Conditions that all rows meet, such as `age >= 30`.
            decode: How a bin is written: label, low, mid or uniform; auto writes a number where numbers are fine.
            format: Format of the rows.
        """
        body = {"rows": rows, "where": list(where), "decode": decode}
        return self._post(f"{_of(id)}/draw?format={format}", body, safe=True)

    def shares(
        self,
        id: str,
        tables: Sequence[Sequence[str]],
        *,
        where: Sequence[str] = (),
        level: float = 0.95,
        together: bool = False,
        quantity: Quantity = "share",
    ) -> SharesInfo:
        """Ask the model of synthetic rows for shares of cells with intervals of the true ones; costs nothing.

        Args:
            id: The release.
            tables: Attributes of each table.
            where: Conditions on the rows.
            level: Confidence of the intervals.
            together: Whether it is the confidence that all intervals of a table hold, not each.
            quantity: Shares of the rows that meet the conditions, or counts.
        """
        body = {"tables": [list(table) for table in tables], "where": list(where)}
        body |= {"level": level, "together": together, "quantity": quantity}
        return SharesInfo.model_validate_json(self._post(f"{_of(id)}/shares", body, safe=True))

    def fit_release(
        self,
        id: str,
        *,
        kind: str,
        target: str,
        features: Sequence[str] | None = None,
        options: Mapping[str, Any] | None = None,
    ) -> Any:
        """Fit a model to released data; costs nothing. The model has the guarantee of the release.

        Args:
            id: A release of synthetic, anonymized or imputed rows, or of tables.
            kind: linear, logistic, trees, bayes or network.
            target: Attribute to predict.
            features: Attributes to predict from; all others by default.
            options: Other options of the kind, by name.
        """
        from tacita.learn.models import read_model  # a client needs no models otherwise

        body = {"kind": kind, "target": target, "options": dict(options or {})}
        if features is not None:
            body["features"] = list(features)
        found = ReleaseFitInfo.model_validate_json(self._post(f"{_of(id)}/fit", body, safe=True))
        return read_model(json.dumps(found.model))

    def decide(self, question: str, id: str, *, campaign: bool = False, **asked: Any) -> DecisionInfo:
        """Decide about dependence on released tables or a campaign; costs nothing.

        Args:
            question: test, flip or stability.
            id: A release of tables, or a campaign.
            campaign: Whether it is a campaign.
            asked: Members of the question, such as `by` and `given`.
        """
        noun = "campaigns" if campaign else "releases"
        path = f"/v1/{noun}/{quote(id, safe='')}/decide/{quote(question, safe='')}"
        return DecisionInfo.model_validate_json(self._post(path, asked, safe=True))

    def delete_release(self, id: str) -> JobInfo:
        """Delete the files of a release; its cost stays spent, and its job stays in the list."""
        return JobInfo.model_validate_json(self._send("DELETE", _of(id)))

    def statement(self, id: str) -> StatementInfo:
        """Fetch the signed privacy statement of released rows."""
        return StatementInfo.model_validate_json(self._get(f"{_of(id)}/statement"))

    def attacks(self) -> list[AttackInfo]:
        """List the attacks that assessments run where they apply."""
        return _LIST_ATTACKS.validate_json(self._get("/v1/attacks"))

    def assess(
        self, release: str | None = None, *, attacks: Sequence[str] | None = None, key: str | None = None, **more: Any
    ) -> JobInfo:
        """Assess a release: a job, for `wait_assessment`.

        Args:
            release: The id of released rows; none for a model or tables alone, with `dataset`.
            attacks: Names of the attacks to run, as in `attacks`; by default all that apply.
            key: The same key again gives the same job.
            more: Other members of the request: `control`, `secrets`, `others`, `model`, `tables`, ...
        """
        body = {"release": release, "attacks": None if attacks is None else list(attacks)} | more
        return JobInfo.model_validate_json(self._post("/v1/assessments", body, key=key or uuid.uuid4().hex))

    def wait_assessment(self, id: str, *, timeout: float = 600.0, every: float = 0.5) -> AssessmentInfo:
        """Wait for an assessment."""
        self._finished(id, timeout, every)
        return AssessmentInfo.model_validate_json(self._get(f"/v1/assessments/{quote(id, safe='')}"))

    def compare(
        self, dataset: str, releases: Sequence[Mapping[str, Any]], *, key: str | None = None, **more: Any
    ) -> JobInfo:
        """Compare releases in simulation: a job, for `wait_comparison`.

        Args:
            dataset: The dataset.
            releases: As in `tacita compare`.
            key: The same key again gives the same job.
            more: Other members of the request: `most_risk`, `most_trials`, `indifference`, `attempts`, `target`, ...
        """
        body = {"dataset": dataset, "releases": [dict(each) for each in releases]} | more
        return JobInfo.model_validate_json(self._post("/v1/comparisons", body, key=key or uuid.uuid4().hex))

    def wait_comparison(self, id: str, *, timeout: float = 600.0, every: float = 0.5) -> ComparisonInfo:
        """Wait for a comparison."""
        self._finished(id, timeout, every)
        return ComparisonInfo.model_validate_json(self._get(f"/v1/comparisons/{quote(id, safe='')}"))

    def risk_measures(self) -> list[RiskMeasureInfo]:
        """List the measures of disclosure risk."""
        return _LIST_MEASURES.validate_json(self._get("/v1/disclosures/measures"))

    def disclosure(self, dataset: str, *, key: str | None = None, **more: Any) -> JobInfo:
        """Measure the disclosure risk of a dataset's records: a job, for `wait_disclosure`.

        Args:
            dataset: The dataset.
            key: The same key again gives the same job.
            more: Other members of the request: `qi`, `weight`, `household`, `population`, `threshold`, ...
        """
        body = {"dataset": dataset} | more
        return JobInfo.model_validate_json(self._post("/v1/disclosures", body, key=key or uuid.uuid4().hex))

    def wait_disclosure(self, id: str, *, timeout: float = 600.0, every: float = 0.5) -> DisclosureInfo:
        """Wait for the disclosure risk of a dataset."""
        self._finished(id, timeout, every)
        return DisclosureInfo.model_validate_json(self._get(f"/v1/disclosures/{quote(id, safe='')}"))


def answer_of(text: str) -> Any:
    """The object of the library that a paid answer is, from its JSON."""
    mark = json.loads(text).get("tacita")
    if mark not in _ANSWERS:
        raise InvalidInput("has rows and no answer", field="release", hint="Use `released` and `rows`")
    return resolve_name(_ANSWERS[mark]).from_json(text)


def _of(id: str) -> str:
    return f"/v1/releases/{quote(id, safe='')}"


def _plain(asked: Mapping[str, Any]) -> dict[str, Any]:
    """Budgets and models as JSON has them."""

    def plain(value: Any) -> Any:
        if isinstance(value, Budget):
            return value.as_dict()
        return value.model_dump(mode="json") if isinstance(value, BaseModel) else value

    return {name: plain(value) for name, value in asked.items()}
