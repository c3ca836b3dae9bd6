"""TimezoneConverter: converts the times of rows to another zone."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.config.configuration import Configuration
from headrace.config.kinds import ValueKind
from headrace.config.property import REQUIRED, Group, Property
from headrace.connect.evaluation.columns import column_of, with_values
from headrace.connect.evaluation.time_texts import with_nulls_of
from headrace.connect.evaluation.values import tombstones, values
from headrace.connect.evaluation.zoned_texts import ZonedTexts
from headrace.connect.records import Column, Node, Records, Shape
from headrace.connect.schema import Type
from headrace.connect.trees import as_struct, fields, member, select, with_defaults, with_fields
from headrace.errors import HeadraceError
from headrace.transforms.debezium.envelopes import envelope_of
from headrace.transforms.debezium.zone_offsets import Zone, zone_of
from headrace.transforms.example import Example
from headrace.transforms.transform import Declaration, Ordering, PerShape, passing

log = logging.getLogger(__name__)

_ZONED_TIMESTAMP = "io.debezium.time.ZonedTimestamp"
_ZONED_TIME = "io.debezium.time.ZonedTime"
_UNITS = {
    "io.debezium.time.Timestamp": 1_000,
    "io.debezium.time.MicroTimestamp": 1_000_000,
    "io.debezium.time.NanoTimestamp": 1_000_000_000,
    "org.apache.kafka.connect.data.Timestamp": 1_000,
}
"""Schemas of times that count from 1970, with their units per second."""
_SOURCE_UNITS = {"ts_ms": 1_000, "ts_us": 1_000_000, "ts_ns": 1_000_000_000}
_NOT_CONVERTED = frozenset(
    {
        *(f"io.debezium.time.{name}" for name in ("Date", "MicroTime", "NanoTime", "Time")),
        "org.apache.kafka.connect.data.Date",
        "org.apache.kafka.connect.data.Time",
    }
)
_TIMESTAMP = (
    r"^(?P<date>[+-]?\d{4,}-\d\d-\d\d)T(?P<time>\d\d:\d\d)(?P<seconds>:\d\d)?"
    r"(?P<fraction>\.\d{1,9})?(?P<offset>Z|[+-]\d\d:\d\d(?::\d\d)?)$"
)
_TIME = (
    r"^(?P<time>\d\d:\d\d)(?P<seconds>:\d\d)?"
    r"(?P<fraction>\.\d{1,9})?(?P<offset>Z|[+-]\d\d:\d\d(?::\d\d)?)$"
)
_TEXT = pa.large_string()
_NOTHING = pa.scalar("", _TEXT)
_DAY = 86_400
_RULE = re.compile(r'[".\w\s]+:[".\w\s]+(?::[".\w\s]+)?', re.ASCII)


@dataclass(frozen=True)
class Rule:
    """A rule `source:table[:field]`, `topic:topic[:field]` or `name:field`; `scope` is source,
    topic or, for either, empty."""

    scope: str
    name: str
    field: str | None


def _parse_rules(text: str) -> tuple[Rule, ...]:
    rules = []
    scope = ""
    for item in text.split(","):
        if _RULE.fullmatch(item.strip()) is None:
            raise ValueError(f"{item!r} is not a rule")
        first, second, *rest = item.strip().split(":")
        if first.lower() in ("source", "topic"):
            # Also applies to following rules that name neither.
            scope = first.lower()
            rules.append(Rule(scope, second, rest[0] if rest else None))
        else:
            rules.append(Rule(scope, first, second))
    return tuple(rules)


def _parse_zone(text: str) -> Zone:
    try:
        return zone_of(text)
    except ValueError as error:
        raise ValueError(f"{text!r}: {error}") from None


_RULES: ValueKind[tuple[Rule, ...]] = ValueKind(
    "rules source:table, source:table:field, topic:topic, topic:topic:field or name:field",
    _parse_rules,
)
_ZONE: ValueKind[Zone] = ValueKind(
    "a time zone such as Europe/Warsaw, or an offset such as +08:00", _parse_zone
)


class TimezoneConverterOptions(Configuration):
    """Options of TimezoneConverter."""

    converted_timezone = Property(
        "converted.timezone",
        _ZONE,
        REQUIRED,
        Group.CONVERTERS,
        "The zone: `Europe/Warsaw`, or an offset `+08:00`.",
    )
    include_list = Property(
        "include.list",
        _RULES,
        None,
        Group.CONVERTERS,
        "The times that are converted: `source:table[:field]`, `topic:topic[:field]`, "
        "`name:field`; a field "
        "may begin with `before.`, `after.` or `source.`. Without a list, all times of all rows.",
    )
    exclude_list = Property(
        "exclude.list",
        _RULES,
        None,
        Group.CONVERTERS,
        "The times that are not converted; the same rules.",
    )


@dataclass(frozen=True)
class _Choice:
    """The fields that are converted: all, those named, or all except those."""

    names: frozenset[str] = frozenset()
    includes: bool = True

    def of(self, image: str) -> frozenset[str] | None:
        """Return the names that apply to an image; None if it is not converted."""
        of_image = {
            name.removeprefix(f"{image}.") for name in self.names if name.startswith(f"{image}.")
        }
        if image == "source":
            return frozenset(of_image) or None
        others = ("source.", "before.", "after.")
        plain = {name for name in self.names if not name.startswith(others)}
        return frozenset(of_image | plain)

    def has(self, name: str, names: frozenset[str]) -> bool:
        """Whether a field of an image to which these names apply is converted."""
        if not self.names:
            return True
        return (name in names) == self.includes


@dataclass(frozen=True)
class _Time:
    """A time that is converted: its node, its column, its semantic type, and whether it is a field
    of the source block."""

    node: Node
    column: Column
    logical: str
    of_source: bool


_Converted = tuple[Shape, tuple[_Time, ...]]


class TimezoneConverter:
    """See DECLARATION. Records that are not change events pass unchanged."""

    ordering = Ordering.KEEPS_KEY
    takes_schemas_only = True

    def __init__(self, options: TimezoneConverterOptions) -> None:
        self._zone = options.converted_timezone
        if options.include_list and options.exclude_list:
            raise HeadraceError(
                "transforms.both_lists",
                "include.list and exclude.list are both set",
                "Set one of them.",
            )
        self._excludes = bool(options.exclude_list)
        self._rules = options.include_list or options.exclude_list or ()
        self._made: PerShape[dict[_Choice, _Converted]] = PerShape(lambda _shape: {})

    def apply(self, records: Records) -> Iterable[Records]:
        """See Transform. Raises HeadraceError("transforms.no_time") for a text that is not a
        time."""
        if envelope_of(records.shape) is None:
            yield records
            return
        others = yield from passing(records, tombstones(records))
        if others is None:
            return
        records = others
        table = select(records.shape.value, "source.table")
        if table is None or table.schema.type is not Type.STRING:
            yield self._converted(records, None)
            return
        encoded = values(records, table).dictionary_encode()
        names = encoded.dictionary.to_pylist()
        index = np.asarray(encoded.indices.fill_null(len(names)))
        for number, name in enumerate([*names, None]):
            mask = index == number
            if mask.any():
                yield self._converted(records.with_rows(mask), name)

    def _converted(self, records: Records, table: str | None) -> Records:
        choice = self._choice(records.shape.topic, table)
        if choice is None:
            return records
        conversions = self._made(records.shape)
        if choice not in conversions:
            conversions[choice] = self._shape(records.shape, choice)
        shape, times = conversions[choice]
        for time in times:
            array = self._values(values(records, time.node), time)
            records = with_values(records, time.column, array)
        return records.with_shape(shape)

    def _choice(self, topic: str, table: str | None) -> _Choice | None:
        """Return the fields to convert for a table's events, by the rules; None if no field is
        converted."""
        if not self._rules:
            return _Choice()
        for scope, name in (("topic", topic), ("source", table), ("", topic), ("", table)):
            matching = [rule for rule in self._rules if (rule.scope, rule.name) == (scope, name)]
            if not matching:
                continue
            names = frozenset(rule.field for rule in matching if rule.field is not None)
            if self._excludes:
                return _Choice(names, includes=False) if names else None
            return _Choice(names)
        return _Choice() if self._excludes else None

    def _shape(self, shape: Shape, choice: _Choice) -> _Converted:
        envelope = envelope_of(shape)
        assert envelope is not None
        times: list[_Time] = []
        members = fields(envelope)
        for image in ("before", "after", "source"):
            struct = as_struct(members.get(image))
            names = choice.of(image)
            if struct is None or names is None:
                continue
            converted: dict[str, Node] = {}
            for name, node in fields(struct).items():
                logical = _logical(image, name, node)
                if logical is None or not choice.has(name, names):
                    converted[name] = node
                    continue
                column = column_of(node.schema)
                value = with_defaults(member(struct, name))
                times.append(_Time(value, column, logical, image == "source"))
                converted[name] = column
            members[image] = with_fields(struct, converted)
        return replace(shape, value=with_fields(envelope, members)), tuple(times)

    def _values(self, array: pa.Array, time: _Time) -> pa.Array:
        if array.null_count == len(array):
            return array
        if time.logical == _ZONED_TIMESTAMP:
            return _zoned_timestamps(array, self._zone)
        if time.logical == _ZONED_TIME:
            return _zoned_times(array, self._zone)
        return _shifted(array, self._zone, time)


def _logical(image: str, name: str, node: Node) -> str | None:
    """Return the kind of time of a field; None if it is not converted."""
    if image == "source":
        return name if name in _SOURCE_UNITS and node.schema.type is Type.INT64 else None
    logical = node.schema.name
    if logical in _NOT_CONVERTED:
        log.warning("%s is a %s, which has no zone: it does not change", name, logical)
        return None
    return logical if logical in (_ZONED_TIMESTAMP, _ZONED_TIME) or logical in _UNITS else None


def _shifted(array: pa.Array, zone: Zone, time: _Time) -> pa.Array:
    """Shift counts since 1970: those of rows are local times of the zone that become instants,
    those of the source are instants that become local times."""
    numbers = pc.fill_null(array, 0).to_numpy(zero_copy_only=False)
    if time.of_source:
        unit = _SOURCE_UNITS[time.logical]
        shifted = numbers + zone.at(numbers // unit) * unit
    else:
        unit = _UNITS[time.logical]
        shifted = numbers - zone.of_local(numbers // unit) * unit
    return pa.array(shifted, mask=np.asarray(array.is_null()))


def _parts(array: pa.Array, pattern: str) -> Mapping[str, pa.Array]:
    """Split texts into the named groups of the pattern; empty for a null."""
    parts = pc.extract_regex(array, pattern)
    wrong = pc.and_(pc.is_valid(array), pc.is_null(parts))
    if pc.any(wrong).as_py():
        text = array.filter(wrong)[0].as_py()
        raise HeadraceError(
            "transforms.no_time",
            f"{text!r} is not a time with an offset",
            "Leave the column out with exclude.list.",
        )
    names = [field.name for field in parts.type]
    return {name: pc.fill_null(pc.struct_field(parts, name).cast(_TEXT), "") for name in names}


def _seconds(texts: np.ndarray) -> np.ndarray:
    """The seconds of `hh:mm` or `hh:mm:ss`; 0 for an empty text."""
    padded = texts.astype("U8").view("U1").reshape(len(texts), 8)
    digits = np.zeros((len(texts), 6), np.int64)
    for place, column in enumerate((0, 1, 3, 4, 6, 7)):
        characters = padded[:, column]
        digits[:, place] = np.where(characters == "", "0", characters).astype(np.int64)
    return np.asarray(digits @ np.array([36000, 3600, 600, 60, 10, 1]))


def _offsets(texts: pa.Array) -> np.ndarray:
    """The seconds of the offsets `Z` and `+hh:mm[:ss]`."""
    array = texts.to_numpy(zero_copy_only=False).astype("U9")
    size = _seconds(np.where(array == "Z", "", [text[1:] for text in array]))
    return np.where(np.char.startswith(array, "-"), -size, size)


def _offset_texts(offsets: np.ndarray) -> pa.Array:
    encoded = pa.array(offsets).dictionary_encode()
    texts = [_offset_text(offset) for offset in encoded.dictionary.to_pylist()]
    return pa.array(texts, _TEXT).take(encoded.indices)


def _offset_text(offset: int) -> str:
    if offset == 0:
        return "Z"
    minutes, seconds = divmod(abs(offset), 60)
    text = f"{'-' if offset < 0 else '+'}{minutes // 60:02}:{minutes % 60:02}"
    return f"{text}:{seconds:02}" if seconds else text


def _zoned_timestamps(array: pa.Array, zone: Zone) -> pa.Array:
    """Convert timestamps to the zone's offset without changing the instant; the offset is that for
    the timestamp's former local time."""
    common = ZonedTexts.read(array.drop_null(), has_date=True)
    if common is not None:
        offsets = zone.of_local(common.seconds)
        written = common.written(common.seconds - common.offsets + offsets, offsets)
        if written is not None:
            return with_nulls_of(array, written)
    parts = _parts(array, _TIMESTAMP)
    dates = pc.utf8_ltrim(parts["date"], characters="+").to_numpy(zero_copy_only=False)
    present = dates != ""
    days = np.where(present, dates, "1970-01-01").astype("M8[D]").astype("M8[s]").astype(np.int64)
    times = pc.binary_join_element_wise(parts["time"], parts["seconds"], _NOTHING)
    local = days + _seconds(times.to_numpy(zero_copy_only=False))
    offsets = zone.of_local(local)
    moved = (local - _offsets(parts["offset"]) + offsets).astype("M8[s]")
    texts = np.datetime_as_string(moved, unit="s")
    texts = np.where(moved >= np.datetime64("10000-01-01"), np.char.add("+", texts), texts)
    return _joined(array, texts, parts["fraction"], offsets)


def _zoned_times(array: pa.Array, zone: Zone) -> pa.Array:
    """Convert times of day to the zone's offset outside daylight saving time."""
    offsets = np.full(len(array) - array.null_count, zone.standard)
    texts = ZonedTexts.read(array.drop_null(), has_date=False)
    if texts is not None:
        moved = (texts.seconds - texts.offsets + offsets) % _DAY
        return with_nulls_of(array, texts.written(moved, offsets))
    parts = _parts(array, _TIME)
    times = pc.binary_join_element_wise(parts["time"], parts["seconds"], _NOTHING)
    local = _seconds(times.to_numpy(zero_copy_only=False))
    moved = (local - _offsets(parts["offset"]) + zone.standard) % _DAY
    texts_of_times = np.datetime_as_string(moved.astype("M8[s]"), unit="s")
    texts_of_times = np.array([text[11:] for text in texts_of_times])
    return _joined(array, texts_of_times, parts["fraction"], np.full(len(array), zone.standard))


def _joined(
    array: pa.Array, texts: np.ndarray, fractions: pa.Array, offsets: np.ndarray
) -> pa.Array:
    fraction = pc.utf8_rtrim(pc.utf8_rtrim(fractions, characters="0"), characters=".")
    begin = pa.array(texts.astype(object), _TEXT)
    joined = pc.binary_join_element_wise(begin, fraction, _offset_texts(offsets), _NOTHING)
    return pc.if_else(array.is_valid(), joined, pa.scalar(None, _TEXT))


DECLARATION = Declaration(
    "TimezoneConverter",
    "Converts the times of rows to another zone: times with an offset get the zone's offset, "
    "times without one are taken as local times of the zone.",
    TimezoneConverterOptions,
    TimezoneConverter,
    example=Example(
        {
            "before": None,
            "after": {"id": 1, "at": "2026-07-01T12:00:00Z"},
            "source": {"table": "orders"},
            "op": "c",
        },
        {"converted.timezone": "Europe/Warsaw"},
        key={"id": 1},
        topic="s.orders",
        names={"value": "s.orders.Envelope", "value.after.at": _ZONED_TIMESTAMP},
    ),
    kernels=("headrace.connect.evaluation.zoned_texts",),
)
