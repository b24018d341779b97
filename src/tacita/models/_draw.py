"""The one way codes are drawn from tables of cumulative probabilities, at bulk speed."""

from __future__ import annotations

from typing import Any

from tacita.common.compiled import compiled

__all__ = ["draw_codes"]


@compiled
def draw_codes(rows: Any, cumulative: Any, uniforms: Any, drawn: Any) -> None:
    """For each draw, the first code whose cumulative probability in its row exceeds the uniform number."""
    last = cumulative.shape[1] - 1
    for i in range(rows.size):
        row, code = rows[i], 0
        while code < last and uniforms[i] >= cumulative[row, code]:
            code += 1
        drawn[i] = code
