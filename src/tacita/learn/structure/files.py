"""Files of networks, whatever wrote them: learned from exact rows, released under a budget, or published as BIF.

.json   learned-network/1, numeric-network/1 (released), network/1, gaussian-network/1, mixed-network/1
.bif    a published discrete network
.json   {"parents": {"a": [], "b": ["a"]}}, a structure alone
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacita.errors import InvalidInput, SourceUnavailable, TacitaError, UnknownName
from tacita.learn.structure.learned import LearnedNetwork
from tacita.models.bif import read_bif
from tacita.models.continuous import GaussianNetwork, MixedNetwork
from tacita.models.network import BayesianNetwork, topological_order
from tacita.query.models.released_network import ReleasedNetwork

__all__ = ["NetworkFile", "read_network"]


@dataclass(frozen=True, kw_only=True, eq=False)
class NetworkFile:
    """A network with the name of its file.

    Attributes:
        label: Name of the file, without its suffix.
        parents: Of each attribute.
        content: The network that was read; None for a structure alone.
        statement: Guarantee, in a sentence.
    """

    label: str
    parents: Mapping[str, tuple[str, ...]]
    content: Any
    statement: str


_UNKNOWN = "No guarantee is stated in the file."


def read_network(path: Path) -> NetworkFile:
    """Read a network from a file of any of the formats above."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise SourceUnavailable("must be a file that can be read", field="network", value=path) from None
    try:
        content = read_bif(text) if path.suffix.lower() == ".bif" else _from_json(text)
        statement = content.statement() if isinstance(content, LearnedNetwork | ReleasedNetwork) else _UNKNOWN
        parents = content if isinstance(content, dict) else content.parents
        order = {name: tuple(above) for name, above in parents.items()}
        topological_order(order, order)
        for above in (each for several in order.values() for each in several):
            if above not in order:
                raise UnknownName(above, field="parents", available=order)
    except TacitaError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError):  # not JSON, or members that are not those of a network
        raise InvalidInput("must be a network", field="network", value=path) from None
    return NetworkFile(
        label=path.stem,
        parents=order,
        content=None if isinstance(content, dict) else content,
        statement=statement,
    )


def _from_json(text: str) -> Any:
    data = json.loads(text)
    mark = data.get("tacita")
    if mark == LearnedNetwork.mark:
        return LearnedNetwork.from_json(text)
    if mark == ReleasedNetwork.mark:
        return ReleasedNetwork.from_json(text)
    readers: dict[str, Any] = {
        "network/1": BayesianNetwork,
        "gaussian-network/1": GaussianNetwork,
        "mixed-network/1": MixedNetwork,
    }
    if mark in readers:
        return readers[mark].from_dict(data)
    return {str(name): tuple(str(each) for each in above) for name, above in data["parents"].items()}
