"""The study of buses on generated trips; `bench/networks.py` has the figures of the public series."""

import numpy as np
import pytest
from studies.buses import (
    FEATURES,
    NETWORKS,
    PUBLIC_BOUNDS,
    agreements,
    break_even,
    features,
    independent_shares,
    read_buses,
    slope_saving,
    vehicle_and_month,
)

from tacita.errors import InvalidInput
from tacita.learn.structure.series import Series
from tacita.models.links import compare_links


def test_features_of_a_trip():
    """500 m up 10 m in 100 s: 20 s stopped, 80 s in motion with 15 s of coasting and 25 s of braking."""
    raw = {
        "DIST": [500.0],
        "HDIFF": [10.0],
        "MASS": [21_000.0],
        "TMTOT": [100.0],
        "TMMOTION": [80.0],
        "TMCOAST": [15.0],
        "TMBRAKE": [25.0],
        "TMAIR": [50.0],
        "FUELSTOP": [30.0],
        "FUELMOTION": [270.0],
    }
    found = {name: float(values[0]) for name, values in features(raw).items()}
    assert tuple(found) == FEATURES
    assert found == pytest.approx(
        {
            "avg_slope": 0.02,
            "mass": 21.0,
            "aircond_ptime": 0.5,
            "stop_ptime": 0.2,
            "brake_usage": 0.1,
            "accel": 0.3125,
            "fuel_per_km": 0.6,
        }
    )


def test_acceleration_is_that_of_a_triangular_speed_profile():
    """Speed rises evenly to v during traction and falls to 0 until the end of motion: v = 2 DIST / TMMOTION."""
    top, traction, rest = 12.0, 20.0, 30.0
    distance = top * (traction + rest) / 2
    raw = {name: [1.0] for name in ("HDIFF", "MASS", "TMAIR", "FUELSTOP", "FUELMOTION")}
    raw |= {"DIST": [distance], "TMTOT": [60.0], "TMMOTION": [traction + rest], "TMCOAST": [10.0], "TMBRAKE": [20.0]}
    assert features(raw)["accel"][0] == pytest.approx(top / traction)


def test_the_published_networks_have_the_published_links():
    found = compare_links(NETWORKS)
    assert dict(found.sizes) == {"BF": 15, "HC": 15, "RM": 13}
    assert [sum(row.status == status for row in found.rows) for status in ("common", "discordant", "uncommon")] == [
        10,
        3,
        3,
    ]
    assert len(found.links("uncommon")) == 4


def test_a_gentler_road_saves_below_the_break_even_consumption():
    angles = [1.0, 2.0, 3.0, 4.0]
    for fuel, sign in ((0.2, 1), (0.5, 1), (0.8, -1)):
        assert all(sign * each.litres > 0 for each in slope_saving(angles, effect=6.635, fuel=fuel))
    even = [break_even(angle, effect=6.635) for angle in np.linspace(0.01, 4.99, 100)]
    assert (round(min(even), 3), round(max(even), 3)) == (0.58, 0.585)
    for angle in angles:
        (saved,) = slope_saving([angle], effect=6.635, fuel=break_even(angle, effect=6.635))
        assert saved.litres == pytest.approx(0, abs=1e-12)
    with pytest.raises(InvalidInput):
        slope_saving([5.0], effect=6.635, fuel=0.5)


def trips(folder, count=3, rows=60):
    rng = np.random.default_rng(1)
    for vehicle in range(count):
        values = rng.uniform(0.1, 0.9, (rows, len(FEATURES)))
        text = "\n".join(f"t,{vehicle}," + ",".join(f"{v:.5f}" for v in row) for row in values)
        (folder / f"V{vehicle}-M4.csv").write_text(",VehicleID," + ",".join(FEATURES) + "\n" + text + "\n")
    (folder / "V9-M1.csv").write_text(",VehicleID," + ",".join(FEATURES) + "\n" + "t,9" + ",0.5" * 7 + "\n")


def test_series_are_read_by_vehicle_and_month(tmp_path):
    trips(tmp_path)
    found = read_buses(tmp_path)
    assert [vehicle_and_month(each) for each in found] == [(0, 4), (1, 4), (2, 4)]
    assert tuple(found[0].columns) == FEATURES == tuple(PUBLIC_BOUNDS)
    with pytest.raises(InvalidInput, match="vehicle"):
        vehicle_and_month(Series(name="x", columns=("a",), values=np.zeros((1, 1))))


def test_agreement_and_independence_of_generated_series(tmp_path):
    pytest.importorskip("statsmodels")
    trips(tmp_path)
    series = read_buses(tmp_path)
    ranked, share = agreements(NETWORKS, series, stationary=None, most_lags=1)
    assert {each.network for each in ranked} == set(NETWORKS)
    assert 0 <= share < 0.4
    assert all(0 <= value <= 1 for value in independent_shares(series, lags=5).values())
