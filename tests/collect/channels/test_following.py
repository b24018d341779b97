"""Blocks whose fakes follow what was learnt, and the independence test that runs them again."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from tacita.collect.analysis.hypothesis import Hypothesis
from tacita.collect.analysis.independence_simulated import _Question, monte_carlo_test
from tacita.collect.channels.channel import RandomizedResponse
from tacita.collect.channels.following import following_channel
from tacita.collect.estimating.pooling import pool
from tacita.collect.estimating.tally import Tally
from tacita.collect.planning.design import Asked, CollectionDesign
from tacita.domain import Categorical, Domain
from tacita.noise import SeededSource

DOMAIN = Domain(attributes=[Categorical(name="a", levels=("x", "y")), Categorical(name="b", levels=("p", "q", "r"))])
KEY, EPSILON, FLOOR = ("a", "b"), 1.0, 0.05
NULL = np.outer([0.85, 0.15], [0.8, 0.15, 0.05]).reshape(-1)


def learnt(channels, counts):
    return pool([channel.estimate(seen) for channel, seen in zip(channels, counts, strict=True)]).frequencies


def collected(seed, people=200, blocks=3):
    rng, source = np.random.default_rng(seed), SeededSource(seed)
    channels, counts = [], []
    for block in range(blocks):
        even = RandomizedResponse.with_fakes(distribution=[1 / 6] * 6, epsilon=EPSILON, floor=FLOOR)
        channel = following_channel(learnt(channels, counts), epsilon=EPSILON, floor=FLOOR) if block else even
        cells = np.repeat(np.arange(6), rng.multinomial(people, NULL))
        channels.append(channel)
        counts.append(channel.tally(channel.randomize(cells, source)))
    asked = [Asked(attributes=KEY, channel=each, share=1.0, block=n + 1) for n, each in enumerate(channels)]
    design = CollectionDesign(
        domain=DOMAIN,
        questions=tuple(asked),
        epsilon=EPSILON,
        respondents=people * blocks,
        mode="tables",
        views=tuple((block,) for block in range(blocks)),
        floor=FLOOR,
    )
    return design, dict(enumerate(counts))


def test_fakes_follow_the_table_and_the_promise_stays():
    channel = following_channel([0.7, 0.4, -0.1], epsilon=EPSILON, floor=0.2)
    assert channel.epsilon <= EPSILON
    fakes = channel.matrix()[2]  # of somebody in the rarest cell
    assert fakes[0] > fakes[1] > 0


def test_each_simulation_derives_its_channels_from_its_own_reports():
    design, counts = collected(1)
    question = _Question(Tally.counted(design, counts), KEY, Hypothesis.of(*KEY))
    channels, tallied = question.again(NULL, np.random.default_rng(2), SeededSource(2))
    assert channels[0] == question.channels[0]
    assert channels[1] != question.channels[1]
    for block in (1, 2):
        expected = following_channel(learnt(channels[:block], tallied[:block]), epsilon=EPSILON, floor=FLOOR)
        assert channels[block] == expected


def test_a_verdict_says_when_channels_are_given():
    design, counts = collected(3)
    whole = monte_carlo_test(Tally.counted(design, counts), KEY, simulations=5, seed=1)
    given = monte_carlo_test(Tally.counted(replace(design, floor=None), counts), KEY, simulations=5, seed=1)
    assert "given the channels" not in whole.method
    assert "given the channels" in given.method


@pytest.mark.slow
def test_the_test_keeps_its_level_over_blocks():
    """60 collections under the hypothesis at level 1/4: more than 30 rejections have a probability of 1e-5."""
    rejected = 0
    for seed in range(60):
        design, counts = collected(100 + seed, people=80)
        rejected += monte_carlo_test(Tally.counted(design, counts), KEY, simulations=19, seed=seed).p_value <= 0.25
    assert rejected <= 30
