"""Flows are counted as the records say, in any number of batches."""

from collections import Counter

import pytest

from tacita.demo.city import build_city, simulate_taps
from tacita.synthesize.mobility.flows import FlowTally

CITY = build_city(lines=3, stations=5, stops=1)


@pytest.mark.parametrize("size", [37, 10_000])
def test_batches_are_passed_on_and_counted(size):
    taps = simulate_taps(CITY, 100, seed=1)
    tally = FlowTally(CITY.schema)
    parts = (taps.slice(start, size) for start in range(0, taps.num_rows, size))
    assert sum(part.num_rows for part in tally.watch(parts)) == tally.rows == taps.num_rows
    place = {each: at for at, each in enumerate(CITY.places.ids)}
    origins, destinations = taps["origin"].to_pylist(), taps["destination"].to_pylist()
    pairs = zip(origins, destinations, strict=True)
    known = Counter((place[a], place[b]) for a, b in pairs if a in place and b in place)
    flows = tally.heaviest(10**6)
    assert {(a, b): trips for a, b, trips in flows} == known
    assert [trips for *_, trips in flows] == sorted(known.values(), reverse=True)
    assert tally.heaviest(3) == flows[:3]
    hours = Counter(minutes // 60 for minutes in taps["entry_time"].to_pylist())
    assert tally.hours.tolist() == [hours[hour] for hour in range(24)]
