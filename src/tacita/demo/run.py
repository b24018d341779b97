"""Steps of `tacita demo`, each through the same calls that a user would make."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow.csv as pacsv

from tacita.collect.campaigns import Campaigns
from tacita.collect.device.device import Device
from tacita.collect.planning.plan import plan_collection
from tacita.demo.census import DOMAIN, SMOKING, simulate
from tacita.domain import Domain
from tacita.engines.connect import connect
from tacita.noise import SecureSource
from tacita.plans import CalibratedTables, NoisyTables
from tacita.plans.session import Session
from tacita.privacy.budget import Budget
from tacita.privacy.ledger import Balance, Ledger
from tacita.privacy.unit import Neighbours, Unit
from tacita.query.statistics import Statistic, mean, quantile, share, total
from tacita.report import report
from tacita.store import Database
from tacita.tables.release import Release, Releases
from tacita.tables.workload import Workload

__all__ = ["Demo", "run"]

WORKLOAD = Workload.of(["age", "sex"], ["status"], ["income"])
QUERY_BUDGET, DATASET_BUDGET, RESPONDENT_EPSILON = Budget.pure(0.5), Budget.pure(1.0), 1.5
_BATCH = 500

Step = Callable[[str], None]
Track = Callable[[range, str], Iterator[int]]


@dataclass(frozen=True, kw_only=True)
class Demo:
    """Results of the demo."""

    plan: CalibratedTables
    releases: Releases
    statistics: tuple[Statistic, ...]
    collected: Release
    balance: Balance
    device_loss: float
    page: Path


def run(folder: Path, *, people: int, respondents: int, step: Step, track: Track) -> Demo:
    """Run the whole job in a folder.

    Args:
        folder: Where data, state and the page go.
        people: Rows of the simulated census.
        respondents: How many of them answer for themselves, each with a device of its own.
        step: Called with a line of text when a part begins.
        track: Wraps a range to show progress over it.
    """
    folder.mkdir(parents=True, exist_ok=True)
    database = Database(f"sqlite:///{folder / 'state.db'}")
    ledger = Ledger(database)
    account = f"census-{len(ledger.accounts()) + 1}"
    step(f"Simulating a census of {people:,} people")
    census = simulate(people, seed=len(ledger.accounts()))  # other people each time, so an account of their own
    pacsv.write_csv(census, folder / "census.csv")
    DOMAIN.write(folder / "census.schema.yaml")

    step("Planning: what it will cost and how exact it will be, before any data is read")
    plan = NoisyTables(WORKLOAD).calibrate(DOMAIN, QUERY_BUDGET, unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE)
    step("Counting, adding noise, charging the ledger")
    ledger.open(account, unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE, budget=DATASET_BUDGET)
    session = Session(
        engine=connect(folder / "census.csv", DOMAIN),
        ledger=ledger,
        account=account,
        principal="demo",
        source=SecureSource(),
    )
    releases = session.ask(plan, purpose="demo")
    statistics = (
        total(releases["age", "sex"]),
        mean(releases["age", "sex"], "age"),
        quantile(releases["income",], "income", 0.5),
        share(releases["status",], "status", "unemployed"),
    )

    step(f"Asking {respondents:,} respondents, each randomising on a device of its own")
    truths = census.column("smoking").slice(0, respondents).to_pylist()
    collected, loss = _collect(Campaigns(database), truths, track)
    page = folder / "report.html"
    _write_page(page, plan, releases, statistics, collected, session.balance(), loss)
    return Demo(
        plan=plan,
        releases=releases,
        statistics=statistics,
        collected=collected,
        balance=session.balance(),
        device_loss=loss,
        page=page,
    )


def _collect(campaigns: Campaigns, truths: list[str], track: Track) -> tuple[Release, float]:
    domain = Domain(attributes=(SMOKING,))
    design = plan_collection(domain, Workload.of([SMOKING.name]), respondents=len(truths), epsilon=RESPONDENT_EPSILON)
    campaign = campaigns.open(campaigns.create(design, title="Smoking").id)
    loss, outbox = 0.0, []
    with tempfile.TemporaryDirectory(prefix="tacita-devices-") as devices:
        for number in track(range(len(truths)), "respondents"):
            device = Device(
                service="https://survey.example",
                ledger_path=Path(devices) / f"{number}.json",
                limit_total_epsilon=RESPONDENT_EPSILON,
                limit_question_epsilon=RESPONDENT_EPSILON,
            )
            (question,) = campaigns.sheet(campaign.id)
            sent, receipt = device.answer(question, truths[number])
            loss = max(loss, receipt.loss)
            outbox.append(sent.to_dict())
            if len(outbox) == _BATCH or number == len(truths) - 1:
                campaigns.accept(campaign.id, outbox)
                outbox = []
    campaigns.close(campaign.id)
    return campaigns.releases(campaign.id)[SMOKING.name,], loss


def _write_page(
    page: Path,
    plan: CalibratedTables,
    releases: Releases,
    statistics: tuple[Statistic, ...],
    collected: Release,
    balance: Balance,
    loss: float,
) -> None:
    predicted = {prediction.attributes: prediction for prediction in plan.predict()}
    sections = [
        report.Section(
            title=" by ".join(key),
            text=f"Predicted before any data was read: each count within ±{predicted[key].half_width:g} in 95 of 100.",
            release=release,
        )
        for key, release in releases.items()
    ]
    sections.insert(
        1, report.Section(title="Statistics, read off the releases at no further cost", statistics=statistics)
    )
    sections.append(
        report.Section(
            title="Smoking, collected with local differential privacy",
            text="Every answer was randomised on the respondent's own device before it left.",
            release=collected,
        )
    )
    sections.append(
        report.Section(
            title="What was spent",
            facts=[
                ("dataset account", balance.account.name),
                ("budget", str(balance.account.budget)),
                ("spent", f"{float(balance.spent):g}"),
                ("remaining", f"{float(balance.remaining):g}"),
                (
                    "loss of each respondent",
                    f"epsilon {loss:.4f}, computed by the device from the weights it used",
                ),
            ],
        )
    )
    lead = (
        "Every number here may be published: it states its error, its cost, and who it protects. The people are"
        " simulated."
    )
    report.write(page, "Tacita: a private look at a simulated census", lead, sections)
