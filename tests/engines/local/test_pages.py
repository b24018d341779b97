"""Page headers, against what a footer of an honest file says; and files that are broken there."""

import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacita.engines.local.files.open import open_source
from tacita.engines.local.pages import DICTIONARY, pages_of
from tacita.errors import DataError

NUMBERS = {"PLAIN": 0, "DELTA_LENGTH_BYTE_ARRAY": 6, "DELTA_BYTE_ARRAY": 7}


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("encoding", [*NUMBERS, None])
@pytest.mark.parametrize("more", [{}, {"write_page_checksum": True, "compression": "zstd"}])
def test_pages_are_all_there(version, encoding, more):
    """Also where headers are long, since they hold the smallest and the largest text."""
    file = io.BytesIO()
    texts = [None if number % 7 == 0 else f"{number:05d}" + "x" * 700 for number in range(3000)]
    ways = {"use_dictionary": False, "column_encoding": {"a": encoding}} if encoding else {}
    pq.write_table(pa.table({"a": texts}), file, data_page_version=version, data_page_size=20_000, **ways, **more)
    chunk = pq.ParquetFile(file).metadata.row_group(0).column(0)
    found = pages_of(file, chunk)
    data = [page for page in found if page.encoding is not None]
    assert sum(page.values for page in data) == 3000
    assert len(data) > 1
    assert 0.8 * chunk.total_uncompressed_size < sum(page.size for page in found) <= chunk.total_uncompressed_size
    assert (len(found) - len(data), found[0].encoding) == ((0, NUMBERS[encoding]) if encoding else (1, None))
    assert {page.encoding for page in data} <= ({NUMBERS[encoding]} if encoding else DICTIONARY | {0})


@pytest.mark.parametrize("noise", [b"\x00", b"\x15", b"\x1c", b"\x80", b"\x19", b"\xff"])
def test_headers_that_are_broken_are_refused_as_a_file_that_cannot_be_read(tmp_path, noise):
    path = tmp_path / "broken.parquet"
    pq.write_table(pa.table({"a": ["Bari", "Lecce"] * 500}), path, use_dictionary=False)
    at = pq.ParquetFile(path).metadata.row_group(0).column(0).data_page_offset
    data = bytearray(path.read_bytes())
    data[at : at + 30] = noise * 30
    path.write_bytes(data)
    with pytest.raises(DataError, match="cannot be read as Parquet"):
        list(open_source(path).batches(["a"]))
