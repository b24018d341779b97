"""Places: reading, distances, and groups that depend on what is public alone."""

import numpy as np
import pytest

from tacita.errors import InvalidInput
from tacita.synthesize.mobility.places import Places, group_by_weight


def test_a_file_is_read_as_it_was_written(tmp_path, city):
    city.places.write(tmp_path / "places.csv")
    again = Places.read(tmp_path / "places.csv")
    assert again.as_dict() == city.places.as_dict()
    assert again.fingerprint == city.places.fingerprint
    assert Places.from_dict(again.as_dict()).as_dict() == again.as_dict()


def test_longitude_and_latitude_become_kilometres():
    text = "id,lon,lat\na,103.8,1.30\nb,103.9,1.30\nc,103.8,1.39\n"
    places = Places.from_text(text)
    assert places.distances(np.array([0]), np.array([1]))[0] == pytest.approx(11.12, abs=0.02)  # 0.1 degree, cos(1.33)
    assert places.distances(np.array([0]), np.array([2]))[0] == pytest.approx(10.01, abs=0.02)


def test_places_are_found_by_id_and_by_name():
    places = Places(ids=("1", "2"), names=("Alpha", "Beta"))
    assert places.codes_of(["2", "Alpha", "x", None]).tolist() == [1, 0, -1, -1]


def test_every_level_refines_the_one_before(city):
    plain = Places(ids=city.places.ids, x=city.places.x, y=city.places.y)
    for places in (city.places, plain):
        hierarchy = places.hierarchy()
        assert len(hierarchy.levels) == 2 or hierarchy.sizes[0] < hierarchy.sizes[1] < hierarchy.sizes[2]
        for level in range(len(hierarchy.levels) - 1):
            for group, children in enumerate(hierarchy.children(level)):
                inside = hierarchy.levels[level] == group
                assert set(hierarchy.levels[level + 1][inside]) == set(children)
                assert not set(hierarchy.levels[level + 1][~inside]) & set(children)
        assert sorted(hierarchy.levels[-1]) == list(range(len(places)))
    assert plain.hierarchy().source == "coordinates"


def test_zones_without_coordinates_have_two_levels():
    places = Places(ids=tuple("abcdefgh"), zones=("x",) * 4 + ("y",) * 4)
    assert places.hierarchy().sizes == (2, 8)
    assert Places(ids=tuple(f"{i}" for i in range(50))).hierarchy() is None
    assert Places(ids=("a", "b")).hierarchy().sizes == (2,)


def test_groups_by_weight_give_heavy_places_small_groups():
    weights = np.array([50.0, 20, 10, 5, 5, 5, 5, -3])
    groups = group_by_weight(weights, 4).levels[0]
    sizes = np.bincount(groups)
    assert sizes[groups[0]] == 1
    assert sizes.sum() == 8
    order = np.argsort(-weights, kind="stable")
    assert (np.diff(groups[order]) >= 0).all(), "groups are ranges of popularity"


@pytest.mark.parametrize(
    "make",
    [
        lambda: Places(ids=()),
        lambda: Places(ids=("a", "a")),
        lambda: Places(ids=("a",), x=(1.0,)),
        lambda: Places(ids=("a",), zones=("x", "y")),
        lambda: Places(ids=("a",), x=(float("nan"),), y=(0.0,)),
        lambda: Places.from_text("name\nx\n"),
        lambda: Places.from_text("id,x,y\na,one,2\n"),
        lambda: Places.from_dict({"id": ["a"]}),
        lambda: Places(ids=("a", "b")).distances(np.array([0]), np.array([1])),
    ],
)
def test_refusals(make):
    with pytest.raises(InvalidInput):
        make()
