import itertools

import pytest

from tacita.collect.planning.planes import ORDERS, plane_lines
from tacita.errors import InvalidInput


@pytest.mark.parametrize("order", ORDERS)
def test_every_two_attributes_meet_once(order):
    for count in (order**2, order**2 - 1, order**2 - order + 1):
        names = [f"x{i}" for i in range(count)]
        lines = plane_lines(names, order)
        assert max(len(line) for line in lines) == order
        assert len(lines) <= order**2 + order
        met = [frozenset(pair) for line in lines for pair in itertools.combinations(line, 2)]
        assert len(met) == len(set(met)) == count * (count - 1) // 2


def test_more_attributes_than_points_are_refused():
    with pytest.raises(InvalidInput, match="square"):
        plane_lines([f"x{i}" for i in range(10)], 3)
    with pytest.raises(InvalidInput, match="must be one of"):
        plane_lines("abc", 6)
