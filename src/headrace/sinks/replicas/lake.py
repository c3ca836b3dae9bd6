"""The interface between replicas and a table format: the common features of Iceberg and Delta.

The command's process plans and commits, tasks read and write files. So a table provides a
`Storage`, which is picklable and needs no JVM, and receives descriptions of the files that tasks
wrote.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from headrace.errors import HeadraceError

if TYPE_CHECKING:
    import datetime as dt
    from pathlib import Path

    import pyarrow as pa
    import pyarrow.fs
    from pyroaring import BitMap
    from pyspark.sql import DataFrame, SparkSession

OURS = "headrace."
"""The prefix of the names of table properties that headrace keeps."""
KEY, MODE, SOURCE, QUERY, BATCH, POSITION, TIME, BOUNDARY = (
    f"{OURS}{name}"
    for name in ("key", "mode", "source", "query", "batch", "position", "time", "boundary")
)
"""Properties of a table: the names of its key's columns (a JSON list), its mode (absent: a
replica), the source table and its columns (JSON), the id of the query that keeps it, the number of
its last micro-batch in the table, the source's position after it (JSON), the time of its commit
(ISO 8601), and whether the position is between transactions (`true` or `false`)."""
RUN, UPKEEP, PLACE = f"{OURS}run", f"{OURS}upkeep", f"{OURS}place"
"""Properties of a table: the run of the query that committed its last micro-batch, the number of
the micro-batch after which the query last committed files of its upkeep, and in a history the
sequence of the last change (absent: there was none)."""

COMMENT = "comment"
"""The table property with the comment of the source's table."""
CONFLICT = "replicas.conflict"
"""The code of the error for a commit that conflicts with somebody else's."""
NAME_NOT_TAKEN = "replicas.table_name_not_taken"
"""The code of the error for a table whose name a lake cannot take."""
OWN = "__headrace_"
"""The prefix of temporary names of columns, while others take their names."""
DELETED = "__deleted"
"""The column that marks rows that the source deleted, if deletes are soft."""
DELETED_ID = "headrace.deletes"
"""The id of that column, which distinguishes it from a column of the same name at the source."""


def is_own(name: str) -> bool:
    """Return whether headrace adds a column of that name to those of the source."""
    return name == DELETED or name.startswith(OWN)


@dataclass(frozen=True)
class TableName:
    """The name of a table of a lake; `namespace` may be empty."""

    namespace: tuple[str, ...]
    name: str

    def __str__(self) -> str:
        return ".".join((*self.namespace, self.name))


def require_name(name: TableName, place: str, hidden: str = "") -> None:
    """Refuse a name with a part that cannot be the name of a folder, or that is hidden from readers
    because it begins with one of `hidden`. `place` says for the message what the table would be.
    Raises HeadraceError(NAME_NOT_TAKEN)."""
    for part in (*name.namespace, name.name):
        is_folder = part.strip(".") and part.isprintable() and not set(part) & {"/", "\\"}
        if not is_folder or part[0] in hidden:
            raise HeadraceError(
                NAME_NOT_TAKEN,
                f"The table {name} cannot be {place}: {part!r} is no name that it can have there",
                "Leave it out by table.exclude.list, or give it another name by a transform of its "
                "topic, and copy it under that name: headrace resync FILE TABLE "
                "--checkpoint STATE.",
            )


@dataclass(frozen=True)
class Column:
    """A column. Its Arrow type is one that `headrace.converters.typed.types.typed` returns, with
    string, binary and list for their large forms. All columns of a replica are nullable;
    `is_required` says that the source's is not, and `default` is its value in rows that are older
    than the column (a Python value; None: null); `is_known` says whether this value is known. `id`
    is the source's id of the column (see `headrace.connect.records`; empty: unknown)."""

    name: str
    type: pa.DataType
    comment: str | None = None
    default: object = field(default=None, compare=False)
    is_required: bool = field(default=False, compare=False)
    id: str = field(default="", compare=False)
    is_known: bool = field(default=True, compare=False)
    is_foreign: bool = field(default=False, compare=False)
    """Whether somebody else added the column to the replica: the source does not have it."""


@dataclass(frozen=True)
class TableSchema:
    """The columns in their order, the names of the key's columns, and the table's comment (empty:
    no comment; None: unknown)."""

    columns: tuple[Column, ...]
    key: tuple[str, ...]
    comment: str | None = None
    source: str = field(default="", compare=False)
    source_id: str = field(default="", compare=False)
    """The name and the id of the source's table (empty: unknown)."""
    left_out: str = field(default="", compare=False)
    """Description of the changes of the table that the source leaves out (empty: nothing, or
    unknown)."""
    key_doubt: str = field(default="", compare=False)
    """Why rows of the source may share or exchange values of the key (empty: they cannot, or
    unknown)."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names."""
        return tuple(column.name for column in self.columns)

    def column(self, name: str) -> Column | None:
        """Return the column of that name, or None."""
        return next((column for column in self.columns if column.name == name), None)


@dataclass(frozen=True)
class ColumnChange:
    """The changes of a table's columns in a commit. Columns are added at the end."""

    added: tuple[Column, ...] = ()
    dropped: tuple[str, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)
    """New names by old ones."""
    retyped: Mapping[str, pa.DataType] = field(default_factory=dict)
    """Wider types, by the names before the change."""
    commented: Mapping[str, str | None] = field(default_factory=dict)
    """Comments, by the names after the change."""
    comment: str | None = None
    """The comment of the table; empty: no comment; None: as before."""

    @property
    def is_of_columns(self) -> bool:
        """Whether the change affects more than the comment of the table."""
        changes = (self.added, self.dropped, self.renamed, self.retyped, self.commented)
        return any(map(bool, changes))

    def __bool__(self) -> bool:
        return self.is_of_columns or self.comment is not None


@dataclass(frozen=True)
class DataFile:
    """A live data file. `description` and `vector` are the format's own JSON of the file and of its
    deletion vector (None: no vector); `deleted` is how many rows the vector deletes. `bounds` are
    the least and greatest value of columns, by field id, if they are known exactly enough to
    exclude a file (they may be wider than the values)."""

    path: str
    rows: int
    size: int
    description: str
    bounds: Mapping[int, tuple[object, object]] = field(default_factory=dict)
    vector: str | None = None
    deleted: int = 0


class Storage(Protocol):
    """Reads and writes the files of one table in tasks. Picklable; it knows the columns that the
    table has after the schema change of its transaction."""

    schema: TableSchema

    @property
    @abstractmethod
    def filesystem(self) -> pyarrow.fs.FileSystem:
        """The file system of the data files' paths."""

    @abstractmethod
    def field_id(self, column: str) -> int:
        """Return the id of a column, which its field in data files has as `PARQUET:field_id`."""

    @abstractmethod
    def stored_type(self, column: str) -> pa.DataType:
        """Return the type of a column in data files, which differs from `schema` only in the names
        of members of structs."""

    @abstractmethod
    def write_rows(self, rows: pa.Table, name: str) -> DataFile:
        """Write rows (all columns of `schema`, in its order and types) as one data file. `name` is
        unique, and part of the file's name. Raises HeadraceError, OSError."""

    @abstractmethod
    def read_vector(self, file: DataFile) -> BitMap:
        """Return the positions of deleted rows; empty if the file has no vector."""

    @abstractmethod
    def write_vector(self, file: DataFile, positions: BitMap, name: str) -> str:
        """Write the positions of all deleted rows of a file, including those of its former vector.
        Returns the JSON of the vector."""

    @abstractmethod
    def sweep(self, prefix: str, live: Sequence[DataFile] = ()) -> int:
        """Delete the data files and vectors whose names begin with `prefix`, left by a batch that
        was never committed, except data files that are `live` and their vectors. Returns the number
        of files."""


@dataclass(frozen=True)
class TableChange:
    """The changes of a table's files in a commit."""

    added: Sequence[DataFile] = ()
    vectors: Sequence[tuple[DataFile, str, int]] = ()
    """Files with their new vectors and how many rows these delete; a file without remaining rows is
    in `removed` instead."""
    removed: Sequence[DataFile] = ()
    is_compaction: bool = False
    """Whether the rows are the same as before."""


class Transaction(Protocol):
    """A commit in preparation, based on the state of the table when it began."""

    storage: Storage
    """The storage for the columns after the schema change."""
    files: Sequence[DataFile]
    """The live data files."""

    @abstractmethod
    def commit(self, change: TableChange, properties: Mapping[str, str]) -> str:
        """Commit schema, files and properties atomically; returns the version of the table that
        this makes. `properties` are properties of the table, and of the snapshot if the format has
        such; for Delta QUERY and BATCH are also an application transaction.

        Raises HeadraceError("replicas.conflict", retriable) if somebody else made a conflicting
        commit: begin again; ("replicas.not_written", retriable) if the catalog or the storage
        failed.
        """


class LakeTable(Protocol):
    """A table, in the command's process."""

    name: TableName

    @abstractmethod
    def schema(self) -> TableSchema:
        """Return the columns at the last `begin` or `refresh`; the key is that of the property
        `headrace.key`. Raises HeadraceError for columns of types that headrace does not write."""

    @abstractmethod
    def properties(self) -> Mapping[str, str]:
        """Return the properties that begin with `headrace.`, at the last `begin` or `refresh`."""

    @abstractmethod
    def refresh(self) -> None:
        """Read the table's state again if it changed. Raises HeadraceError."""

    @abstractmethod
    def begin(self, change: ColumnChange) -> Transaction:
        """Refresh, and begin a commit with this change of columns. Raises
        HeadraceError("replicas.column_not_taken") for a change that the format cannot take."""

    @abstractmethod
    def foreign_changes(self) -> Sequence[str]:
        """Describe what others did to the rows since headrace's last commit, latest first, a
        sentence each. Compactions are left out, and commits that the table no longer lists."""

    @abstractmethod
    def expire(self, older_than: dt.datetime) -> None:
        """Expire the states of the table that a later one replaced before a moment, and delete the
        files that only these states had. Otherwise the cost of a commit grows with their
        number."""

    @abstractmethod
    def has_former_versions(self) -> bool:
        """Return whether the table has files of other versions than the last one, which are not to
        be deleted: those of snapshots that did not expire, and all of a format that has no expiry.
        Raises HeadraceError."""

    @abstractmethod
    def version(self) -> str:
        """Return the id of the last snapshot or version; empty before the first."""


class Lake(Protocol):
    """A catalog, or a folder of tables, in the command's process. Several threads may call its
    methods, but for the same table only one at a time."""

    @abstractmethod
    def table(self, name: TableName) -> LakeTable | None:
        """Return the table of that name, or None. Raises HeadraceError(NAME_NOT_TAKEN) for a name
        that no table can have here, and if something else has the name, or a table that headrace
        cannot keep."""

    @abstractmethod
    def create(
        self, name: TableName, schema: TableSchema, properties: Mapping[str, str]
    ) -> LakeTable:
        """Create an empty table, and its namespace, after `table` returned None. Raises
        HeadraceError("replicas.column_not_taken") for a type or a name that the format cannot take,
        and ("replicas.not_written", retriable)."""

    @abstractmethod
    def announce(self, name: TableName) -> None:
        """Make an existing table known to readers where the options say so, besides its own place.
        Raises HeadraceError."""

    @abstractmethod
    def close(self) -> None:
        """Release all resources. Never raises."""


class LakeFormat(Protocol):
    """A table format, as a sink of replicas needs it before Spark starts."""

    name: str
    """`iceberg` or `delta`, the value of `headrace.sink.type`."""
    options: Sequence[str]
    """The names of its own options, without `headrace.sink.`."""

    @abstractmethod
    def packages(self, options: Mapping[str, str]) -> Sequence[str]:
        """Return the Maven coordinates of all jars that its commits need on the driver's class
        path, dependencies included."""

    @abstractmethod
    def session_settings(self, options: Mapping[str, str]) -> Mapping[str, str]:
        """Return the Spark settings that its commits need, besides the jars."""

    @abstractmethod
    def check(self, options: Mapping[str, str]) -> None:
        """Raise HeadraceError for options that are wrong, missing or contradict each other."""

    @abstractmethod
    def require(self, options: Mapping[str, str], name: TableName, schema: TableSchema) -> None:
        """Raise HeadraceError for a new table whose name or columns the format cannot take, as far
        as that is known without its lake."""

    @abstractmethod
    def prove(self, options: Mapping[str, str]) -> str | None:
        """Check that the storage takes, returns and deletes a file; returns a message, or None if
        nothing was checked. Raises HeadraceError if it does not, and as `check`."""

    @abstractmethod
    def prove_catalog(self, options: Mapping[str, str], spark: Mapping[str, str]) -> str | None:
        """Check what only Java can access, with the jars of these Spark settings; returns a
        message, or None if nothing was checked. Raises HeadraceError, with a code that ends with
        `_not_checked` if only a start can find out."""

    @abstractmethod
    def local(self, folder: Path) -> dict[str, str]:
        """Return the options for tables in a local folder."""

    @abstractmethod
    def reading(self, folder: Path, name: TableName) -> Sequence[str]:
        """Return lines of Python that print the rows of a table in a folder of `local`, with a
        reader that is independent of headrace."""

    @abstractmethod
    def reader_options(self, options: Mapping[str, str]) -> dict[str, str]:
        """Return the options that readers need to find the tables; none of them is a secret."""

    @abstractmethod
    def read_version(
        self, spark: SparkSession, options: Mapping[str, str], name: TableName, version: str
    ) -> DataFrame:
        """Return the rows of a version of a table, by Spark's reader of the format. `options` are
        those of `reader_options`; `version` is one of `LakeTable.version`. Raises HeadraceError if
        the session lacks what the reader needs."""

    @abstractmethod
    def open(self, spark: SparkSession, options: Mapping[str, str]) -> Lake:
        """Open the lake on a running Spark. Raises HeadraceError."""
