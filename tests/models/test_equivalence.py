"""Compelled arrows against all structures with the same independences, listed by brute force."""

from itertools import combinations, product

import pytest

from tacita.models.equivalence import compelled_arrows


def acyclic(names, arrows):
    left = set(names)
    while left:
        free = {name for name in left if not any(child == name and parent in left for parent, child in arrows)}
        if not free:
            return False
        left -= free
    return True


def pattern(names, arrows):
    """Links and v-structures: what a class of equivalent structures shares."""
    links = {frozenset(arrow) for arrow in arrows}
    colliders = {
        (frozenset((a, b)), child)
        for child in names
        for a, b in combinations([parent for parent, to in arrows if to == child], 2)
        if frozenset((a, b)) not in links
    }
    return frozenset(links), frozenset(colliders)


@pytest.mark.parametrize("size", [3, 4])
def test_arrows_are_compelled_iff_every_equivalent_structure_has_them(size):
    names = "abcd"[:size]
    pairs = list(combinations(names, 2))
    structures = []
    for choice in product((None, False, True), repeat=len(pairs)):
        arrows = [pair if way else pair[::-1] for pair, way in zip(pairs, choice, strict=True) if way is not None]
        if acyclic(names, arrows):
            structures.append(arrows)
    classes = {}
    for arrows in structures:
        classes.setdefault(pattern(names, arrows), []).append(set(arrows))
    assert len(structures) == {3: 25, 4: 543}[size]
    for arrows in structures:
        shared = set.intersection(*classes[pattern(names, arrows)])
        parents = {name: [parent for parent, child in arrows if child == name] for name in names}
        assert compelled_arrows(parents) == shared
