"""Checkpoints of training, on disk: resume after a crash without paying for fewer steps than ran.

Steps are recorded as reserved before they run. A resumed run continues after the last reserved step: steps that ran and
were lost stay paid and are not repeated. Noise and samples of a resumed run are drawn anew: from a secure source they
always are; from a seed, the number of the run is mixed in. A checkpoint names the charge that pays, so that a started
charge continues from its own file or not at all: from another file it would run its steps twice.

Privacy: holds weights after private steps, and released tables, all of which the plan pays for. Never a row, a batch,
or a network that was trained without noise.   Claim: docs/claims/dp-sgd.md
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tacita import check
from tacita.common.progress import step
from tacita.errors import InvalidInput
from tacita.models.neural.backend import load_torch
from tacita.models.neural.training import PrivateTraining
from tacita.noise import SeededSource, Source

__all__ = ["Checkpoint", "Checkpoints", "begin", "load_states", "reserved_steps", "source_of_run"]

_FORMAT = "tacita-training/2"


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """One state of a training.

    Attributes:
        plan: Text of the event and all else that must be the same to go on.
        charge: The ledger's charge that pays for it; empty if it was charged by hand.
        done: Steps whose effect is in the weights.
        reserved: Steps that may have been made.
        runs: How often training was started.
        released: What was released before the first step, as text.
        states: Weights and optimisers by name.
    """

    plan: str
    charge: str = ""
    done: int = 0
    reserved: int = 0
    runs: int = 1
    released: str = ""
    states: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Checkpoints:
    """A file that always holds a whole checkpoint."""

    path: Path
    every: int = 100

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", Path(self.path))
        check.whole(self.every, "every", least=1)

    def write(self, checkpoint: Checkpoint) -> None:
        """Replace what is there, at once or not at all."""
        torch = load_torch()
        held = io.BytesIO()
        torch.save({"format": _FORMAT} | {name: getattr(checkpoint, name) for name in _MEMBERS}, held)
        unfinished = self.path.with_name(f".{self.path.name}.{os.getpid()}.part")
        try:
            with unfinished.open("wb") as file:
                file.write(held.getvalue())
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(self.path)
        except OSError as error:
            rule = "cannot be written"
            raise InvalidInput(rule, field="checkpoint", value=f"{self.path}: {error.strerror}") from None
        finally:
            unfinished.unlink(missing_ok=True)

    def resume(self, plan: str, charge: str = "") -> Checkpoint | None:
        """Return the stored checkpoint as the next run of the same plan on the same charge; None if there is none."""
        if not self.path.exists():
            return None
        found = self._read()
        if found.plan != plan:
            raise InvalidInput(
                "was written by training with another plan or schema", field="checkpoint", value=self.path
            )
        if found.charge != charge:
            raise InvalidInput(
                "was written by training that another charge has paid for",
                field="checkpoint",
                value=self.path,
                hint="Go on with the key of that charge, or take a new file for a new one",
            )
        return replace(found, runs=found.runs + 1)

    def check(self, plan: str, charge: str | None) -> None:
        """Refuse to begin unless it is the first time, or the file is the one that this charge has written."""
        found = self.resume(plan, charge or "")
        if charge is None and found is not None:
            raise InvalidInput(
                "is there already, and was charged by hand",
                field="checkpoint",
                value=self.path,
                hint="Take a new file for a new charge",
            )
        if charge is not None and found is None:
            raise InvalidInput(
                "is not there, although training under this key has begun: beginning again would cost again",
                field="checkpoint",
                value=self.path,
                hint="Give the file of that training, or use a new key and pay again",
            )

    def _read(self) -> Checkpoint:
        torch = load_torch()
        try:
            data = torch.load(self.path, map_location="cpu", weights_only=True)  # runs no code from the file
            if data.pop("format") != _FORMAT:
                raise ValueError
            return Checkpoint(**data)
        except Exception:
            raise InvalidInput("is not a checkpoint, or is damaged", field="checkpoint", value=self.path) from None


_MEMBERS = tuple(Checkpoint.__dataclass_fields__)


def begin(kept: Checkpoints | None, plan: str, charge: str = "") -> Checkpoint:
    """Return the checkpoint at which a run of a plan starts: a fresh one, or the last one of the run before."""
    fresh = Checkpoint(plan=plan, charge=charge)
    found = kept.resume(plan, charge) if kept else None
    if kept and found is None:
        kept.write(fresh)
    if kept and found and not found.released:
        raise InvalidInput(
            "the run before stopped while tables were measured, and measuring them again would cost again",
            field="checkpoint",
            value=kept.path,
            hint="Take a new file and a new key, and so charge the plan again",
        )
    return found or fresh


def load_states(state: Checkpoint, parts: Mapping[str, Any]) -> None:
    """Networks and optimisers as they were; what the checkpoint does not know stays as it is."""
    for name, part in parts.items():
        if name in state.states:
            part.load_state_dict(state.states[name])


def reserved_steps(
    training: PrivateTraining,
    kept: Checkpoints | None,
    state: Checkpoint,
    parts: Mapping[str, Any],
) -> Iterator[None]:
    """One for each step to make; what is about to be made is written down first."""

    def write(reserved: int) -> None:
        if kept:
            states = {name: part.state_dict() for name, part in parts.items()}
            kept.write(replace(state, done=training.done, reserved=reserved, states=states))

    while training.left:
        if kept and (training.done - state.reserved) % kept.every == 0:
            write(min(training.done + kept.every, training.law.steps))
        step("training", training.done / training.law.steps)
        yield
    write(training.done)


def source_of_run(source: Source, run: int) -> Source:
    """The source itself; one that repeats itself is replaced by one that no other run of this training has."""
    if not source.simulated:
        return source
    key = int.from_bytes(source.words(4).tobytes(), "little")
    return SeededSource(key + run)
