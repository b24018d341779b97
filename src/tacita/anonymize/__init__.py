"""Release k-anonymous rows, measure the criteria that they meet and the information that was lost."""

from typing import Any

from tacita.common.lazy import load_name

_HOMES = {
    "Achieved": "criteria",
    "AddNoise": "masking.noise",
    "Anonymize": "anonymize",
    "AnonymizeEvents": "streams.events",
    "AnonymizeSets": "sets",
    "Anonymized": "anonymize",
    "Bayardo": "methods.bayardo",
    "BetaLikeness": "criteria.likeness",
    "BottomCode": "masking.coding",
    "Conditions": "criteria",
    "Criterion": "criteria",
    "Datafly": "methods.datafly",
    "DeltaDisclosure": "criteria.disclosure",
    "Hierarchy": "hierarchy",
    "Incognito": "methods.incognito",
    "Intervals": "hierarchy",
    "KmAnonymity": "methods.transactions",
    "LocalRecoding": "methods.local",
    "Loss": "loss",
    "Mask": "masking.mask",
    "Masked": "masking.masked",
    "MicroBatches": "streams.micro_batches",
    "Microaggregate": "masking.microaggregate",
    "Mondrian": "methods.mondrian",
    "Ola": "methods.ola",
    "Periods": "hierarchy",
    "Pram": "masking.pram",
    "PramMatrix": "masking.pram",
    "Prefixes": "hierarchy",
    "Round": "masking.rounding",
    "Samarati": "methods.samarati",
    "SuppressLocally": "masking.suppression",
    "SwapRanks": "masking.swapping",
    "TopCode": "masking.coding",
    "ZAnonymity": "streams.stream",
    "already_anonymous": "already",
    "as_written": "loss",
    "chance_of_k": "streams.stream_chance",
    "least_support": "methods.transactions",
    "loss_of": "loss",
    "measure": "recount",
    "project_rows": "already",
    "read_distinct_rows": "quasi",
    "together": "already",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    return load_name(__name__, _HOMES, name)


def __dir__() -> list[str]:
    return sorted(_HOMES)
