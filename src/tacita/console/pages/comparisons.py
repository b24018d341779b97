"""Comparisons of releases of a dataset, by simulation, before any budget is spent."""

from __future__ import annotations

from functools import partial
from typing import Any

from nicegui import ui

from tacita.console.look import kit, words
from tacita.console.page import Visit, page
from tacita.console.parts.odds import share
from tacita.console.parts.presets import PRESETS, WAYS, as_text, of_text
from tacita.domain import Domain
from tacita.errors import TacitaError

__all__ = ["comparisons"]

_RISKS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5)
_NONE = ""


@page("/comparisons", "Compare releases", roles=("steward",), menu=("Decide", "Compare releases"), form=True)
async def comparisons(visit: Visit) -> None:
    """List the comparisons, with a form for a new one."""
    kit.note(
        "A comparison simulates several releases of one dataset and attacks each of them. It spends no budget and "
        "releases nothing. The results are for the steward only."
    )
    datasets = [each["name"] for each in await visit.api.get("/v1/datasets")]
    if not datasets:
        kit.empty("There is no dataset yet.", "Add a dataset", "/datasets/new")
        return
    await _Form(visit, datasets).show()
    jobs = [job for job in await visit.api.get("/v1/jobs", limit=500) if job["kind"] == "compare"]
    with kit.panel("Comparisons"):
        if not jobs:
            kit.note("There is no comparison yet.")
            return
        rows = [
            [
                partial(kit.link, f"Releases of {job['dataset']}", f"/comparisons/{job['id']}"),
                partial(kit.state, job["state"]),
                job["note"],
                words.when(job["created"]),
            ]
            for job in jobs
        ]
        kit.table(["comparison", "state", "note", "started"], rows, caption="Comparisons")


class _Form:
    """The form of a new comparison."""

    def __init__(self, visit: Visit, datasets: list[str]) -> None:
        self._visit, self._datasets = visit, datasets
        asked = visit.query.get("dataset", "")
        self._first = asked if asked in datasets else datasets[0]
        self._key = visit.api.new_key()  # a second click starts nothing more

    async def show(self) -> None:
        with kit.panel("New comparison"):
            with kit.row():
                self.dataset = kit.choice("Dataset", self._datasets, self._first, change=self._roles)
                lists = {name: title for name, (title, _) in PRESETS.items()}
                kit.choice("Start with", lists, "mixed", change=self._begin)
            with kit.row():
                hint = f"One release per line: {', '.join(WAYS)}, with its settings. {words.EPSILON}"
                self.releases = kit.lines("Releases", as_text(PRESETS["mixed"][1]), words=hint)
            with kit.row("level"):
                hint = "Attributes that an attacker may know"
                self.quasi = kit.choice("Quasi-identifiers", [], [], several=True, words=hint)
                self.sensitive = kit.choice("Sensitive", [], [], several=True, words="Attributes that no one may infer")
                hint = "Attribute that classifiers predict"
                self.target = kit.choice("Target", {}, None, words=hint)
            with kit.row("level"):
                self.risk = kit.slider("Largest risk allowed", _RISKS, 0.1, shown=share)
                hint = "More guesses are slower and more precise"
                self.attempts = kit.number("Guesses of each attack", 500, low=100, high=100_000, step=50, words=hint)
                hint = "Trials end earlier if more would not change the recommendation"
                self.trials = kit.number("Most trials", 24, low=1, high=1000, step=1, words=hint)
            kit.note(
                "The risk is the advantage of the best attack over a guess: 0 is no advantage, 1 is certainty. A trial "
                "makes every release again with a new split of the rows and new noise."
            )
            kit.button("Compare", self._compare, main=True)
        await self._roles()

    def _begin(self, event: Any) -> None:
        self.releases.set_value(as_text(PRESETS[event.value][1]))

    async def _roles(self) -> None:
        """Offer the attributes of the dataset, with the roles of its schema or its policy."""
        name = self.dataset.value
        domain = Domain.from_dict(await self._visit.api.get(f"/v1/datasets/{name}/schema"))
        policy = await self._policy(name)
        names = list(domain.countable)
        by_role = {role: [each for each in names if domain[each].role == role] for role in ("quasi", "sensitive")}
        sensitive = [each for each in policy.get("sensitive") or by_role["sensitive"] if each in names]
        quasi = [each for each in policy.get("quasi") or by_role["quasi"] if each in names]
        kit.offer(self.quasi, names, quasi)
        kit.offer(self.sensitive, names, sensitive)
        kit.offer(self.target, {_NONE: "none"} | {each: each for each in names}, (sensitive or [_NONE])[0])

    async def _policy(self, name: str) -> dict[str, Any]:
        try:
            found: dict[str, Any] = await self._visit.api.get(f"/v1/datasets/{name}/policy")
        except TacitaError:  # no policy was set yet
            return {}
        return found

    async def _compare(self) -> None:
        body = {
            "dataset": self.dataset.value,
            "releases": of_text(self.releases.value or ""),
            "quasi": self.quasi.value or [],
            "sensitive": self.sensitive.value or [],
            "target": self.target.value or None,
            "most_risk": self.risk(),
            "attempts": int(self.attempts.value or 0),
            "most_trials": int(self.trials.value or 0),
        }
        job = await self._visit.api.post("/v1/comparisons", body, key=self._key)
        kit.draft().forget()
        ui.navigate.to(f"/comparisons/{job['id']}")
