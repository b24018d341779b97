"""Usefulness of synthetic images for training: a small network learns from them and is tested on real ones.

An accuracy always comes with that of guessing the most frequent label of the test images.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.errors import InvalidInput
from tacita.models.neural.backend import load_torch, pick_device
from tacita.synthesize.gan.networks import initialise

__all__ = ["StudentScore", "student_score"]

_BATCH = 128


@dataclass(frozen=True, kw_only=True)
class StudentScore:
    """Share of test images with the right label: by the student, and by always saying the most frequent one."""

    accuracy: float
    majority: float

    def __str__(self) -> str:
        return f"accuracy {self.accuracy:.3f} (most frequent label: {self.majority:.3f})"


def student_score(
    made: tuple[NDArray[np.uint8], NDArray[np.integer[Any]]],
    real: tuple[NDArray[np.uint8], NDArray[np.integer[Any]]],
    rng: np.random.Generator,
    *,
    epochs: int = 5,
) -> StudentScore:
    """Train on synthetic images with labels, test on real ones; these must not be among those that were synthesised.

    Args:
        made: Images and labels to learn from.
        real: Images and labels to be tested on.
        rng: For the start and the order.
        epochs: How often all images are seen.
    """
    torch = load_torch()
    if not len(made[0]) or not len(real[0]):
        raise InvalidInput("must not be empty", field="made" if not len(made[0]) else "real")
    nn, side, device = torch.nn, made[0].shape[1], pick_device(torch)
    labels = int(max(made[1].max(), real[1].max())) + 1
    student = initialise(
        nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1),
            nn.LeakyReLU(0.2),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(16 * (side // 2) ** 2, 128),
            nn.LeakyReLU(0.2),
            nn.Linear(128, labels),
        ),
        rng,
    ).to(device)
    steps = torch.optim.Adam(student.parameters(), 1e-3)
    for _ in range(epochs):
        order = rng.permutation(len(made[0]))
        for start in range(0, len(order), _BATCH):
            part = order[start : start + _BATCH]
            targets = torch.from_numpy(made[1][part].astype(np.int64)).to(device)
            loss = nn.functional.cross_entropy(student(_pixels(torch, made[0][part], device)), targets)
            steps.zero_grad(set_to_none=True)
            loss.backward()
            steps.step()
    with torch.no_grad():
        parts = [real[0][start : start + 1024] for start in range(0, len(real[0]), 1024)]
        found = np.concatenate([student(_pixels(torch, part, device)).argmax(1).cpu().numpy() for part in parts])
    majority = np.bincount(real[1].astype(np.int64)).max() / len(real[1])
    return StudentScore(accuracy=float((found == real[1]).mean()), majority=float(majority))


def _pixels(torch: Any, images: NDArray[np.uint8], device: Any) -> Any:
    return torch.from_numpy(images.astype(np.float32) / 127.5 - 1)[:, None].to(device)
