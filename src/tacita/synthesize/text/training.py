"""Training of generators: privately with the one loop of DP-SGD, or plainly with early stopping. Needs torch.

    loss of a headline   minus the mean over its windows and places of log p(next word) + log p(next tag)
                         the second only with tags: the sum of two cross-entropies

Privacy:  `train_privately`: the fixed number of Poisson-sampled steps of `Steps`, one headline a unit; no validation,
          no stopping, no dropout.   Claim: docs/claims/text.md
          `train_plainly`: none. It stops when headlines that were held out get less likely.   [Kingma and Ba 2015]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from tacita.common.progress import step
from tacita.models.neural.backend import load_torch
from tacita.models.neural.clipping import UnitLoss
from tacita.models.neural.training import PrivateTraining, Steps, check_finite
from tacita.noise import Source
from tacita.synthesize.text.corpus import Headlines
from tacita.synthesize.text.layers import Arithmetic, Array, Kind, run_layers, tag_logs
from tacita.synthesize.text.windows import windows_of

__all__ = ["loss_of", "torch_arithmetic", "train_plainly", "train_privately"]

Weights = dict[str, Array]


def torch_arithmetic(dropout: float = 0.0) -> Arithmetic:
    """Arithmetic of torch, with dropout before the heads if it is above 0."""
    torch = load_torch()

    def drop(state: Any) -> Any:
        return torch.nn.functional.dropout(state, dropout) if dropout else state

    return Arithmetic(
        take=lambda table, codes: torch.nn.functional.embedding(codes, table),
        join=lambda parts: torch.cat(parts, dim=-1),
        sigmoid=torch.sigmoid,
        tanh=torch.tanh,
        log_softmax=lambda values: torch.log_softmax(values, dim=-1),
        zeros=lambda like, width: like.new_zeros((*like.shape[:-1], width)),
        drop=drop,
    )


def loss_of(kind: Kind, dropout: float = 0.0) -> UnitLoss:
    """Loss of one headline, of the weights by name and of its windows."""
    torch, ops = load_torch(), torch_arithmetic(dropout)

    def loss(
        weights: Mapping[str, Any], words: Any, tags: Any, topics: Any, next_words: Any, next_tags: Any, counts: Any
    ) -> Any:
        found = run_layers(kind, weights, words, tags, topics, ops)
        total = 0.0
        for at, (by_word, tag_scores) in enumerate(found):
            gained = torch.gather(by_word, -1, next_words[..., at, None])[..., 0]
            if tag_scores is not None:
                by_tag = tag_logs(weights, tag_scores, next_words[..., at], ops)
                gained = gained + torch.gather(by_tag, -1, next_tags[..., at, None])[..., 0]
            total = total - (gained * counts[..., at]).sum(-1)
        return (total / counts.sum((-2, -1)).clamp(min=1)).mean()

    return loss


def _tensors(headlines: Headlines, window: int) -> tuple[Any, ...]:
    torch = load_torch()
    return tuple(torch.from_numpy(np.array(part)) for part in windows_of(headlines, window).arrays())


def _parameters(weights: Weights) -> Any:
    torch = load_torch()
    return torch.nn.ParameterDict({name: torch.nn.Parameter(torch.from_numpy(w.copy())) for name, w in weights.items()})


def _arrays(parameters: Any) -> Weights:
    return {name: weight.detach().numpy().copy() for name, weight in parameters.items()}


def train_privately(
    kind: Kind,
    weights: Weights,
    headlines: Headlines,
    law: Steps,
    *,
    window: int,
    learning_rate: float,
    expected: float,
    source: Source,
) -> Weights:
    """Run all steps that are paid for; each headline is a unit. The mean of the weights over the last half is returned.

    Args:
        kind: Cell and inputs.
        weights: Before training; drawn without looking at headlines.
        headlines: Private.
        law: Steps, rate, noise and clipping norm.
        window: Words that a step sees.
        learning_rate: Of Adam.
        expected: Headlines in a step, from a public number.
        source: Draws the headlines of a step, and the noise.
    """
    torch = load_torch()
    parameters, tensors = _parameters(weights), _tensors(headlines, window)
    training = PrivateTraining(
        law,
        parameters,
        torch.optim.Adam(parameters.parameters(), lr=learning_rate),
        loss_of(kind),
        units=len(headlines),
        take=lambda chosen: tuple(part[torch.from_numpy(chosen)] for part in tensors),
        expected=expected,
        source=source,
    )
    total, count = {name: torch.zeros_like(weight) for name, weight in parameters.items()}, 0
    while training.left:
        step("training", training.done / law.steps)
        training.step()
        if training.done > law.steps // 2:
            count += 1
            total = {name: part + parameters[name].detach() for name, part in total.items()}
    return {name: (part / count).numpy() for name, part in total.items()}


def train_plainly(
    kind: Kind,
    weights: Weights,
    headlines: Headlines,
    *,
    window: int,
    epochs: int,
    batch: int,
    learning_rate: float,
    dropout: float,
    stop_after: int,
    held: float,
    rng: np.random.Generator,
    progress: Callable[[int, float], None] | None = None,
) -> Weights:
    """Train without protection; the weights with the least loss on the held-out share of the headlines are returned."""
    torch = load_torch()
    kept, validation = headlines.split(held, rng)
    parameters, tensors = _parameters(weights), _tensors(kept, window)
    checked = _tensors(validation, window)
    optimiser = torch.optim.Adam(parameters.parameters(), lr=learning_rate)
    state = torch.random.get_rng_state()
    torch.manual_seed(int(rng.integers(2**62)))  # dropout
    try:
        best, best_loss, worse = _arrays(parameters), float("inf"), 0
        loss, exact = loss_of(kind, dropout), loss_of(kind)
        for epoch in range(epochs):
            step("training", epoch / epochs)
            order = rng.permutation(len(kept))
            for start in range(0, len(order), batch):
                chosen = torch.from_numpy(order[start : start + batch])
                found = loss(dict(parameters.items()), *(part[chosen] for part in tensors))
                check_finite(torch, [found])
                optimiser.zero_grad(set_to_none=True)
                found.backward()
                optimiser.step()
            with torch.no_grad():
                value = float(exact(dict(parameters.items()), *checked))
            if progress is not None:
                progress(epoch, value)
            if value < best_loss:
                best, best_loss, worse = _arrays(parameters), value, 0
            else:
                worse += 1
                if worse > stop_after:
                    break
        return best
    finally:
        torch.random.set_rng_state(state)
