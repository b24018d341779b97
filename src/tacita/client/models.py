"""Functions and fitted models over REST."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, get_args
from urllib.parse import quote

from pydantic import TypeAdapter

from tacita.client.calls import Calls
from tacita.errors import InvalidInput
from tacita.learn.kinds import ModelChoice
from tacita.privacy.budget import Budget
from tacita.wire import FunctionInfo, FunctionParameters, FunctionPlanInfo, JobInfo, PredictionsInfo

__all__ = ["ModelCalls"]

_LIST_MODELS = TypeAdapter(list[FunctionInfo])


class ModelCalls(Calls):
    """Calls about functions and fitted models."""

    def plan_model(
        self, name: str, *, dataset: str, budget: Budget, kind: str = "auto", **more: Any
    ) -> FunctionPlanInfo:
        """Return the cost of a function or a model; charges nothing. The arguments are those of `release_model`."""
        body = _model(name, dataset, kind, budget, more)
        return FunctionPlanInfo.model_validate_json(self._post(f"{_model_path(kind)}/plan", body, safe=True))

    def release_model(
        self, name: str, *, dataset: str, budget: Budget, kind: str = "auto", key: str | None = None, **more: Any
    ) -> JobInfo:
        """Release a function, or fit a model: a job, for `wait_model`.

        Args:
            name: What it is called; a name that is taken gets a new version.
            dataset: Whose rows, and whose account.
            budget: The most that it may cost.
            kind: linear, logistic, trees, bayes, network, or auto, which goes by the target; for a function histogram,
                density, gaussian-process or svm.
            key: The same key again gives the same job.
            more: `target`, `features` and what else the kind takes.
        """
        body = _model(name, dataset, kind, budget, more)
        return JobInfo.model_validate_json(self._post(_model_path(kind), body, key=key or uuid.uuid4().hex))

    def wait_model(self, id: str, *, timeout: float = 600.0, every: float = 0.5) -> FunctionInfo:
        """Wait for the job of a function or a model; raises the error of one that failed."""
        self._finished(id, timeout, every)
        return self.model(id)

    def models(self, name: str | None = None) -> list[FunctionInfo]:
        """List functions and models in scope, newest first; all versions of a name, where one is given."""
        return _LIST_MODELS.validate_json(self._get("/v1/models", {} if name is None else {"name": name}))

    def model(self, ref: str) -> FunctionInfo:
        """Return the public facts about one, by id, name, name@version, or the job that releases it."""
        return FunctionInfo.model_validate_json(self._get(_of_model(ref)))

    def predict(
        self,
        ref: str,
        points: Sequence[Sequence[Any]] | None = None,
        *,
        rows: Sequence[Mapping[str, Any]] | None = None,
    ) -> PredictionsInfo:
        """Ask at points, with values in the order of the features, or at rows that name them. Costs nothing."""
        sent = {"points": points and [list(p) for p in points], "rows": rows and [dict(r) for r in rows]}
        body = {name: value for name, value in sent.items() if value is not None}
        return PredictionsInfo.model_validate_json(self._post(f"{_of_model(ref)}/predict", body, safe=True))

    def parameters(self, ref: str) -> dict[str, Any]:
        """Return its noisy numbers; `tacita.learn.models.read_model` takes those of a fitted model, as JSON text."""
        found = FunctionParameters.model_validate_json(self._get(f"{_of_model(ref)}/parameters"))
        return found.parameters

    def export_model(self, ref: str) -> str:
        """Export one as a signed bundle. This moves a function with a noise path: store the bundle."""
        # not tried again when the answer is lost: a path moves once
        return self._post(f"{_of_model(ref)}/export", None).decode()

    def load_model(self, bundle: str, *, signed_by: Sequence[str] | None = None) -> FunctionInfo:
        """Import a bundle whose signature is by one of these keys, or by the server's own."""
        try:
            body = {"bundle": json.loads(bundle), "signed_by": None if signed_by is None else list(signed_by)}
        except ValueError:
            raise InvalidInput("must be JSON", field="bundle") from None
        return FunctionInfo.model_validate_json(self._post("/v1/models/bundles", body))

    def delete_model(self, ref: str) -> FunctionInfo:
        """Delete a function or a model. Its cost stays spent."""
        return FunctionInfo.model_validate_json(self._send("DELETE", _of_model(ref)))


def _model(name: str, dataset: str, kind: str, budget: Budget, more: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": name, "dataset": dataset, "kind": kind, "budget": budget.as_dict()} | dict(more)


def _model_path(kind: str) -> str:
    return "/v1/models/fit" if kind in get_args(ModelChoice) else "/v1/models"


def _of_model(ref: str) -> str:
    return f"/v1/models/{quote(ref, safe='@')}"
