"""Synthetic rows from a model, decoded into the levels of their domain.

Privacy: post-processing of the model: rows cost what the model cost, however many are drawn. Rows of a model that was
fitted to exact tables are as sensitive as those tables; the rows' metadata states which of the two they are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tacita.domain import Attribute, Binned, Decode, Domain, decode
from tacita.errors import InvalidInput
from tacita.models.spread import Spread
from tacita.privacy.event import Event

__all__ = ["Checked", "Model", "synthetic_rows"]

_TRIES = 200


class Model(Protocol):
    """Model that draws synthetic rows: a network, latent classes."""

    def sample(self, rows: int, rng: np.random.Generator) -> Mapping[str, NDArray[Any]]:
        """Draw the codes of synthetic rows."""


@runtime_checkable
class Checked(Protocol):
    """A model that can refuse rows after they are decoded, when numbers inside bins break what bins allow."""

    def fits(self, rows: pa.Table) -> NDArray[np.bool_]:
        """For each row whether it may be."""


def synthetic_rows(
    domain: Domain,
    model: Model,
    rows: int,
    rng: np.random.Generator,
    *,
    event: Event,
    policy: Decode = "label",
    spreads: Sequence[Spread] = (),
    simulated: bool = False,
) -> pa.Table:
    """Draw synthetic rows from a model, one column for each attribute of the model.

    Args:
        domain: The meaning of the codes.
        model: Draws codes.
        rows: How many rows. Not the number of people, where that is private.
        rng: For the draws; they need no secrecy, because the model itself may be published.
        event: What the model cost; `NonPrivate` if it was fitted to exact tables.
        policy: How bins come back: as labels, or as numbers inside the bin. With "auto", numbers whose spread is known
            come back as numbers, others as labels.
        spreads: Of numbers inside bins, where it is known; even otherwise.
        simulated: Whether the model's noise came from a seed; the rows say so.
    """
    if type(rows) is not int or rows < 0:
        raise InvalidInput("must be a whole number of 0 or more", field="rows", value=rows)
    known = {spread.attribute: spread for spread in spreads}
    made = _decoded(domain, model, rows, rng, policy, known)
    if isinstance(model, Checked):
        made = _refilled(domain, model, made, rng, policy, known)
    mark = {"synthetic": True, "by": "post-processing", "event": event.as_dict()}
    mark |= {"simulated": True} if simulated else {}
    return made.replace_schema_metadata({"tacita": json.dumps(mark)})


def _decoded(
    domain: Domain, model: Model, rows: int, rng: np.random.Generator, policy: Decode, spreads: Mapping[str, Spread]
) -> pa.Table:
    codes = model.sample(rows, rng)
    columns = {}
    for name in domain.names:
        if name in codes:
            columns[name] = _column(domain[name], np.asarray(codes[name]), rng, policy, spreads.get(name))
    return pa.table(columns)


def _column(
    attribute: Attribute, codes: NDArray[Any], rng: np.random.Generator, policy: Decode, spread: Spread | None
) -> pa.Array:
    if policy == "auto":
        policy = "label" if spread is None else "uniform"
    uniforms = rng.random(len(codes)) if policy == "uniform" else None
    if spread is not None and uniforms is not None and isinstance(attribute, Binned):
        uniforms = spread.place(attribute, codes, uniforms)
    return decode(attribute, codes, policy, uniforms)


def _refilled(
    domain: Domain,
    model: Model,
    made: pa.Table,
    rng: np.random.Generator,
    policy: Decode,
    spreads: Mapping[str, Spread],
) -> pa.Table:
    """The rows that may be, and others in the place of those that may not."""
    assert isinstance(model, Checked)
    rows, parts = made.num_rows, [made.filter(pa.array(model.fits(made)))]
    have = parts[0].num_rows
    for _ in range(_TRIES):
        if have >= rows:
            return pa.concat_tables(parts).slice(0, rows).combine_chunks()
        more = _decoded(domain, model, rows - have + 16, rng, policy, spreads)
        parts.append(more.filter(pa.array(model.fits(more))))
        have += parts[-1].num_rows
    hint = "Another policy may help: labels of bins break nothing"
    raise InvalidInput("nearly all rows break a rule once bins are numbers", field="policy", value=policy, hint=hint)
