"""Affine planes: few sets of q attributes in which every two attributes meet once.

The points of the plane over a field of q elements are q^2 attributes; its q^2 + q lines are the sets: y = m x + c for
every slope m and intercept c, and x = c. Any two points lie on exactly one line, so that no pair is covered twice: no
family of sets of this size that covers all pairs is smaller. With fewer attributes than points some lines are shorter.
q is 2, 3, 4, 5, 7 or 8.
"""

from __future__ import annotations

from collections.abc import Sequence

from tacita.errors import InvalidInput

__all__ = ["ORDERS", "plane_lines"]

_REDUCED = {4: 0b111, 8: 0b1011}
"""Irreducible polynomials over two elements, by which products in fields of 4 and 8 are reduced."""
ORDERS = (2, 3, 4, 5, 7, 8)


def plane_lines(names: Sequence[str], order: int) -> tuple[tuple[str, ...], ...]:
    """Lines of the plane of an order, over at most order^2 attributes; those with fewer than two are left out.

    >>> plane_lines("abcd", 2)
    (('a', 'b'), ('c', 'd'), ('a', 'c'), ('b', 'd'), ('a', 'd'), ('b', 'c'))
    """
    if order not in ORDERS or len(names) > order**2:
        raise InvalidInput(f"must be one of {ORDERS}, and its square the number of attributes", field="order")
    points = {(place // order, place % order): name for place, name in enumerate(names)}
    field = range(order)
    lines = [[(c, y) for y in field] for c in field]
    lines += [[(x, _add(_times(m, x, order), c, order)) for x in field] for m in field for c in field]
    held = (tuple(points[point] for point in line if point in points) for line in lines)
    return tuple(line for line in held if len(line) > 1)


def _add(a: int, b: int, order: int) -> int:
    return a ^ b if order in _REDUCED else (a + b) % order


def _times(a: int, b: int, order: int) -> int:
    if order not in _REDUCED:
        return a * b % order
    found = 0
    for bit in range(order.bit_length()):
        if b >> bit & 1:
            found ^= a << bit
    for bit in range(2 * order.bit_length(), order.bit_length() - 2, -1):
        if found >> bit & 1:
            found ^= _REDUCED[order] << (bit - order.bit_length() + 1)
    return found
