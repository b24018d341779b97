from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest

from tacita.errors import InvalidInput
from tacita.learn.functions import model
from tacita.learn.functions.model import FunctionModel


def packed(**arrays: np.ndarray) -> bytes:
    out = io.BytesIO()
    np.savez_compressed(out, allow_pickle=False, **arrays)
    return out.getvalue()


def test_arrays_that_unpack_to_more_than_a_model_takes_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "MOST_BYTES", 1 << 20)
    assert FunctionModel.of({}, packed(a=np.zeros(1000))).arrays["a"].sum() == 0
    bomb = packed(a=np.zeros(1 << 18))
    assert len(bomb) < 10_000
    with pytest.raises(InvalidInput, match="at most 1048576 bytes"):
        FunctionModel.of({}, bomb)


def test_an_array_that_says_it_is_larger_than_it_is() -> None:
    out, head = io.BytesIO(), io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": (1 << 40,)})
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("a.npy", head.getvalue())
    with pytest.raises(InvalidInput, match="shorter than it says"):
        FunctionModel.of({}, out.getvalue())


@pytest.mark.parametrize("payload", [b"", b"PK", packed(a=np.zeros(3))[:-40]])
def test_what_holds_no_arrays(payload: bytes) -> None:
    with pytest.raises(InvalidInput, match="holds no arrays"):
        FunctionModel.of({}, payload)
