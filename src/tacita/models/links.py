"""Links of several networks side by side: which they share, which they turn, and how far they are apart.

    common       in every network, in the same direction
    discordant   in every network, but not in the same direction
    uncommon     missing in at least one network

The structural Hamming distance (SHD) counts the pairs of attributes with another link: added, removed or turned
[Tsamardinos et al. 2006]. Networks with the same pairs and the same v-structures imply the same independences; their
class is a CPDAG, in which only the links that all members direct alike have a direction [Chickering 1995; Meek 1995].

Privacy: none of its own; it uses structures only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

from tacita.errors import InvalidInput
from tacita.models.network import topological_order

__all__ = ["LinkComparison", "LinkRow", "LinkStatus", "compare_links", "cpdag", "shd", "v_structures"]

Parents = Mapping[str, Sequence[str]]
Link = tuple[str, str]
LinkStatus = Literal["common", "discordant", "uncommon"]


def links_of(parents: Parents) -> frozenset[Link]:
    """Return all links (parent, child)."""
    return frozenset((above, name) for name, each in parents.items() for above in each)


def v_structures(parents: Parents) -> frozenset[tuple[str, str, str]]:
    """Return all (X1, X3, X2) with X1 -> X3 <- X2 and no link between X1 and X2; X1 comes before X2 by name.

    >>> sorted(v_structures({"a": (), "b": (), "c": ("a", "b")}))
    [('a', 'c', 'b')]
    """
    pairs = {frozenset(link) for link in links_of(parents)}
    return frozenset(
        (one, name, other)
        for name, above in parents.items()
        for one, other in combinations(sorted(above), 2)
        if frozenset((one, other)) not in pairs
    )


def cpdag(parents: Parents) -> tuple[frozenset[Link], frozenset[frozenset[str]]]:
    """Return the class of a network: links with a direction in all members, and pairs without one.

    Starts from the v-structures and applies Meek's rules 1 to 3 until nothing changes; rule 4 is needed for knowledge
    beyond v-structures only.
    """
    topological_order(tuple(parents), {name: tuple(above) for name, above in parents.items()})
    near = {name: set(above) for name, above in parents.items()}
    for above, name in links_of(parents):
        near[above].add(name)
    directed = {link for one, name, other in v_structures(parents) for link in ((one, name), (other, name))}
    free = {frozenset(link) for link in links_of(parents)} - {frozenset(link) for link in directed}
    while True:
        forced = {
            (a, b)
            for pair in free
            for a, b in (tuple(sorted(pair)), tuple(sorted(pair, reverse=True)))
            if _forced(a, b, near, directed, free)
        }
        if not forced:
            return frozenset(directed), frozenset(free)
        directed |= forced
        free -= {frozenset(link) for link in forced}


def _forced(a: str, b: str, near: Mapping[str, set[str]], directed: set[Link], free: set[frozenset[str]]) -> bool:
    """Whether a - b must be a -> b."""
    # 1: c -> a and c is not near b: b -> a would be a new v-structure
    if any((c, a) in directed and c not in near[b] for c in near[a] - {b}):
        return True
    # 2: a -> c -> b: b -> a would close a cycle
    if any((a, c) in directed and (c, b) in directed for c in near[a] & near[b]):
        return True
    # 3: a - c -> b and a - d -> b with c and d apart
    both = [c for c in sorted(near[a] & near[b]) if frozenset((a, c)) in free and (c, b) in directed]
    return any(d not in near[c] for c, d in combinations(both, 2))


def shd(one: Parents, other: Parents, *, classes: bool = False) -> int:
    """Return the structural Hamming distance of two networks, or of their classes.

    >>> chain, turned = {"a": (), "b": ("a",)}, {"a": ("b",), "b": ()}
    >>> shd(chain, turned), shd(chain, turned, classes=True)
    (1, 0)
    """
    if set(one) != set(other):
        raise InvalidInput("must have the same attributes", field="networks", value=sorted(set(one) ^ set(other)))
    first, second = (_states(each, classes) for each in (one, other))
    return sum(first.get(pair) != second.get(pair) for pair in first.keys() | second.keys())


def _states(parents: Parents, classes: bool) -> dict[frozenset[str], Link | str]:
    """The state of each pair that has a link: the link, or that it has no direction."""
    directed, free = cpdag(parents) if classes else (links_of(parents), frozenset[frozenset[str]]())
    return {frozenset(link): link for link in directed} | dict.fromkeys(free, "free")


@dataclass(frozen=True, kw_only=True)
class LinkRow:
    """One pair of attributes: its status, and the networks that have each direction."""

    pair: Link
    status: LinkStatus
    directions: Mapping[Link, tuple[str, ...]]

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        directions = {f"{above}:{below}": list(names) for (above, below), names in self.directions.items()}
        return {"pair": list(self.pair), "status": self.status, "directions": directions}


@dataclass(frozen=True, kw_only=True)
class LinkComparison:
    """Links of several networks, and the distance of each two of them."""

    networks: tuple[str, ...]
    rows: tuple[LinkRow, ...]
    sizes: Mapping[str, int]
    shd: Mapping[tuple[str, str], int]
    class_shd: Mapping[tuple[str, str], int]

    def links(self, status: LinkStatus) -> list[Link]:
        """Return the links of a status, each direction once."""
        return [link for row in self.rows if row.status == status for link in row.directions]

    @property
    def kinds(self) -> dict[Link, LinkStatus]:
        """Status of each link, for a picture."""
        return {link: row.status for row in self.rows for link in row.directions}

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        pairs = [
            {"networks": [a, b], "shd": self.shd[a, b], "class_shd": self.class_shd[a, b]} for a, b in sorted(self.shd)
        ]
        return {
            "networks": list(self.networks),
            "sizes": dict(self.sizes),
            "links": [row.as_dict() for row in self.rows],
            "distances": pairs,
        }


def compare_links(networks: Mapping[str, Parents]) -> LinkComparison:
    """Compare the links of two or more networks over the same attributes, by name of the network."""
    if len(networks) < 2:
        raise InvalidInput("must be two or more", field="networks", value=len(networks))
    order = {name: at for at, name in enumerate(next(iter(networks.values())))}
    for label, parents in networks.items():
        if set(parents) != set(order):
            hint = "Compare networks over the same attributes"
            raise InvalidInput("must have the attributes of the others", field="networks", value=label, hint=hint)
    found: dict[frozenset[str], dict[Link, tuple[str, ...]]] = {}
    for label, parents in networks.items():
        for link in sorted(links_of(parents), key=lambda each: (order[each[0]], order[each[1]])):
            directions = found.setdefault(frozenset(link), {})
            directions[link] = (*directions.get(link, ()), label)
    rows = [_row(directions, len(networks)) for directions in found.values()]
    rank = {"common": 0, "discordant": 1, "uncommon": 2}
    rows.sort(key=lambda row: (rank[row.status], order[row.pair[0]], order[row.pair[1]]))
    pairs = list(combinations(networks, 2))
    return LinkComparison(
        networks=tuple(networks),
        rows=tuple(rows),
        sizes={label: len(links_of(parents)) for label, parents in networks.items()},
        shd={(a, b): shd(networks[a], networks[b]) for a, b in pairs},
        class_shd={(a, b): shd(networks[a], networks[b], classes=True) for a, b in pairs},
    )


def _row(directions: dict[Link, tuple[str, ...]], networks: int) -> LinkRow:
    everywhere = sum(len(labels) for labels in directions.values()) == networks
    status: LinkStatus = "uncommon" if not everywhere else "common" if len(directions) == 1 else "discordant"
    return LinkRow(pair=next(iter(directions)), status=status, directions=directions)
