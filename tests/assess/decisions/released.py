"""Releases and tallies of known tables, for the tests of this room."""

import numpy as np

from tacita.assess.decisions.mechanisms import plain_domain
from tacita.collect.estimating.tally import Tally
from tacita.collect.planning.design import Asked, CollectionDesign
from tacita.domain import Categorical, Domain
from tacita.noise import SeededSource
from tacita.privacy.event import Pure
from tacita.privacy.unit import Neighbours, Unit
from tacita.tables.cells import Cells
from tacita.tables.release import Provenance, Release
from tacita.tables.uncertainty import AdditiveNoise

XY = Domain(attributes=[Categorical(name=name, levels=["0", "1"]) for name in "xy"])


def counted(values, law, *, domain=XY, terms=1):
    """Counts with additive noise of a law, as they were released."""
    return Release(
        estimate=Cells(domain, np.asarray(values).reshape(domain.shape)),
        quantity="count",
        uncertainty=AdditiveNoise(law=law, terms=terms),
        event=Pure(epsilon=1.0),
        unit=Unit.row(),
        neighbours=Neighbours.REPLACE_ONE,
        trust="central",
        provenance=Provenance(recipe={"method": "noisy-tables"}, simulated=True),
    )


def tallied(channel, counts, *, domain=XY):
    """The tally of one question about the whole domain."""
    asked = Asked(attributes=domain.names, channel=channel, share=1.0)
    design = CollectionDesign(
        domain=domain, questions=(asked,), epsilon=channel.epsilon_upper, respondents=1000, mode="tables"
    )
    return Tally.counted(design, {0: np.asarray(counts, dtype=np.int64)}, simulated=True)


def answered(channel, table, seed, *, domain=None):
    """The tally of people with these true counts."""
    cells = np.repeat(np.arange(np.size(table)), np.reshape(table, -1))
    reports = channel.randomize(cells, SeededSource(seed))
    return tallied(channel, channel.tally(reports), domain=domain or plain_domain((1, 2, 2)))
