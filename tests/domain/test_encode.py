import datetime as dt
import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacita.domain import Boolean, Categorical, Date, Identifier, Numeric, decode, encode
from tacita.domain.encode import holds
from tacita.errors import DataError, InvalidInput

AGE = Numeric(name="age", bounds=(0, 99), edges=(0, 18, 65, 99), integer=True, missing=True)
COLOUR = Categorical(name="colour", levels=["red", "blue"], other=True, missing=True)


def codes(attribute, values, kind=None):
    return encode(attribute, pa.array(values, kind)).tolist()


def test_text():
    assert codes(COLOUR, ["red", "blue", "Red", "", None]) == [0, 1, 2, 3, 3]


def test_text_of_other_arrow_types():
    for kind in (pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())):
        assert codes(COLOUR, ["red", None, "grey"], kind) == [0, 3, 2]


def test_numbers_stand_for_their_text():
    assert codes(Categorical(name="c", levels=["1", "2"]), [2, 1, 3]) == [1, 0, 2]


NUMBERS = pa.array([0, 17, 18, 64, 65, 99, -5, 1000])


@pytest.mark.parametrize(
    "array",
    [
        NUMBERS,
        NUMBERS.cast(pa.float32()),
        NUMBERS.cast(pa.string()),
        NUMBERS.cast(pa.decimal128(21, 2)),
        NUMBERS.cast(pa.float64()).dictionary_encode(),
    ],
)
def test_bins_hold_their_lower_edge(array):
    assert encode(AGE, array).tolist() == [0, 0, 1, 1, 2, 2, 0, 2]


def test_what_is_not_a_number():
    assert codes(AGE, [math.nan, None, math.inf, -math.inf]) == [3, 3, 2, 0]
    assert codes(AGE, ["nan", "", "inf", "-inf", "many"]) == [3, 3, 2, 0, 4]


def test_integers_beyond_the_precision_of_floats_are_clamped():
    assert codes(AGE, [2**62, -(2**62)], pa.int64()) == [2, 0]


def test_dates():
    by_month = Date(name="d", bounds=("2020-01-15", "2020-03-02"), by="month")
    days = [dt.date(2020, 1, 1), dt.date(2020, 1, 31), dt.date(2020, 2, 1), dt.date(2021, 1, 1), None]
    assert codes(by_month, days) == [0, 0, 1, 2, 3]
    assert codes(by_month, [str(day) for day in days[:4]]) == [0, 0, 1, 2]
    assert codes(by_month, ["2020-02-30", "soon"]) == [3, 3]


def test_timestamps_count_by_their_day_at_utc():
    by_day = Date(name="d", bounds=("2020-01-01", "2020-01-03"), by="day")
    late = dt.datetime(2020, 1, 2, 23, 30, tzinfo=dt.timezone(dt.timedelta(hours=-1)))
    assert codes(by_day, [late], pa.timestamp("us", "UTC")) == [2]
    assert codes(by_day, [dt.datetime(2020, 1, 2, 23, 30)], pa.timestamp("us")) == [1]


FAR = pa.array([2**63 - 1, -(2**63), 0, None, -1], pa.int64())


@pytest.mark.parametrize(
    "kind",
    [pa.date64(), *(pa.timestamp(u, z) for u in ("s", "ms", "us", "ns") for z in (None, "Europe/Paris"))],
    ids=str,
)
def test_days_that_are_far_away(kind):
    by_year = Date(name="d", bounds=("1960-01-01", "1979-12-31"), by="year", missing=True)
    assert encode(by_year, FAR.view(kind)).tolist() == [19, 0, 10, 20, 9]
    near = pa.array([2**31 - 1, -(2**31), 0, None, -1], pa.int32()).view(pa.date32())
    assert encode(by_year, near).tolist() == [19, 0, 10, 20, 9]


TEXTS = (pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view())


def of_bytes(raws, kind):
    """Text that nobody has looked into."""
    stored = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}
    array = pa.array(raws, stored.get(kind, kind))
    return pa.Array.from_buffers(kind, len(array), array.buffers())


ALL_KINDS = [
    COLOUR,
    AGE,
    Boolean(name="b"),
    Date(name="d", bounds=("2020-01-01", "2021-01-01"), other=True),
    Categorical(name="c", levels=["\ufffd", "a\ufffd"]),
]


@given(st.lists(st.none() | st.binary(max_size=6) | st.sampled_from([b"red", b"7", b"2020-02-02", b"t"])))
def test_no_bytes_raise(raws):
    for attribute in ALL_KINDS:
        texts = [raw if raw is None else decoded(raw) for raw in raws]
        wanted = [attribute.other_code if text is ... else codes(attribute, [text], pa.string())[0] for text in texts]
        for kind in TEXTS:
            array = of_bytes(raws, kind)
            assert encode(attribute, array).tolist() == wanted
            assert encode(attribute, array.dictionary_encode()).tolist() == wanted


def decoded(raw):
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return ...


def test_bytes_of_one_width():
    assert encode(COLOUR, pa.array([b"red", b"\xff\xff\xff", None], pa.binary(3))).tolist() == [0, 2, 3]


KINDS = [
    *(pa.int8(), pa.uint64(), pa.float16(), pa.float32(), pa.float64(), pa.bool_(), pa.null()),
    *(pa.decimal32(5, 2), pa.decimal64(9, 1), pa.decimal128(38, 37), pa.decimal256(76, 0), pa.decimal128(5, -2)),
    *(pa.date32(), pa.date64(), pa.time32("s"), pa.time64("ns"), pa.timestamp("s"), pa.timestamp("ms", "Europe/Paris")),
    *(pa.timestamp("us", "No/Where"), pa.duration("ns"), pa.month_day_nano_interval(), pa.binary(2), *TEXTS),
    *(pa.list_(pa.int8()), pa.struct([("a", pa.int8())]), pa.map_(pa.string(), pa.int8()), pa.uuid()),
]


@pytest.mark.parametrize("kind", KINDS, ids=str)
@given(raw=st.binary(min_size=64, max_size=64))
def test_a_type_is_taken_with_all_its_values_or_not_at_all(kind, raw):
    for attribute in ALL_KINDS:
        if not holds(attribute, kind):
            for rows in (0, 2):
                with pytest.raises(DataError, match=f"{attribute.name}: a column of this type cannot hold"):
                    encode(attribute, pa.nulls(rows, kind))
            continue
        for array in (pa.nulls(3, kind), *([] if kind in TEXTS or pa.types.is_null(kind) else [any_bits(kind, raw)])):
            for values in (array, pa.DictionaryArray.from_arrays(pa.array([0, None, 1]), array)):
                assert (encode(attribute, values) <= attribute.size).all()


def any_bits(kind, raw):
    rows = 1 if kind.bit_width > 128 else 2
    if pa.types.is_decimal(kind):  # digits beyond its precision are no decimals
        digits = int.from_bytes(raw, "big") % 10**kind.precision
        unscaled = (-digits if raw[0] % 2 else digits).to_bytes(kind.bit_width // 8, "little", signed=True)
        raw, rows = unscaled * 2, 2
    return pa.Array.from_buffers(kind, rows, [None, pa.py_buffer(raw)])


def test_booleans():
    flag = Boolean(name="f", missing=True)
    assert codes(flag, [True, False, None]) == [1, 0, 2]
    assert codes(flag, ["YES", "f", "0", "1", "", "maybe"]) == [1, 0, 0, 1, 2, 3]
    assert codes(flag, [1, 0, 7]) == [1, 0, 3]


def test_all_null_column():
    assert codes(COLOUR, [None, None], pa.null()) == [3, 3]


def test_chunks():
    assert encode(COLOUR, pa.chunked_array([["red"], ["blue", "red"]])).tolist() == [0, 1, 0]


def test_identifiers_cannot_be_encoded():
    with pytest.raises(InvalidInput, match="id"):
        encode(Identifier(name="id"), pa.array(["x"]))


@given(st.lists(st.one_of(st.none(), st.text(max_size=3), st.sampled_from(["red", "blue"])), max_size=30))
def test_every_text_has_a_code_and_comes_back(values):
    got = encode(COLOUR, pa.array(values, pa.string()))
    assert (got < COLOUR.size).all()
    back = decode(COLOUR, got).to_pylist()
    for value, text in zip(values, back, strict=True):
        assert text == (None if value in (None, "") else value if value in COLOUR.levels else "(other)")


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), max_size=30))
def test_a_number_lies_in_its_bin(values):
    attribute = Numeric(name="x", bounds=(-1, 2), bins=6, missing=True)
    got = encode(attribute, pa.array(values, pa.float64()))
    low = decode(attribute, got, "low").to_pylist()
    for value, start in zip(values, low, strict=True):
        if math.isnan(value):
            assert start is None
        else:
            assert start <= min(max(value, -1), 2) <= start + 0.5 + 1e-12


def test_decoding_bins():
    held = np.array([0, 1, 2, 3])
    assert decode(AGE, held).to_pylist() == ["0..17", "18..64", "65..99", None]
    assert decode(AGE, held, "low").to_pylist() == [0, 18, 65, None]
    assert decode(AGE, held, "mid").to_pylist() == [8, 41, 82, None]
    assert decode(AGE, held, "uniform", np.array([0, 0.999, 0.999, 0.5])).to_pylist() == [0, 64, 99, None]
    with pytest.raises(InvalidInput, match="uniforms"):
        decode(AGE, held, "uniform")


def test_decoding_others():
    assert decode(COLOUR, np.array([0, 2, 3])).to_pylist() == ["red", "(other)", None]
    assert decode(Boolean(name="f"), np.array([1, 0])).to_pylist() == [True, False]
    day = Date(name="d", bounds=("2020-01-01", "2020-03-31"), by="month")
    assert decode(day, np.array([1]), "low").to_pylist() == [dt.date(2020, 2, 1)]


@pytest.mark.parametrize("kind", [pa.int8(), pa.uint8()])
@pytest.mark.parametrize("missing", [True, False])
def test_numbers_of_one_byte_have_the_codes_of_wider_ones(kind, missing):
    low = 0 if kind == pa.uint8() else -128
    values = pa.array([*(low + n % 256 for n in range(700)), None, None], kind)
    for attribute in (
        Numeric(name="x", bounds=(-5, 90), bins=7, missing=missing),
        Categorical(name="x", levels=["3", "-7", "200"], other=True, missing=missing),
        Boolean(name="x", missing=missing),
    ):
        wide = encode(attribute, values.cast(pa.int64()), ("3",))
        for part in (values, values.slice(3), values.slice(0, 600)):
            assert (
                encode(attribute, part, ("3",)).tolist() == wide[values.index(part[0]).as_py() :][: len(part)].tolist()
            )
