"""A choice of several options whose browser does not wait for the server: see `static/several.js`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from nicegui import ui
from nicegui.events import GenericEventArguments

__all__ = ["Several"]

_SEVERAL = Path(__file__).parents[1] / "static" / "several.js"


class Several(ui.select, component=_SEVERAL):
    """The framework's choice of several options, with its value held by the browser.

    The server never answers a click with a value: of two clicks, its answer to the first would undo the second. It
    sends one only when the page sets another value.
    """

    LOOPBACK = False

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        with self._props.suspend_updates():
            self._props["loopback"] = (
                None  # the framework's script would write the arguments of the event over the value
            )

    def _event_args_to_value(self, e: GenericEventArguments) -> Any:
        value = super()._event_args_to_value(e)
        # what is sent from now on is the value as it is now, not the one that the browser began with
        self._props[self.VALUE_PROP] = self._value_to_model_value(value)
        return value

    def _to_dict(self) -> dict[str, Any]:
        return super()._to_dict() | {"preserved_props": []}
