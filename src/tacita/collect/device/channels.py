"""The channels that a device can draw from: the integers of the wire, their rules, their loss and their draw.

Privacy: local, pure. The loss of each kind is the logarithm of an exact ratio of the integers that it draws with, and
is read off them here, whatever the question promises.
Utility: that of the channel of the same name in `tacita.collect`; each draws by the same law (not always with the same
words).
Claim pages: docs/claims/randomized-response.md, docs/claims/unary.md, docs/claims/local-hashing.md,
docs/claims/hadamard.md, docs/claims/subset-selection.md, docs/claims/geometric-hybrid.md, docs/claims/square-wave.md,
docs/claims/local-means.md, docs/claims/fourier-marginals.md,
docs/claims/rrba.md.

`cells` is the number of possible answers everywhere, `truth` the index of the true one. The rules and their order
are those of docs/reference/wire.md. A draw does the same work whatever the coin says. Standard library only.
"""

from __future__ import annotations

from typing import Literal

from tacita.collect.device._base import MAX_CELLS, SEED_RANGE, Answer, DeviceChannel
from tacita.collect.device._bits import Subset, Unary
from tacita.collect.device._chain import Chain
from tacita.collect.device._line import Duchi, Hybrid, Piecewise, Wave
from tacita.collect.device._matrix import Matrix
from tacita.collect.device._response import RR, Fourier, Hadamard, Hash, fourier_masks, hadamard_rows, hash32
from tacita.collect.device.refusal import Refusal

__all__ = [
    "KINDS",
    "MAX_CELLS",
    "RR",
    "SEED_RANGE",
    "Answer",
    "Chain",
    "ChannelKind",
    "ChannelName",
    "DeviceChannel",
    "Duchi",
    "Fourier",
    "Hadamard",
    "Hash",
    "Hybrid",
    "Matrix",
    "Penalty",
    "Piecewise",
    "Subset",
    "Unary",
    "Wave",
    "device_channel",
    "fourier_masks",
    "hadamard_rows",
    "hash32",
]

ChannelKind = Literal[
    "rr", "unary", "hash", "hadamard", "subset", "matrix", "wave", "duchi", "piecewise", "hybrid", "fourier", "chain"
]
ChannelName = Literal["auto", "mixed", ChannelKind, "optimal"]
"""Channel that an owner can ask for: the best for each table; means of numbers and tables of all else; one kind; or the
matrix that is best for a prior."""
Penalty = Literal["distance", "squared", "exact"]
"""Cost of reporting one cell for another, to which an owner can have a matrix fitted."""
KINDS: dict[str, type[DeviceChannel]] = {
    kind.kind: kind
    for kind in (RR, Unary, Hash, Hadamard, Subset, Matrix, Wave, Duchi, Piecewise, Hybrid, Fourier, Chain)
}


def device_channel(data: object) -> DeviceChannel:
    """Read a channel of any kind from parsed JSON; `check` it before use."""
    kind = data.get("kind") if isinstance(data, dict) else None
    # The kind comes before the members: an unknown kind has members of its own.
    if not isinstance(kind, str) or kind not in KINDS:
        rule = f"must be an object of the kind {', '.join(KINDS)}"
        raise Refusal("channel-kind", rule, field="channel.kind", hint="Update the client")
    return KINDS[kind].from_dict(data)
