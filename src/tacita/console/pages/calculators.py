"""Privacy at risk and its price, with curves that move: arithmetic, which touches no data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, get_args

from nicegui import ui

from tacita.console.page import Visit, page
from tacita.console.parts import kit
from tacita.console.parts.odds import belief_after, budget_curves, confidence_curve, money, odds_words, share
from tacita.console.parts.words import EPSILONS
from tacita.errors import InvalidInput
from tacita.privacy.risk.at_risk import Noise, at_risk
from tacita.privacy.risk.cost import CostModel
from tacita.report.charts import Curve, curves

__all__ = ["calculators"]

_BELIEFS = (0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9)
_LEVELS = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0)
_LOSSES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0)
_SHARES = (*(place / 20 for place in range(1, 20)), 0.99, 0.999)
_UNKNOWN = {"confidence": "How sure it is", "epsilon": "What the loss stays below", "noise": "The noise that it takes"}
_RELEASES = (1, 2, 3, 5, 10, 20, 50)
_SIDES = {"two": "Evidence for and against being in the data", "one": "Evidence for being in the data only"}
_KINDS = {"laplace": "Laplace", "gaussian": "Gaussian"}
assert set(_KINDS) == set(get_args(Noise))


@page("/calculators", "Calculators", menu=("Decide", "Calculators"))
async def calculators(visit: Visit) -> None:
    """Epsilon as odds, privacy at risk, and what a loss would cost."""
    kit.note("Nothing here reads data or spends anything.")
    _odds()
    _risk()
    _cost()


def _odds() -> None:
    def show() -> None:
        kit.reword(said, odds_words(epsilon(), before()))
        places = [place / 20 for place in range(0, 161)]
        line = Curve(label="belief after, at most", x=places, y=[belief_after(each, before()) for each in places])
        drawn = curves(
            [line],
            across="epsilon",
            up="probability",
            title="Belief over epsilon",
            most=1.0,
            at=epsilon(),
            level=("belief before", before()),
        )
        picture.set_content(drawn)

    with kit.panel("What does an epsilon mean?", "Epsilon bounds what anybody can learn about one person, as odds."):
        epsilon = kit.slider("Epsilon", EPSILONS, 1.0, change=show)
        before = kit.slider("How sure somebody was before", _BELIEFS, 0.5, shown=share, change=show)
        said = kit.text("").props("aria-live=polite")
        picture = kit.picture("")
    kit.soon(show)


def _risk() -> None:
    def show() -> None:
        for name, room in rooms.items():
            room.set_visibility(name != unknown.value)
        given: dict[str, Any] = {name: read() for name, read in sliders.items() if name != unknown.value}
        found = at_risk(kind=kind.value, sides=sides.value, **given)
        sure, loss, level = share(found.confidence), f"{found.epsilon:.3g}", f"{found.noise:.3g}"
        answer = {
            "confidence": f"The loss of one release stays below {loss} with probability {sure}.",
            "epsilon": f"With probability {sure}, the loss of one release stays below {loss}.",
            "noise": f"For the loss to stay below {loss} with probability {sure}, set the noise for {level} at most.",
        }[unknown.value]
        if kind.value == "gaussian":
            answer += " With Gaussian noise no loss is ruled out."
        same = f" The same mechanism is ({loss}, {found.delta:.3g})-differentially private."
        kit.reword(said, " ".join((answer, *found.notes)) + same)
        line = confidence_curve(found.noise, kind.value, sides.value)
        drawn = curves([line], across="epsilon", up="probability", title="Confidence", most=1.0, at=found.epsilon)
        picture.set_content(drawn)

    words = "Noise is set for the worst case. How sure is it that the loss stays well below that?"
    with kit.panel("Privacy at risk", words):
        with kit.row():
            unknown = kit.choice("Work out", _UNKNOWN, "confidence", change=show)
            kind = kit.choice("Noise", _KINDS, "laplace", change=show)
            sides = kit.choice("What counts", _SIDES, "two", change=show)
        rooms, sliders = dict[str, ui.element](), dict[str, Callable[[], float]]()
        for name, label, places, value, words_of in (
            ("noise", "Noise level (the epsilon that it is set for)", _LEVELS, 1.0, str),
            ("epsilon", "Loss to stay below", _LOSSES, 0.6, str),
            ("confidence", "How sure", _SHARES, 0.5, share),
        ):
            with ui.element("div") as rooms[name]:
                sliders[name] = kit.slider(label, places, value, shown=words_of, change=show)
        said = kit.text("").props("aria-live=polite")
        picture = kit.picture("")
        kit.note("It changes what is said about a mechanism, never the mechanism: the same noise protects the same.")
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
        except InvalidInput as error:  # somebody is still typing
            kit.reword(said, f"{error.field}: {error.rule}.")
            return
        level, several = noise(), int(releases())
        price = model.price(level, releases=several)
        best = price.optima[0]
        kit.reword(
            said,
            f"If the worst loss is taken for granted, {_times(several)} at this noise level would cost "
            f"{money(price.plain)}. The budget is least at epsilon {best.epsilon:.3g}, which holds with probability "
            f"{share(best.confidence)}: {money(best.budget)}, which saves {money(best.saving)}."
            + _within(model, level, several, float(there.value or 0)),
        )
        picture.set_content(
            curves(budget_curves(model, level, several), across="epsilon", up="budget", title="Budget", at=best.epsilon)
        )

    words = "What would have to be paid to people if their privacy were lost, and the epsilon at which that is least."
    with kit.panel("What would it cost?", words):
        with kit.row("level"):
            hint = "With no guarantee at all"
            compensation = kit.number("Compensation of one person", 5500, low=0, words=hint, change=show)
            least = kit.number("Of one under a perfect guarantee", 0, low=0, change=show)
            people = kit.number("People", 100, low=1, step=1, change=show)
            there = kit.number("Money that there is", None, low=0, words="May be empty", change=show)
            hint = "How fast compensation grows with epsilon"
            steepness = kit.number("Steepness", 1.0, low=0.01, step=0.1, words=hint, change=show)
        noise = kit.slider("Noise level of one release", _LEVELS, 0.5, change=show)
        releases = kit.slider("Releases to the same people", _RELEASES, 1, shown=lambda n: f"{int(n)}", change=show)
        said = kit.text("").props("aria-live=polite")
        picture = kit.picture("")
    kit.soon(show)


def _times(releases: int) -> str:
    return "one release" if releases == 1 else f"{releases} releases"


def _within(model: CostModel, level: float, releases: int, there: float) -> str:
    """Which epsilons keep within the money, in words; nothing where no money is named."""
    if there <= 0:
        return ""
    found = model.feasible(level, money=there, error=1 / level, releases=releases)
    if found.epsilon_low is None or found.epsilon_high is None:
        return f" No epsilon keeps within {money(there)}."
    return f" From epsilon {found.epsilon_low:.3g} to {found.epsilon_high:.3g} it keeps within {money(there)}."
