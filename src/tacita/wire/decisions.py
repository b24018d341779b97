"""Decisions about dependence on released tables."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from tacita.wire.base import RequestModel, ResponseModel

__all__ = ["DecisionInfo", "FlipQuestion", "IndependenceQuestion", "StabilityQuestion"]


class IndependenceQuestion(RequestModel):
    """Whether attributes are independent, tested through the mechanism that made the tables."""

    by: list[str] = Field(min_length=2, max_length=8, description="Attributes that may depend on each other.")
    given: list[str] = Field(default=[], max_length=8, description="Within each combination of these.")
    alpha: float = Field(default=0.05, gt=0, lt=1, description="Level of the decision.")
    people: int | None = Field(default=None, ge=1, description="Number of rows behind noisy counts, if it is public.")
    way: Literal["noise-aware", "paper"] = Field(
        default="noise-aware", description="noise-aware, or as published with its rule of five."
    )
    simulations: int = Field(default=999, ge=19, le=9999, description="Simulated releases for the threshold.")
    seed: int = Field(default=0, ge=0, description="Of the simulations.")


class FlipQuestion(RequestModel):
    """Probability that the true table would be decided otherwise than the released one."""

    by: list[str] = Field(min_length=2, max_length=8, description="Attributes that may depend on each other.")
    given: list[str] = Field(default=[], max_length=8, description="Within each combination of these.")
    statistic: Literal["g2", "pearson"] = Field(default="g2", description="Statistic of the decision.")
    alpha: float = Field(default=0.05, gt=0, lt=1, description="Level of the decision.")
    df: int | None = Field(default=None, ge=1, description="Degrees of freedom, if not those of the hypothesis.")
    decide: Literal["same", "private", "paper"] = Field(
        default="same", description="Decision on the release: as if it were exact, by the private test, as published."
    )
    people: int | None = Field(default=None, ge=1, description="Number of rows, if it is public; for private.")
    draws: int = Field(default=10_000, ge=100, le=100_000, description="Draws of the true table.")
    seed: int = Field(default=0, ge=0, description="Of the draws.")


class StabilityQuestion(RequestModel):
    """Share of draws of the true tables in which each link of the learnt network occurs."""

    search: Literal["auto", "tree", "hill-climb", "exact"] = Field(
        default="auto", description="How the network is learnt."
    )
    degree: int | None = Field(default=None, ge=1, le=5, description="Most parents of an attribute.")
    draws: int = Field(default=200, ge=10, le=2000, description="Draws of the true tables.")
    seed: int = Field(default=0, ge=0, description="Of the draws.")


class DecisionInfo(ResponseModel):
    """Figures of a decision; they cost nothing."""

    question: Literal["test", "flip", "stability"]
    values: dict[str, Any] = Field(description="Every figure by name.")
    picture: str | None = Field(default=None, description="The network with its stable links, as SVG.")
