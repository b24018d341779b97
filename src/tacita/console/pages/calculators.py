"""Calculators: epsilon as odds, privacy at risk, its cost, and all others of the registry. They read no data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, get_args

from nicegui import ui

from tacita.console.look import charts, kit, words
from tacita.console.look.charts import Place
from tacita.console.look.plots import lines
from tacita.console.page import Visit, page
from tacita.console.parts.described import member_field, member_type
from tacita.console.parts.odds import budget_curves, confidence_curve, money, odds_words, share
from tacita.errors import InvalidInput
from tacita.figures.charts import Curve
from tacita.privacy.risk.at_risk import Noise, at_risk, belief_after
from tacita.privacy.risk.cost import CostModel

__all__ = ["calculators"]

_BELIEFS = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9)
_LEVELS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0)
_LOSSES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0)
_SHARES = (*(place / 20 for place in range(1, 20)), 0.99, 0.999)
_UNKNOWN = {"confidence": "Confidence", "epsilon": "Bound on the privacy loss", "noise": "Noise level"}
_RELEASES = (1, 2, 3, 5, 10, 20, 50)
_SIDES = {"two": "Evidence for and against being in the data", "one": "Evidence for being in the data only"}
_KINDS = {"laplace": "Laplace", "gaussian": "Gaussian"}
_OWN_PANELS = {"odds", "at-risk", "price"}
"""Calculators that have a panel of their own here; all others get one from the schema of their request."""
assert set(_KINDS) == set(get_args(Noise))


@page("/calculators", "Calculators", menu=("Decide", "Calculators"))
async def calculators(visit: Visit) -> None:
    """Show a panel for each calculator."""
    kit.note("The calculators read no data and spend no budget.")
    _odds()
    _risk()
    _cost()
    listed = await visit.api.get("/v1/calculators")
    _others(visit, {each["name"]: each for each in listed if each["name"] not in _OWN_PANELS})


def _odds() -> None:
    def show() -> None:
        kit.reword(said, odds_words(epsilon(), before()))
        places = [place / 20 for place in range(0, 161)]
        line = Curve(label="belief after, at most", x=places, y=[belief_after(each, before()) for each in places])
        drawn = lines(
            [line],
            across="epsilon",
            up="probability",
            title="Belief over epsilon",
            most=1.0,
            at=epsilon(),
            level=("belief before", before()),
        )
        picture.draw(drawn)

    with kit.panel("What does an epsilon mean?"):
        epsilon = kit.slider("Epsilon", words.EPSILONS, 1.0, words=words.EPSILON, change=show)
        before = kit.slider("Certainty of an attacker before the release", _BELIEFS, 0.5, shown=share, change=show)
        said = kit.text("").props("aria-live=polite")
        picture = Place()
    kit.soon(show)


def _risk() -> None:
    def show() -> None:
        for name, room in rooms.items():
            room.set_visibility(name != unknown.value)
        given: dict[str, Any] = {name: read() for name, read in sliders.items() if name != unknown.value}
        found = at_risk(kind=kind.value, sides=sides.value, **given)
        sure, loss, level = share(found.confidence), f"{found.epsilon:.3g}", f"{found.noise:.3g}"
        answer = {
            "confidence": f"The privacy loss of one release stays below {loss} with probability {sure}.",
            "epsilon": f"With probability {sure}, the privacy loss of one release stays below {loss}.",
            "noise": f"The loss stays below {loss} with probability {sure} if the noise level is {level} at most.",
        }[unknown.value]
        if kind.value == "gaussian":
            answer += " Gaussian noise excludes no privacy loss."
        same = f" The same mechanism is ({loss}, {found.delta:.3g})-differentially private."
        kit.reword(said, " ".join((answer, *found.notes)) + same)
        line = confidence_curve(found.noise, kind.value, sides.value)
        drawn = lines([line], across="epsilon", up="probability", title="Confidence", most=1.0, at=found.epsilon)
        picture.draw(drawn)

    about = "The noise bounds the worst case. How likely is it that the privacy loss is much smaller?"
    with kit.panel("Privacy at risk", about):
        with kit.row():
            unknown = kit.choice("Calculate", _UNKNOWN, "confidence", change=show)
            kind = kit.choice("Noise", _KINDS, "laplace", change=show)
            sides = kit.choice("Evidence that counts", _SIDES, "two", change=show)
        rooms, sliders = dict[str, ui.element](), dict[str, Callable[[], float]]()
        for name, label, places, value, words_of in (
            ("noise", "Noise level (epsilon of the worst case)", _LEVELS, 1.0, str),
            ("epsilon", "Bound on the privacy loss", _LOSSES, 0.6, str),
            ("confidence", "Confidence", _SHARES, 0.5, share),
        ):
            with ui.element("div") as rooms[name]:
                sliders[name] = kit.slider(label, places, value, shown=words_of, change=show)
        said = kit.text("").props("aria-live=polite")
        picture = Place()
        kit.note("Privacy at risk describes a mechanism in another way. It does not change the mechanism or its noise.")
    kit.soon(show)


def _cost() -> None:
    def show() -> None:
        try:
            model = CostModel(
                compensation=float(compensation.value or 0),
                people=int(people.value or 0),
                steepness=float(steepness.value or 0),
                least=float(least.value or 0),
            )
        except InvalidInput as error:  # the form is incomplete
            kit.reword(said, f"{error.field}: {error.rule}.")
            return
        level, several = noise(), int(releases())
        price = model.price(level, releases=several)
        best = price.optima[0]
        kit.reword(
            said,
            f"At the worst privacy loss, {_times(several)} at this noise level would cost {money(price.plain)}. "
            f"The cost is smallest at epsilon {best.epsilon:.3g}, which holds with probability "
            f"{share(best.confidence)}: {money(best.budget)}, a saving of {money(best.saving)}."
            + _within(model, level, several, float(there.value or 0)),
        )
        picture.draw(
            lines(budget_curves(model, level, several), across="epsilon", up="cost", title="Cost", at=best.epsilon)
        )

    about = "The compensation to be paid if people lose their privacy, and the epsilon that makes it smallest."
    with kit.panel("What would it cost?", about):
        with kit.row("level"):
            hint = "Without any guarantee"
            compensation = kit.number("Compensation of one person", 5500, low=0, words=hint, change=show)
            least = kit.number("Compensation under a perfect guarantee", 0, low=0, change=show)
            people = kit.number("People", 100, low=1, step=1, change=show)
            there = kit.number("Available money", None, low=0, words="Optional", change=show)
            hint = "Growth of the compensation with epsilon"
            steepness = kit.number("Steepness", 1.0, low=0.01, step=0.1, words=hint, change=show)
        noise = kit.slider("Noise level of one release", _LEVELS, 0.5, change=show)
        releases = kit.slider("Releases to the same people", _RELEASES, 1, shown=lambda n: f"{int(n)}", change=show)
        said = kit.text("").props("aria-live=polite")
        picture = Place()
    kit.soon(show)


def _others(visit: Visit, listed: Mapping[str, Mapping[str, Any]]) -> None:
    """Show the calculator that is chosen from the list."""

    def show() -> None:
        form.clear()
        if chosen.value:
            with form:
                _form(visit, listed[chosen.value])

    with kit.panel("More calculators"):
        chosen = kit.choice(
            "Calculator", {"": "", **{name: info["title"] for name, info in listed.items()}}, "", change=show
        )
        form = ui.element("div")


def _form(visit: Visit, info: Mapping[str, Any]) -> None:
    """Show one field for each member of a calculator's request, and its figures."""
    readers = dict[str, Callable[[], Any]]()

    async def show() -> None:
        given = {name: read() for name, read in readers.items()}
        body = {name: value for name, value in given.items() if value is not None}
        found = await visit.api.post(f"/v1/calculators/{info['name']}", body)
        answer.clear()
        with answer:
            kit.facts({each["label"]: each["text"] for each in found["facts"]})
            for grid in found["tables"]:
                _grid(grid)
            for each in found["notes"]:
                kit.note(each)

    kit.text(f"{info['summary']}.")
    with kit.row("level"):
        for name, member in info["request"]["properties"].items():
            read = member_field(name, member_type(member), None, lambda: None)
            if read is not None:
                readers[name] = read
    kit.button("Calculate", show)
    answer = ui.element("div").props("aria-live=polite")


def _grid(grid: Mapping[str, Any]) -> None:
    """Draw a curve where the table is one; else show the table."""
    names, columns = list(grid["columns"]), list(grid["columns"].values())
    if grid["curve"]:
        found = [_line(name, columns[0], column) for name, column in zip(names[1:], columns[1:], strict=True)]
        charts.show(lines([line for line in found if line.x], across=names[0], up="", title=grid["title"]))
        return
    rows = [
        [value if isinstance(value, str) else _figure(value) for value in row] for row in zip(*columns, strict=True)
    ]
    headings = [name if isinstance(column[0], str) else f">{name}" for name, column in zip(names, columns, strict=True)]
    kit.table(headings, rows, caption=grid["title"])


def _line(name: str, across: list[Any], up: list[Any]) -> Curve:
    known = [(x, y) for x, y in zip(across, up, strict=True) if y is not None]  # None is no number: unbounded
    return Curve(label=name, x=[float(x) for x, _ in known], y=[float(y) for _, y in known])


def _figure(value: float | None) -> str:
    return "unbounded" if value is None else f"{value:,.4g}" if abs(value) < 10_000 else f"{value:,.0f}"


def _times(releases: int) -> str:
    return "one release" if releases == 1 else f"{releases} releases"


def _within(model: CostModel, level: float, releases: int, there: float) -> str:
    """Describe the epsilons that the money suffices for; empty where no money is given."""
    if there <= 0:
        return ""
    found = model.feasible(level, money=there, error=1 / level, releases=releases)
    if found.epsilon_low is None or found.epsilon_high is None:
        return f" No epsilon costs {money(there)} or less."
    return f" From epsilon {found.epsilon_low:.3g} to {found.epsilon_high:.3g} the cost is at most {money(there)}."
