"""Generators from plain options."""

import pytest

from tacita.errors import InvalidInput
from tacita.synthesize.mobility.od import PlainOd
from tacita.synthesize.mobility.request import METHODS, MobilityOptions
from tacita.synthesize.mobility.tours import Tours


def test_options_become_recipes(city):
    plain = {"method": "tours", "places": city.places.as_dict(), "cards": 500, "theta": 2.0}
    recipe = MobilityOptions.from_dict(plain).recipe()
    assert isinstance(recipe, Tours)
    assert (recipe.cards, recipe.theta, recipe.places.fingerprint) == (500, 2.0, city.places.fingerprint)
    assert isinstance(MobilityOptions.from_dict({"method": "od"}).recipe(), PlainOd)
    assert set(METHODS) == {"tours", "od"}
    text = MobilityOptions.from_dict({"places": "id,zone\na,x\nb,y\n"}).recipe()
    assert text.places.zones == ("x", "y")


def test_options_read_themselves(city):
    options = MobilityOptions(places=city.places, wanted=10)
    again = MobilityOptions.from_dict(options.as_dict())
    assert again.as_dict() == options.as_dict()


@pytest.mark.parametrize("bad", [{"method": "walk"}, {"kind": "tours"}, {"wanted": -1}, {"cards": 0}, {"theta": 0}])
def test_refusals(bad):
    with pytest.raises(InvalidInput):
        MobilityOptions.from_dict(bad).recipe()
