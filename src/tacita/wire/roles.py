"""Roles of tokens. This module imports nothing else, so that a client needs no database."""

from typing import Literal

__all__ = ["Role"]

Role = Literal["admin", "steward", "analyst", "reader", "holder"]
