"""The analyst's side: ask holders step by step and fit one model to their answers.

    SL1   sum the holders' noisy tables over all small sets of attributes; structure and parameters are read off them
    SL2   d - 1 rounds of one private vote of each holder; then sum noisy tables for the structure that won
    SL3   blend the holders' private models, in proportion to their noisy sizes

Privacy:  the analyst sees private answers and nothing else; all that it does is post-processing. The cost of a run
          to one person over all holders is `Schedule.event_of_all`.   Claim: docs/claims/federated.md
Utility:  noise is added at each holder, so that sums carry M times the variance that one curator's would. SL2 and SL3
          are the better the fewer holders there are; SL1 pays for all sets of attributes at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

import numpy as np

from tacita.domain import Domain
from tacita.errors import InvalidInput
from tacita.models.mixture_fit import fit_mixture
from tacita.models.network import BayesianNetwork
from tacita.privacy.unit import Neighbours
from tacita.synthesize.estimate import MAX_LEVELS, lost_rows, measurements_of
from tacita.synthesize.federated.combine import blend_models, most_voted, network_from_tables, sum_answers
from tacita.synthesize.federated.exchange import Content, Joined, Measured, Parents, Step, Vote
from tacita.synthesize.federated.kinds import Fit
from tacita.synthesize.federated.rounds import FederatedRounds, Party
from tacita.synthesize.federated.schedule import MOST_CELLS, Schedule
from tacita.synthesize.federated.steps import Measuring, Pair
from tacita.synthesize.federated.terms import Terms
from tacita.synthesize.marginals import EMPTY, HIDDEN
from tacita.synthesize.noisy_network import network_of
from tacita.synthesize.plan import kept_tables
from tacita.synthesize.privbayes import BARE
from tacita.synthesize.result import Model, Synthesized
from tacita.tables.release import Provenance, Release, Releases

__all__ = ["Fit", "Party", "federate", "takes_mixture"]

KIND = "Each holder is the curator of its own people's data and adds its own noise. This is not local privacy."
APART = "By the terms, no one is at two holders: a person's cost over all holders is the cost at one of them."
MOVED = (
    "If a person's data changes, the person may also move to another holder; the stated guarantee covers that. While "
    "the person stays at one holder, the ledger of that holder states the cost."
)
TOGETHER = "People may be at several holders, by the terms: what the holders were paid adds up for them."


def federate(
    terms: Terms,
    domain: Domain,
    parties: Sequence[Party],
    *,
    deadline: float,
    rng: np.random.Generator,
    fit: Fit = "auto",
) -> Synthesized:
    """Run a protocol with all holders, and give one model.

    Args:
        terms: The agreement.
        domain: The public schema that it names.
        parties: The holders, by the names in the terms.
        deadline: Seconds that holders have for each step; later answers are dropped.
        rng: Where a mixture's fit starts; needs no secrecy.
        fit: Model of SL1's tables: a network, or where they are pairs a mixture of products that fits them all;
            "auto" takes the mixture where it can. SL2 and SL3 make networks.

    Raises:
        SourceUnavailable: Fewer holders than the quorum answered a step.
    """
    return _Run(
        Schedule.of(terms, domain),
        FederatedRounds(terms, parties, deadline=deadline),
        rng,
        mixture=takes_mixture(terms, domain, fit),
    ).result()


def takes_mixture(terms: Terms, domain: Domain, fit: Fit) -> bool:
    """Whether SL1's tables become a mixture; decided, or refused, before any holder is asked."""
    pairs = terms.method == "SL1" and terms.degree == 1 and len(terms.attributes) > 1
    if fit not in ("auto", "network", "mixture") or (fit == "mixture" and not pairs):
        raise InvalidInput("must be auto, network, or for SL1 with degree 1 mixture", field="fit", value=fit)
    width = sum(domain[name].size for name in terms.attributes)
    return pairs and (fit == "mixture" or (fit == "auto" and width <= MAX_LEVELS))


class _Run:
    def __init__(self, schedule: Schedule, rounds: FederatedRounds, rng: np.random.Generator, *, mixture: bool) -> None:
        self._schedule, self._rounds, self._rng, self._mixture = schedule, rounds, rng, mixture
        self._terms = schedule.terms
        self._domain = schedule.domain.project(schedule.terms.attributes)
        self._simulated = False
        self._tables_of_all: list[Release] = []

    def result(self) -> Synthesized:
        """Join, run the method, say what happened."""
        self._rounds.ask(Step(kind="join"), self._joined)
        method = {"SL1": self._shared_tables, "SL2": self._voted, "SL3": self._shared_models}[self._terms.method]
        model, people, error, notes = method()
        if people < 3 * error:
            notes = (EMPTY, *notes)
        return Synthesized(
            model=model,
            people=people,
            people_std=error,
            notes=(*notes, *self._rounds.notes, *self._promise()),
            measured=kept_tables([self._tables_of_all]),
            event=self._schedule.event_of_all(len(self._terms.holders)),
            unit=self._terms.unit,
            neighbours=self._terms.neighbours,
            provenance=Provenance(recipe=self._terms.as_dict(), simulated=self._simulated),
        )

    def _promise(self) -> tuple[str, ...]:
        if self._terms.overlap == "possible":
            return KIND, TOGETHER
        moved = (MOVED,) if self._terms.neighbours is Neighbours.REPLACE_ONE else ()
        return KIND, APART, *moved

    # -- methods --------------------------------------------------------------------------------------------------

    def _shared_tables(self) -> tuple[Model, float, float, tuple[str, ...]]:
        tables, asked = self._measured(Step(kind="tables"))
        self._tables_of_all = list(tables.values())
        targets, people, error = measurements_of(list(tables.values()))
        notes = (f"{asked} holders shared {len(tables)} tables.", *lost_rows(list(tables.values())))
        if self._mixture and people >= 3 * error:  # where noise hides even the total there is nothing to fit
            fitted = fit_mixture(self._domain, targets, self._rng)
            return fitted.model, people, error, notes + ((HIDDEN,) if fitted.hidden else ())
        ways = min(self._terms.degree, len(self._domain) - 1)
        if not ways:
            only = network_of(self._domain, dict.fromkeys(self._domain.names, ()), list(tables.values()))
            return only, people, error, notes
        network = network_from_tables(
            self._domain, tables, degree=ways, people=max(people, error), theta=self._terms.theta
        )
        return network, people, error, notes + _structure_notes(network)

    def _voted(self) -> tuple[Model, float, float, tuple[str, ...]]:
        placed, notes = self._structure()
        tables, asked = self._measured(Step(kind="tables", placed=placed))
        self._tables_of_all = list(tables.values())
        _, people, error = measurements_of(list(tables.values()))
        network = network_of(self._domain, dict(placed), list(tables.values()))
        notes += (f"{asked} holders shared a table for each attribute.", *lost_rows(list(tables.values())))
        return network, people, error, notes + _structure_notes(network)

    def _structure(self) -> tuple[Parents, tuple[str, ...]]:
        placed: Parents = ((self._terms.attributes[0], ()),)
        most = self._most_cells() if len(self._terms.attributes) > 1 else 0
        agreed = []
        while len(placed) < len(self._terms.attributes):
            step = Step(kind="vote", placed=placed, most_cells=most)
            candidates = self._schedule.candidates(step)
            votes = list(self._rounds.ask(step, partial(self._vote, candidates)).values())
            winner = most_voted(votes, candidates)
            agreed.append(votes.count(winner) / len(votes))
            placed = (*placed, winner)
        notes = (f"Winners had {100 * float(np.mean(agreed)):.0f} % of the votes on average.",) if agreed else ()
        return placed, notes

    def _most_cells(self) -> int:
        """Cells that a table may have, so that a mean cell is theta standard errors of the sum over holders."""
        holders = len(self._terms.holders)
        people = float(self._terms.people or 0)
        if self._schedule.count is not None:
            counts, holders = self._measured(Step(kind="count"))
            people = float(counts[()].values)
        cells = people / (self._terms.theta * self._schedule.std * math.sqrt(holders))
        return int(min(max(cells, 0.0), MOST_CELLS))

    def _shared_models(self) -> tuple[Model, float, float, tuple[str, ...]]:
        models = self._rounds.ask(Step(kind="model"), self._model)
        blend, people, error = blend_models(list(models.values()), self._terms.people)
        notes = [f"{len(models)} holders shared a model each; the result is their blend, in proportion to their sizes."]
        heaviest = max(range(len(models)), key=blend.weights.__getitem__)
        if len(models) > 1 and blend.weights[heaviest] > 1 / 2:
            share = f"{100 * blend.weights[heaviest]:.4g} %"
            notes.append(
                f"{list(models)[heaviest]} states {share} of all rows, and weighs as much in the result. Sizes are "
                "what holders state; none is checked unless the total is public (`people`)."
            )
        for name, model in models.items():
            notes += [f"{name}: {note}" for note in model.notes]
        return blend, people, error, tuple(notes)

    # -- answers --------------------------------------------------------------------------------------------------

    def _measured(self, step: Step) -> tuple[Releases, int]:
        plan = self._schedule.plan(step)
        assert isinstance(plan, Measuring)
        answers = list(self._rounds.ask(step, partial(self._tables, plan)).values())
        return sum_answers(answers, self._schedule), len(answers)

    def _joined(self, content: Content) -> Joined:
        if not isinstance(content, Joined) or content.terms != self._terms.digest:
            raise InvalidInput("accepts other terms", field="content.terms")
        return content

    def _tables(self, plan: Measuring, content: Content) -> Measured:
        if not isinstance(content, Measured) or content.keys != plan.tables.workload.keys:
            raise InvalidInput("must be the tables that were asked for", field="content.tables")
        for key, cells in zip(content.keys, content.cells, strict=True):
            if cells.size != self._schedule.domain.project(key).size:
                raise InvalidInput("must have a number for each cell", field="content.tables", value=list(key))
        if content.law != plan.tables.laws[0] or content.event != plan.event:
            raise InvalidInput("must have the noise that the terms say", field="content.law")
        self._simulated |= content.simulated
        return content

    def _vote(self, candidates: Sequence[Pair], content: Content) -> Pair:
        if not isinstance(content, Vote) or (content.child, content.parents) not in candidates:
            raise InvalidInput("must be one of the candidates", field="content")
        if self._schedule.choice is None or content.event != self._schedule.choice.event:
            raise InvalidInput("must be drawn as the terms say", field="content.event")
        self._simulated |= content.simulated
        return content.child, content.parents

    def _model(self, content: Content) -> Synthesized:
        if not isinstance(content, Synthesized) or not isinstance(content.model, BayesianNetwork):
            raise InvalidInput("must be a network", field="content.model")
        if content.domain.attributes != self._domain.attributes:
            raise InvalidInput("must be over the attributes of the terms", field="content.model")
        protected = (content.unit, content.neighbours) == (self._terms.unit, self._terms.neighbours)
        if content.event != self._schedule.plan(Step(kind="model")).event or not protected:
            raise InvalidInput("must cost what the terms say", field="content.event")
        self._simulated |= content.provenance.simulated
        return content


def _structure_notes(network: BayesianNetwork) -> tuple[str, ...]:
    edges = "; ".join(f"{name} from {', '.join(above)}" for name, above in network.parents.items() if above)
    if edges:
        return (f"Structure: {edges}.",)
    return (BARE,) if len(network.domain) > 1 else ()
