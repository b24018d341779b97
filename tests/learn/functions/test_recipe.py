"""What is refused, which rows count, and that the noise is the one that was planned."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tacita.domain import Categorical, Domain, Identifier, Numeric
from tacita.engines.local import LocalEngine
from tacita.errors import InvalidInput, NotPublic, UnknownName
from tacita.learn.functions import Kernel, ReleaseFunction
from tacita.learn.functions import recipe as module
from tacita.learn.functions.calibration import SLACK
from tacita.learn.functions.expansion import Space
from tacita.learn.functions.features import Features
from tacita.learn.functions.path import WIDER
from tacita.learn.functions.sensitivity import gap_allowed
from tacita.learn.functions.svm import fit_machine
from tacita.noise import SeededSource
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "functions.md"


@pytest.mark.parametrize(
    ("changes", "match"),
    [
        ({"kind": "spline"}, "kind"),
        ({"form": "both"}, "form"),
        ({"features": ()}, "features"),
        ({"features": ("x", "x")}, "features"),
        ({"features": ("c",)}, "no public bounds"),
        ({"features": ("nothing",)}, "nothing"),
        ({"target": "y"}, "target"),
        ({"kind": "svm"}, "target"),
        ({"kind": "svm", "target": "x", "features": ("x",)}, "target"),
        ({"calibration": "best"}, "calibration"),
        ({"random": 0, "form": "features"}, "features"),
        ({"seed": -1, "form": "features"}, "seed"),
        ({"kernel": Kernel(bias=True)}, "bias"),
        ({"kind": "gaussian-process", "target": "y", "features": ("x",), "noise": 0.0, "public_inputs": True}, "noise"),
        ({"kind": "svm", "target": "c", "c": float("nan")}, "c:"),
        ({"people": 0}, "people"),
    ],
)
def test_bad_recipes(kit, changes, match) -> None:
    with pytest.raises((InvalidInput, UnknownName), match=match):
        parts: dict[str, Any] = {"kind": "density", "features": ("x", "y")} | changes
        ReleaseFunction(**parts).calibrate(kit.domain, kit.budget, unit=Unit.row(), neighbours=REPLACE)


def test_a_gaussian_process_says_whom_it_protects(kit) -> None:
    parts: dict[str, Any] = {"kind": "gaussian-process", "features": ("x",), "target": "y"}
    with pytest.raises(NotPublic, match="responses only"):
        ReleaseFunction(**parts).calibrate(kit.domain, kit.budget, unit=Unit.row(), neighbours=REPLACE)
    with pytest.raises(InvalidInput, match="replace-one"):
        ReleaseFunction(**parts, public_inputs=True).calibrate(kit.domain, kit.budget, unit=Unit.row(), neighbours=ADD)
    assert kit.fit("gaussian-process").about["protects"] == "responses"
    assert kit.fit("density").about["protects"] == "rows"


def test_a_machine_needs_to_know_about_how_many(kit) -> None:
    with pytest.raises(InvalidInput, match="people"):
        kit.fit("svm", neighbours=ADD)
    assert kit.fit("svm", neighbours=ADD, people=300).about["rows"] is None
    assert kit.fit("svm").about["rows"] == 300


def test_pure_budgets_are_for_histograms(kit) -> None:
    with pytest.raises(InvalidInput, match="delta"):
        ReleaseFunction(kind="density", features=("x",)).calibrate(
            kit.domain, Budget.pure(1.0), unit=Unit.row(), neighbours=ADD
        )
    plan = ReleaseFunction(kind="histogram", features=("x",)).calibrate(
        kit.domain, Budget.pure(1.0), unit=Unit.row(), neighbours=ADD
    )
    assert plan.event.kind == "discrete-laplace"


@pytest.mark.parametrize("neighbours", [ADD, REPLACE])
def test_the_noise_is_what_the_event_says(kit, neighbours) -> None:
    """1/u^2 of function and number of rows add up to that of the event; a lower noise would be another event."""
    recipe = ReleaseFunction(kind="density", features=("x", "y"))
    plan = recipe.calibrate(kit.domain, kit.budget, unit=Unit.row(), neighbours=neighbours)
    one, two = plan.shares
    assert 1 / one**2 + 1 / two**2 == pytest.approx(1 / plan.multiplier**2)
    model = plan.fit(kit.engine, SeededSource(1))
    moved = 1.0 if neighbours is ADD else math.sqrt(2)
    assert model.sigma == pytest.approx(moved * WIDER / (1 / one - SLACK))


def test_rows_without_a_number_count_as_rows_only(kit) -> None:
    """Under replace-one the number of all rows is public; the number of those with a point is not."""
    model = kit.fit("density")
    assert model.about["rows"] == 300
    assert len(model.arrays["centres"]) < 300
    assert model.about["scale"] == pytest.approx(1 / (300 * Kernel().integral(2) * 10 * 2))


def test_a_density_adds_up_to_one(kit) -> None:
    model = kit.fit("density", features=("x",))
    line = np.linspace(-0.5, 1.5, 2001)[:, None]
    values = model.predictions(model.exact(line)).values
    assert sum(values) * 10 * 0.001 == pytest.approx(1, abs=1e-3)


def test_features_answer_nearly_as_the_kernel_does(kit) -> None:
    exact, near = kit.fit("density"), kit.fit("density", form="features", random=4096)
    points = exact.inputs.places([[x, y] for x in (1.0, 5.0, 9.0) for y in (-0.5, 0.0, 0.5)])
    one = exact.exact(exact.inputs.at(points))[:, 0]
    other = (near.space.features(near.inputs.at(points)) @ near.arrays["weights"])[:, 0]
    assert np.abs(one - other).max() < 5 * near.sigma + 10


def test_at_most_so_many_rows_of_a_person() -> None:
    domain = Domain(attributes=[Numeric(name="x", bounds=(0, 1), bins=4), Identifier(name="who")], person="who")
    rows = pa.table({"x": np.linspace(0, 1, 40), "who": [f"p{i % 4}" for i in range(40)]})
    plan = ReleaseFunction(kind="density", features=("x",)).calibrate(
        domain, Budget.approx(1, 1e-5), unit=Unit.of_person("who", max_rows=3), neighbours=REPLACE
    )
    model = plan.fit(LocalEngine(domain, rows), SeededSource(1))
    assert len(model.arrays["centres"]) == 4 * 3
    assert model.about["rows"] is None  # persons may have other numbers of rows
    assert model.sigma > 3 * math.sqrt(2) * plan.multiplier


def test_too_many_rows_for_a_matrix(kit, monkeypatch) -> None:
    """Inputs of a Gaussian process are public; rows of a machine are bounded before it is paid for, or thinned."""
    monkeypatch.setattr(module, "_MOST_ROWS", 100)
    with pytest.raises(InvalidInput, match="Use features"):
        kit.fit("gaussian-process")
    with pytest.raises(InvalidInput, match="Use features"):
        ReleaseFunction(kind="svm", people=101, **kit.parts["svm"]).calibrate(
            kit.domain, kit.budget, unit=Unit.row(), neighbours=ADD
        )
    model = kit.fit("svm")
    assert 50 < len(model.arrays["centres"]) <= 100
    assert kit.fit("svm", form="features").arrays["weights"].shape == (513, 3)


@pytest.mark.parametrize("neighbours", [ADD, REPLACE])
@pytest.mark.parametrize("form", ["path", "features"])
def test_no_number_of_rows_is_refused_once_it_is_read(monkeypatch, neighbours, form) -> None:
    """One row more or less, or without its number, must never be the difference between an answer and none."""
    domain = Domain(
        attributes=[Numeric(name="x", bounds=(0, 1), bins=4, missing=True), Categorical(name="k", levels=("a", "b"))]
    )
    monkeypatch.setattr(module, "_MOST_ROWS", 60)
    monkeypatch.setattr(module, "_MOST_VALUES", 60 * 9)
    recipe = ReleaseFunction(kind="svm", features=("x",), target="k", form=form, random=4, people=60)
    plan = recipe.calibrate(domain, Budget.approx(1, 1e-6), unit=Unit.row(), neighbours=neighbours)
    x, k = np.linspace(0, 1, 61).tolist(), ["a", "b"] * 31
    models = [
        plan.fit(LocalEngine(domain, pa.table({"x": xs, "k": k[: len(xs)]})), SeededSource(0))
        for xs in (x, [None, *x[1:]], *([x[1:]] if neighbours is ADD else []))
    ]
    assert len({model.sigma for model in models}) == 1


def test_thinning_leaves_neighbours_neighbours(monkeypatch) -> None:
    """For the same throws of its coins, data sets with one row replaced are thinned to sets with one row replaced."""
    domain = Domain(
        attributes=[Numeric(name="x", bounds=(0, 1), bins=4, missing=True), Categorical(name="k", levels=("a", "b"))]
    )
    monkeypatch.setattr(module, "_MOST_ROWS", 30)
    plan = ReleaseFunction(kind="svm", features=("x",), target="k").calibrate(
        domain, Budget.approx(1, 1e-6), unit=Unit.row(), neighbours=REPLACE
    )

    def centres(first: float | None, seed: int) -> set[float]:
        rows = pa.table({"x": [first, *np.linspace(0.1, 0.9, 59)], "k": ["a", "b"] * 30})
        return set(plan.fit(LocalEngine(domain, rows), SeededSource(seed)).arrays["centres"][:, 0].tolist())

    kept = [centres(0.0, seed) for seed in range(20)]
    assert 0 < sum(0.0 in each for each in kept) < 20  # the coin of the first row, too
    for first in (1.0, None):
        assert all(each - {0.0} == centres(first, seed) - {1.0} for seed, each in enumerate(kept))


def test_a_machine_without_a_matrix_is_the_same(kit) -> None:
    rng = np.random.default_rng(2)
    points, codes = rng.random((40, 2)), rng.integers(0, 3, 40)
    kernel = Kernel(bandwidth=0.3, bias=True)
    for features in (None, Features(kernel=kernel, dimensions=2, count=16)):
        space = Space(kernel=kernel, features=features)
        parts: dict[str, Any] = {"classes": 3, "space": space, "c": 0.3, "unit": Unit.row(), "neighbours": ADD}
        one, other = (fit_machine(points, codes, most=most, **parts).weights for most in (40, 39))
        if features is None:
            off = np.einsum("ij,ik,kj->j", one - other, kernel(points, points), one - other)
        else:
            off = ((one - other) ** 2).sum(axis=0)
        assert off.max() <= (2 * 0.01 * 0.3) ** 2 * 2  # both are as near the true one as sensitivity has room for


def test_a_machine_that_is_hard_to_solve_is_solved() -> None:
    """A wide kernel, a large C and classes at random: it takes more than 20,000 sweeps, and is not refused for that."""
    rng, c = np.random.default_rng(1), 10.0
    points, codes = rng.random((300, 1)), rng.integers(0, 2, 300)
    space = Space(kernel=Kernel(bandwidth=5.0, bias=True))
    fitted = fit_machine(points, codes, classes=2, space=space, c=c, most=300, unit=Unit.row(), neighbours=ADD)
    signs = np.where(codes == 1, 1.0, -1.0)
    alpha, outputs = fitted.weights[:, 0] * signs, space.gram(points, points) @ fitted.weights[:, 0]
    assert 0 <= alpha.min() <= alpha.max() <= c
    gap = fitted.weights[:, 0] @ outputs + c * np.maximum(0, 1 - signs * outputs).sum() - alpha.sum()
    assert gap <= gap_allowed(c, space.height) * 1.001


def test_a_gaussian_process_is_not_for_persons() -> None:
    """Which rows of a person count is chosen by all of their values: public inputs would tell private responses."""
    domain = Domain(
        attributes=[
            Identifier(name="who"),
            Numeric(name="x", bounds=(0, 1), bins=10),
            Numeric(name="y", bounds=(0, 1), bins=10),
        ],
        person="who",
    )
    recipe = ReleaseFunction(kind="gaussian-process", features=("x",), target="y", public_inputs=True)
    with pytest.raises(InvalidInput, match="unit"):
        recipe.calibrate(domain, Budget.approx(1, 1e-6), unit=Unit.of_person("who", max_rows=1), neighbours=REPLACE)


@pytest.mark.parametrize("kind", ["density", "svm"])
def test_an_answer_does_not_depend_on_what_else_is_asked(kit, kind) -> None:
    model = kit.fit(kind, form="features", random=300)
    rng = np.random.default_rng(5)
    asked = np.column_stack([rng.uniform(0, 10, 57), rng.uniform(-1, 1, 57)]).tolist()
    together = model.answer(asked).values
    assert tuple(model.answer([point]).values[0] for point in asked) == together
    assert model.answer(asked[::-1][:20]).values == together[::-1][:20]


def test_another_schema(kit) -> None:
    other = Domain(attributes=[Numeric(name="x", bounds=(0, 1), bins=4), Numeric(name="y", bounds=(0, 1), bins=4)])
    plan = ReleaseFunction(kind="density", features=("x",)).calibrate(
        other, kit.budget, unit=Unit.row(), neighbours=REPLACE
    )
    with pytest.raises(InvalidInput, match="schema"):
        plan.fit(kit.engine, SeededSource(1))


def test_the_guide_runs(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    exec(block, names)
    assert len(names["found"].values) == 2
