"""Registry of attacks: one line for each. `assess` runs all that apply, in this order.

The order fixes the random draws of attacks that share a generator, so a new line goes to the end. `wire.assessments`
has the same names as an enumeration; a test compares them.
"""

from __future__ import annotations

from collections.abc import Sequence

from tacita.assess.attacks import (
    copies,
    inference,
    intersection,
    linkability,
    membership_tables,
    reconstruction,
    released_models,
    scenario,
    singling_out,
    trajectories,
    trajectory_copies,
    trajectory_membership,
    trajectory_points,
)
from tacita.assess.attacks.attack import Attack
from tacita.errors import InvalidInput

__all__ = ["ATTACKS", "select"]

ATTACKS: tuple[Attack, ...] = (
    singling_out.SEVERAL,
    singling_out.SINGLE,
    linkability.LINKABILITY,
    inference.INFERENCE,
    copies.COPIES,
    membership_tables.DISTANCE,
    membership_tables.DENSITY,
    copies.NEAREST,
    scenario.SCENARIO,
    intersection.INTERSECTION,
    released_models.MODELS,
    reconstruction.RECONSTRUCTION,
    trajectories.TRAJECTORIES,
    trajectory_copies.COPIED,
    trajectory_points.KNOWN,
    trajectory_membership.MEMBER,
)


def select(names: Sequence[str] = ()) -> tuple[Attack, ...]:
    """Return the attacks with these names, in the order of the registry; all if none is named."""
    known = {attack.name for attack in ATTACKS}
    for name in names:
        if name not in known:
            raise InvalidInput(f"must be among {', '.join(each.name for each in ATTACKS)}", field="attacks", value=name)
    return tuple(attack for attack in ATTACKS if not names or attack.name in names)
