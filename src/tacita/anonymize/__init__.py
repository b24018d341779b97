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
    "AnonymizedFiles": "anonymize",
    "Bayardo": "methods.bayardo",
    "BetaLikeness": "criteria.likeness",
    "BottomCode": "masking.coding",
    "CodeList": "hierarchies.reading",
    "Conditions": "criteria",
    "Criterion": "criteria",
    "Datafly": "methods.datafly",
    "DeltaDisclosure": "criteria.disclosure",
    "Digits": "hierarchies.rules",
    "Dominance": "cells.rules",
    "Hierarchy": "hierarchies.hierarchy",
    "HierarchySpec": "hierarchies.building",
    "Incognito": "methods.incognito",
    "Intervals": "hierarchies.rules",
    "KmAnonymity": "methods.transactions",
    "LocalRecoding": "methods.local",
    "Loss": "loss",
    "Mask": "masking.mask",
    "Masked": "masking.masked",
    "Merged": "hierarchies.rules",
    "MicroBatches": "streams.micro_batches",
    "Microaggregate": "masking.microaggregate",
    "MinimumFrequency": "cells.rules",
    "Mondrian": "methods.mondrian",
    "Ola": "methods.ola",
    "PPercent": "cells.rules",
    "Periods": "hierarchies.rules",
    "Pram": "masking.pram",
    "PramMatrix": "masking.pram",
    "Prefixes": "hierarchies.rules",
    "Round": "masking.rounding",
    "Samarati": "methods.samarati",
    "SuppressCells": "cells.suppress",
    "SuppressLocally": "masking.suppression",
    "SwapRanks": "masking.swapping",
    "TopCode": "masking.coding",
    "ZAnonymity": "streams.stream",
    "already_anonymous": "already",
    "as_written": "loss",
    "build_hierarchy": "hierarchies.building",
    "chance_of_k": "streams.stream_chance",
    "least_support": "methods.transactions",
    "loss_of": "loss",
    "measure": "recount",
    "preview_hierarchy": "hierarchies.preview",
    "preview_rows": "hierarchies.preview",
    "project_rows": "already",
    "read_distinct_rows": "quasi",
    "read_hierarchy": "hierarchies.reading",
    "together": "already",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    return load_name(__name__, _HOMES, name)


def __dir__() -> list[str]:
    return sorted(_HOMES)
