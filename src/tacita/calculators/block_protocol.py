"""The block protocol as it was published, beside the corrected one, on simulated people."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from pydantic import Field

from tacita.calculators.kind import Calculator, Grid, Result
from tacita.collect.protocols.rrba_paper import run
from tacita.collect.protocols.rrba_rounds import RrbaRounds, simulate
from tacita.domain import Categorical, Domain
from tacita.errors import InvalidInput
from tacita.noise import SeededSource
from tacita.wire.base import RequestModel

__all__ = ["BLOCK_PROTOCOL", "BlockProtocolRequest"]


class BlockProtocolRequest(RequestModel):
    """Simulated people with known shares, who answer in blocks."""

    shares: list[float] = Field(
        min_length=2, max_length=200, description="True share of each cell in the simulated population."
    )
    keep: float = Field(gt=0, lt=1, description="Probability p of a truthful answer.")
    block: int = Field(default=1000, ge=1, le=1_000_000, description="People in a block; 1 is version 1.")
    people: int = Field(default=20_000, ge=1, le=1_000_000, description="Number of simulated people.")
    floor: float = Field(
        default=0.5, gt=0, le=1, description="Weight of the uniform distribution in the fakes of the corrected one."
    )
    seed: int = Field(default=0, ge=0, description="Seed of the simulation.")


def _compute(request: BlockProtocolRequest) -> Result:
    shares = np.asarray(request.shares, float)
    if not np.isfinite(shares).all() or (shares < 0).any() or not math.isclose(shares.sum(), 1, abs_tol=1e-6):
        raise InvalidInput("must be 0 or more, and add up to 1", field="shares")
    if request.people > 5000 * request.block:
        raise InvalidInput("must be at most 5000 times the block", field="people", value=request.people)
    rng = np.random.default_rng(request.seed)
    cells = rng.choice(shares.size, request.people, p=shares / shares.sum())
    paper = run(cells, levels=shares.size, keep=request.keep, block_size=min(request.block, request.people), rng=rng)
    domain = Domain(attributes=[Categorical(name="cell", levels=[str(place + 1) for place in range(shares.size)])])
    corrected = RrbaRounds(domain, epsilon=paper.claimed, floor=request.floor, block_size=max(request.block, 2))
    simulate(corrected, cells, SeededSource(request.seed))
    found = corrected.estimate(about="population").frequencies
    values: dict[str, Any] = {
        "claimed_epsilon": paper.claimed,
        "true_epsilon_first": _finite(paper.true[0]),
        "true_epsilon_median": _finite(float(np.median(paper.true))),
        "true_epsilon_worst": _finite(paper.worst),
        "blocks_without_guarantee": sum(map(math.isinf, paper.true)),
        "blocks": len(paper.true),
        "published_distance": float(np.abs(paper.table - shares).sum() / 2),
        "corrected_epsilon": corrected.epsilon_upper,
        "corrected_distance": float(np.abs(np.asarray(found) - shares).sum() / 2),
    }
    return Result(
        values=values,
        facts=[
            ("epsilon that the publication claims, ln(1/(1-p))", f"{paper.claimed:.4g}"),
            ("true epsilon of its first block", _text(paper.true[0])),
            ("true epsilon of its median block", _text(float(np.median(paper.true)))),
            ("true epsilon of its worst block", _text(paper.worst)),
            ("blocks with a cell that is never faked", f"{values['blocks_without_guarantee']} of {len(paper.true)}"),
            ("distance of its table to the truth (total variation)", f"{values['published_distance']:.4g}"),
            ("true epsilon of the corrected protocol", f"{corrected.epsilon_upper:.4g}"),
            ("distance of its table to the truth", f"{values['corrected_distance']:.4g}"),
        ],
        tables=[
            Grid(
                "True epsilon of each block of the published protocol",
                {
                    "block": list(range(1, len(paper.true) + 1)),
                    "true epsilon": [_finite(each) for each in paper.true],
                    "claimed": [paper.claimed] * len(paper.true),
                },
                curve=True,
            )
        ],
        notes=[
            "The published protocol is not private at the epsilon it claims. It is here for comparison only.",
            "The corrected protocol, which campaigns in blocks run, keeps the claimed epsilon for every respondent.",
        ],
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _text(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else "unbounded"


BLOCK_PROTOCOL = Calculator(
    name="block-protocol",
    title="The published block protocol",
    summary="Compare the epsilon that the published block protocol claims with its true one, on simulated people",
    example="--shares 0.5,0.3,0.15,0.05 --keep 0.5 --block 1000",
    request=BlockProtocolRequest,
    compute=_compute,
    seconds=lambda request: 0.2 + 2e-4 * (request.people / request.block) * len(request.shares) + 2e-6 * request.people,
)
