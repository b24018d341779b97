"""A row in segments, through devices: the whole contract, the loss, and the protocol that it comes from."""

import math
from fractions import Fraction

import numpy as np
import pytest

from tacita.collect.channels.chain import ChainChannel, chain_for
from tacita.collect.channels.wiring import channel_of, wire_of
from tacita.collect.device.channels import Chain
from tacita.collect.protocols.rrba_modified_chain import CoinPerSet
from tacita.domain import Categorical, Domain
from tacita.errors import InvalidInput
from tacita.tables.cells import Cells
from tacita.testing.channel import ChannelContract, worst_ratio

EXP = {0.1: Fraction("1.1051709180756477"), 1.0: Fraction("2.7182818284590453"), 4.0: Fraction("54.598150033144240")}
"""e^epsilon rounded up in the last place."""
SMALL = Chain(
    sizes=(2, 3),
    new=((0,), (1,)),
    given=((), (0,)),
    keep=((4,), (3, 2)),
    fake=(((2, 1),), ((1, 2, 1), (1, 3, 1))),
)
DOMAIN = Domain(
    attributes=(
        Categorical(name="a", levels=("0", "1")),
        Categorical(name="b", levels=("0", "1", "2")),
        Categorical(name="c", levels=("0", "1")),
    )
)


class TestChain(ChannelContract):
    one_word = False

    def channels(self):
        made = [ChainChannel.of(sizes=(2, 2), sets=((0,), (1,)), epsilon=e) for e in (0.5, 2.0)]
        return [ChainChannel(device=SMALL), *made, ChainChannel.of(sizes=(2, 3, 2), sets=((0, 1), (1, 2)), epsilon=1.0)]

    def cases(self, channel):
        if channel.device != SMALL:
            return []
        # one call of the source for each channel that is used: 7 sides of the first die, then 7 of the second
        return [[[one << 11], [two << 11]] for one in range(7) for two in range(7)]


@pytest.mark.parametrize("epsilon", EXP)
@pytest.mark.parametrize("sets", [((0, 1), (1, 2)), ((0,), (1,), (2,)), ((0, 1, 2),), ((2, 0), (1,))])
def test_the_enumerated_loss_is_at_most_epsilon(sets, epsilon):
    channel = ChainChannel.of(sizes=(2, 3, 2), sets=sets, epsilon=epsilon)
    found = worst_ratio(channel.weights())
    assert found == channel.worst_ratio
    assert found <= EXP[epsilon]
    assert channel.epsilon_upper <= epsilon
    assert channel.epsilon == pytest.approx(epsilon, rel=1e-6)


def test_the_protocol_gives_the_same_law_with_public_tables():
    table = np.array([[0.3, 0.2], [0.1, 0.2], [0.1, 0.1]])
    public = {("b", "c"): Cells(DOMAIN.project(("b", "c")), table)}
    protocol = CoinPerSet.within(DOMAIN, [("a", "b"), ("b", "c")], epsilon=1.0, tables=public, floor=0.3)
    channel = protocol.wired()
    assert channel.matrix() == pytest.approx(protocol.matrix())
    assert channel.worst_ratio == protocol.worst_ratio == worst_ratio(channel.weights())
    assert channel.epsilon_upper <= 1.0 + 1e-9
    assert channel_of(wire_of(channel), 12) == channel
    truth = np.random.default_rng(1).dirichlet(np.ones(12))
    expected = channel.estimate(np.round(1e9 * (truth @ channel.matrix())).astype(np.int64))
    assert expected.frequencies == pytest.approx(truth, abs=1e-6)


def test_a_chain_of_a_table_has_a_coin_for_each_pair():
    channel = chain_for(DOMAIN, 1.0)
    assert channel.device.new == ((0, 1), (2,))
    assert math.prod(channel.device.sizes) == 12
    assert chain_for(DOMAIN.project(("b",)), 1.0).device.new == ((0,),)


def test_too_many_cells_are_refused():
    with pytest.raises(InvalidInput):
        ChainChannel.of(sizes=(50, 50), sets=((0,), (1,)), epsilon=1.0)
