"""Campaigns over REST: plan, open, answer, read."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal
from urllib.parse import quote

from pydantic import TypeAdapter

from tacita.client.calls import Calls
from tacita.collect.device.question import Report
from tacita.domain import Domain
from tacita.errors import Conflict, InvalidInput
from tacita.tables.cells import Cells
from tacita.tables.release import Release, Releases
from tacita.wire import (
    Accepted,
    BlindSignature,
    CampaignInfo,
    ChangeInfo,
    InvitationCodes,
    MeanInfo,
    PlannedCollection,
    Sheet,
)

__all__ = ["BATCH_REPORTS", "CampaignCalls"]

BATCH_REPORTS = 1000
"""Reports in one request; a batch counts as a whole or not at all."""
_LIST_CAMPAIGNS = TypeAdapter(list[CampaignInfo])
_LIST_CHANGES = TypeAdapter(list[ChangeInfo])
_LIST_MEANS = TypeAdapter(list[MeanInfo])

Tables = Iterable[Iterable[str]]


class CampaignCalls(Calls):
    """Calls about campaigns."""

    def campaigns(self) -> list[CampaignInfo]:
        """List the campaigns in scope."""
        return _LIST_CAMPAIGNS.validate_json(self._get("/v1/campaigns"))

    def campaign(self, id: str) -> CampaignInfo:
        """Return one campaign."""
        return CampaignInfo.model_validate_json(self._get(f"/v1/campaigns/{quote(id, safe='')}"))

    def plan_campaign(
        self, domain: Domain, tables: Tables, *, epsilon: float, respondents: int, **options: Any
    ) -> PlannedCollection:
        """Plan a collection: its questions and predicted accuracy. The options are those of `plan_collection`."""
        body = _collection(domain, tables, epsilon, respondents) | options
        return PlannedCollection.model_validate_json(self._post("/v1/campaigns/plan", body, safe=True))

    def create_campaign(
        self,
        domain: Domain,
        tables: Tables,
        *,
        title: str,
        epsilon: float,
        respondents: int,
        **options: Any,
    ) -> CampaignInfo:
        """Open a campaign.

        Args:
            domain: What may be asked.
            tables: The tables that matter.
            title: What respondents see.
            epsilon: What answering may cost each of them; in a series of waves, all waves together.
            respondents: How many are expected; in a series, in the whole panel.
            options: mode, answers, channel, dependence, phases, first, waves, turns, minimum, closes, rounds, stop,
                keep_reports, draft, id; see the reference of the route.
        """
        body = _collection(domain, tables, epsilon, respondents) | {"title": title} | options
        return CampaignInfo.model_validate_json(self._post("/v1/campaigns", body))

    def open_campaign(self, id: str) -> CampaignInfo:
        """Let people answer a draft."""
        path = f"/v1/campaigns/{quote(id, safe='')}/open"
        return CampaignInfo.model_validate_json(self._post(path, None, safe=True))

    def close_campaign(self, id: str) -> CampaignInfo:
        """Accept no more reports."""
        path = f"/v1/campaigns/{quote(id, safe='')}/close"
        return CampaignInfo.model_validate_json(self._post(path, None, safe=True))

    def open_wave(self, id: str, wave: int, *, closes: dt.datetime | None = None) -> CampaignInfo:
        """Open the next wave of a series, with the same questions; the wave before it is closed.

        Args:
            id: The series, or any wave of it.
            wave: Its number. A wave that is open already stays as it is.
            closes: When the new wave closes by itself.
        """
        path = f"/v1/campaigns/{quote(id, safe='')}/waves"
        body = {"wave": wave, "closes": closes.isoformat() if closes else None}
        return CampaignInfo.model_validate_json(self._post(path, body, safe=True))

    def waves(self, id: str) -> list[CampaignInfo]:
        """List the waves so far of the series that a campaign is in."""
        return _LIST_CAMPAIGNS.validate_json(self._get(f"/v1/campaigns/{quote(id, safe='')}/waves"))

    def changes(
        self, id: str, since: int | None = None, *, by: Sequence[str] = (), level: float = 0.95
    ) -> list[ChangeInfo]:
        """Return what has changed between two waves of a series, with intervals.

        Args:
            id: The later wave.
            since: The number of the earlier one; the wave before, if not given.
            by: Only the table over these attributes; otherwise all single attributes, tables and means.
            level: Of each interval.
        """
        query = {"since": since, "by": ",".join(by), "level": level}
        query = {name: value for name, value in query.items() if value not in (None, "")}
        return _LIST_CHANGES.validate_json(self._get(f"/v1/campaigns/{quote(id, safe='')}/changes", query))

    def questions(self, id: str) -> list[dict[str, Any]]:
        """Fetch the questions for one respondent, as sent; a `Device` checks them before it answers."""
        return Sheet.model_validate_json(self._get(f"/v1/campaigns/{quote(id, safe='')}/questions")).questions

    def invite(self, id: str, count: int) -> list[str]:
        """Make one-time codes for an invited campaign. They are shown once."""
        path = f"/v1/campaigns/{quote(id, safe='')}/invitations"
        return InvitationCodes.model_validate_json(self._post(path, {"count": count})).codes

    def redeem(self, id: str, code: str, blinded: bytes) -> bytes:
        """Trade a code for a blind signature; `collect.blind.buy_token` makes a token of it."""
        path = f"/v1/campaigns/{quote(id, safe='')}/invitations/redeem"
        answer = self._post(path, {"code": code, "blinded": blinded.hex()}, safe=True)
        return bytes.fromhex(BlindSignature.model_validate_json(answer).signature)

    def send_reports(self, id: str, reports: Iterable[Report | Mapping[str, Any]]) -> Accepted:
        """Send reports, in batches; durable when it returns.

        Raises:
            Conflict: The campaign is closed, or no report of a batch was new.
        """
        sent = [report.to_dict() if isinstance(report, Report) else dict(report) for report in reports]
        if not sent:
            raise InvalidInput("must hold at least one report", field="reports")
        batches = [sent[start : start + BATCH_REPORTS] for start in range(0, len(sent), BATCH_REPORTS)]
        receipts = [self._send_batch(id, batch) for batch in batches]
        return Accepted(
            accepted=sum(receipt.accepted for receipt in receipts),
            replayed=[name for receipt in receipts for name in receipt.replayed],
        )

    def _send_batch(self, id: str, batch: list[dict[str, Any]]) -> Accepted:
        lost: list[Exception] = []
        path = f"/v1/campaigns/{quote(id, safe='')}/reports"
        try:
            answer = self._post(path, {"reports": batch}, safe=True, on_loss=lost.append)
            return Accepted.model_validate_json(answer)
        except Conflict as conflict:
            # after a lost answer, "has counted before" means that the first try arrived
            if not lost or conflict.field != "report":
                raise
            return Accepted(accepted=0, replayed=[str(report.get("report")) for report in batch])

    def collected(
        self,
        id: str,
        about: Literal["population", "respondents"] = "population",
        published: Literal["auto", "pooled", "consistent", "singles", "modelled", "raw"] | None = None,
        by: Sequence[str] = (),
        prior: Iterable[str | Path | Cells | Release | Releases] = (),
    ) -> Releases:
        """Return tables from the reports of a campaign so far, all with intervals.

        Args:
            id: The campaign.
            about: The population, or those who answered.
            published: "raw": each table from its own reports. "pooled": from all reports that hold its attributes.
                "consistent", "singles", "modelled": never negative. "auto": the best of these three by estimated error,
                or an average of the last two.
                Without it "auto" for the population, and "raw" for those who answered.
            by: Only the table over these attributes, which may be larger than any question.
            prior: Public tables or releases of some attributes, for "auto" and "modelled": files (CSV, Parquet, JSON of
                releases), tables or releases. How far they are trusted follows from the reports. They must be public:
                what is published may show them.
        """
        tables = list(prior)
        if tables:
            return self._collected_with_prior(id, about, published, by, tables)
        path = f"/v1/campaigns/{quote(id, safe='')}/releases"
        query = {"about": about, "published": published, "by": ",".join(by)}
        query = {name: value for name, value in query.items() if value not in (None, "")}
        return Releases.from_json(self._get(path, query).decode())

    def _collected_with_prior(
        self,
        id: str,
        about: str,
        published: str | None,
        by: Sequence[str],
        tables: Sequence[str | Path | Cells | Release | Releases],
    ) -> Releases:
        from tacita.collect.estimating.prior import plain_table  # loads the estimators, which few calls need

        if about != "population":
            raise InvalidInput("must be the population where a prior is given", field="about", value=about)
        body = {
            "prior": [plain_table(table) for table in tables],
            "published": published or "auto",
            "by": list(by),
        }
        path = f"/v1/campaigns/{quote(id, safe='')}/releases"
        return Releases.from_json(self._post(path, body, safe=True).decode())

    def collected_means(self, id: str, level: float = 0.95) -> list[MeanInfo]:
        """Return the means of numbers from the reports of a campaign so far, with intervals.

        Args:
            id: The campaign.
            level: Of each interval.
        """
        path = f"/v1/campaigns/{quote(id, safe='')}/means"
        return _LIST_MEANS.validate_json(self._get(path, {"level": level}))


def _collection(domain: Domain, tables: Tables, epsilon: float, respondents: int) -> dict[str, Any]:
    return {
        "schema": domain.as_dict(),
        "tables": [list(table) for table in tables],
        "epsilon": epsilon,
        "respondents": respondents,
    }
