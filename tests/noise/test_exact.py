"""The samplers' laws, read off by enumeration.

One storey at a time. `below` is enumerated over all tapes of short words: it is exactly uniform. Then the very
source of the next function is run with its building blocks replaced by ones that branch over their outcomes
with the weights just established, and the tree of all runs is walked until next to nothing is undecided.
"""

import heapq
import math
import types
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest

from tacita.noise import _exact
from tacita.noise._exact import ENDED


def u(n):
    return np.uint64(n)


# -- step one: words ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3, 5, 7, 8])
@pytest.mark.parametrize("bits", [3, 4])
def test_below_is_uniform(n, bits):
    decided, undecided = defaultdict(Fraction), Fraction(0)
    todo = [()]
    while todo:
        tape = todo.pop()
        value, at = _exact.below(np.array(tape, np.uint64), 0, bits, u(n))
        weight = Fraction(1, 2 ** (bits * len(tape)))
        if at != ENDED:
            decided[int(value)] += weight
        elif len(tape) == 3:
            undecided += weight
        else:
            todo += [(*tape, word) for word in range(2**bits)]
    assert sorted(decided) == list(range(n))
    assert len(set(decided.values())) == 1
    assert sum(decided.values()) + undecided == 1


def test_below_at_64_bits_rejects_beyond_the_last_multiple():
    largest = np.array([2**64 - 1, 5], np.uint64)
    assert _exact.below(largest, 0, 64, u(3)) == (
        2,
        2,
    )  # 0 .. 2^64 - 2 are full cycles; the last word is one too many
    assert _exact.below(largest, 0, 64, u(2**63)) == (2**63 - 1, 1)
    assert _exact.below(largest, 0, 64, u(2**63 + 1)) == (5, 2)


# -- the storeys above -------------------------------------------------------------------------------------------------


class Branching:
    """Building blocks that follow a list of choices and, at its end, say which outcomes come next."""

    def __init__(self, choices):
        self.choices, self.outcomes = choices, None

    def pick(self, at, outcomes):
        if at >= len(self.choices):
            self.outcomes = outcomes
            return outcomes[0][0], ENDED
        return outcomes[self.choices[at]][0], at + 1

    def below(self, _words, at, _bits, n):
        return (np.uint64(0), at) if n == 1 else self.pick(at, [(np.uint64(i), 1 / int(n)) for i in range(int(n))])

    def coin(self, _words, at, _bits, top, bottom):
        p = math.exp(-int(top) / int(bottom))
        return (True, at) if p == 1 else self.pick(at, [(True, p), (False, 1 - p)])

    def geometric(self, _words, at, _bits, top, bottom):
        q = math.exp(-int(bottom) / int(top))
        return self.pick(at, [(np.uint64(x), (1 - q) * q**x) for x in range(60)])

    def laplace(self, _words, at, _bits, top, bottom):
        probability = laplace_probability(int(top), int(bottom))
        return self.pick(at, [(x, probability(x)) for x in range(-12, 13)])


def law_of(name, arguments, blocks, undecided_at_most=1e-4):
    """Weight of every value that a function of the module can return, and what is left undecided."""
    decided, undecided = defaultdict(float), 1.0
    heap = [(-1.0, ())]
    while undecided > undecided_at_most:
        weight, choices = heapq.heappop(heap)
        branching = Branching(choices)
        names = dict(vars(_exact)) | {block: getattr(branching, how) for block, how in blocks.items()}
        run = types.FunctionType(getattr(_exact, name).py_func.__code__, names)
        value, at = run((), 0, 64, *map(u, arguments))
        if at == ENDED:
            for index, (_, share) in enumerate(branching.outcomes):
                heapq.heappush(heap, (weight * share, (*choices, index)))
        else:
            decided[int(value)] -= weight
            undecided += weight
    return decided, undecided


def assert_law(law, probability, values):
    decided, undecided = law
    for x in values:
        assert decided[x] <= probability(x) + 1e-9
        assert probability(x) <= decided[x] + undecided + 1e-9


def laplace_probability(top, bottom):
    return lambda x: math.tanh(bottom / top / 2) * math.exp(-abs(x) * bottom / top)


RATIOS = [(0, 1), (1, 1), (1, 2), (2, 3), (3, 4)]


@pytest.mark.parametrize(("top", "bottom"), RATIOS)
def test_unit_coin(top, bottom):
    law = law_of("coin_exp_unit", (top, bottom), {"below": "below"}, 1e-3)
    assert_law(law, lambda x: math.exp(-top / bottom) if x else -math.expm1(-top / bottom), [0, 1])


@pytest.mark.parametrize(("top", "bottom"), [*RATIOS, (5, 3), (9, 4), (4, 1)])
def test_coin(top, bottom):
    law = law_of("coin_exp", (top, bottom), {"coin_exp_unit": "coin"})
    assert_law(law, lambda x: math.exp(-top / bottom) if x else -math.expm1(-top / bottom), [0, 1])


GEOMETRIC_BLOCKS = {"below": "below", "coin_exp_unit": "coin"}


@pytest.mark.parametrize(("top", "bottom"), [(1, 1), (1, 2), (2, 1), (3, 2)])
def test_geometric(top, bottom):
    q = math.exp(-bottom / top)
    law = law_of("geometric", (top, bottom), GEOMETRIC_BLOCKS, 5e-3)
    assert_law(law, lambda x: (1 - q) * q**x, range(7))


def kept_radius(top, bottom, k):
    """In each attempt, proportional to the claimed law: the sum's probability times that of all coins."""
    q = math.exp(-bottom / top)
    return lambda r: (1 - q) ** (k + 1) / (2**k * math.factorial(k)) * (2 * r + 1) ** k * q**r


@pytest.mark.parametrize(("top", "bottom", "k"), [(1, 1, 1), (1, 2, 1), (2, 1, 1), (1, 2, 2), (1, 1, 2)])
def test_each_attempt_at_a_radius(top, bottom, k):
    law = law_of("try_radius", (top, bottom, k), {"below": "below", "geometric": "geometric"}, 2e-2)
    assert_law(law, kept_radius(top, bottom, k), range(6))
    assert law[0][-1] == pytest.approx(1 - sum(map(kept_radius(top, bottom, k), range(200))), abs=2e-2)


def test_enumeration_catches_a_radius_that_is_always_kept():
    """The sum of geometric draws alone, which is nearly right where noise is wide, is noticed."""

    def zero(self, words, at, bits, n):
        return np.uint64(0), at

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Branching, "below", zero)
        law = law_of("try_radius", (1, 1, 2), {"below": "below", "geometric": "geometric"}, 2e-2)
    with pytest.raises(AssertionError):
        assert_law(law, kept_radius(1, 1, 2), range(6))


@pytest.mark.parametrize(("top", "bottom"), [(1, 1), (1, 2), (2, 1), (3, 2)])
def test_laplace(top, bottom):
    blocks = {"below": "below", "geometric": "geometric"}
    assert_law(law_of("laplace", (top, bottom), blocks, 5e-3), laplace_probability(top, bottom), range(-6, 7))


@pytest.mark.parametrize(("top", "bottom", "t"), [(1, 2, 1), (1, 1, 2), (3, 1, 2), (7, 2, 2)])
def test_gaussian(top, bottom, t):
    law = law_of("gaussian", (top, bottom, t), {"laplace": "laplace", "coin_exp": "coin"}, 5e-2)
    weights = {x: math.exp(-x * x * bottom / (2 * top)) for x in range(-60, 61)}
    assert_law(law, lambda x: weights[x] / sum(weights.values()), range(-4, 5))


def test_enumeration_catches_a_slip():
    """Scale 2 passed off as scale 3/2 is noticed."""
    with pytest.raises(AssertionError):
        blocks = {"below": "below", "geometric": "geometric"}
        assert_law(law_of("laplace", (2, 1), blocks, 5e-3), laplace_probability(3, 2), range(-6, 7))
