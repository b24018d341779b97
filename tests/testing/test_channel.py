import numpy as np
import pytest

from tacita.testing.channel import chi_square_p


def test_a_rare_draw_is_no_alarm():
    """One draw where 0.006 are expected, alone in its cell: the textbook statistic calls it impossible."""
    law = np.array([0.7, 0.2, 0.1 - 6e-7, 6e-7])
    assert chi_square_p(np.array([7000, 2000, 999, 1]), law) == pytest.approx(4 * 0.006, rel=0.01)


def test_alarms_for_the_law_itself_are_as_rare_as_they_say():
    """With rare cells too: an alarm is no likelier than it says, and not much rarer."""
    rng = np.random.default_rng(1)
    law = np.array([0.5, 0.3, 0.15, 0.049, 9e-4, 9e-5, 1e-5])
    found = np.array([chi_square_p(rng.multinomial(2000, law), law) for _ in range(4000)])
    for level in (0.2, 0.1, 0.01, 0.001):
        assert level / 4 - 5 * np.sqrt(level / 4000) < (found < level).mean() < level + 5 * np.sqrt(level / 4000)


@pytest.mark.parametrize("counts", [[480, 320, 150, 50], [500, 300, 200, 0], [500, 300, 140, 60]])
def test_another_law_is_noticed_common_or_rare(counts):
    assert chi_square_p(np.array(counts) * 20, np.array([0.5, 0.3, 0.15, 0.05])) < 1e-4


@pytest.mark.parametrize("counts", [[5000, 4960, 40], [5020, 4940, 40], [5300, 4699, 1]])
def test_a_rare_cell_hides_behind_no_common_one(counts):
    """Ten times too many of a rare one, and a common one that is off beside a rare one that is right."""
    assert chi_square_p(np.array(counts), np.array([0.5, 0.4996, 0.0004])) < 1e-4


def test_fewer_than_five_draws_tell_nothing():
    assert chi_square_p(np.array([0, 3]), np.array([0.999, 0.001])) == 1


def test_one_draw_where_the_law_allows_none_is_noticed():
    law = np.array([0.55, 0.45, 0.0])
    assert chi_square_p(np.array([550, 450, 0]), law) > 0.5
    assert chi_square_p(np.array([550, 449, 1]), law) == 0


def test_a_law_of_one_cell_cannot_be_missed():
    assert chi_square_p(np.array([1000, 0]), np.array([1.0, 0.0])) == 1
