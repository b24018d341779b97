"""The networks of tabular generators, with weights drawn from a generator that is an argument."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from tacita.models.neural.backend import load_torch
from tacita.synthesize.gan.encode import Encoding
from tacita.synthesize.gan.generator import SLOPE, Generator

__all__ = ["as_generator", "drawn_rows", "initialise", "layers", "shares_of_codes"]


def layers(sizes: list[int], rng: np.random.Generator) -> Any:
    """Linear layers with leaky rectifiers between."""
    nn = load_torch().nn
    parts: list[Any] = []
    for inputs, outputs in itertools.pairwise(sizes):
        parts += [nn.Linear(inputs, outputs), nn.LeakyReLU(SLOPE)]
    return initialise(nn.Sequential(*parts[:-1]), rng)


def initialise(module: Any, rng: np.random.Generator) -> Any:
    """The module with fresh weights, scaled so that signals keep their size.  [He et al. 2015]"""
    torch = load_torch()
    with torch.no_grad():
        for weight in module.parameters():
            if weight.ndim == 1:
                weight.zero_()
                continue
            std = math.sqrt(2 / ((1 + SLOPE**2) * weight[0].numel()))
            weight.copy_(torch.from_numpy(rng.normal(0, std, tuple(weight.shape)).astype(np.float32)))
    return module


def shares_of_codes(encoding: Encoding, flow: Any, given: str | None, codes: Any) -> Any:
    """Turn the last layer's output into shares of each attribute's codes; the given attribute keeps its code."""
    torch = load_torch()
    parts = [
        torch.nn.functional.one_hot(codes, encoding.domain[name].size).to(flow.dtype)
        if name == given
        else flow[:, block].softmax(1)
        for name, block in encoding.blocks.items()
    ]
    return torch.cat(parts, 1)


def drawn_rows(encoding: Encoding, shares: Any, random: Any) -> Any:
    """One code of each attribute, as ones among zeros, with the slopes of the shares.  [Bengio et al. 2013]"""
    torch = load_torch()
    even = torch.rand(shares.shape, generator=random, device=shares.device).clamp(1e-9, 1 - 1e-9)
    heights = shares.detach().clamp(min=1e-12).log() - (-even.log()).log()  # the highest is drawn by its share
    drawn = torch.zeros_like(shares)
    for block in encoding.blocks.values():
        drawn.scatter_(1, heights[:, block].argmax(1, keepdim=True) + block.start, 1.0)
    return drawn + shares - shares.detach()


def as_generator(encoding: Encoding, network: Any, latent: int, given: Any) -> Generator:
    """The trained network as a model that needs no torch."""
    found = [
        (part.weight.detach().cpu().numpy().copy(), part.bias.detach().cpu().numpy().copy())
        for part in network
        if hasattr(part, "weight")
    ]
    return Generator(domain=encoding.domain, layers=tuple(found), latent=latent, given=given)
