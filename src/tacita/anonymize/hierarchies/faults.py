"""All faults of a hierarchy at once, each with the leaf or label it is about.

    shape     a path without leaves or levels, paths of different lengths, several roots
    parents   a label below two others, a leaf that is there twice, a label without text
    cover     levels of the schema without a leaf, and leaves that are no level (with the name that was probably meant)

Privacy: a hierarchy and a schema are public. Values of rows are not read here.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches

from tacita.errors import InvalidInput

__all__ = ["MOST_FAULTS", "cover_faults", "path_faults", "refuse"]

MOST_FAULTS = 20
"""Faults that are listed; a file with more of them is another kind of file."""
_COMPARED = 500  # names that a misspelt one is compared with


def refuse(field: str, faults: Iterable[str], *, hint: str | None = None) -> None:
    """Raise one error with all faults, if there are any."""
    found = list(itertools.islice(faults, MOST_FAULTS + 1))
    if len(found) == 1:
        raise InvalidInput(found[0], field=field, hint=hint)
    if found:
        more = " and more" if len(found) > MOST_FAULTS else ""
        listed = "; ".join(found[:MOST_FAULTS])
        raise InvalidInput(f"has {min(len(found), MOST_FAULTS)} faults{more}: {listed}", field=field, hint=hint)


def path_faults(paths: Sequence[Sequence[str]]) -> Iterator[str]:
    """List the faults of paths from the root to the leaves."""
    if not paths:
        yield "has no leaves"
        return
    usual = Counter(len(path) for path in paths).most_common(1)[0][0]
    for path in paths:
        if len(path) != usual:
            leaf = path[-1] if path else ""
            yield f"every leaf must have all levels: {leaf!r} has {len(path)} instead of {usual}"
    whole = [path for path in paths if len(path) == usual]
    roots = Counter(path[0] for path in whole)
    if len(roots) > 1:
        named = ", ".join(repr(root) for root, _ in roots.most_common(4)) + (", …" if len(roots) > 4 else "")
        yield f"must end in one root, has {named}; give each line a last level *"
    if any(not label.strip() for path in whole for label in path):
        named = next(path[-1] for path in whole if any(not label.strip() for label in path))
        yield f"a level without text, above {named!r}"
    parents: dict[tuple[int, str], str] = {}
    seen: set[tuple[int, str]] = set()
    for path in whole:
        for level, (above, below) in enumerate(itertools.pairwise(path), start=1):
            first = parents.setdefault((level, below), above)
            if first != above and (level, below) not in seen:
                seen.add((level, below))
                if level > 1:  # below two roots: said above
                    yield f"{below!r} stands below both {first!r} and {above!r}"
    leaves = Counter(path[-1] for path in whole)
    for leaf, count in leaves.items():
        if count > 1 and (usual - 1, leaf) not in seen:
            yield f"a leaf is there twice: {leaf!r}"


def cover_faults(leaves: Sequence[str], levels: Sequence[str]) -> Iterator[str]:
    """Levels of the schema without a leaf, and leaves that no level is called."""
    known, declared = set(leaves), set(levels)
    extra = [leaf for leaf in leaves if leaf not in declared]
    for level in levels:
        if level in known:
            continue
        near = get_close_matches(level, extra[:_COMPARED], n=1, cutoff=0.7)
        yield f"no leaf for the level {level!r}" + (
            f". Did you mean {level!r} by the leaf {near[0]!r}?" if near else ""
        )
