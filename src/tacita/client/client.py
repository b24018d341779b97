"""Client of a server, with the terms and the errors of the library.

    with Client("https://tacita.example", token) as client:
        plan = client.plan("patients", [["age", "smokes"]], Budget.pure(0.5))
        releases = client.query("patients", [["age", "smokes"]], Budget.pure(0.5))

An error of the server is raised here as the same error. A request whose connection is lost is sent again with the
same idempotency key, so that nothing is charged twice and no report counts twice.
"""

from __future__ import annotations

import itertools
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self
from urllib.parse import quote, urlsplit

import httpx
from pydantic import TypeAdapter

from tacita._version import __version__
from tacita.client.campaigns import CampaignCalls
from tacita.client.models import ModelCalls
from tacita.client.releases import ReleaseCalls, answer_of
from tacita.common.roles import Role
from tacita.domain import Domain
from tacita.errors import InvalidInput, SourceUnavailable
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.tables.release import Releases
from tacita.wire import (
    AnonymizedInfo,
    Balance,
    CalculatorAnswer,
    CalculatorInfo,
    ChargeInfo,
    ChargePage,
    DatasetInfo,
    HierarchyInfo,
    JobInfo,
    Plan,
    PolicyInfo,
    TokenInfo,
    TokenIssued,
)
from tacita.wire.refusals import rebuild

if TYPE_CHECKING:
    from tacita.query.answer import Answer as Statistics

__all__ = ["Client"]

REGISTER_SECONDS = 3600.0
"""Longest time for registering: the server reads the whole source."""

_LIST_CALCULATORS = TypeAdapter(list[CalculatorInfo])
_LIST_DATASETS = TypeAdapter(list[DatasetInfo])
_LIST_JOBS = TypeAdapter(list[JobInfo])
_LIST_TOKENS = TypeAdapter(list[TokenInfo])

Tables = Iterable[Iterable[str]]
Family = Literal["auto", "laplace", "gaussian"]


class Client(ReleaseCalls, ModelCalls, CampaignCalls):
    """One server, as one token sees it.

    Args:
        url: Address of the server.
        token: An API token; respondents need none.
        timeout: Seconds to wait for an answer.
        retries: How often a lost connection is tried again.
        transport: How to reach the server; for tests.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        timeout: float = 60.0,
        retries: int = 3,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidInput("must be an address such as https://tacita.example", field="url")
        if parts.username or parts.password or parts.query:
            raise InvalidInput(
                "must hold no credentials and no query", field="url", hint="Give the token as an argument"
            )
        self._url, self._retries = url.rstrip("/"), retries
        headers = {"User-Agent": f"tacita/{__version__}", "Accept": "application/json"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        self._http = httpx.Client(base_url=self._url, headers=headers, timeout=timeout, transport=transport)

    def __repr__(self) -> str:
        return f"Client({self._url!r})"  # not the token

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._http.close()

    # -- datasets --------------------------------------------------------------------------------------------

    def datasets(self) -> list[DatasetInfo]:
        """List the datasets in scope."""
        return _LIST_DATASETS.validate_json(self._get("/v1/datasets"))

    def dataset(self, name: str) -> DatasetInfo:
        """Return the public facts about one dataset."""
        return DatasetInfo.model_validate_json(self._get(f"/v1/datasets/{quote(name, safe='')}"))

    def schema(self, name: str) -> Domain:
        """Return the public schema of a dataset."""
        return Domain.from_text(self._get(f"/v1/datasets/{quote(name, safe='')}/schema").decode())

    def register(
        self,
        name: str,
        *,
        source: str,
        domain: Domain,
        unit: Unit | None = None,
        neighbours: Neighbours,
        budget: Budget,
    ) -> DatasetInfo:
        """Register a dataset over one of the server's named sources; without a unit, its schema decides."""
        body = {
            "name": name,
            "source": source,
            "schema": domain.as_dict(),
            "unit": str(Unit.of_schema(domain) if unit is None else unit),
            "neighbours": str(neighbours),
            "budget": budget.as_dict(),
        }
        return DatasetInfo.model_validate_json(self._send("POST", "/v1/datasets", json=body, timeout=REGISTER_SECONDS))

    def remove_dataset(self, name: str) -> DatasetInfo:
        """Remove a dataset and close its account, while nothing was charged and no rows were released."""
        return DatasetInfo.model_validate_json(self._send("DELETE", f"/v1/datasets/{quote(name, safe='')}"))

    # -- queries ---------------------------------------------------------------------------------------------

    def plan(
        self,
        name: str,
        tables: Tables,
        budget: Budget,
        *,
        weights: Sequence[float] | None = None,
        family: Family = "auto",
    ) -> Plan:
        """Cost and error of a query; charges nothing and touches no data."""
        body = _query(tables, budget, weights, family, "query") | {"dry_run": True}
        return Plan.model_validate_json(self._post(_query_path(name), body, safe=True))

    def query(
        self,
        name: str,
        tables: Tables,
        budget: Budget,
        *,
        weights: Sequence[float] | None = None,
        family: Family = "auto",
        purpose: str = "query",
        key: str | None = None,
    ) -> Releases:
        """Pay for tables with noise and get them.

        Args:
            name: The dataset.
            tables: The attributes of each table.
            budget: The most that they may cost together.
            weights: How much each table matters; all the same by default.
            family: The kind of noise.
            purpose: Is stored in the dataset's history.
            key: The same key again gives the same answer without a charge, also after this process has died.
        """
        body = _query(tables, budget, weights, family, purpose)
        return Releases.from_json(self._post(_query_path(name), body, key=key or _new_key()).decode())

    def sql(
        self,
        sql: str,
        budget: Budget,
        *,
        level: float = 0.95,
        purpose: str = "query",
        fresh: bool = False,
        key: str | None = None,
        dimensions: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
        shrink: Literal["none", "overall", "additive"] = "none",
    ) -> Statistics:
        """Ask in SQL; the name after FROM is the dataset. The same question again costs nothing, unless `fresh`.

        Args:
            sql: One SELECT, see docs/reference/sql.md.
            budget: Most that it may cost; with a delta, groups whose names are not public can be asked for.
            level: Confidence level of the intervals.
            purpose: Stored in the history.
            fresh: Pay for new noise although it has been answered before.
            key: The same key again gives the same answer.
            dimensions: Public tables that the query joins, by name, as rows.
            shrink: Also statistics that are shrunk towards what the groups have in common; free.
        """
        from tacita.query.answer import Answer as Statistics  # brings more than a client needs otherwise

        body: dict[str, Any] = {
            "sql": sql,
            "budget": budget.as_dict(),
            "level": level,
            "purpose": purpose,
            "fresh": fresh,
        }
        if shrink != "none":
            body["shrink"] = shrink
        if dimensions:
            body["dimensions"] = {name: [dict(row) for row in rows] for name, rows in dimensions.items()}
        # without a key of its own, a question that is not fresh is its own key, so it may be sent twice
        return Statistics.from_json(self._post("/v1/query", body, key=key, safe=not fresh).decode())

    # -- rows ------------------------------------------------------------------------------------------------

    def policy(self, name: str) -> PolicyInfo:
        """Return the release policy of a dataset."""
        return PolicyInfo.model_validate_json(self._get(f"/v1/datasets/{quote(name, safe='')}/policy"))

    def set_policy(self, name: str, *, quasi: Sequence[str], k: int, **more: Any) -> PolicyInfo:
        """Set the release policy.

        Args:
            name: The dataset.
            quasi: Quasi-identifiers.
            k: Least people in a class.
            more: `sensitive`, `keep`, `suppress`, `hierarchies`, `part`, `several`; and criteria by their parameters:
                `l`, `t`, `alpha`, `beta`, ... as in `tacita anonymize --help`.
        """
        body = {"quasi": list(quasi), "k": k} | more
        return PolicyInfo.model_validate_json(
            self._send("PUT", f"/v1/datasets/{quote(name, safe='')}/policy", safe=True, json=body)
        )

    def hierarchy(self, name: str, attribute: str, *, store: bool = False, **more: Any) -> HierarchyInfo:
        """Build the hierarchy of an attribute from the schema of a dataset, and say what each level loses.

        Args:
            name: The dataset.
            attribute: The attribute.
            store: Whether to put it into the release policy, so that releases use it.
            more: `kind` and its options (`widths`, `origin`, `by`, `mask`, `keep`, `merge`, `codes`, `labels`), or your
                own `rows`.
        """
        body = {"attribute": attribute, "store": store} | more
        return HierarchyInfo.model_validate_json(self._post(f"/v1/datasets/{quote(name, safe='')}/hierarchies", body))

    def anonymize(self, name: str, *, k: int, key: str | None = None, **more: Any) -> JobInfo:
        """Make a release of anonymized rows: a job, for `wait_release`.

        Args:
            name: The dataset.
            k: Least people in a class.
            key: The same key again gives the same job.
            more: `columns`, `suppress`, `purpose`; criteria by their parameters, at least as strict as the policy's:
                `l`, `t`, `alpha`, `beta`, ...; `method` and its options. The names are those of `tacita anonymize`, and
                `release_kinds` has the whole schema.
        """
        body = {"dataset": name, "k": k} | more
        return JobInfo.model_validate_json(self._post("/v1/releases/anonymized", body, key=key or _new_key()))

    def mask(self, name: str, *, key: str | None = None, **more: Any) -> JobInfo:
        """Make a release of masked rows: a job, for `wait_release`.

        Args:
            name: The dataset.
            key: The same key again gives the same job.
            more: Steps by method, each a list of texts: `microaggregate=["income,age=5"]`, `pram=["job=0.8"]`, `top`,
                `bottom`, `round`, `suppress_locally`, ... as in `tacita mask --help`; or `plan`; and `weight`, `keep`.
        """
        body = {"dataset": name} | more
        return JobInfo.model_validate_json(self._post("/v1/releases/masked", body, key=key or _new_key()))

    def anonymized(self, id: str) -> AnonymizedInfo:
        """Return the facts about a release of anonymized rows."""
        return AnonymizedInfo.model_validate_json(self._get(f"/v1/releases/{quote(id, safe='')}"))

    def rows(self, id: str, format: Literal["csv", "ndjson", "arrow", "parquet", "xlsx"] = "csv") -> bytes:
        """Fetch the rows of a release."""
        return self._get(f"/v1/releases/{quote(id, safe='')}/rows", {"format": format})

    # -- budgets ---------------------------------------------------------------------------------------------

    def budget(self, name: str) -> Balance:
        """Return the balance of a dataset's account."""
        return Balance.model_validate_json(self._get(f"/v1/datasets/{quote(name, safe='')}/budget"))

    def raise_budget(self, name: str, budget: Budget) -> Balance:
        """Raise the budget of a dataset."""
        body = {"budget": budget.as_dict()}
        # the same total again changes nothing, so it may be sent twice
        return Balance.model_validate_json(self._post(f"/v1/datasets/{quote(name, safe='')}/budget", body, safe=True))

    def replace_account(
        self, name: str, budget: Budget, *, unit: Unit | None = None, neighbours: Neighbours | None = None
    ) -> Balance:
        """Give the account of a dataset other terms, while nothing was charged; what is not given stays."""
        body: dict[str, Any] = {"budget": budget.as_dict()}
        body |= {"unit": str(unit)} if unit is not None else {}
        body |= {"neighbours": str(neighbours)} if neighbours is not None else {}
        return Balance.model_validate_json(self._send("PUT", f"/v1/datasets/{quote(name, safe='')}/budget", json=body))

    def charges(self, name: str) -> Iterator[ChargeInfo]:
        """The history of a dataset's account, oldest first."""
        offset: int | None = 0
        while offset is not None:
            path = f"/v1/datasets/{quote(name, safe='')}/charges"
            page = ChargePage.model_validate_json(self._get(path, {"offset": offset}))
            yield from page.charges
            offset = page.next_offset

    def charge_answer(self, name: str, id: str) -> Any:
        """Fetch the answer that a charge has paid for, as an object of the library; for readers and admins."""
        path = f"/v1/datasets/{quote(name, safe='')}/charges/{quote(id, safe='')}/answer"
        return answer_of(self._get(path).decode())

    # -- jobs ------------------------------------------------------------------------------------------------

    def submit(
        self,
        name: str,
        tables: Tables,
        budget: Budget,
        *,
        weights: Sequence[float] | None = None,
        family: Family = "auto",
        purpose: str = "query",
        key: str | None = None,
    ) -> JobInfo:
        """Run a query in the background; the arguments are those of `query`."""
        body = _query(tables, budget, weights, family, purpose) | {"kind": "query", "dataset": name}
        return JobInfo.model_validate_json(self._post("/v1/jobs", body, key=key or _new_key()))

    def jobs(self) -> list[JobInfo]:
        """List the caller's jobs, newest first."""
        return _LIST_JOBS.validate_json(self._get("/v1/jobs"))

    def job(self, id: str) -> JobInfo:
        """Return the state and progress of a job."""
        return JobInfo.model_validate_json(self._get(f"/v1/jobs/{quote(id, safe='')}"))

    def cancel(self, id: str) -> JobInfo:
        """Stop a job."""
        return JobInfo.model_validate_json(self._post(f"/v1/jobs/{quote(id, safe='')}/cancel", None, safe=True))

    def result(self, id: str) -> Releases:
        """Return the releases of a job that is done; raises the error of one that failed."""
        return Releases.from_json(self._get(f"/v1/jobs/{quote(id, safe='')}/result").decode())

    def wait(
        self,
        id: str,
        *,
        timeout: float = 600.0,
        every: float = 0.5,
        on_progress: Callable[[JobInfo], None] | None = None,
    ) -> Releases:
        """Wait for a job and get its result.

        Args:
            id: The job.
            timeout: Seconds to wait at most; the job itself goes on.
            every: Seconds between two looks.
            on_progress: Called with the job at each look.
        """
        self._finished(id, timeout, every, on_progress)
        return self.result(id)

    def _finished(
        self, id: str, timeout: float, every: float, on_progress: Callable[[JobInfo], None] | None = None
    ) -> None:
        deadline = time.monotonic() + timeout
        while True:
            job = self.job(id)
            if on_progress is not None:
                on_progress(job)
            if job.state in ("done", "failed", "cancelled"):
                return
            if time.monotonic() >= deadline:
                raise SourceUnavailable(f"is still {job.state} after {timeout:g} s", field="job", value=id)
            time.sleep(every)

    # -- calculators -----------------------------------------------------------------------------------------

    def calculators(self) -> list[CalculatorInfo]:
        """List the calculators, each with the schema of its request."""
        return _LIST_CALCULATORS.validate_json(self._get("/v1/calculators"))

    def calculate(self, name: str, /, **given: Any) -> CalculatorAnswer:
        """Compute figures from public numbers; reads no data and spends no budget.

        Args:
            name: One of `calculators`: odds, at-risk, price, sampled-sensitivity, repeated, shuffled, oracles,
                block-protocol, z-anonymity, flip.
            given: The members of its request.
        """
        return CalculatorAnswer.model_validate_json(
            self._post(f"/v1/calculators/{quote(name, safe='')}", given, safe=True)
        )

    # -- tokens ----------------------------------------------------------------------------------------------

    def tokens(self) -> list[TokenInfo]:
        """List all tokens, without their secrets."""
        return _LIST_TOKENS.validate_json(self._get("/v1/tokens"))

    def create_token(
        self, *, name: str, role: Role, datasets: Sequence[str] | None, expires: str | None = None
    ) -> TokenIssued:
        """Make a token; its text is in this answer only.

        Args:
            name: Whose it is.
            role: What it may do.
            datasets: Datasets and campaigns in its scope; None for all.
            expires: When it ends.
        """
        scope = None if datasets is None else list(datasets)
        body = {"name": name, "role": role, "datasets": scope, "expires": expires}
        return TokenIssued.model_validate_json(self._post("/v1/tokens", body))

    def revoke_token(self, id: str) -> TokenInfo:
        """End a token."""
        return TokenInfo.model_validate_json(self._send("DELETE", f"/v1/tokens/{quote(id, safe='')}"))

    # -- sending ---------------------------------------------------------------------------------------------

    def _get(self, path: str, query: Mapping[str, Any] | None = None) -> bytes:
        return self._send("GET", path, safe=True, params=dict(query or {}))

    def _post(
        self,
        path: str,
        body: Mapping[str, Any] | None,
        *,
        safe: bool = False,
        key: str | None = None,
        on_loss: Callable[[Exception], None] | None = None,
    ) -> bytes:
        headers = {} if key is None else {"Idempotency-Key": key}
        parts: dict[str, Any] = {"headers": headers} | ({} if body is None else {"json": body})
        return self._send("POST", path, safe=safe or key is not None, on_loss=on_loss, **parts)

    def _send(
        self,
        method: str,
        path: str,
        *,
        safe: bool = False,
        on_loss: Callable[[Exception], None] | None = None,
        **parts: Any,
    ) -> bytes:
        """Send a request; repeat it while the connection fails, if that is safe."""
        for attempt in itertools.count():
            try:
                return _checked(self._http.request(method, path, **parts))
            except httpx.TransportError as error:
                # a connection that was never made has changed nothing; any other may have
                again = safe or isinstance(error, httpx.ConnectError)
                if not again or attempt >= self._retries:
                    raise SourceUnavailable(
                        "the server cannot be reached", field="url", value=self._url, private=str(error)
                    ) from error
                if on_loss is not None:
                    on_loss(error)
                time.sleep(min(0.1 * 2**attempt, 2.0))
        raise AssertionError("unreachable")


def _checked(response: httpx.Response) -> bytes:
    if response.is_success:
        return response.content
    if response.headers.get("content-type", "").startswith("application/problem+json"):
        raise rebuild(response.json())
    raise SourceUnavailable(
        "what answers at this address is not Tacita", field="url", value=f"status {response.status_code}"
    )


def _query(
    tables: Tables, budget: Budget, weights: Sequence[float] | None, family: Family, purpose: str
) -> dict[str, Any]:
    return {
        "tables": [list(table) for table in tables],
        "weights": None if weights is None else list(weights),
        "family": family,
        "budget": budget.as_dict(),
        "purpose": purpose,
    }


def _query_path(name: str) -> str:
    return f"/v1/datasets/{quote(name, safe='')}/query"


def _new_key() -> str:
    return uuid.uuid4().hex
