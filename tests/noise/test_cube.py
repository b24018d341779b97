import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from tacita.errors import InvalidInput
from tacita.noise import DiscreteCube, DiscreteLaplace, SecureSource, SeededSource
from tacita.testing.channel import chi_square_p


def law(cube, reach):
    """Probability of every vector up to a reach, by the definition."""
    far = np.abs(np.array(list(itertools.product(range(-reach, reach + 1), repeat=cube.dimensions)))).max(axis=1)
    k, scale = cube.dimensions, float(cube.scale)
    whole = sum(((2 * m + 1) ** k - (2 * m - 1) ** k * (m > 0)) * math.exp(-m / scale) for m in range(1000))
    return np.exp(-far / scale) / whole


@pytest.mark.parametrize(("scale", "dimensions"), [(Fraction(3), 1), (Fraction(2), 2), (Fraction(5, 3), 3)])
@pytest.mark.parametrize("source", [SeededSource(1), SecureSource()], ids=["seeded", "secure"])
def test_vectors_follow_the_law(scale, dimensions, source):
    cube, reach = DiscreteCube(scale=scale, dimensions=dimensions), 4
    draws = np.array([cube.draw(source) for _ in range(4000)])
    inside = np.abs(draws).max(axis=1) <= reach
    shape = (2 * reach + 1,) * dimensions
    seen = np.bincount(np.ravel_multi_index((draws[inside] + reach).T, shape), minlength=int(np.prod(shape)))
    expected = law(cube, reach)
    counts, shares = np.append(seen, (~inside).sum()), np.append(expected, 1 - expected.sum())
    assert chi_square_p(counts, shares) > 1e-6


def test_another_scale_is_noticed():
    cube, other = DiscreteCube(scale=Fraction(3), dimensions=2), DiscreteCube(scale=Fraction(5, 2), dimensions=2)
    far = np.array([np.abs(other.draw(SeededSource(seed))).max() for seed in range(4000)])
    shares = np.array([((2 * m + 1) ** 2 - (2 * m - 1) ** 2 * (m > 0)) * math.exp(-m / 3) for m in range(60)])
    shares /= shares.sum()
    assert chi_square_p(np.bincount(far, minlength=60), shares) < 1e-6
    far = np.array([np.abs(cube.draw(SeededSource(seed))).max() for seed in range(4000)])
    assert chi_square_p(np.bincount(far, minlength=60), shares) > 1e-4


def test_every_move_costs_at_most_what_is_stated_and_some_cost_it():
    """All vectors of a small grid, all moves of up to 2 a coordinate."""
    cube, reach = DiscreteCube(scale=Fraction(3, 2), dimensions=2), 7
    at = dict(zip(itertools.product(range(-reach, reach + 1), repeat=2), law(cube, reach), strict=True))
    worst = 0.0
    for z in itertools.product(range(-5, 6), repeat=2):
        for move in itertools.product(range(-2, 3), repeat=2):
            worst = max(worst, abs(math.log(at[z] / at[z[0] + move[0], z[1] + move[1]])))
    assert worst == pytest.approx(float(cube.epsilon(2)))


def test_one_coordinate_is_laplace_noise():
    cube, line = DiscreteCube(scale=Fraction(7, 2), dimensions=1), DiscreteLaplace(scale=Fraction(7, 2))
    assert law(cube, 40) == pytest.approx(line.pmf(np.arange(-40, 41)))


@pytest.mark.parametrize(("scale", "dimensions"), [(1000, 1), (1000, 7), (10_000, 60), (1 << 30, 300)])
def test_the_stated_deviation_is_that_of_the_draws(scale, dimensions):
    cube = DiscreteCube.at_least(scale, dimensions)
    draws = np.array([cube.draw(SeededSource(seed)) for seed in range(1500)], float)
    # coordinates share a radius, so they are not as many draws as they are
    assert np.sqrt((draws**2).mean()) == pytest.approx(cube.std, rel=0.06)
    assert abs(draws.mean()) < 6 * cube.std / math.sqrt(draws.size)


def test_a_tape_that_ends_in_the_middle_changes_nothing(monkeypatch):
    cube = DiscreteCube.at_least(12, 40)
    whole = cube.draw(SeededSource(4))
    monkeypatch.setattr("tacita.noise.cube._WORDS", 0)

    class Counted:
        simulated = True

        def __init__(self):
            self.inside, self.asked = SeededSource(4), 0

        def words(self, count):
            self.asked += 1
            assert self.asked < 100, "it does not end"
            return self.inside.words(count)

    source = Counted()
    assert np.array_equal(cube.draw(source), whole)
    assert source.asked > 1


def test_narrow_noise_on_many_coordinates_ends_and_keeps_its_law():
    """Attempts fail dozens of times here: those that failed are over, and what is kept has the law."""
    cube = DiscreteCube.at_least(3, 24)
    far = np.array([np.abs(cube.draw(SeededSource(seed))).max() for seed in range(1500)])
    shares = np.array([(2 * m + 1.0) ** 24 - (2 * m - 1.0) ** 24 * (m > 0) for m in range(400)])
    shares *= np.exp(-np.arange(400) / 3)
    assert chi_square_p(np.bincount(far, minlength=400), shares / shares.sum()) > 1e-4


def test_plain_data():
    cube = DiscreteCube.at_least(2.5, 4)
    assert cube.as_dict() == {"law": "discrete-cube", "parameter": "5/2", "dimensions": 4, "std": cube.std}


@pytest.mark.parametrize(
    ("scale", "dimensions", "field"),
    [
        (0.0, 2, "scale"),
        (math.inf, 2, "scale"),
        (2.0**40, 2, "scale"),
        (1.0, 0, "dimensions"),
        (1.0, 2e9, "dimensions"),
    ],
)
def test_bad_input(scale, dimensions, field):
    with pytest.raises(InvalidInput, match=field):
        DiscreteCube.at_least(scale, dimensions)


def test_a_scale_is_a_ratio_of_terms_that_the_sampler_takes():
    with pytest.raises(InvalidInput, match="ratio"):
        DiscreteCube(scale=1.5, dimensions=2)
    for scale in (Fraction(2**62), Fraction(2**40 + 1, 2**40)):
        with pytest.raises(InvalidInput, match="terms"):
            DiscreteCube(scale=scale, dimensions=2)


def test_noise_that_would_take_too_long_is_refused():
    with pytest.raises(InvalidInput, match="dimensions"):
        DiscreteCube.at_least(10, 81)
