"""A release before it is made: its request, its cost, and its expected error.

One class for each kind of release: its fields, its request to the REST interface, and its plan in words. A new kind of
release needs no class here: `described` makes its form.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from nicegui import ui

from tacita.anonymize.criteria.conditions import Conditions
from tacita.anonymize.criteria.registry import CRITERIA
from tacita.anonymize.methods.registry import DEFAULT_METHOD, METHODS
from tacita.console.api import Api
from tacita.console.look import kit, words
from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.learn.models import choose_kind, recipe_of
from tacita.learn.rehearsal import RehearsedFit, rehearse_fit
from tacita.privacy.budget import Budget
from tacita.synthesize.auto import Synthesize
from tacita.synthesize.kinds import METHODS as SYNTHESIS_METHODS
from tacita.synthesize.kinds import QUALITY
from tacita.synthesize.rehearsal import rehearse

__all__ = [
    "AnonymizedForm",
    "ExpectedRelease",
    "ModelForm",
    "ReleaseForm",
    "SyntheticForm",
    "TablesForm",
]

_REHEARSED = 50_000


@dataclass(frozen=True, kw_only=True)
class ExpectedRelease:
    """A plan as it is shown.

    Attributes:
        cost: Charge to the account, in words; "nothing" where it is free.
        charged: The charge as a number.
        affordable: Whether the account can pay.
        facts: How it would be made and how good it would be.
        note: Limits of the guarantee or of the rehearsal.
    """

    cost: str
    charged: float
    affordable: bool
    facts: Mapping[str, str]
    note: str = ""


@dataclass
class ReleaseForm(ABC):
    """One release that is being put together.

    Attributes:
        name, about: Name and description of this kind of release.
        balance: Balance of the dataset's account, in its own currency.
        query: Query parameters of the page.
        change: Called when a field changes.
    """

    name: ClassVar[str]
    about: ClassVar[str]

    api: Api
    dataset: str
    domain: Domain
    balance: Mapping[str, Any]
    query: Mapping[str, str]
    change: kit.Handler

    @abstractmethod
    def fields(self) -> None:
        """Show what can be chosen."""

    @abstractmethod
    async def expect(self) -> ExpectedRelease:
        """Plan it; touches no data."""

    @abstractmethod
    async def make(self, key: str) -> dict[str, Any]:
        """Begin it: the job."""

    def warning(self, expected: ExpectedRelease) -> str:
        """Warn before it is made: cost, unit of protection, and effects that cannot be undone."""
        return (
            f"The release spends {expected.cost}. {self.protected()} Spent budget is never refunded, even if you "
            "delete the release."
        )

    # -- what several kinds share ------------------------------------------------------------------------------------

    def spend_field(self) -> None:
        """Show the slider for the budget to spend, in the currency of the account."""
        unit = "rho" if self.balance["currency"] == "zcdp" else "epsilon"
        left = float(self.balance["remaining"])
        options = [value for value in words.EPSILONS if value <= max(left, words.EPSILONS[0])]
        wanted = float(self.query.get("epsilon", min(1.0, left)))
        about = words.loss_note(self.balance["currency"])
        self.spend = kit.slider(f"Spend ({unit})", options, wanted, words=about, change=self.change)

    def budget(self) -> dict[str, float]:
        """Return the budget as a request states it."""
        currency = self.balance["currency"]
        if currency == "zcdp":
            return {"rho": self.spend()}
        delta = self.balance["budget"].get("delta") or 0.0
        return {"epsilon": self.spend()} | ({"delta": delta} if delta else {})

    def rehearsed(self, people: int) -> str:
        """Describe the people of the rehearsal."""
        alike = "" if self.balance["unit"] == "row" else ", each with one row, so expect a larger error"
        return f"{people:,} simulated people{alike}"

    def protected(self) -> str:
        """Describe the unit that the account of the dataset protects."""
        unit, _, rest = str(self.balance["unit"]).partition(":")
        person, _, most = rest.rpartition(":")
        return (
            "Each row is protected."
            if unit == "row"
            else f"Each person ({person}) is protected, with up to {most} rows."
        )

    def paid(self, plan: Mapping[str, Any]) -> tuple[str, float, bool]:
        """Return the charge of a plan: in words, as a number, and whether the account can pay it."""
        cost = plan["account_added"]
        left = words.amount(plan["account_remaining"])
        unit = "ρ" if self.balance["currency"] == "zcdp" else "ε"
        return f"{unit} {words.amount(cost)} of the remaining {left}", float(cost or 0), bool(plan["affordable"])


@dataclass
class SyntheticForm(ReleaseForm):
    """Synthetic rows."""

    name = "Synthetic rows"
    about = "Synthetic rows that keep the statistics of your data. Differentially private."

    def fields(self) -> None:
        """Budget, method, attributes, and about how many people there are."""
        names = list(self.domain.countable)
        with kit.row():
            self.spend_field()
            # a rehearsal would train those that need an extra
            # what needs a target is the automatic choice where one is given, below
            shown = {name: each for name, each in SYNTHESIS_METHODS.items() if not (each.extra or each.needs)}
            titles = {name: each.title for name, each in shown.items()}
            options = {QUALITY: "automatic (recommended)"} | titles
            self.method = kit.choice("Method", options, self.query.get("method", QUALITY), change=self.change)
        with kit.row():
            self.people = kit.number(
                "Approximate number of people (if public)", None, low=2, step=1, change=self.change
            )
            self.names = kit.choice("Attributes", names, names, several=True, change=self.change)
        with kit.row():
            anything = {"": "no particular one"} | {name: name for name in names}
            wanted = self.query.get("target", "")
            self.target = kit.choice(
                "Attribute to predict", anything, wanted if wanted in names else "", change=self.change
            )
            forms = {"binned": "in the bins of the schema", "fine": "as numbers, in bins found privately"}
            self.numbers = kit.choice("Numbers and dates", forms, "binned", change=self.change)

    def body(self) -> dict[str, Any]:
        """The request."""
        if not self.names.value:
            raise InvalidInput("must be at least one", field="attributes")
        people = self.people.value
        return {
            "dataset": self.dataset,
            "budget": self.budget(),
            "target": self.target.value or None,
            "method": self.method.value,
            "numbers": self.numbers.value,
            "attributes": list(self.names.value),
            "people": int(people) if people else None,
            "purpose": "synthetic rows",
        }

    async def expect(self) -> ExpectedRelease:
        """Plan it, and rehearse it on simulated people."""
        body = self.body()
        plan = await self.api.post("/v1/releases/synthetic/plan", body)
        cost, charged, affordable = self.paid(plan)
        people = min(body["people"] or 5000, _REHEARSED)
        recipe = Synthesize(
            method=body["method"],
            attributes=tuple(body["attributes"]),
            people=body["people"],
            target=body["target"],
            seconds=5.0,
            numbers=body["numbers"],
        )
        tried = await self.api.compute(partial(rehearse, recipe, self.domain, Budget(**body["budget"]), people=people))
        facts = {
            "Method": plan["reason"] or self.method.value,
            "Expected error, tables of one attribute": f"{words.percent(tried.singles)} of people in a wrong cell",
            "Expected error, tables of two attributes": f"{words.percent(tried.pairs)} of people in a wrong cell",
        }
        if plan.get("numbers"):
            most = max(plan["numbers"]["bins"].values())
            facts["Numbers"] = f"at most {most} bins each, for {words.percent(plan['numbers']['share'])} of the budget"
        if "rho" not in body["budget"]:
            facts["Meaning of epsilon"] = words.odds(body["budget"]["epsilon"])
        size = self.rehearsed(people) + (
            "" if body["people"] else " (state the number of people for a better estimate)"
        )
        return ExpectedRelease(
            cost=cost,
            charged=charged,
            affordable=affordable,
            facts=facts,
            note=f"The errors are from a rehearsal on {size}. Real data may be correlated differently.",
        )

    async def make(self, key: str) -> dict[str, Any]:
        """Begin the job."""
        job: dict[str, Any] = await self.api.post("/v1/releases/synthetic", self.body(), key=key)
        return job


# criteria that a buyer may make stricter: k has a field of its own, presence needs the owner's population
_STRICTER = tuple(kind for kind in CRITERIA if kind.about == "values")


def _conditions(asked: Mapping[str, Any]) -> list[str]:
    """Clauses on the criteria that anonymized rows will meet."""
    return [criterion.words for criterion in Conditions.of(asked).asked]


@dataclass
class AnonymizedForm(ReleaseForm):
    """Anonymized rows."""

    name = "Anonymized rows"
    about = "k-anonymous rows of real people. They spend no budget and have no differential privacy."

    def fields(self) -> None:
        """Show the criteria; they are at least as strict as the owner's policy."""
        with kit.row():
            self.k = kit.slider(
                "Smallest class (k)",
                (2, 3, 5, 10, 20, 50, 100),
                float(self.query.get("k", 5)),
                shown=lambda value: f"{value:g}",
                change=self.change,
            )
            self.suppress = kit.number("Largest share of suppressed rows, %", None, low=0, high=99, change=self.change)
        with ui.expansion("Method and further criteria").props("dense"), kit.row():
            self.method = kit.choice("Method", list(METHODS), DEFAULT_METHOD, change=self.change)
            self.stricter = {
                kind.name: kit.number(f"{kind.title} ({kind.name})", None, low=0, change=self.change)
                for kind in _STRICTER
            }

    def body(self) -> dict[str, Any]:
        """The request; criteria without a number are those of the owner."""
        share = self.suppress.value
        return {
            "dataset": self.dataset,
            "k": int(self.k()),
            "suppress": None if share is None else float(share) / 100,
            "purpose": "anonymized rows",
            "method": self.method.value,
        } | {name: float(found.value) for name, found in self.stricter.items() if found.value is not None}

    def warning(self, expected: ExpectedRelease) -> str:
        """Warn before it is made: it spends no budget, and protects less."""
        return (
            f"Rows of real people are released, with the columns {expected.facts['Columns']}. No budget is spent, and "
            f"there is no differential privacy. Criteria: {expected.facts['Criteria']}. They protect people from an "
            "attacker who knows only their quasi-identifiers. Downloaded rows cannot be taken back."
        )

    async def expect(self) -> ExpectedRelease:
        """Plan it: columns, generalised columns, and criteria."""
        plan = await self.api.post("/v1/releases/anonymized/plan", self.body())
        asked = "; ".join(_conditions(plan["conditions"]))
        return ExpectedRelease(
            cost="nothing",
            charged=0.0,
            affordable=True,
            facts={
                "Columns": ", ".join(plan["columns"]),
                "Generalised columns": ", ".join(plan["generalised"]) or "none",
                "Criteria": asked,
            },
            note=" ".join(f"{warning}." for warning in plan["warnings"])
            + " The degree of generalisation depends on the rows. A comparison of releases shows it in advance. "
            "No differential privacy: an attacker who knows much about a person may learn more.",
        )

    async def make(self, key: str) -> dict[str, Any]:
        """Begin the job."""
        job: dict[str, Any] = await self.api.post("/v1/releases/anonymized", self.body(), key=key)
        return job


@dataclass
class TablesForm(ReleaseForm):
    """Noisy tables."""

    name = "Noisy tables"
    about = "Counts by one or more attributes, with their error. Differentially private."

    def fields(self) -> None:
        """Show up to three tables, and the budget."""
        names = list(self.domain.countable)
        with kit.row():
            self.spend_field()
        with kit.row():
            first = names[:1]
            self.tables = [
                kit.choice(f"Table {place}", names, first if place == 1 else [], several=True, change=self.change)
                for place in (1, 2, 3)
            ]

    def body(self) -> dict[str, Any]:
        """The request."""
        tables = [list(table.value) for table in self.tables if table.value]
        if not tables:
            raise InvalidInput("must be at least one table", field="tables", hint="Choose the attributes of a table")
        return {"dataset": self.dataset, "tables": tables, "budget": self.budget(), "purpose": "statistics"}

    async def expect(self) -> ExpectedRelease:
        """The plan, with the error of each table."""
        plan = await self.api.post("/v1/releases/tables/plan", self.body())
        cost, charged, affordable = self.paid(plan)
        facts = {
            "by ".join(["", " and ".join(table["attributes"])]): f"each of {table['cells']} counts within "
            f"± {words.amount(table['half_width'])} (95 %)"
            for table in plan["predictions"]
        }
        return ExpectedRelease(cost=cost, charged=charged, affordable=affordable, facts=facts)

    async def make(self, key: str) -> dict[str, Any]:
        """Begin the job."""
        job: dict[str, Any] = await self.api.post("/v1/releases/tables", self.body(), key=key)
        return job


_LEARNT = {
    "auto": "automatic (recommended)",
    "trees": "decision trees",
    "logistic": "logistic regression",
    "bayes": "naive Bayes",
    "linear": "linear regression",
}


def _error(measure: str, value: float, margin: float) -> str:
    show = words.percent if measure == "wrong" else words.amount
    return f"{show(value)} ± {show(margin)}"


def _worth(tried: RehearsedFit) -> str:
    """Compare a model with a blind guess, as far as the rehearsal shows."""
    if tried.beats_guessing:
        less = _error(tried.measure, tried.gains[0], tried.gain_margins[0])
        return f"The model would be better than a blind guess: its error is smaller by {less}."
    if tried.could_beat_guessing:
        return "No better than a blind guess: the noise of this budget hides the relation."
    return (
        "No better than a blind guess at any budget: among these simulated people the features and the target depend "
        "too little on each other. The rehearsal cannot predict the error on real people."
    )


@dataclass
class ModelForm(ReleaseForm):
    """A model."""

    name = "A model"
    about = "A model that predicts one attribute from others. Differentially private."

    def fields(self) -> None:
        """Show the kind of model, the target, the features, and the budget."""
        names = list(self.domain.countable)
        with kit.row():
            self.spend_field()
            self.kind = kit.choice("Kind of model", _LEARNT, self.query.get("model", "auto"), change=self.change)
        with kit.row():
            self.target = kit.choice("Predict", names, names[-1], change=self.change)
            self.features = kit.choice("From", names, names[:-1], several=True, change=self.change)
            self.people = kit.number(
                "Approximate number of people (if public)", None, low=2, step=1, change=self.change
            )

    def body(self) -> dict[str, Any]:
        """The request."""
        features = [name for name in self.features.value if name != self.target.value]
        if not features:
            raise InvalidInput("must have at least one attribute besides the target", field="features")
        kind = self.kind.value if self.kind.value != "auto" else choose_kind(self.domain, self.target.value)[0]
        body: dict[str, Any] = {
            "dataset": self.dataset,
            "name": f"{self.dataset}.{self.target.value}"[:64],
            "kind": kind,
            "target": self.target.value,
            "features": features,
            "budget": self.budget(),
            "purpose": "a model",
        }
        known = self.people.value and kind in ("linear", "logistic")
        return body | ({"people": int(self.people.value)} if known else {})

    async def expect(self) -> ExpectedRelease:
        """Plan it, and rehearse it on simulated people."""
        body = self.body()
        plan = await self.api.post("/v1/models/fit/plan", body)
        cost, charged, affordable = self.paid(plan)
        people = min(int(self.people.value or 5000), _REHEARSED)
        options = {"people": body["people"]} if "people" in body else {}
        recipe = recipe_of(body["kind"], target=body["target"], features=body["features"], options=options)
        tried = await self.api.compute(
            partial(rehearse_fit, recipe, self.domain, body["target"], Budget(**body["budget"]), people=people)
        )
        what = "Wrong predictions" if tried.measure == "wrong" else "Error"
        names = ("with this budget", "without noise", "blind guess")
        errors = zip(names, (tried.private, tried.plenty, tried.blind), tried.margins, strict=True)
        facts = {"Method": plan["why"] or _LEARNT[body["kind"]]}
        facts |= {f"{what}, {name}": _error(tried.measure, value, margin) for name, value, margin in errors}
        facts["Conclusion"] = _worth(tried)
        note = (
            f"The errors are from a rehearsal on {self.rehearsed(people)}, with 95 % margins. Real people may be "
            "easier or harder to predict."
        )
        return ExpectedRelease(cost=cost, charged=charged, affordable=affordable, facts=facts, note=note)

    async def make(self, key: str) -> dict[str, Any]:
        """Begin the job."""
        job: dict[str, Any] = await self.api.post("/v1/models/fit", self.body(), key=key)
        return job
