"""Images conditional on private labels: shapes that are drawn here."""

import json
from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tacita.errors import DataError, InvalidInput  # noqa: E402
from tacita.noise import SeededSource  # noqa: E402
from tacita.privacy.accountant import cost  # noqa: E402
from tacita.privacy.budget import Budget  # noqa: E402
from tacita.privacy.event import DiscreteGaussianNoise, Repeated  # noqa: E402
from tacita.privacy.unit import Neighbours, Unit  # noqa: E402
from tacita.synthesize.gan.images import ImageGan, critic_network  # noqa: E402
from tacita.synthesize.gan.student import student_score  # noqa: E402

torch.set_num_threads(1)
ADD, ROW, BUDGET = Neighbours.ADD_REMOVE, Unit.row(), Budget.approx(1.0, 1e-4)


def shapes(count, seed=0, side=8):
    """Lines that lie, and lines that stand: seven of ten lie."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(count) < 0.3).astype(np.int64)
    images = rng.integers(0, 40, (count, side, side)).astype(np.uint8)
    for image, label, at in zip(images, labels, rng.integers(0, side, count), strict=True):
        if label:
            image[:, at] = 255
        else:
            image[at] = 255
    return images, labels


@pytest.fixture(scope="module")
def plan():
    recipe = ImageGan(side=8, labels=2, steps=12, rate=0.2, channels=4, latent=4, starts=16)
    return recipe.calibrate(BUDGET, unit=ROW, neighbours=ADD)


def test_counts_and_all_steps_are_charged(plan):
    counts, steps = plan.event.events
    assert isinstance(counts, DiscreteGaussianNoise)
    assert isinstance(steps, Repeated)
    assert steps.count == 12
    assert 0.999 < float(cost([(plan.event, 1)], BUDGET, ADD)) <= 1.0
    assert plan.as_dict()["training"]["steps"] == 12


def test_images_come_with_the_labels_that_they_were_made_for(plan):
    made = plan.run(*shapes(400), SeededSource(1))
    pictures, labels = made.sample(600, np.random.default_rng(2))
    assert pictures.shape == (600, 8, 8)
    assert pictures.dtype == np.uint8
    assert abs((labels == 0).mean() - made.shares[0]) < 0.1
    assert made.shares[0] == pytest.approx(0.7, abs=0.2)  # read off noise
    assert made.provenance.simulated
    assert made.event == plan.event
    # the label is heard: the same numbers give another image for another label
    latent = torch.zeros((1, 4))
    images = [made.network(torch.cat([latent, torch.eye(2)[at : at + 1]], 1)) for at in (0, 1)]
    assert float((images[0] - images[1]).detach().abs().max()) > 1e-4


def test_seeds_repeat(plan):
    drawn = [plan.run(*shapes(100), SeededSource(3)).sample(5, np.random.default_rng(0))[0] for _ in range(2)]
    assert (drawn[0] == drawn[1]).all()


def test_who_resumes_makes_no_step_twice_and_counts_labels_once(plan, tmp_path, monkeypatch):
    from tacita.models.neural import training as nets_training

    class Crash(Exception):
        pass

    made, inner, kept = [], nets_training.PrivateTraining.step, plan.with_checkpoints(tmp_path / "state.pt", every=5)

    def step(self, *rest):
        if len(made) == 7:
            made.append(None)
            raise Crash
        made.append(self.done)
        inner(self, *rest)

    monkeypatch.setattr(nets_training.PrivateTraining, "step", step)
    with pytest.raises(Crash):
        kept.run(*shapes(100), SeededSource(1))
    result = kept.run(*shapes(100), SeededSource(1))
    assert made == [*range(7), None, 10, 11]  # 7 to 9 were reserved, so they count as made
    # other labels change nothing: the counts were released by the run before
    again = kept.run(shapes(100)[0], np.zeros(100, np.int64), SeededSource(1))
    assert (again.shares == result.shares).all()
    assert len(made) == 10


def test_an_empty_set_is_answered(plan):
    made = plan.run(np.zeros((0, 8, 8), np.uint8), np.zeros(0, np.int64), SeededSource(1))
    assert made.sample(3, np.random.default_rng(0))[0].shape == (3, 8, 8)


def test_what_stands_beside_an_image_does_not_depend_on_how_many_there_are(plan, monkeypatch):
    """The generator normalises over batches: beside real images it must not."""
    from tacita.models.neural import training as nets_training
    from tacita.synthesize.gan import images

    makers, modes, inner = [], [], nets_training.PrivateTraining.step

    def watched(recipe, rng):
        makers.append(images_maker(recipe, rng))
        makers[-1].register_forward_hook(lambda module, given, made: modes.append((beside, module.training)))
        return makers[-1]

    def step(self, *rest):
        nonlocal beside
        beside = True
        inner(self, *rest)
        beside = False

    images_maker, beside = images.maker_network, False
    monkeypatch.setattr(images, "maker_network", watched)
    monkeypatch.setattr(nets_training.PrivateTraining, "step", step)
    plan.run(*shapes(50), SeededSource(1))
    assert set(modes) == {(True, False), (False, True)}  # one by one beside real images, over batches elsewhere
    inputs = torch.randn((9, 6), generator=torch.Generator().manual_seed(0))
    maker = makers[0].eval()
    assert torch.allclose(maker(inputs[:1]), maker(inputs)[:1], atol=1e-5)
    assert not torch.allclose(maker.train()(inputs[:1]), maker.train()(inputs)[:1], atol=1e-3)
    assert not any("Norm" in type(part).__name__ for part in critic_network(plan.recipe, np.random.default_rng(0)))


def test_a_student_learns_from_images_and_the_majority_stands_beside():
    score = student_score(shapes(600), shapes(300, seed=1), np.random.default_rng(0), epochs=6)
    assert score.accuracy > 0.95
    assert 0.6 < score.majority < 0.8
    assert "most frequent label" in str(score)
    mixed = shapes(600)[0], np.random.default_rng(2).integers(0, 2, 600)
    assert student_score(mixed, shapes(300, seed=1), np.random.default_rng(0), epochs=2).accuracy < 0.9
    with pytest.raises(InvalidInput, match="made"):
        student_score((np.zeros((0, 8, 8), np.uint8), np.zeros(0, np.int64)), shapes(3), np.random.default_rng(0))


@pytest.mark.parametrize("wrong", [{"side": 9}, {"side": 4}, {"labels": 0}, {"counts": 1.0}, {"steps": 0}])
def test_bad_recipes_are_refused(wrong):
    with pytest.raises(InvalidInput, match=next(iter(wrong))):
        ImageGan(**({"side": 8, "labels": 2} | wrong))


def test_units_neighbours_and_data_that_do_not_fit_are_refused(plan):
    with pytest.raises(InvalidInput, match="adding or removing"):
        plan.recipe.calibrate(BUDGET, unit=ROW, neighbours=Neighbours.REPLACE_ONE)
    with pytest.raises(InvalidInput, match="unit"):
        plan.recipe.calibrate(BUDGET, unit=Unit.of_person("who", max_rows=2), neighbours=ADD)
    with pytest.raises(InvalidInput, match="delta"):
        plan.recipe.calibrate(Budget.zcdp(0.1), unit=ROW, neighbours=ADD)
    images, labels = shapes(5)
    for bad in ((images.astype(float), labels), (images[:, :4], labels), (images, labels[:2])):
        with pytest.raises(DataError):
            plan.run(*bad, SeededSource(0))


def test_images_without_a_place_are_left_out(plan):
    """As rows are: refusing would tell that somebody has such a label."""
    images, labels = shapes(40)
    odd = np.concatenate([labels, [7, -1]])
    more = np.concatenate([images, images[:2]])
    made = [plan.run(*each, SeededSource(3)) for each in ((images, labels), (more, odd))]
    one, two = (each.sample(20, np.random.default_rng(0)) for each in made)
    assert (one[0] == two[0]).all()
    assert (one[1] == two[1]).all()


def test_what_is_promised_about_images(plan):
    made = plan.run(*shapes(40), SeededSource(3))
    plain = json.loads(json.dumps(made.as_dict()))
    assert (plain["guarantee"], plain["event"]) == ("none", plan.event.as_dict())
    assert "NOT private" in made.statement()
    secure = replace(made, provenance=replace(made.provenance, simulated=False))
    assert secure.guarantee == "central"
