"""What one unit can add to a step: brute force over neighbours, in whole numbers."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from tacita.models.neural.clipping import GRID, clipped_sum  # noqa: E402

torch.set_num_threads(1)
CLIP = 0.7


def network(seed=0):
    random = torch.Generator().manual_seed(seed)
    made = torch.nn.Sequential(torch.nn.Linear(6, 9), torch.nn.LeakyReLU(0.2), torch.nn.Linear(9, 1))
    with torch.no_grad():
        for weight in made.parameters():
            weight.copy_(torch.randn(weight.shape, generator=random))
    return made


def loss_of(made):
    def loss(weights, row):
        return torch.func.functional_call(made, weights, (row[None],)).square().sum()

    return loss


def weights_of(made):
    return {name: weight.detach() for name, weight in made.named_parameters()}


def adversaries():
    """Rows that try to add much: huge, tiny, infinite, not a number, one coordinate, all coordinates."""
    yield from (
        scale * torch.ones(6) for scale in (0.0, 1e-30, 1.0, -50.0, 1e6, 1e18, 1e30, float("inf"), float("nan"))
    )
    yield from 1e4 * torch.eye(6)
    random = torch.Generator().manual_seed(5)
    yield from 10 * torch.randn((40, 6), generator=random)


def test_a_unit_moves_the_sum_by_at_most_one_clipping_norm():
    made = network()
    others = torch.randn((300, 6), generator=torch.Generator().manual_seed(1))
    before = clipped_sum(loss_of(made), weights_of(made), (others,), CLIP)
    assert bool((before == before.round()).all())
    farthest = 0
    for row in adversaries():
        after = clipped_sum(loss_of(made), weights_of(made), (torch.cat([others, row[None]]),), CLIP)
        moved = [int(step) for step in (after - before).tolist()]
        assert sum(step * step for step in moved) <= GRID**2  # in whole numbers, so exact
        farthest = max(farthest, sum(step * step for step in moved))
    assert farthest > 0.98 * GRID**2  # the bound is reached: what is paid for is used


def test_without_clipping_the_same_rows_break_the_bound():
    made = network()
    loud = max(
        sum(
            float(part.square().sum())
            for part in torch.autograd.grad(loss_of(made)(dict(made.named_parameters()), row), made.parameters())
        )
        for row in adversaries()
        if bool(torch.isfinite(row).all()) and float(row.abs().max()) < 1e10
    )
    assert loud > 100 * CLIP**2


def test_nobody_there_gives_zero():
    made = network()
    total = clipped_sum(loss_of(made), weights_of(made), (torch.zeros((0, 6)),), CLIP)
    assert total.shape == (6 * 9 + 9 + 9 + 1,)
    assert not bool(total.any())


def test_a_unit_without_a_finite_gradient_counts_as_nobody():
    made = network()
    others = torch.randn((5, 6), generator=torch.Generator().manual_seed(2))
    broken = torch.cat([others, torch.full((1, 6), float("nan"))])
    sums = [clipped_sum(loss_of(made), weights_of(made), (rows,), CLIP) for rows in (others, broken)]
    assert bool((sums[0] == sums[1]).all())


def test_gradients_are_those_of_opacus():
    """Another implementation, by hooks instead of transforms."""
    sampled = pytest.importorskip("opacus.grad_sample")
    made, rows = network(), torch.randn((40, 6), generator=torch.Generator().manual_seed(3))
    ours = clipped_sum(loss_of(made), weights_of(made), (rows,), CLIP).numpy() * CLIP / GRID
    hooked = sampled.GradSampleModule(network())
    hooked(rows.clone().requires_grad_()).square().sum().backward()
    each = torch.cat([weight.grad_sample.flatten(1) for weight in hooked.parameters()], 1)
    theirs = (each * (CLIP / each.norm(dim=1)).clamp(max=1)[:, None]).sum(0).numpy()
    # ours are clipped to a hair less
    assert np.abs(ours - theirs).max() < 0.006 * np.abs(theirs).max()


def test_sums_are_the_same_however_units_are_chunked(monkeypatch):
    made, rows = network(), torch.randn((70, 6), generator=torch.Generator().manual_seed(4))
    whole = clipped_sum(loss_of(made), weights_of(made), (rows,), CLIP)
    monkeypatch.setattr("tacita.models.neural.clipping._CHUNK", 16)
    parts = clipped_sum(loss_of(made), weights_of(made), (rows,), CLIP)
    assert float((whole - parts).norm()) < GRID / 256  # far within the margin


def test_sums_of_many_units_lose_nothing():
    """In single precision a sum of a few hundred norms is off by hundreds of steps of the grid."""
    rng = np.random.default_rng(0)
    rows = torch.from_numpy(rng.uniform(0.5, 0.9, (250, 1)).astype(np.float32))
    weights = {"w": torch.zeros(1)}
    found = clipped_sum(lambda weights, row: (weights["w"] * row).sum(), weights, (rows,), 1.0)
    assert abs(found.item() - GRID * rows.double().sum().item()) <= 1
