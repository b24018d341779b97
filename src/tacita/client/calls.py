"""The calls that every part of `Client` is made of; `Client` sends them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from tacita.wire import JobInfo

__all__ = ["Calls"]


class Calls(ABC):
    """Get, post, send, and wait for a job."""

    @abstractmethod
    def _get(self, path: str, query: Mapping[str, Any] | None = None) -> bytes: ...

    @abstractmethod
    def _post(
        self,
        path: str,
        body: Mapping[str, Any] | None,
        *,
        safe: bool = False,
        key: str | None = None,
        on_loss: Callable[[Exception], None] | None = None,
    ) -> bytes: ...

    @abstractmethod
    def _send(self, method: str, path: str, **parts: Any) -> bytes: ...

    @abstractmethod
    def _finished(
        self, id: str, timeout: float, every: float, on_progress: Callable[[JobInfo], None] | None = None
    ) -> None: ...
