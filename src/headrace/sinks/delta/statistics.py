"""Statistics of a data file in the form of Delta's log: JSON by physical names of columns.

Texts are cut to 32 characters and times to milliseconds such that the bounds stay valid; numbers
that JSON does not have (NaN, infinities) and bytes have no bounds.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from headrace.sinks.replicas.files.data_files import FIELD_ID

if TYPE_CHECKING:
    import pyarrow as pa

    from headrace.sinks.replicas.files.data_files import WrittenFile

_CHARACTERS = 32
_GREATEST = "\U0010ffff"
_MILLISECOND = dt.timedelta(milliseconds=1)
Path = tuple[str, ...]


def file_statistics(rows: pa.Table, written: WrittenFile, indexed: Sequence[Path]) -> str:
    """The JSON of a file's statistics. `rows` have the physical schema; `indexed` are the leaf
    columns that get statistics."""
    least: dict[str, Any] = {}
    greatest: dict[str, Any] = {}
    nulls: dict[str, Any] = {}
    for path, field, column in _leaves(rows):
        if path not in indexed:
            continue
        _put(nulls, path, column.null_count)
        known = written.columns.get(int(field.metadata[FIELD_ID]))
        if known is None or known.least is None or _has_nan(column):
            continue
        low, high = _lower(known.least), _upper(known.greatest)
        if low is not None and high is not None:
            _put(least, path, low)
            _put(greatest, path, high)
    return _json(
        {
            "numRecords": rows.num_rows,
            "minValues": least,
            "maxValues": greatest,
            "nullCount": nulls,
            "tightBounds": True,
        }
    )


def loosened(statistics: str) -> str:
    """Return the statistics of a file that gets a deletion vector: its bounds are no longer
    tight."""
    members = json.loads(statistics, parse_float=Decimal) if statistics else {}
    return _json({**members, "tightBounds": False})


def read_statistics(
    statistics: str | None, schema: pa.Schema
) -> tuple[int | None, dict[int, tuple[object, object]]]:
    """The number of rows of a file (None: unknown) and the bounds of its columns by their ids.
    `schema` is the physical one."""
    if not statistics:
        return None, {}
    said = json.loads(statistics, parse_float=Decimal)
    bounds: dict[int, tuple[object, object]] = {}
    _read_bounds(schema, said.get("minValues") or {}, said.get("maxValues") or {}, bounds)
    return said.get("numRecords"), bounds


def leaf_paths(schema: pa.Schema | pa.DataType) -> Iterator[Path]:
    """The paths of columns that can have statistics: those that are not structs, and the members of
    structs."""
    import pyarrow as pa

    for field in schema:
        if pa.types.is_struct(field.type):
            yield from ((field.name, *path) for path in leaf_paths(field.type))
        else:
            yield (field.name,)


def _leaves(rows: pa.Table) -> Iterator[tuple[Path, pa.Field, pa.ChunkedArray]]:
    def inner(
        path: Path, field: pa.Field, column: pa.ChunkedArray
    ) -> Iterator[tuple[Path, pa.Field, pa.ChunkedArray]]:
        import pyarrow as pa
        import pyarrow.compute as pc

        if not pa.types.is_struct(field.type):
            yield path, field, column
            return
        for place, member in enumerate(field.type):
            yield from inner((*path, member.name), member, pc.struct_field(column, [place]))

    for field, column in zip(rows.schema, rows.columns, strict=True):
        yield from inner((field.name,), field, column)


def _has_nan(column: pa.ChunkedArray) -> bool:
    """Whether a column contains NaN, which Parquet's bounds ignore, but which is the greatest
    number to readers of Delta."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return pa.types.is_floating(column.type) and bool(pc.any(pc.is_nan(column)).as_py())


def _lower(value: Any) -> Any:
    match value:
        case bytes():
            return None
        case float():
            return value if math.isfinite(value) else None
        case str():
            return value[:_CHARACTERS]
        case dt.datetime():
            return _moment(value)
        case dt.date():
            return value.isoformat()
    return value


def _upper(value: Any) -> Any:
    if isinstance(value, str):
        return _text_not_less(value)
    if isinstance(value, dt.datetime) and value.microsecond % 1000:
        try:
            value += _MILLISECOND
        except OverflowError:
            return None
    return _lower(value)


def _text_not_less(value: str) -> str:
    """Return an upper bound of a text: its first 32 characters and the greatest character. If the
    cut would be before the greatest character, it is moved on."""
    end = _CHARACTERS
    while value[end : end + 1] == _GREATEST:
        end += 1
    return value if len(value) <= end else value[:end] + _GREATEST


def _moment(value: dt.datetime) -> str:
    text = value.replace(tzinfo=None).isoformat(timespec="milliseconds")
    return text if value.tzinfo is None else f"{text}Z"


def _put(tree: dict[str, Any], path: Path, value: object) -> None:
    for name in path[:-1]:
        tree = tree.setdefault(name, {})
    tree[path[-1]] = value


def _json(value: Any) -> str:
    """JSON in which decimals are numbers with all their digits."""
    if isinstance(value, Mapping):
        members = (f"{json.dumps(name)}:{_json(inner)}" for name, inner in value.items())
        return "{" + ",".join(members) + "}"
    if isinstance(value, Decimal):
        return format(value, "f")
    return json.dumps(value)


def _read_bounds(
    fields: pa.Schema | pa.DataType,
    least: Mapping[str, Any],
    greatest: Mapping[str, Any],
    bounds: dict[int, tuple[object, object]],
) -> None:
    for field in fields:
        low, high = least.get(field.name), greatest.get(field.name)
        if low is None or high is None:
            continue
        if isinstance(low, dict) and isinstance(high, dict):
            _read_bounds(field.type, low, high, bounds)
            continue
        try:
            pair = _value(low, field.type), _value(high, field.type)
            if isinstance(pair[1], dt.datetime):
                # Other writers cut times to milliseconds.
                pair = pair[0], pair[1] + _MILLISECOND
        except (TypeError, ValueError, ArithmeticError):
            continue
        if None not in pair:
            bounds[int(field.metadata[FIELD_ID])] = pair


def _value(said: Any, kind: pa.DataType) -> Any:
    """The Python value of a bound; None for types that have no bounds. Raises TypeError,
    ValueError, ArithmeticError."""
    import pyarrow.types as types

    if types.is_boolean(kind):
        return said if isinstance(said, bool) else None
    if types.is_integer(kind):
        return int(said)
    if types.is_floating(kind):
        value = float(said)
        return value if math.isfinite(value) else None
    if types.is_decimal(kind):
        return Decimal(said)
    if types.is_string(kind):
        return str(said)
    if types.is_date(kind):
        return dt.date.fromisoformat(said[:10])
    if types.is_timestamp(kind):
        moment = dt.datetime.fromisoformat(said)
        if kind.tz is None:
            return moment.replace(tzinfo=None)
        return moment.astimezone(dt.UTC) if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
    return None
