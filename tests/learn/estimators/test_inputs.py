"""Frames of all kinds are the same rows; what is not declared is refused with the lines to paste."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from tacita.domain import Categorical, Domain, Identifier, Numeric
from tacita.errors import InvalidInput, UnknownName
from tacita.learn.estimators.inputs import as_frame, as_target, beyond, declare, in_order

COLUMNS = {"age": [20.0, 40.0, 130.0], "city": ["Bonn", "Ulm", "Rome"], "smokes": [True, False, True]}
MAKERS = [pd.DataFrame, pl.DataFrame, pa.table]


@pytest.mark.parametrize("make", MAKERS)
def test_all_frames_give_the_same_table(make):
    assert as_frame(make(COLUMNS)).to_pydict() == COLUMNS
    assert as_frame(np.zeros((2, 2))) is None
    assert as_frame([[1, 2]]) is None


def test_an_index_is_no_column_and_numbered_columns_are_an_array():
    frame = pd.DataFrame(COLUMNS, index=["x", "y", "z"])
    assert as_frame(frame).column_names == list(COLUMNS)
    assert as_frame(pd.DataFrame(np.zeros((2, 2)))) is None
    twice = pd.DataFrame(np.zeros((2, 2)), columns=["a", "a"])
    with pytest.raises(InvalidInput, match="twice"):
        as_frame(twice)


@pytest.mark.parametrize("make", MAKERS)
def test_what_is_lacking_is_named_and_never_read_off_the_rows(make):
    frame = as_frame(make(COLUMNS))
    with pytest.raises(InvalidInput) as caught:
        declare(frame, bounds=None, levels=None, schema=None)
    text = str(caught.value)
    assert "bounds={'age': (low, high)}, levels={'city': ['...', '...']}" in text
    for value in ("Bonn", "Ulm", "20", "130"):
        assert value not in text
    kinds = [each.kind for each in declare(frame, bounds=(0, 100), levels={"city": ["Bonn", "Ulm"]}, schema=None)]
    assert kinds == ["numeric", "categorical", "boolean"]


def test_categories_of_pandas_are_no_declaration():
    frame = as_frame(pd.DataFrame({"city": pd.Categorical(["Bonn", "Ulm"])}))
    with pytest.raises(InvalidInput, match="levels"):
        declare(frame, bounds=None, levels=None, schema=None)


def test_a_schema_comes_first_and_identifiers_are_refused():
    schema = Domain(
        attributes=[Numeric(name="age", bounds=(0, 99), edges=(0, 18, 99)), Categorical(name="city", levels=["Bonn"])]
    )
    found = declare(as_frame(pa.table(COLUMNS)), bounds=None, levels=None, schema=schema)
    assert found[0] is schema["age"]
    with pytest.raises(InvalidInput, match="identifier"):
        declare(pa.table({"id": [1]}), bounds=(0, 1), levels=None, schema=Domain(attributes=[Identifier(name="id")]))
    with pytest.raises(InvalidInput, match="with the dates 'born'"):
        declare(pa.table({"born": [dt.date(2000, 1, 1)]}), bounds=None, levels=None, schema=None)


def test_misspelt_names_and_wrong_shapes():
    frame = pa.table(COLUMNS)
    with pytest.raises(UnknownName, match="'city'"):
        declare(frame, bounds=(0, 100), levels={"citty": ["Bonn"]}, schema=None)
    with pytest.raises(UnknownName, match="'age'"):
        declare(frame, bounds={"aeg": (0, 1)}, levels={"city": ["Bonn"]}, schema=None)
    with pytest.raises(InvalidInput, match="each column"):
        declare(frame, bounds=[(0, 1)] * 2, levels=None, schema=None)


def test_columns_are_found_by_name_in_any_order():
    frame = pa.table(COLUMNS)
    assert in_order(frame.select(["smokes", "age", "city"]), list(COLUMNS)).column_names == list(COLUMNS)
    with pytest.raises(InvalidInput, match=r"lacks 'city' and has 'town'"):
        in_order(frame.rename_columns(["age", "town", "smokes"]), list(COLUMNS))


def test_targets_keep_their_names():
    assert as_target(pd.Series([1, 2], name="cost"))[1] == "cost"
    values, name = as_target(pl.Series("ill", ["y", "n"]))
    assert (values.tolist(), name) == (["y", "n"], "ill")
    assert as_target(pa.chunked_array([["a"], ["b"]]))[0].tolist() == ["a", "b"]
    assert as_target([1, 2]) == ([1, 2], None)


def test_rows_beyond_the_bounds():
    frame = pa.table(COLUMNS)
    attributes = declare(frame, bounds={"age": (0, 100)}, levels={"city": ["Bonn"]}, schema=None)
    assert beyond(frame, attributes).tolist() == [False, False, True]
