"""Time becomes a number of steps before anything is read."""

from __future__ import annotations

import math

import pytest

from tacita.domain import Categorical, Domain
from tacita.models.mixture_fit import STEPS
from tacita.privacy.budget import Budget
from tacita.privacy.unit import Neighbours, Unit
from tacita.synthesize import Adaptive, Pairs, PateGan
from tacita.synthesize.effort import mixture_step, network_step, scaled

DOMAIN = Domain(attributes=[Categorical(name=name, levels=tuple("abcdefgh")) for name in "uvwxyz"])


def planned(recipe, budget=None):
    budget = budget or Budget.approx(1.0, 1e-6)
    return recipe.calibrate(DOMAIN, budget, unit=Unit.row(), neighbours=Neighbours.ADD_REMOVE)


def test_steps_fit_into_the_time_and_there_is_always_one():
    assert scaled(100, math.inf, 50.0) == 100
    assert scaled(100, 60.0, 50.0) == 100
    assert scaled(100, 25.0, 50.0) == 50
    assert scaled(100, 1e-9, 50.0) == 1


def test_larger_work_takes_longer():
    assert mixture_step(300, 400) > mixture_step(100, 400) > mixture_step(100, 100)
    assert network_step(1000, 64, 256, 100) > network_step(1000, 64, 100) > network_step(10, 64, 100)


def test_fits_and_steps_are_fixed_by_the_plan():
    assert 1 <= Adaptive(seconds=0.05).fits(6, 12, 40) < Adaptive().fits(6, 12, 40) == 6
    assert planned(Adaptive(seconds=0.05)).event == planned(Adaptive()).event
    assert planned(Pairs(seconds=0.05)).recipe.steps < STEPS == planned(Pairs()).recipe.steps


def test_fewer_rounds_of_votes_are_paid_for():
    pytest.importorskip("torch")
    few, many = planned(PateGan(seconds=0.5)), planned(PateGan())
    assert few.recipe.rounds < many.recipe.rounds == 10
    assert few.law.std < many.law.std
