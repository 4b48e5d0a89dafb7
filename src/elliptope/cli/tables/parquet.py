"""Parquet, by pyarrow, which is imported when it is needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, BinaryIO

import numpy as np

from ..._utils.arrays import Array
from ..._utils.versions import missing_module
from ..errors import TableError
from .base import Raw, Reader, texts_of

# Prefix that pandas gives an index without a name.
_INDEX = "__index_level_"


class ParquetReader(Reader):
    """A Parquet file, read without threads.

    A thread of pyarrow's that lets go of a stream of Python's while the interpreter ends aborts the process
    (https://github.com/apache/arrow/issues/34314). `use_threads` decodes columns in threads, `pre_buffer` reads in one.
    """

    def __init__(self, stream: BinaryIO, source: str) -> None:
        pa, parquet = pyarrow()
        self.source = source
        try:
            self._file = parquet.ParquetFile(stream, pre_buffer=False)
        except (pa.ArrowException, OSError) as error:
            raise TableError(source, f"not Parquet data, or damaged ({error})") from None
        self._describe(self._file.schema_arrow, self._file.metadata.num_rows)

    def _describe(self, schema: Any, rows: int) -> None:
        self._schema = schema
        self.names = ["" if name.startswith(_INDEX) else name for name in self._schema.names]
        if not rows or not self.names:
            raise TableError(self.source, "the table has no rows" if self.names else "the table has no columns")
        self.index = _index_columns(self._schema)
        repeated = next((name for k, name in enumerate(self.names) if name and name in self.names[:k]), None)
        if repeated is not None:  # pyarrow finds columns by their names
            raise TableError(self.source, f"two columns are named {repeated!r}; rename one")

    def read(self, numbers: Sequence[int], others: Sequence[int]) -> Raw:
        pa, _ = pyarrow()
        names = self._schema.names
        try:
            table = self._file.read(columns=[names[j] for j in sorted({*numbers, *others})], use_threads=False)
        except (pa.ArrowException, OSError) as error:
            raise TableError(self.source, f"damaged ({error})") from None
        X, texts = np.full((table.num_rows, len(numbers)), np.nan), {}
        for k, j in enumerate(numbers):
            column = table.column(names[j])
            if pa.types.is_boolean(column.type):
                column = column.cast(pa.uint8())
            if _is_numeric(pa, column.type):
                X[:, k] = column.cast(pa.float64(), safe=False).to_numpy()  # nulls become NaN
            else:
                texts[j] = texts_of(map(str, _as_array(pa, column).tolist()))
        return Raw(X, [_as_array(pa, table.column(names[j])) for j in others], texts)

    def unnamed(self, j: int) -> str:
        return "the index of a pandas table"


class ParquetFolder(ParquetReader):
    """The Parquet files of a folder, one after the other in the order of their names, as one table."""

    def __init__(self, source: str) -> None:
        pa, parquet = pyarrow()
        self.source = source
        try:
            self._file = parquet.ParquetDataset(source, pre_buffer=False)
            rows = sum(fragment.count_rows() for fragment in self._file.fragments)
        except (pa.ArrowException, OSError) as error:
            raise TableError(source, f"Parquet files that are damaged, or of different columns ({error})") from None
        self._describe(self._file.schema, rows)


def _index_columns(schema: Any) -> set[int]:
    """Columns that were the index of a pandas table, by what pandas notes in the file."""
    try:
        noted = schema.pandas_metadata["index_columns"]
        return {schema.names.index(name) for name in noted if name in schema.names}
    except (KeyError, TypeError, ValueError):  # of another program, or damaged
        return set()


def _is_numeric(pa: Any, kind: Any) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)


def _as_array(pa: Any, column: Any) -> Array:
    """Numbers without gaps as numbers, everything else as text."""
    kind = column.type
    if pa.types.is_timestamp(kind):  # Python has no nanoseconds
        column = column.cast(pa.timestamp("us", kind.tz), safe=False)
    if not column.null_count and (pa.types.is_integer(kind) or pa.types.is_floating(kind)):
        return column.to_numpy()
    return np.array(["" if value is None else str(value) for value in column.to_pylist()], dtype=object)


def write_parquet(columns: dict[str, Array], stream: BinaryIO) -> None:
    pa, parquet = pyarrow()
    parquet.write_table(pa.table({name: pa.array(column) for name, column in columns.items()}), stream)


def pyarrow() -> tuple[Any, Any]:
    """The library; an error that names the extra if it is not installed."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise missing_module("Parquet files", "cli", error) from None
    return pa, parquet
