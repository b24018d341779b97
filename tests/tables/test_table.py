import copy
import json
import pickle

import numpy as np
import pydantic
import pytest

from tacita.domain import Boolean, Domain
from tacita.tables.cells import Cells
from tacita.tables.table import SensitiveError, Table

DOMAIN = Domain(attributes=[Boolean(name="a"), Boolean(name="b")])
TABLE = Table(DOMAIN, [[31, 57], [0, 91]])


@pytest.mark.parametrize("show", [repr, str, "{}".format])
def test_printing_shows_no_counts(show):
    for secret in ("31", "57", "91"):
        assert secret not in show(TABLE)


@pytest.mark.parametrize(
    "leave",
    [
        pickle.dumps,
        copy.copy,
        json.dumps,
        lambda table: pydantic.TypeAdapter(object).dump_json(table),
        lambda table: json.dumps(vars(table)),
        lambda table: json.dumps(dict(table)),
    ],
)
def test_no_door_out(leave):
    with pytest.raises(Exception) as caught:
        leave(TABLE)
    assert "57" not in str(caught.value)


def test_pickling_says_what_to_do():
    with pytest.raises(SensitiveError, match="mechanism"):
        pickle.dumps(TABLE)


def test_what_touches_a_table_is_a_table():
    public = Cells(DOMAIN, np.ones((2, 2)))
    for result in (
        TABLE + public,
        public + TABLE,
        public / TABLE,
        TABLE * 2,
        TABLE.normalize(),
        TABLE.project(["a"]),
    ):
        assert type(result) is Table
    assert type(public + public) is Cells


def test_counting_rows():
    assert Table.count(DOMAIN, [[0, 1], [1, 1], [0, 1]]).values.tolist() == [[0, 2], [0, 1]]
    assert Table.zeros(DOMAIN).sum() == 0
