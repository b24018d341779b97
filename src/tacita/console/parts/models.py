"""A model that was released: what it is, what it says of a person, and its numbers."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from tacita.console.page import Visit
from tacita.console.parts import kit, words
from tacita.domain import Domain

__all__ = ["show_model"]


async def show_model(visit: Visit, job: dict[str, Any]) -> None:
    """What is public about a model, a form to ask it, and files."""
    found = await visit.api.get(f"/v1/models/{job['id']}")
    schema = Domain.from_dict(await visit.api.get(f"/v1/datasets/{found['dataset']}/schema"))
    about = found["about"]
    with kit.cells():
        with kit.panel("What it is"):
            kit.facts(
                {
                    "Name": f"{found['name']}, version {found['version']}",
                    "Kind": about.get("kind", ""),
                    "Predicts": about.get("target") or "a density",
                    "From": ", ".join(_names(about)),
                    "Made": words.when(found["created"]),
                }
            )
        with kit.panel("Take it", "Asking it costs nothing more, however often."):
            if about.get("form") == "path":
                kit.note("It answers questions and gives no numbers of its own: its noise is drawn as it is asked.")
            else:
                link = kit.link("Download its numbers", f"/files/v1/models/{found['id']}/parameters", "main-button")
                kit.said(link, download=f"{found['name']}.json")
    if about.get("target"):
        _accuracy()
    _ask(visit, found, schema)


def _accuracy() -> None:
    """What is known of how good a model is after it was released, and how to learn more."""
    with kit.panel("How good it is"):
        kit.text("Its accuracy on real people was not measured: that would read the data again, and spend budget.")
        with ui.element("ul"):
            for line in (
                "Free: ask it about people whose answers you know and who were not used, and count how often it is "
                "right.",
                "Free: plan the same model again on the page for releases. Its rehearsal says how much noise costs "
                "at this budget, on synthetic people.",
                "For a share of the budget: make a table with noise of what is predicted by one of its features, and "
                "compare what the model says of each group.",
            ):
                kit.text(line, tag="li")


def _names(about: dict[str, Any]) -> list[str]:
    return [str(each["name"] if isinstance(each, dict) else each) for each in about.get("features", [])]


def _ask(visit: Visit, found: dict[str, Any], schema: Domain) -> None:
    """Fields for one made-up person, and what the model says."""
    names = _names(found["about"])
    with kit.panel("Ask it", "About a person that you make up."):
        with kit.row():
            fields = {name: _field(schema, name) for name in names}
        answer = kit.text("", "big").props('aria-live="polite"')

        async def ask() -> None:
            row = {name: _value(schema, name, element.value) for name, element in fields.items()}
            told = await visit.api.post(f"/v1/models/{found['id']}/predict", {"rows": [row]})
            label = told["labels"][0] if told["labels"] else words.amount(told["values"][0])
            kit.reword(answer, f"It says: {label}")

        kit.button("Ask", ask, main=True)


def _field(schema: Domain, name: str) -> ui.select | ui.number | ui.input:
    attribute = schema[name]
    if attribute.kind == "numeric":
        low, high = attribute.bounds
        return kit.number(name, (low + high) / 2, low=low, high=high)
    if attribute.kind == "date":
        return kit.field(name, str(attribute.bounds[0]))
    return kit.choice(name, list(attribute.labels), attribute.labels[0])


def _value(schema: Domain, name: str, given: Any) -> Any:
    if schema[name].kind == "boolean":
        return given == schema[name].labels[1]
    return given
