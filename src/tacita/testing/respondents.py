"""Many respondents at once, for tests, benches and rehearsals: the channels of the devices, in bulk.

Real devices draw one answer at a time. Here the same channels draw thousands, with the same secure randomness, and the
campaign receives only reports in the wire's packed form.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacita.collect.campaigns import Campaign, Campaigns
from tacita.collect.campaigns.intake import MAGIC, MOST_REPORTS
from tacita.collect.device.question import shard_of
from tacita.collect.estimating.tally import joint_codes
from tacita.collect.planning.design import Asked
from tacita.errors import TacitaError
from tacita.noise import SecureSource

__all__ = ["answer_campaign"]


def answer_campaign(campaigns: Campaigns, id: str, codes: Mapping[str, NDArray[Any]], *, seed: int = 0) -> Campaign:
    """Let people answer the open block, each one random view.

    Args:
        campaigns: The store of the campaign.
        id: The campaign.
        codes: True codes of every attribute, one row for each person.
        seed: Seed of the choice of views alone.
    """
    campaign = campaigns.get(id)
    views = campaign.design.view_shares(campaign.block)
    people = len(next(iter(codes.values())))
    lot = np.random.default_rng(seed).choice(len(views), size=people, p=np.array(list(views.values())))
    for drawn, view in enumerate(views):
        for number in view if (lot == drawn).any() else ():
            asked = campaign.design.questions[number]
            own = {name: np.asarray(codes[name])[lot == drawn] for name in asked.attributes}
            for body in _packed(campaign, number, asked, own):
                (outcome,) = campaigns.accept_all([campaigns.parse(id, body)])
                if isinstance(outcome, TacitaError):
                    raise outcome
    return campaigns.get(id)


def _packed(campaign: Campaign, number: int, asked: Asked, codes: Mapping[str, NDArray[Any]]) -> list[bytes]:
    source = SecureSource()
    sent = asked.channel.randomize(joint_codes(campaign.design.domain, asked, codes, source), source)
    rows = sent if sent.dtype == np.uint8 and sent.ndim == 2 else sent.astype("<u4").reshape(len(sent), -1)
    name = campaign.questions[number].question.encode()
    head = MAGIC + bytes([len(name)]) + name
    bodies = []
    for start in range(0, len(rows), MOST_REPORTS):
        part = [_draw_id(campaign) + row.tobytes() for row in rows[start : start + MOST_REPORTS]]
        bodies.append(head + b"".join(part))
    return bodies


def _draw_id(campaign: Campaign) -> bytes:
    """Draw a random id that belongs to this aggregator."""
    place, parts = campaign.terms.shard or (0, 1)
    drawn = iter(partial(secrets.token_bytes, 16), b"")
    return next(id for id in drawn if shard_of(id.hex(), parts) == place)
