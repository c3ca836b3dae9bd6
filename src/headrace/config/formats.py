"""Reads a configuration in any of its formats into one ordered mapping of Debezium's names.

The formats are Debezium Server's application.properties, Kafka Connect's connector properties and
JSON, and PySpark options. Values stay texts and references stay references.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from headrace.config.finding import PropertyFinding, ignored
from headrace.config.java_properties import decode_properties, parse_properties
from headrace.config.property import Family
from headrace.config.secret import printable_name
from headrace.errors import HeadraceError

PACKED = "headrace.config"
"""The option that contains a whole configuration: JSON text, properties text, or a path."""

_CONVERTERS = ("key", "value", "header")
_BROKERS = "bootstrap.servers"
OF_SPARK = "spark."
"""The prefix of settings of Spark, which a file may have besides the configuration."""
_SINK_TYPE = "headrace.sink.type"
_PRODUCER = "headrace.sink.kafka.producer."
_HEADER_CONVERTER = "header.converter"
_SIMPLE = "org.apache.kafka.connect.storage.SimpleHeaderConverter"
# Settings of the process that runs Debezium Server, not of the connector.
_SERVER_PREFIXES = ("quarkus.", "log.", "mp.", "smallrye.")
_OF_CONNECTORS = "log.mining."
"""Settings of connectors that begin with one of these prefixes."""

V = TypeVar("V")


class Properties(Mapping[str, str]):
    """Property names to texts in the order written, with the origin of each.

    `notes` are warnings of the reader, `problems` are errors that are reported together with those
    of validation. `repr` shows names only.
    """

    def __init__(
        self,
        texts: Mapping[str, str] | None = None,
        origins: Mapping[str, str] | None = None,
        notes: Iterable[PropertyFinding] = (),
        problems: Iterable[PropertyFinding] = (),
    ) -> None:
        self._texts = {name: as_text(name, value) for name, value in (texts or {}).items()}
        self._origins = dict(origins or {})
        self.notes = tuple(notes)
        self.problems = tuple(problems)
        self.surroundings: frozenset[str] = frozenset()
        """Names that only the worker has: unknown ones among them concern only the worker."""

    def __getitem__(self, name: str) -> str:
        return self._texts[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    def __len__(self) -> int:
        return len(self._texts)

    def origin(self, name: str) -> str:
        """Return where `name` was written ("file.properties, line 3"), or an empty text."""
        return self._origins.get(name, "")

    def with_overrides(self, other: Mapping[str, str]) -> Properties:
        """Return these properties, overridden by `other`."""
        over = other if isinstance(other, Properties) else Properties(other)
        origins = {name: origin for name, origin in self._origins.items() if name not in over}
        merged = Properties(
            {**self._texts, **over._texts},
            {**origins, **over._origins},
            (*self.notes, *over.notes),
            (*self.problems, *over.problems),
        )
        merged.surroundings = self.surroundings
        return merged

    def split(self, prefix: str) -> tuple[Properties, dict[str, str]]:
        """Return these properties without those that begin with `prefix`, and those."""
        prefixed = {name: text for name, text in self.items() if name.startswith(prefix)}
        if not prefixed:
            return self, prefixed
        rest = Properties(
            {name: text for name, text in self.items() if name not in prefixed},
            {name: origin for name, origin in self._origins.items() if name not in prefixed},
            self.notes,
            self.problems,
        )
        rest.surroundings = self.surroundings.difference(prefixed)
        return rest, prefixed

    def without_those_of_worker(self, names: Iterable[str]) -> Properties:
        """Return these properties without those of `names` that only the worker has."""
        left_out = self.surroundings.intersection(names)
        remaining = Properties(
            {name: text for name, text in self.items() if name not in left_out},
            {name: origin for name, origin in self._origins.items() if name not in left_out},
            self.notes,
            self.problems,
        )
        remaining.surroundings = self.surroundings - left_out
        return remaining

    def of_worker(self, worker: Properties) -> Properties:
        """Return these properties of a connector merged with those of its worker: the worker's
        brokers and producer settings become the sink's, unless the connector names another sink;
        headers have the worker's default converter."""
        of_worker, of_sink = worker, {}
        if self.get(_SINK_TYPE, "kafka") == "kafka" and _BROKERS in worker:
            of_worker, producer = worker.split("producer.")
            of_worker, brokers = of_worker.split(_BROKERS)
            settings = {name.removeprefix("producer."): text for name, text in producer.items()}
            of_sink = {f"{_PRODUCER}{name}": text for name, text in (brokers | settings).items()}
            of_sink[_SINK_TYPE] = "kafka"
        defaults = Properties({_HEADER_CONVERTER: _SIMPLE, **of_sink})
        merged = defaults.with_overrides(of_worker).with_overrides(self)
        merged.surroundings = frozenset(name for name in of_worker if name not in self)
        return merged

    def __repr__(self) -> str:
        return f"Properties({', '.join(printable_name(name) for name in self._texts)})"

    def __reduce__(self) -> tuple[object, ...]:
        return Properties, (self._texts, self._origins, self.notes, self.problems)


def read_file(path: str | Path) -> Properties:
    """Read a properties or JSON file. Raises HeadraceError("config.unreadable_file")."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise HeadraceError(
            "config.unreadable_file",
            f"The configuration file {path} cannot be read ({error.strerror})",
            "Check the path and its permissions.",
        ) from error
    return read_text(decode_properties(content), origin=Path(path).name)


def read_files(paths: Sequence[str | Path]) -> Properties:
    """Read one file, or two in any order: the connector's, which has `connector.class`, and that of
    a worker of Kafka Connect, whose converters are used if the connector has none.

    Raises HeadraceError as `read_file` and `read_text` do, and ("config.which_file").
    """
    read = [read_file(path) for path in paths]
    if len(read) == 1:
        return read[0]
    connectors = [properties for properties in read if "connector.class" in properties]
    if len(read) != 2 or len(connectors) != 1:
        raise HeadraceError(
            "config.which_file",
            f"{len(connectors)} of the {len(read)} files have connector.class",
            "Give the file of a worker and the file of one connector, or the connector's alone.",
        )
    worker = next(properties for properties in read if properties is not connectors[0])
    return connectors[0].of_worker(worker)


def read_text(text: str, *, origin: str = "") -> Properties:
    """Read properties or JSON text (distinguished by the opening brace).

    Raises HeadraceError("config.bad_json"), ("config.bad_escape").
    """
    if text.lstrip().startswith("{"):
        return _collect(_json_entries(text, origin))
    where = origin or "configuration"
    entries = parse_properties(text)
    return _collect((entry.key, entry.value, f"{where}, line {entry.line}") for entry in entries)


def read_mapping(mapping: Mapping[str, object]) -> Properties:
    """Read a dict with Debezium's names, or Debezium Server's, or a Kafka Connect body (`{"name":
    …, "config": {…}}`); values may be numbers and booleans."""
    config = mapping.get("config")
    if isinstance(config, Mapping):
        mapping = {"name": mapping.get("name"), **config}
    return _collect(
        (name, as_text(name, value), "") for name, value in mapping.items() if value is not None
    )


def read_packed(text: str) -> Properties:
    """Read the value of `headrace.config`: JSON text, properties text, or a path.

    Raises HeadraceError as `read_file` and `read_text` do.
    """
    is_line = "\n" not in text.strip() and not text.lstrip().startswith("{")
    if is_line and ("=" not in text or _is_file(text.strip())):
        return read_file(text.strip())
    return read_text(text, origin=PACKED)


def unpack(options: Mapping[str, V]) -> tuple[Properties, dict[str, V]]:
    """Return the properties in `headrace.config` (empty if absent), and the other options."""
    packed = Properties()
    bare: dict[str, V] = {}
    for name, text in options.items():
        if name.lower() == PACKED and isinstance(text, str):
            packed = read_packed(text)
        else:
            bare[name] = text
    return packed, bare


def restore_case(
    options: Mapping[str, str],
    names: Iterable[str],
    families: Collection[Family[Any]],
    listings: Mapping[str, str],
) -> Properties:
    """Return Spark's options under their declared names: Spark lower-cases option keys.

    `names` and `families` are what the connector declares.

    `listings` has the values from which aliases are restored (of `transforms`, …), if `options`
    does not. A key whose case matters and cannot be restored becomes a problem with the remedy,
    because a guess would silently hash or name things otherwise.
    """
    by_lowered = {name.lower(): name for name in names}
    lowered_options = {name.lower(): text for name, text in options.items()}
    texts: dict[str, str] = {}
    problems: list[PropertyFinding] = []
    for name, text in options.items():
        if name.lower() in by_lowered:
            texts[by_lowered[name.lower()]] = text
            continue
        restored = name
        if name == name.lower():
            declared_name = _restore_family(name, families, {**listings, **lowered_options})
            if declared_name is None:
                problems.append(_lost_case(name))
                continue
            restored = declared_name
        texts[restored] = text
    normalised = _collect((name, text, "") for name, text in texts.items())
    return Properties(normalised, notes=normalised.notes, problems=problems)


def as_text(name: str, value: object) -> str:
    """Return a scalar as the text in a properties file.

    Raises HeadraceError("config.invalid") for lists and objects.
    """
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
    raise HeadraceError(
        "config.invalid",
        f"{printable_name(name)} holds a {type(value).__name__}: "
        "expected a text, number or boolean",
        "Write lists as one comma-separated text.",
    )


def _restore_family(
    name: str, families: Collection[Family[Any]], listings: Mapping[str, str]
) -> str | None:
    """Return `name` with its case restored, `name` itself if case does not matter, None if it is
    lost."""
    for family in families:
        match = family.pattern.fullmatch(name)
        if match is None:
            continue
        for listing in family.alias_of:
            for alias in (part.strip() for part in listings.get(listing, "").split(",")):
                if alias and alias.lower() == match[1]:
                    return name[: match.start(1)] + alias + name[match.end(1) :]
        if family.alias_of:
            continue
        if family.case_matters and any(part.lower() != part.upper() for part in match.groups()):
            return None
        return name
    return name  # unknown names are reported by validation


def _lost_case(name: str) -> PropertyFinding:
    return PropertyFinding(
        "config.case_lost",
        name,
        f"{printable_name(name)} cannot be a bare Spark option: Spark converts option names to "
        f"lower case, and this name is case-sensitive",
        'Pass it through .options(**headrace.options({...})) or .option("headrace.config", ...)',
    )


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):
        return False


def _json_entries(text: str, origin: str) -> Iterator[tuple[str, str, str]]:
    repeated: list[str] = []

    def keep_pairs(pairs: list[tuple[str, object]]) -> dict[str, object]:
        repeated.extend({key for index, (key, _) in enumerate(pairs) if key in dict(pairs[:index])})
        return dict(pairs)

    where = origin or "configuration"
    try:
        # Numbers keep their text.
        document = json.loads(
            text, object_pairs_hook=keep_pairs, parse_int=str, parse_float=str, parse_constant=str
        )
    except (json.JSONDecodeError, RecursionError) as error:
        at = f", line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        problem = error.msg if isinstance(error, json.JSONDecodeError) else "too deeply nested"
        # `from None`, because the cause contains the whole text, with its secrets.
        raise HeadraceError(
            "config.bad_json", f"{where}{at} is not JSON: {problem}", "Correct the JSON text."
        ) from None
    config = document.get("config")
    if isinstance(config, dict):
        if "name" in document and "name" not in config:
            yield "name", as_text("name", document["name"]), origin
    else:
        config = document
    for name, value in config.items():
        if value is None:
            continue
        for _ in range(repeated.count(name)):
            yield name, as_text(name, value), origin
        yield name, as_text(name, value), origin


def _collect(entries: Iterable[tuple[str, str, str]]) -> Properties:
    """Return entries (name, text, origin) under Debezium's names; the last one of a name counts."""
    texts: dict[str, str] = {}
    origins: dict[str, str] = {}
    written: dict[str, str] = {}
    notes: list[PropertyFinding] = []
    specific: list[tuple[str, str, str]] = []
    general: list[tuple[str, str, str]] = []
    for name, text, origin in entries:
        if name.startswith(_SERVER_PREFIXES) and not name.startswith(_OF_CONNECTORS):
            notes.append(ignored(name))
            continue
        names = _debezium_names(name)
        if name in written:
            notes.append(_repeated(name))
        written[name] = origin
        for target in names:
            entry = (target, text, f"{origin}, as {name}" if origin and target != name else origin)
            # debezium.format.X is for all converters, debezium.format.key.X for one, and has
            # precedence.
            (general if len(names) > 1 else specific).append(entry)
    for target, text, origin in (*general, *specific):
        texts[target] = text
        if origin:
            origins[target] = origin
    return Properties(texts, origins, notes)


def _debezium_names(name: str) -> tuple[str, ...]:
    """Return the connector's names for a property of Debezium Server; any other name is
    unchanged."""
    if not name.startswith("debezium."):
        return (name,)
    area, _, rest = name.removeprefix("debezium.").partition(".")
    match area:
        case "source" if rest:
            return (rest,)
        case "sink" if rest:
            return (f"headrace.sink.{rest}",)
        case "transforms" | "predicates":
            return (f"{area}.{rest}" if rest else area,)
        case "format" if rest:
            which, _, option = rest.partition(".")
            if which not in _CONVERTERS:
                return tuple(f"{converter}.converter.{rest}" for converter in _CONVERTERS)
            return (f"{which}.converter.{option}" if option else f"{which}.converter",)
    return (name,)


def _repeated(name: str) -> PropertyFinding:
    printable = printable_name(name)
    return PropertyFinding(
        "config.repeated",
        name,
        f"{printable} is written more than once; the last one counts",
        "Keep one.",
    )
