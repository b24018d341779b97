"""A released model: its description, its predictions, and its parameters."""

from __future__ import annotations

from typing import Any

from nicegui import ui

from tacita.console.look import kit, words
from tacita.console.page import Visit
from tacita.domain import Domain

__all__ = ["show_model"]


async def show_model(visit: Visit, job: dict[str, Any]) -> None:
    """Show the description of a model, a form for predictions, and files."""
    found = await visit.api.get(f"/v1/models/{job['id']}")
    schema = Domain.from_dict(await visit.api.get(f"/v1/datasets/{found['dataset']}/schema"))
    about = found["about"]
    with kit.cells():
        with kit.panel("Model"):
            kit.facts(
                {
                    "Name": f"{found['name']}, version {found['version']}",
                    "Kind": about.get("kind", ""),
                    "Predicts": about.get("target") or "a density",
                    "From": ", ".join(_names(about)),
                    "Created": words.when(found["created"]),
                }
            )
        with kit.panel("Download", "Predictions spend no further budget."):
            if about.get("form") == "path":
                kit.note("This function has no parameters to download: its noise is drawn for each question.")
            else:
                link = kit.link("Download parameters", f"/files/v1/models/{found['id']}/parameters", "main-button")
                kit.set_attributes(link, download=f"{found['name']}.json")
    if about.get("target"):
        _accuracy()
    if visit.may("steward", "analyst"):  # a new question to a function with a noise path leaves a mark in it
        _ask(visit, found, schema)


def _accuracy() -> None:
    """Explain how to measure the accuracy of a released model."""
    with kit.panel("Accuracy"):
        kit.text("The accuracy on real people was not measured: this would read the data again and spend budget.")
        with ui.element("ul"):
            for line in (
                "Without budget: compare its predictions with the known answers of people who are not in the data.",
                "Without budget: plan the same model again. The rehearsal shows the effect of the noise on simulated "
                "people.",
                "With some budget: release a noisy table of the target by one of its features, and compare it with the "
                "predictions for each group.",
            ):
                kit.text(line, tag="li")


def _names(about: dict[str, Any]) -> list[str]:
    return [str(each["name"] if isinstance(each, dict) else each) for each in about.get("features", [])]


def _ask(visit: Visit, found: dict[str, Any], schema: Domain) -> None:
    """Show fields for one person, and the prediction."""
    names = _names(found["about"])
    with kit.panel("Predict", "For a person with these attributes."):
        with kit.row():
            fields = {name: _field(schema, name) for name in names}
        answer = kit.text("", "big").props('aria-live="polite"')

        async def ask() -> None:
            row = {name: _value(schema, name, element.value) for name, element in fields.items()}
            answered = await visit.api.post(f"/v1/models/{found['id']}/predict", {"rows": [row]})
            label = answered["labels"][0] if answered["labels"] else words.amount(answered["values"][0])
            kit.reword(answer, f"Prediction: {label}")

        kit.button("Predict", ask, main=True)


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
