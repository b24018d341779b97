"""Fuel consumption of buses: features, published networks, and the tables of the study that they come from.

The public series have seven features of trips between stops, one file for each vehicle and month (`V19-M4.csv`):

    avg_slope      HDIFF / DIST, the sine of the road's angle
    mass           MASS / 1000, tonnes
    aircond_ptime  TMAIR / TMTOT                     shares of time, from 0 to 1
    stop_ptime     (TMTOT - TMMOTION) / TMTOT
    brake_usage    (TMBRAKE - TMCOAST) / TMTOT
    accel          2 DIST / (TMMOTION TMTRACTION),   TMTRACTION = TMMOTION - TMCOAST - TMBRAKE
    fuel_per_km    (FUELSTOP + FUELMOTION) / DIST,   mL/m, which is L/km

`NETWORKS` are the three networks as published. On these data the one that is called brute force (BF) is not the best by
its score: dynamic programming finds a better one. Hill climbing with a tabu list ends in the class of BF.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.errors import InvalidInput
from tacita.learn.structure.series import Series, read_series
from tacita.models.continuous.agreement import Agreement, adjacency, rank
from tacita.models.continuous.granger import granger
from tacita.models.continuous.regression import ljung_box

__all__ = [
    "FEATURES",
    "NETWORKS",
    "PUBLIC_BOUNDS",
    "Saving",
    "agreements",
    "break_even",
    "features",
    "independent_shares",
    "read_buses",
    "slope_saving",
    "vehicle_and_month",
]

FEATURES = ("avg_slope", "mass", "aircond_ptime", "stop_ptime", "brake_usage", "accel", "fuel_per_km")
PUBLIC_BOUNDS = {
    "avg_slope": (-0.3, 0.3),
    "mass": (15.0, 30.0),
    "aircond_ptime": (0.0, 1.0),
    "stop_ptime": (0.0, 1.0),
    "brake_usage": (-0.1, 1.0),
    "accel": (0.0, 2.0),
    "fuel_per_km": (0.0, 4.0),
}
"""Bounds that someone who knows roads and buses can state without the data."""

_SHORT = dict(zip(("slope", "mass", "air", "stop", "brake", "accel", "fuel"), FEATURES, strict=True))
_COMMON = "slope:brake stop:brake slope:accel stop:accel slope:fuel stop:fuel brake:fuel mass:fuel air:fuel mass:air"
_OWN = {
    "BF": "accel:brake brake:mass accel:fuel accel:mass slope:mass",
    "HC": "brake:accel mass:brake accel:fuel mass:accel mass:stop",
    "RM": "brake:accel mass:brake fuel:accel",
}


def _parents(links: str) -> dict[str, tuple[str, ...]]:
    pairs = [tuple(_SHORT[end] for end in link.split(":")) for link in links.split()]
    return {name: tuple(above for above in FEATURES if (above, name) in pairs) for name in FEATURES}


NETWORKS = {name: _parents(f"{_COMMON} {own}") for name, own in _OWN.items()}


def features(raw: Mapping[str, Any]) -> dict[str, NDArray[np.float64]]:
    """Compute the features of trips from the sensors' columns."""
    column = {name: np.asarray(values, float) for name, values in raw.items()}
    traction = column["TMMOTION"] - column["TMCOAST"] - column["TMBRAKE"]
    return {
        "avg_slope": column["HDIFF"] / column["DIST"],
        "mass": column["MASS"] / 1000,
        "aircond_ptime": column["TMAIR"] / column["TMTOT"],
        "stop_ptime": (column["TMTOT"] - column["TMMOTION"]) / column["TMTOT"],
        "brake_usage": (column["TMBRAKE"] - column["TMCOAST"]) / column["TMTOT"],
        "accel": 2 * column["DIST"] / (column["TMMOTION"] * traction),
        "fuel_per_km": (column["FUELSTOP"] + column["FUELMOTION"]) / column["DIST"],
    }


def read_buses(path: Path | str) -> list[Series]:
    """Read all series with more than 20 trips."""
    return read_series(path, FEATURES)


def vehicle_and_month(series: Series) -> tuple[int, int]:
    """Return the vehicle and the month of a series, from its name."""
    found = re.search(r"V(\d+)-M(\d+)$", series.name)
    if not found:
        raise InvalidInput("must end in V<vehicle>-M<month>", field="series", value=series.name)
    return int(found[1]), int(found[2])


def agreements(
    networks: Mapping[str, Mapping[str, Sequence[str]]],
    series: Sequence[Series],
    *,
    level: float = 0.1,
    seed: int = 0,
    **settings: Any,
) -> tuple[list[Agreement], float]:
    """Rank networks by their agreement with the Granger links of all series; the share of links comes with them."""
    links = [granger(FEATURES, each.values, **settings).links(level) for each in series]
    matrices = {name: adjacency(FEATURES, parents) for name, parents in networks.items()}
    off = ~np.eye(len(FEATURES), dtype=bool)
    share = float(np.mean([each[off].mean() for each in links]))
    return rank(matrices, links, np.random.default_rng(seed)), share


def independent_shares(series: Sequence[Series], lags: int = 20) -> dict[str, float]:
    """Return for each feature the share of series in which the Ljung-Box test keeps independence, at 5 %."""
    kept = np.array([[ljung_box(column, lags)[1] >= 0.05 for column in each.values.T] for each in series])
    return dict(zip(FEATURES, kept.mean(axis=0).tolist(), strict=True))


@dataclass(frozen=True, kw_only=True)
class Saving:
    """Saving of a longer road with less slope.

    Attributes:
        angle: Of the new road, degrees.
        litres: Saved for each climb; negative if the longer road takes more.
    """

    angle: float
    litres: float


def slope_saving(
    angles: Sequence[float], *, effect: float, fuel: float, steep: float = 5.0, height: float = 0.01
) -> list[Saving]:
    """Return the fuel that is saved when a steep road is replaced by longer ones to the same height.

        saving = r h (tan a1 - tan a2) / sin a2 - f1 h (1 / sin a2 - 1 / sin a1)

    Args:
        angles: a2 of the new roads, degrees; below the steep one.
        effect: r, the effect of slope on fuel, litres for each km.
        fuel: f1, litres for each km of the steep road.
        steep: a1, degrees.
        height: h, km.
    """
    if not all(0 < angle < steep for angle in angles) or not steep < 90:
        raise InvalidInput("must be above 0 and below the steep angle", field="angles", value=list(angles))
    first = math.radians(steep)
    found = []
    for angle in angles:
        second = math.radians(angle)
        less = effect * height * (math.tan(first) - math.tan(second)) / math.sin(second)
        more = fuel * height * (1 / math.sin(second) - 1 / math.sin(first))
        found.append(Saving(angle=angle, litres=less - more))
    return found


def break_even(angle: float, *, effect: float, steep: float = 5.0) -> float:
    """Return the consumption of the steep road, litres for each km, at which a road of another angle saves nothing."""
    first, second = math.radians(steep), math.radians(angle)
    slopes = (math.tan(first) - math.tan(second)) / math.sin(second)
    return effect * slopes / (1 / math.sin(second) - 1 / math.sin(first))
