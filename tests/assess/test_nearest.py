import numpy as np
import pyarrow as pa

from tacita.assess._nearest import nearest
from tacita.assess.frame import Frame, read_frame
from tacita.domain import Categorical, Domain, Numeric


def brute(one, other, places):
    """Each pair, by the definition."""
    total = np.zeros((len(one), len(other)))
    for place in places:
        a, b = one.values[:, place][:, None], other.values[:, place][None, :]
        if one.ordered[place]:
            gap = np.minimum(np.abs(a - b) / one.widths[place], 1)
            gap = np.where(np.isnan(a) & np.isnan(b), 0, np.where(np.isnan(a) | np.isnan(b), 1, gap))
        else:
            gap = (a != b).astype(float)
        total += gap
    return total


def with_gaps(table, rng):
    for name in ("age", "school"):
        hidden = pa.array(rng.random(len(table)) < 0.1)
        values = pa.compute.if_else(hidden, pa.scalar(None, table[name].type), table[name])
        table = table.set_column(table.column_names.index(name), name, values)
    return table


def test_nearest_rows_are_those_of_brute_force(domain, tables):
    rng = np.random.default_rng(3)
    one = read_frame(domain, with_gaps(tables["real"].slice(0, 300), rng))
    other = read_frame(domain, with_gaps(tables["control"].slice(0, 500), rng))
    for names in (domain.names, ("age", "income"), ("town", "job"), ("school",)):
        expected = brute(one, other, one.places(names))
        places, distances = nearest(one, other, names, count=4)
        assert np.allclose(distances, np.sort(expected, axis=1)[:, :4], atol=1e-5)
        assert np.allclose(np.take_along_axis(expected, places, axis=1), distances, atol=1e-5)
        first = expected.argmin(axis=1)
        near_ties = np.isclose(
            np.take_along_axis(expected, places[:, :1], axis=1)[:, 0], expected.min(axis=1), atol=1e-5
        )
        assert (near_ties | (places[:, 0] == first)).all()


def test_more_neighbours_than_rows(domain, tables):
    frame = read_frame(domain, tables["real"].slice(0, 3))
    places, _ = nearest(frame, frame, count=10)
    assert places.shape == (3, 3)
    assert places[:, 0].tolist() == [0, 1, 2]


def frame_of(attributes, values):
    return Frame(domain=Domain(attributes=attributes), values=np.array(values, np.float64))


def test_numbers_far_from_zero_keep_their_differences():
    stamps = Numeric(name="at", bounds=(1_700_000_000, 1_700_086_400), bins=10, integer=True)
    frame = frame_of([stamps], [[1_700_000_000 + 60 * minute] for minute in range(1440)])
    assert nearest(frame, frame)[0][:, 0].tolist() == list(range(1440))


def test_missing_is_no_number():
    year = Numeric(name="year", bounds=(10_000, 10_001), bins=2)
    known, gaps = frame_of([year], [[10_000.0], [1e9]]), frame_of([year], [[np.nan]])
    assert nearest(gaps, known, count=2)[1].tolist() == [[1, 1]]
    assert nearest(gaps, gaps)[1].tolist() == [[0]]


def test_many_levels_and_many_attributes():
    place = Categorical(name="place", levels=[str(number) for number in range(70_000)])
    assert nearest(frame_of([place], [[1]]), frame_of([place], [[1 + 2**16]]))[1] == 1
    wide = [Categorical(name=f"c{number}", levels=["a", "b"]) for number in range(256)]
    assert nearest(frame_of(wide, np.zeros((1, 256))), frame_of(wide, np.ones((1, 256))))[1] == 256
