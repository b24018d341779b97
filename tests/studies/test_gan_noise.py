"""Why noise on a loss, or inside a network, is no privacy."""

import numpy as np
import pytest

pytest.importorskip("torch")

from studies.gan_noise import noisy_slopes

from tacita.errors import InvalidInput
from tacita.privacy.accountant import INFINITE, zcdp_rho
from tacita.privacy.unit import Neighbours

BLANK = np.zeros((4, 8, 8), np.float32)


def with_canary():
    images = BLANK.copy()
    images[0, 3, 5] = 1.0
    return images


def slopes(images, variant, sigma, seed):
    return noisy_slopes(images, variant, sigma=sigma, rng=np.random.default_rng(seed))


def test_noise_on_the_loss_changes_what_is_logged_and_nothing_else():
    found = [slopes(with_canary(), "loss", sigma, 1) for sigma in (0.0, 1e6)]
    assert found[0].loss != found[1].loss
    for name, slope in found[0].slopes.items():
        assert (slope == found[1].slopes[name]).all()


@pytest.mark.parametrize("variant", ["loss", "layer"])
@pytest.mark.parametrize("sigma", [1.0, 1e6])
def test_one_image_is_told_without_error_however_much_noise_there_is(variant, sigma):
    """All other images are blank: the first layer's slopes over pixels are 0, unless the canary is there."""
    for seed in range(20):
        there, not_there = (slopes(images, variant, sigma, seed) for images in (with_canary(), BLANK))
        assert np.abs(there.slopes["0.weight"][:, 0]).max() > 0
        assert not not_there.slopes["0.weight"][:, 0].any()


@pytest.mark.parametrize("variant", ["loss", "layer"])
def test_a_louder_image_has_louder_slopes_without_bound(variant):
    sizes = [np.abs(slopes(scale * with_canary(), variant, 1.0, 3).slopes["0.weight"]).max() for scale in (1, 1000)]
    assert sizes[1] > 100 * sizes[0]


def test_both_say_that_they_have_no_guarantee():
    for variant in ("loss", "layer"):
        study = slopes(BLANK, variant, 1.0, 0)
        assert study.guarantee == "none"
        assert zcdp_rho(study.event, Neighbours.ADD_REMOVE) == INFINITE
    with pytest.raises(InvalidInput, match="variant"):
        slopes(BLANK, "epsilon", 1.0, 0)
