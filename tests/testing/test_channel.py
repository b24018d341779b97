import numpy as np
import pytest

from tacita.testing.channel import chi_square_p


def test_a_rare_draw_is_no_alarm():
    """One draw where 0.006 are expected, alone in its cell: the textbook statistic calls it impossible."""
    law = np.array([0.7, 0.2, 0.1 - 6e-7, 6e-7])
    assert chi_square_p(np.array([7000, 2000, 999, 1]), law) > 0.5


def test_p_values_of_the_law_itself_are_about_even():
    """With rare cells too: shares below a level come to about that level, so an alarm means what it says."""
    rng = np.random.default_rng(1)
    law = np.array([0.5, 0.3, 0.15, 0.049, 9e-4, 9e-5, 1e-5])
    found = np.array([chi_square_p(rng.multinomial(2000, law), law) for _ in range(4000)])
    for level in (0.5, 0.1, 0.01):
        assert (found < level).mean() == pytest.approx(level, abs=5 * np.sqrt(level / 4000) + level / 5)


@pytest.mark.parametrize("counts", [[480, 320, 150, 50], [500, 300, 200, 0], [500, 300, 140, 60]])
def test_another_law_is_noticed_common_or_rare(counts):
    assert chi_square_p(np.array(counts) * 20, np.array([0.5, 0.3, 0.15, 0.05])) < 1e-4


def test_one_draw_where_the_law_allows_none_is_noticed():
    law = np.array([0.55, 0.45, 0.0])
    assert chi_square_p(np.array([550, 450, 0]), law) > 0.5
    assert chi_square_p(np.array([550, 449, 1]), law) == 0


def test_a_law_of_one_cell_cannot_be_missed():
    assert chi_square_p(np.array([1000, 0]), np.array([1.0, 0.0])) == 1
