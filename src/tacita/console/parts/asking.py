"""What a release would be, before it is made: the request, what it costs, and how good it would be.

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
from tacita.console.parts import kit, words
from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.learn.models import recipe_of
from tacita.learn.rehearsal import RehearsedFit, rehearse_fit
from tacita.privacy.budget import Budget
from tacita.synthesize.auto import Synthesize
from tacita.synthesize.rehearsal import rehearse

__all__ = ["KINDS", "OWN_FORMS", "Anonymized", "Asked", "Expected", "Made", "Model", "Statistics"]

_REHEARSED = 50_000


@dataclass(frozen=True, kw_only=True)
class Expected:
    """A plan as it is shown.

    Attributes:
        cost: What it takes from the account, in words; nothing where it is free.
        charged: The same as a number.
        affordable: Whether the account can pay.
        facts: How it would be made and how good it would be.
        note: What is not promised.
    """

    cost: str
    charged: float
    affordable: bool
    facts: Mapping[str, str]
    note: str = ""


@dataclass
class Asked(ABC):
    """One release that is being put together.

    Attributes:
        name, about: What this kind of release is called, and what it is.
        balance: Where the account of the dataset stands, in its own currency.
        query: What the address of the page asks for.
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
    async def expect(self) -> Expected:
        """Plan it; touches no data."""

    @abstractmethod
    async def make(self, key: str) -> dict[str, Any]:
        """Begin it: the job."""

    def warning(self, expected: Expected) -> str:
        """What is asked before it is made: what it costs, who is protected, and what cannot be undone."""
        return (
            f"It takes {expected.cost}. {self.protected()} What is spent is spent for ever, also if you delete the "
            "release."
        )

    # -- what several kinds share ------------------------------------------------------------------------------------

    def spend_field(self) -> None:
        """How much to spend, in the currency of the account."""
        unit = "rho" if self.balance["currency"] == "zcdp" else "epsilon"
        left = float(self.balance["remaining"])
        options = [value for value in words.EPSILONS if value <= max(left, words.EPSILONS[0])]
        wanted = float(self.query.get("epsilon", min(1.0, left)))
        self.spend = kit.slider(f"Spend ({unit})", options, wanted, change=self.change)

    def budget(self) -> dict[str, float]:
        """The same as a request says it."""
        currency = self.balance["currency"]
        if currency == "zcdp":
            return {"rho": self.spend()}
        delta = self.balance["budget"].get("delta") or 0.0
        return {"epsilon": self.spend()} | ({"delta": delta} if delta else {})

    def rehearsed(self, people: int) -> str:
        """On whom it was rehearsed, in words."""
        alike = "" if self.balance["unit"] == "row" else ", each taken as one row, so expect a larger error"
        return f"{people:,} made-up people{alike}"

    def protected(self) -> str:
        """Who is protected by the account of the dataset, in words."""
        unit, _, rest = str(self.balance["unit"]).partition(":")
        person, _, most = rest.rpartition(":")
        return (
            "Each row is protected by itself."
            if unit == "row"
            else f"Each person ({person}) is protected, with up to {most} rows."
        )

    def paid(self, plan: Mapping[str, Any]) -> tuple[str, float, bool]:
        """What a plan takes from the account."""
        cost = plan["account_added"]
        left = words.amount(plan["account_remaining"])
        unit = "ρ" if self.balance["currency"] == "zcdp" else "ε"
        return f"{unit} {words.amount(cost)} of {left} that are left", float(cost or 0), bool(plan["affordable"])


@dataclass
class Made(Asked):
    """Made-up rows."""

    name = "Made-up rows"
    about = "Rows of nobody, with the tables of the people. Differentially private."

    def fields(self) -> None:
        """Budget, method, attributes, and about how many people there are."""
        names = list(self.domain.countable)
        with kit.row():
            self.spend_field()
            options = {
                "quality": "the one that promises most",
                "privbayes": "a network (PrivBayes)",
                "mst": "a tree of pairs",
                "aim": "chosen tables (AIM)",
                "pairs": "all pairs",
                "independent": "single attributes",
            }
            self.method = kit.choice("Method", options, self.query.get("method", "quality"), change=self.change)
        with kit.row():
            self.people = kit.number("About how many people (if it is public)", None, low=2, step=1, change=self.change)
            self.names = kit.choice("Attributes", names, names, several=True, change=self.change)

    def body(self) -> dict[str, Any]:
        """The request."""
        if not self.names.value:
            raise InvalidInput("must be at least one", field="attributes")
        people = self.people.value
        return {
            "dataset": self.dataset,
            "budget": self.budget(),
            "method": self.method.value,
            "attributes": list(self.names.value),
            "people": int(people) if people else None,
            "purpose": "made-up rows",
        }

    async def expect(self) -> Expected:
        """The plan, and a rehearsal on people who are made up themselves."""
        body = self.body()
        plan = await self.api.post("/v1/releases/synthetic/plan", body)
        cost, charged, affordable = self.paid(plan)
        people = min(body["people"] or 5000, _REHEARSED)
        recipe = Synthesize(
            method=body["method"], attributes=tuple(body["attributes"]), people=body["people"], seconds=5.0
        )
        tried = await self.api.compute(partial(rehearse, recipe, self.domain, Budget(**body["budget"]), people=people))
        facts = {
            "How": plan["reason"] or self.method.value,
            "Expected error, tables of one attribute": f"{words.percent(tried.singles)} of people in the wrong cell",
            "Expected error, tables of two": f"{words.percent(tried.pairs)} of people in the wrong cell",
        }
        if "rho" not in body["budget"]:
            facts["What it means"] = words.odds(body["budget"]["epsilon"])
        size = self.rehearsed(people) + ("" if body["people"] else " (say how many there are for a better guess)")
        return Expected(
            cost=cost,
            charged=charged,
            affordable=affordable,
            facts=facts,
            note=f"Errors were rehearsed on {size}; real people may hang together in other ways.",
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
class Anonymized(Asked):
    """Anonymized rows."""

    name = "Anonymized rows"
    about = "Real rows in which nobody stands out (k-anonymity). Free, and without differential privacy."

    def fields(self) -> None:
        """At least as much as the owner asks for."""
        with kit.row():
            self.k = kit.slider(
                "Least people alike (k)",
                (2, 3, 5, 10, 20, 50, 100),
                float(self.query.get("k", 5)),
                shown=lambda value: f"{value:g}",
                change=self.change,
            )
            self.suppress = kit.number("Most rows left out, %", None, low=0, high=99, change=self.change)
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

    def warning(self, expected: Expected) -> str:
        """What is asked before it is made: it costs no budget, and protects less."""
        return (
            f"Rows of real people are released: {expected.facts['Leaves']}. No budget is spent, and there is no "
            f"differential privacy. What holds: {expected.facts['Will hold']}. The people in the rows are protected "
            "from whoever knows their quasi-identifiers and nothing else. Whoever has fetched the rows has them for "
            "ever."
        )

    async def expect(self) -> Expected:
        """Which columns would leave, and how."""
        plan = await self.api.post("/v1/releases/anonymized/plan", self.body())
        asked = "; ".join(_conditions(plan["conditions"]))
        return Expected(
            cost="nothing",
            charged=0.0,
            affordable=True,
            facts={
                "Leaves": ", ".join(plan["columns"]),
                "Made coarser": ", ".join(plan["generalised"]) or "nothing",
                "Will hold": asked,
            },
            note=" ".join(f"{warning}." for warning in plan["warnings"])
            + " How much coarser depends on the rows: compare releases to see it before anything leaves. "
            "No differential privacy: who knows much about a person may still learn something.",
        )

    async def make(self, key: str) -> dict[str, Any]:
        """Begin the job."""
        job: dict[str, Any] = await self.api.post("/v1/releases/anonymized", self.body(), key=key)
        return job


@dataclass
class Statistics(Asked):
    """Tables with noise."""

    name = "Tables with noise"
    about = "Counts by one attribute or several, with their error. Differentially private."

    def fields(self) -> None:
        """Up to three tables and what they may cost."""
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
            raise InvalidInput("must be at least one table", field="tables", hint="Choose what to count by")
        return {"dataset": self.dataset, "tables": tables, "budget": self.budget(), "purpose": "statistics"}

    async def expect(self) -> Expected:
        """The plan, with the error of each table."""
        plan = await self.api.post("/v1/releases/tables/plan", self.body())
        cost, charged, affordable = self.paid(plan)
        facts = {
            "by ".join(["", " and ".join(table["attributes"])]): f"each of {table['cells']} counts within "
            f"± {words.amount(table['half_width'])} (95 %)"
            for table in plan["predictions"]
        }
        return Expected(cost=cost, charged=charged, affordable=affordable, facts=facts)

    async def make(self, key: str) -> dict[str, Any]:
        """Begin the job."""
        job: dict[str, Any] = await self.api.post("/v1/releases/tables", self.body(), key=key)
        return job


_LEARNT = {
    "trees": "decision trees",
    "logistic": "logistic regression",
    "bayes": "naive Bayes",
    "linear": "linear regression",
}


def _error(measure: str, value: float, margin: float) -> str:
    show = words.percent if measure == "wrong" else words.amount
    return f"{show(value)} ± {show(margin)}"


def _worth(tried: RehearsedFit) -> str:
    """Whether a model would be better than a guess, in words that do not say more than the rehearsal knows."""
    if tried.beats_guessing:
        less = _error(tried.measure, tried.gains[0], tried.gain_margins[0])
        return f"It would be better than guessing blindly: the error is smaller by {less}."
    if tried.could_beat_guessing:
        return "No better than guessing blindly: with this budget noise takes away what the model would learn."
    return (
        "No better than guessing blindly, whatever the budget: among these synthetic people the features say too "
        "little about what is predicted. The rehearsal cannot say how good the model would be on real people."
    )


@dataclass
class Model(Asked):
    """A model."""

    name = "A model"
    about = "Predicts one attribute from others; released as numbers. Differentially private."

    def fields(self) -> None:
        """What to predict from what, by which kind of model."""
        names = list(self.domain.countable)
        with kit.row():
            self.spend_field()
            self.kind = kit.choice("Kind of model", _LEARNT, self.query.get("model", "trees"), change=self.change)
        with kit.row():
            self.target = kit.choice("Predict", names, names[-1], change=self.change)
            self.features = kit.choice("From", names, names[:-1], several=True, change=self.change)
            self.people = kit.number("About how many people (if it is public)", None, low=2, step=1, change=self.change)

    def body(self) -> dict[str, Any]:
        """The request."""
        features = [name for name in self.features.value if name != self.target.value]
        if not features:
            raise InvalidInput("must be at least one that is not predicted", field="features")
        body: dict[str, Any] = {
            "dataset": self.dataset,
            "name": f"{self.dataset}.{self.target.value}"[:64],
            "kind": self.kind.value,
            "target": self.target.value,
            "features": features,
            "budget": self.budget(),
            "purpose": "a model",
        }
        known = self.people.value and self.kind.value in ("linear", "logistic")
        return body | ({"people": int(self.people.value)} if known else {})

    async def expect(self) -> Expected:
        """The plan, and a rehearsal on people who are made up."""
        body = self.body()
        plan = await self.api.post("/v1/models/fit/plan", body)
        cost, charged, affordable = self.paid(plan)
        people = min(int(self.people.value or 5000), _REHEARSED)
        options = {"people": body["people"]} if "people" in body else {}
        recipe = recipe_of(body["kind"], target=body["target"], features=body["features"], options=options)
        tried = await self.api.compute(
            partial(rehearse_fit, recipe, self.domain, body["target"], Budget(**body["budget"]), people=people)
        )
        what = "Wrong" if tried.measure == "wrong" else "Error"
        names = ("with this budget", "with a budget without end", "guessing blindly")
        errors = zip(names, (tried.private, tried.plenty, tried.blind), tried.margins, strict=True)
        facts = {"How": plan["why"] or _LEARNT[body["kind"]]}
        facts |= {f"{what}, {name}": _error(tried.measure, value, margin) for name, value, margin in errors}
        facts["So"] = _worth(tried)
        note = (
            f"Rehearsed on {self.rehearsed(people)}; real people may be easier or harder to predict. The margins are "
            "the chance of the rehearsal (95 %)."
        )
        return Expected(cost=cost, charged=charged, affordable=affordable, facts=facts, note=note)

    async def make(self, key: str) -> dict[str, Any]:
        """Begin the job."""
        job: dict[str, Any] = await self.api.post("/v1/models/fit", self.body(), key=key)
        return job


KINDS: dict[str, type[Asked]] = {
    "synthetic": Made,
    "tables": Statistics,
    "anonymized": Anonymized,
    "model": Model,
}
"""Kinds of release with a form of their own; all others have one that is made from the schema of their request."""
OWN_FORMS = {*KINDS, "federated"}
"""The same, with federated rows, which the page of holders makes."""
