"""What a token may do, as one word. Here by itself, so that a client needs no database to know it."""

from typing import Literal

__all__ = ["Role"]

Role = Literal["admin", "steward", "analyst", "holder"]
