"""Local differential privacy: channels, the respondent's device, and the questions and reports between them.

Names load when they are first used: a respondent's device imports `tacita.collect.device.device` and gets the
standard library only.
"""

from __future__ import annotations

from typing import Any

from tacita.common.lazy import load_name

_HOMES = {
    "CollectionDesign": "planning.design",
    "plan_collection": "planning.plan",
    "plan_mixed": "protocols.mixed",
    "Tally": "estimating.tally",
    "respond": "estimating.tally",
    "collected_means": "estimating.means",
    "model": "estimating.publish",
    "published": "analysis.findings",
    "consistent": "estimating.consistency",
    "complete": "estimating.consistency",
    "complete_min_norm": "estimating.consistency",
    "pair_views": "planning.views",
    "covering_views": "planning.views",
    "packed_views": "planning.views",
    "choose_views": "planning.calm",
    "pool": "estimating.pooling",
    "pooled_mle": "estimating.pooling",
    "FourierDesign": "protocols.fourier",
    "FourierTally": "protocols.fourier",
    "wald_test": "analysis.independence",
    "monte_carlo_test": "analysis.independence_simulated",
    "find_rules": "analysis.rules",
    "find_changes": "analysis.changes",
    "learn_network": "analysis.learn_network",
    "learn_structure": "analysis.learn_network",
    "StopRule": "planning.stopping",
    "respondents_needed": "planning.stopping",
    "amplified": "channels.shuffle",
    "repeated_loss": "channels.repeated",
    "influence": "analysis.poisoning",
    "excess_support": "analysis.poisoning",
    "Campaign": "campaigns",
    "Campaigns": "campaigns",
    "Rounds": "campaigns",
    "Terms": "campaigns",
    "RandomizedResponse": "channels.channel",
    "HadamardResponse": "channels.hadamard",
    "LocalHashing": "channels.hashing",
    "SubsetSelection": "channels.subset",
    "SquareWave": "channels.numbers.square_wave",
    "ChainChannel": "channels.chain",
    "DuchiBins": "channels.numbers.binned_means",
    "FourierChannel": "channels.fourier",
    "HybridBins": "channels.numbers.binned_means",
    "PiecewiseBins": "channels.numbers.binned_means",
    "MatrixChannel": "channels.matrix",
    "OptimalChannel": "channels.geometric",
    "geometric_channel": "channels.geometric",
    "hybrid_channel": "channels.geometric",
    "optimal_channel": "channels.geometric",
    "Fitted": "channels.parts.em",
    "DuchiMean": "channels.numbers.numeric",
    "HybridMean": "channels.numbers.numeric",
    "MeanChannel": "channels.numbers.numeric",
    "MeanEstimate": "channels.frequencies",
    "PiecewiseMean": "channels.numbers.numeric",
    "UnaryEncoding": "channels.unary",
    "Candidate": "channels.oracles",
    "OracleChoice": "channels.oracles",
    "best_oracle": "channels.oracles",
    "choose_oracle": "channels.oracles",
    "oracle_candidates": "channels.oracles",
    "Ask": "device.question",
    "buy_token": "device.blind",
    "Device": "device.device",
    "Offer": "device.device",
    "Receipt": "device.device",
    "SheetOffer": "device.device",
    "FrequencyEstimate": "channels.frequencies",
    "Intervals": "channels.frequencies",
    "About": "channels.protocol",
    "Channel": "channels.protocol",
    "EnumerableChannel": "channels.protocol",
    "Question": "device.question",
    "Refusal": "device.question",
    "Report": "device.question",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    return load_name(__name__, _HOMES, name)


def __dir__() -> list[str]:
    return sorted(_HOMES)
