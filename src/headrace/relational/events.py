"""Events of tables: facts about tables, and the shapes that tasks derive from them.

Facts are small and picklable; a task creates the shape once and keeps it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Protocol

from headrace.connect.images import Buffer, is_whole
from headrace.connect.records import Cell, ColumnOrigin, Constant, Image, Shape, Struct, TableOrigin
from headrace.connect.schema import Schema, Type
from headrace.debezium.column_rules import ColumnRule
from headrace.debezium.events import ColumnCells, change_event
from headrace.errors import HeadraceError
from headrace.relational.column_rendering import under_rule
from headrace.relational.reselection import Lookup
from headrace.relational.table import Filler
from headrace.relational.types.column_type import ColumnName, ColumnType, DeclaredType
from headrace.relational.types.options import TypeOptions
from headrace.streaming.facts import EventSettings, SourceBlock


class TableSource(SourceBlock, Protocol):
    """Source blocks of a connector's table events."""

    def block(self, facts: RelationFacts, settings: EventSettings) -> Struct:
        """The source block of the table's events."""
        ...


@dataclass(frozen=True)
class RelationalSettings(EventSettings):
    """Settings shared by all events of a run. `converting`: the handling of values that their type
    cannot hold (event.converting.failure.handling.mode)."""

    source: TableSource
    types: TypeOptions = field(default_factory=TypeOptions)
    converting: str = "warn"


@dataclass(frozen=True)
class ColumnFacts:
    """A column of a relation version, in the order of its images.

    `default` is the expression of its default (None: no default); `captured` False excludes it from
    `before` and `after` (a key column stays in the key). `rule` is the column's configured rule,
    `comment` its comment in the database; `id` and `filler` are as in `Column`.
    """

    name: str
    type: DeclaredType
    nullable: bool
    default: str | None
    captured: bool = True
    rule: ColumnRule | None = None
    comment: str | None = None
    id: str = ""
    filler: Filler | None = field(default=None, compare=False)


class RelationKind(StrEnum):
    """The kind of a relation version's records."""

    CHANGES = "changes"
    """Changes of rows, and rows of snapshots."""
    TRUNCATES = "truncates"
    """Truncations: their events have no key."""
    INCREMENTAL = "incremental"
    """Rows read by incremental chunks, which have no place in the log."""


@dataclass(frozen=True)
class RelationFacts:
    """A table between two schema changes. `key_fields` are constants after the key columns;
    `lookup` defines the cells of new rows that are read again; `origin` is the origin from which
    the transaction was replicated, and `own_id` is as in `Table`. `not_in_deletes` are the key
    columns that the log does not contain for deleted rows; `key_doubt` is as in `Table`."""

    schema: str
    table: str
    topic: str
    columns: tuple[ColumnFacts, ...]
    key: tuple[str, ...]
    kind: RelationKind = RelationKind.CHANGES
    key_fields: tuple[tuple[str, str], ...] = ()
    lookup: Lookup | None = None
    origin: str | None = None
    own_id: str = ""
    not_in_deletes: tuple[str, ...] = ()
    key_doubt: str = ""

    @property
    def name(self) -> str:
        """schema.table"""
        return f"{self.schema}.{self.table}"

    @property
    def collection(self) -> str:
        """The name of the table in transaction metadata."""
        return self.name

    @property
    def cell_names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(column.name for column in self.columns)

    @property
    def holds_changes(self) -> bool:
        """Whether its records are changes of single rows."""
        return self.kind is RelationKind.CHANGES

    def is_whole(self, image: Buffer, /) -> bool:
        """Whether the image of a new row has every column."""
        return is_whole(image)

    @property
    def wants_lookup(self) -> bool:
        """Whether a post-processor reads cells of its new rows again."""
        return self.lookup is not None

    @property
    def nbytes(self) -> int:
        """Estimated bytes of the shape and of the programs that a converter compiles for it: about
        twice the measured size, and never less than it."""
        texts = sum(
            len(column.name) + len(column.default or "") + len(column.comment or "")
            for column in self.columns
        )
        texts += sum(column.type.text_size for column in self.columns)
        return 40_000 + 3_300 * len(self.columns) + 20 * texts

    def as_incremental(self) -> RelationFacts:
        """The facts for rows of the table that incremental chunks read."""
        return replace(self, kind=RelationKind.INCREMENTAL)

    def as_truncates(self) -> RelationFacts:
        """The facts for truncations of the table."""
        return RelationFacts(
            self.schema, self.table, self.topic, self.columns, self.key, RelationKind.TRUNCATES
        )

    def key_cells(self, settings: EventSettings) -> list[Cell]:
        """The cells of the key columns, in key order, except columns of types that events leave
        out."""
        names = self.cell_names
        places = [names.index(name) for name in dict.fromkeys(self.key) if name in names]
        cells = (column_cell(self, place, settings) for place in places)
        return [cell for cell in cells if cell is not None]

    def shown_cells(self, settings: EventSettings) -> list[tuple[Cell, Cell | Constant]]:
        """The cells of the captured columns: the original cell, and the cell shown in rows of
        events."""
        pairs: list[tuple[Cell, Cell | Constant]] = []
        for index, column in enumerate(self.columns):
            cell = column_cell(self, index, settings) if column.captured else None
            if cell is not None:
                pairs.append((cell, _as_shown(cell, column)))
        return pairs

    def shape(self, settings: EventSettings) -> Shape:
        """The shape of the table's events."""
        rows: list[ColumnCells] = []
        keys: dict[str, ColumnCells] = {}
        for index, column in enumerate(self.columns):
            if not column.captured and column.name not in self.key:
                continue
            name, cell = column.name, column_cell(self, index, settings)
            if cell is None:
                continue
            keys[name] = ColumnCells(name, cell)
            if column.captured:
                rows.append(ColumnCells(name, _as_shown(cell, column)))
        key: list[ColumnCells] = []
        if self.kind is not RelationKind.TRUNCATES:
            key = [keys[name] for name in self.key if name in keys]
            key += [
                ColumnCells(name, Constant(Schema(Type.STRING), value))
                for name, value in self.key_fields
            ]
        event = change_event(
            self.topic,
            rows,
            key,
            _relational(settings).source.block(self, settings),
            settings.headers(),
            settings.transaction_block(counted=self.kind is not RelationKind.INCREMENTAL),
            settings.format,
            settings.names,
        )
        return replace(event, origin=self._origin(settings))

    def _origin(self, settings: EventSettings) -> TableOrigin:
        columns = {
            column.name: ColumnOrigin(column.id, *_filler(self, index, settings))
            for index, column in enumerate(self.columns)
            if column.captured
        }
        return TableOrigin(
            self.name, self.own_id, columns, self.not_in_deletes, key_doubt=self.key_doubt
        )


def _filler(facts: RelationFacts, index: int, settings: EventSettings) -> tuple[object, bool]:
    """Return the value that older rows have in a column, and whether it is known."""
    column = facts.columns[index]
    cell = column_cell(facts, index, settings)
    if cell is None:
        return None, True
    rendered = _as_shown(cell, column)
    if isinstance(rendered, Constant):
        return rendered.value, True
    if column.filler is None:
        # For a column without null, the default of a function expression may be a made-up value.
        kind = column.type.resolve(
            _relational(settings).types,
            optional=True,
            default=column.default,
            column=ColumnName(facts.name, column.name),
        )
        default = None if kind is None else kind.schema.default
        is_null = column.default is None or column.default.strip().upper() == "NULL"
        return default, default is not None or is_null
    if column.filler.text is None or not column.filler.is_known:
        return None, column.filler.is_known
    try:
        return rendered.decode(column.filler.text.encode()), True
    except (ValueError, ArithmeticError, HeadraceError):
        return None, False  # the text is of a type that the column no longer has


def _relational(settings: EventSettings) -> RelationalSettings:
    assert isinstance(settings, RelationalSettings)
    return settings


def _as_shown(cell: Cell, column: ColumnFacts) -> Cell | Constant:
    return under_rule(cell, column.rule, column.type, column.name, column.comment)


@dataclass(frozen=True)
class _Strict:
    """A decoder for which a value that cannot be converted is an error."""

    kind: ColumnType

    def __call__(self, text: bytes) -> object:
        value = self.kind.decoder(text)
        if value is None:
            raise HeadraceError(
                "relational.value_not_representable",
                f"{self.kind.column} ({self.kind.type_name}) has a value that "
                f"{self.kind.shown_as} cannot hold",
                "Set event.converting.failure.handling.mode=warn to get null, or "
                "decimal.handling.mode=double or string for NaN and infinite numerics.",
            )
        return value


def _decoder(kind: ColumnType, converting: str) -> Callable[[bytes], object]:
    if converting == "fail":
        return _Strict(kind)
    if converting != "warn" and kind.schema.optional:
        return kind.decoder  # null without a warning
    return kind.decode


def column_cell(facts: RelationFacts, index: int, settings: EventSettings) -> Cell | None:
    """The cell of a column in the key, and in rows unless it has a rule; None if Debezium leaves
    its type out."""
    column, options = facts.columns[index], _relational(settings)
    kind = column.type.resolve(
        options.types,
        optional=column.nullable,
        default=column.default,
        column=ColumnName(facts.name, column.name),
    )
    if kind is None:
        return None
    schema = kind.schema
    if column.comment is not None:
        schema = replace(schema, doc=column.comment)
    return Cell(
        schema=schema,
        image=Image.NEW,
        column=index,
        encoding=kind.encoding,
        parameter=kind.parameter,
        decode=_decoder(kind, options.converting),
        null=kind.fallback,
        unavailable=kind.unavailable if kind.has_placeholder else None,
    )
