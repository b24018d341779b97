"""Neighbours are told apart no better than is claimed, by somebody who asks where they differ; broken ones are."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tacita.assess.audit.attack import audit
from tacita.learn.functions.calibration import noise_multiplier, sigma_of
from tacita.learn.functions.density import fit_density
from tacita.learn.functions.expansion import Space
from tacita.learn.functions.features import Features
from tacita.learn.functions.gaussian_process import fit_mean
from tacita.learn.functions.kernel import Kernel
from tacita.learn.functions.model import on_grid, step_of
from tacita.learn.functions.path import OWN, WIDER, Path, normals
from tacita.learn.functions.svm import fit_machine
from tacita.noise import SeededSource
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit

EPSILON, DELTA, TRIALS = 1.0, 1e-5, 3000
KERNEL = Kernel(bandwidth=0.2)
ROW, REPLACE = Unit.row(), Neighbours.REPLACE_ONE
ASKED = np.array([[0.0], [1.0], [0.05], [0.5]])


def fitted(kind: str, differs: bool, space: Space) -> Any:
    points = np.array([[0.0], [0.4], [0.5]])
    if kind == "density":
        points[0] = 1.0 if differs else 0.0
        return fit_density(points, space=space, divisor=3, volume=1, unit=ROW, neighbours=REPLACE)
    if kind == "svm":
        codes = np.array([int(differs), 0, 1])
        return fit_machine(points, codes, classes=2, space=space, c=0.5, most=100, unit=ROW, neighbours=REPLACE)
    responses = np.array([1.0 if differs else 0.0, 0.3, 0.4])
    return fit_mean(points, responses, space=space, noise=0.1, ends=(0.0, 1.0), unit=ROW)


def space_of(kind: str, form: str) -> Space:
    kernel = Kernel(bandwidth=0.2, bias=kind == "svm")
    return Space(kernel=kernel, features=Features(kernel=kernel, dimensions=1, count=8) if form == "features" else None)


def answers_of(kind: str, form: str, less: float = 1.0) -> Any:
    """Answers of a function where neighbours differ, over many releases; with a share of the noise, if told so."""
    space = space_of(kind, form)
    multiplier = noise_multiplier(Budget.approx(EPSILON, DELTA), REPLACE)

    def run(differs: bool, times: int, rng: np.random.Generator) -> Any:
        source = SeededSource(int(rng.integers(2**31)))
        model = fitted(kind, differs, space)
        found = []
        if space.features is not None:
            sigma = less * sigma_of(model.sensitivity, multiplier)
            for _ in range(times):
                noise = normals(model.weights.size, source)[:, None] * sigma
                found.append(on_grid(model.weights, noise, step_of(sigma))[:, 0])
            return np.array(found) @ space.features(ASKED).T
        sigma = less * sigma_of(model.sensitivity * WIDER, multiplier)
        exact = space.gram(ASKED, model.centres) @ model.weights
        for _ in range(times):
            noise = Path(space.kernel, 1).draw(ASKED, source).noise * sigma
            found.append(on_grid(exact, noise, step_of(sigma))[:, 0])
        return np.array(found)

    return run


@pytest.mark.parametrize("kind", ["density", "gaussian-process", "svm"])
@pytest.mark.parametrize("form", ["path", "features"])
def test_the_claim_holds(kind, form) -> None:
    found = audit(answers_of(kind, form), False, True, trials=TRIALS, rng=np.random.default_rng(1), delta=DELTA)
    assert found.epsilon <= EPSILON


@pytest.mark.parametrize("kind", ["density", "svm"])
def test_too_little_noise_is_caught(kind) -> None:
    """The auditor can see: with a sixth of the noise the same attack breaks the claim."""
    found = audit(
        answers_of(kind, "path", 1 / 6), False, True, trials=TRIALS, rng=np.random.default_rng(2), delta=DELTA
    )
    assert found.epsilon > EPSILON


def test_fresh_noise_for_each_query_is_caught() -> None:
    """The trap: noise of the right size, drawn anew whenever the same point is asked. The path stays below."""
    space = space_of("density", "path")
    sigma = sigma_of(math.sqrt(2), noise_multiplier(Budget.approx(EPSILON, DELTA), REPLACE))

    def fresh(differs: bool, times: int, rng: np.random.Generator) -> Any:
        model = fitted("density", differs, space)
        exact = float(space.gram(ASKED[:1], model.centres)[0] @ model.weights[:, 0])
        return exact + rng.normal(0, sigma * math.sqrt(1 + OWN), (times, 200)).mean(axis=1)

    found = audit(fresh, False, True, trials=TRIALS, rng=np.random.default_rng(3), delta=DELTA)
    assert found.epsilon > EPSILON


def test_features_in_the_noise_alone_are_caught() -> None:
    """The other trap: the model keeps its kernel, the noise has few features; some weights of answers have no noise."""
    kernel = Kernel(bandwidth=0.05)
    space, features = Space(kernel=kernel), Features(kernel=kernel, dimensions=1, count=3)
    asked = np.linspace(0, 1, 12)[:, None]
    sigma = sigma_of(math.sqrt(2), noise_multiplier(Budget.approx(EPSILON, DELTA), REPLACE))
    columns = features(asked)
    free = np.linalg.svd(columns.T)[2][-1]  # a sum of answers in which all noise cancels

    def broken(differs: bool, times: int, rng: np.random.Generator) -> Any:
        model = fitted("density", differs, space)
        exact = (space.gram(asked, model.centres) @ model.weights)[:, 0]
        return (exact + rng.normal(0, sigma, (times, features.size)) @ columns.T) @ free

    found = audit(broken, False, True, trials=TRIALS, rng=np.random.default_rng(4), delta=DELTA)
    assert found.epsilon > EPSILON
