"""Groups of microaggregation, compiled: MDAV for many attributes, shortest path for one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tacita.common.compiled import compiled

__all__ = ["mdav_groups", "optimal_groups"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@compiled
def _distance(points: Floats, i: int, centre: Floats) -> float:
    total = 0.0
    for j in range(points.shape[1]):
        step = points[i, j] - centre[j]
        total += step * step
    return total


@compiled
def _furthest(points: Floats, left: Ints, count: int, centre: Floats) -> int:
    """Index among those left of the point furthest away; the first of equals."""
    best, found = -1.0, 0
    for i in range(count):
        away = _distance(points, left[i], centre)
        if away > best:
            best, found = away, i
    return found


@compiled
def _take(points: Floats, left: Ints, count: int, centre: Floats, k: int, groups: Ints, number: int) -> int:
    """Put the k nearest of those left, the first of equals, into a group; return how many are left."""
    near, away = np.empty(k, np.int64), np.full(k, np.inf)
    for i in range(count):
        distance = _distance(points, left[i], centre)
        if distance < away[k - 1]:
            at = k - 1
            while at > 0 and distance < away[at - 1]:
                away[at], near[at] = away[at - 1], near[at - 1]
                at -= 1
            away[at], near[at] = distance, left[i]
    for at in range(k):
        groups[near[at]] = number
    kept = 0
    for i in range(count):
        if groups[left[i]] < 0:
            left[kept] = left[i]
            kept += 1
    return kept


@compiled
def mdav_groups(points: Floats, k: int) -> Ints:
    """The group of each point by MDAV [Domingo-Ferrer, Torra 2005]; groups have k to 2k - 1 points.

    Args:
        points: Standardised points, at least k; ties go to the first.
        k: Size of a group.
    """
    n, d = points.shape
    groups = np.full(n, -1, np.int64)
    left, count, number = np.arange(n), n, 0
    centre = np.empty(d)
    while count >= 2 * k:
        centre[:] = 0.0
        for i in range(count):
            for j in range(d):
                centre[j] += points[left[i], j]
        centre /= count
        far = points[left[_furthest(points, left, count, centre)]].copy()
        both = count >= 3 * k
        count = _take(points, left, count, far, k, groups, number)
        number += 1
        if both:
            opposite = points[left[_furthest(points, left, count, far)]].copy()
            count = _take(points, left, count, opposite, k, groups, number)
            number += 1
    for i in range(count):
        groups[left[i]] = number
    return groups


@compiled
def optimal_groups(values: Floats, k: int) -> Ints:
    """The group of each of some rising values with the least sum of squares [Hansen, Mukherjee 2003].

    Groups of an optimum are consecutive and have k to 2k - 1 values, so they are a shortest path from 0 to n with
    edges of these lengths: O(n k). Values should be centred, so that sums lose no digits.

    Args:
        values: Rising values, at least k.
        k: Least size of a group.
    """
    n = len(values)
    sums, squares = np.zeros(n + 1), np.zeros(n + 1)
    for i in range(n):
        sums[i + 1] = sums[i] + values[i]
        squares[i + 1] = squares[i] + values[i] * values[i]
    cost, start = np.full(n + 1, np.inf), np.zeros(n + 1, np.int64)
    cost[0] = 0.0
    for end in range(k, n + 1):
        for first in range(max(0, end - 2 * k + 1), end - k + 1):
            if cost[first] < np.inf:
                total = sums[end] - sums[first]
                within = squares[end] - squares[first] - total * total / (end - first)
                if cost[first] + max(within, 0.0) < cost[end]:
                    cost[end], start[end] = cost[first] + max(within, 0.0), first
    ends = np.empty(n // k + 1, np.int64)
    count, end = 0, n
    while end > 0:
        ends[count] = end
        count += 1
        end = start[end]
    groups = np.empty(n, np.int64)
    for number in range(count):
        last = ends[count - 1 - number]
        groups[start[last] : last] = number
    return groups
