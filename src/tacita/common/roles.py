"""Roles of tokens. This module imports nothing else, so that settings and clients can name them."""

from typing import Literal

__all__ = ["Role"]

Role = Literal["admin", "steward", "analyst", "reader", "holder"]
