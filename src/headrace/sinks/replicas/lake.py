"""The contract between replicas and a table format: what Iceberg and Delta have in common.

The command's process plans and commits, tasks read and write files. So a table gives a `Storage`,
which is picklable and needs no JVM, and takes back what tasks made of it as descriptions.
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
    from pyspark.sql import SparkSession

OURS = "headrace."
"""How the names begin of the properties of a table that headrace keeps."""
KEY, SOURCE, QUERY, BATCH, POSITION, TIME = (
    f"{OURS}{name}" for name in ("key", "source", "query", "batch", "position", "time")
)
"""Properties of a table: the names of its key's columns (a JSON list), which
table and columns of the source it has (JSON), the id of the query that
keeps it, its last micro-batch in the table (a number), the source's position after it (JSON), and
when it was committed (ISO 8601)."""

COMMENT = "comment"
"""The property of a table that is the comment of the source's."""
CONFLICT = "replicas.conflict"
"""The code of the error of a commit that does not go together with somebody else's."""
NAME_NOT_TAKEN = "replicas.table_name_not_taken"
"""The code of the error of a table whose name a lake cannot take."""
OWN = "__headrace_"
"""How names begin that columns have for a moment, while others take their names."""
DELETED = "__deleted"
"""The column of rows that the source deleted, where deletes are soft."""
DELETED_ID = "headrace.deletes"
"""The id of that column, which tells it from one of the name that the source has."""


def is_own(name: str) -> bool:
    """Whether headrace adds a column of that name to those of the source."""
    return name == DELETED or name.startswith(OWN)


@dataclass(frozen=True)
class TableName:
    """A table of a lake; `namespace` may be empty."""

    namespace: tuple[str, ...]
    name: str

    def __str__(self) -> str:
        return ".".join((*self.namespace, self.name))


def require_name(name: TableName, place: str, hidden: str = "") -> None:
    """Refuse a name with a part that is no name of a folder, or one that readers do not see: it
    begins with one of `hidden`. `place` is what the table would be, in the words of a message.
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
    """A column: its Arrow type is one that `headrace.converters.typed.types.typed` gives, with
    string, binary and list for their large forms. All columns of a replica may be null;
    `is_required` says that the source's may not, and `default` is the value that rows have there
    which are older than the column (a Python value; None: null); `is_known` says whether this
    value is known. `id` is the source's own (see `headrace.connect.records`; empty: unknown)."""

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
    """Columns in their order, the names of those of the key, and the table's comment (empty: it has
    none; None: it is not known)."""

    columns: tuple[Column, ...]
    key: tuple[str, ...]
    comment: str | None = None
    source: str = field(default="", compare=False)
    source_id: str = field(default="", compare=False)
    """The name and the id of the source's table (empty: unknown)."""
    left_out: str = field(default="", compare=False)
    """What the source leaves out of the table's changes, in words (empty: nothing, or unknown)."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns' names."""
        return tuple(column.name for column in self.columns)

    def column(self, name: str) -> Column | None:
        """The column of that name."""
        return next((column for column in self.columns if column.name == name), None)


@dataclass(frozen=True)
class ColumnChange:
    """What becomes of a table's columns at a commit. Columns are added at the end."""

    added: tuple[Column, ...] = ()
    dropped: tuple[str, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)
    """New names by old ones."""
    retyped: Mapping[str, pa.DataType] = field(default_factory=dict)
    """Wider types, by the names before the change."""
    commented: Mapping[str, str | None] = field(default_factory=dict)
    """Comments by the names after the change."""
    comment: str | None = None
    """The comment of the table; empty: it has none; None: as before."""

    @property
    def is_of_columns(self) -> bool:
        """Whether anything else changes than the comment of the table."""
        changes = (self.added, self.dropped, self.renamed, self.retyped, self.commented)
        return any(map(bool, changes))

    def __bool__(self) -> bool:
        return self.is_of_columns or self.comment is not None


@dataclass(frozen=True)
class DataFile:
    """A live data file. `description` and `vector` are the format's own JSON of the file and of its
    deletion vector (None: it has none); `deleted` is how many rows the vector deletes. `bounds` are
    the least and the greatest value of columns, by field id, where they are known exactly enough
    to leave a file out (they may be wider than the values)."""

    path: str
    rows: int
    size: int
    description: str
    bounds: Mapping[int, tuple[object, object]] = field(default_factory=dict)
    vector: str | None = None
    deleted: int = 0


class Storage(Protocol):
    """How tasks read and write the files of one table. Picklable; it names the columns that the
    table has after the schema change of its transaction."""

    schema: TableSchema

    @property
    @abstractmethod
    def filesystem(self) -> pyarrow.fs.FileSystem:
        """Where the paths of data files are."""

    @abstractmethod
    def field_id(self, column: str) -> int:
        """The id of a column, which data files have as `PARQUET:field_id` of their fields."""

    @abstractmethod
    def stored_type(self, column: str) -> pa.DataType:
        """The type of a column as data files have it: members of structs may have other names
        there than in `schema`. All else is the same."""

    @abstractmethod
    def write_rows(self, rows: pa.Table, name: str) -> DataFile:
        """Write rows (all columns of `schema`, in its order and types) as one data file. `name` is
        unique, and becomes part of the file's. Raises HeadraceError, OSError."""

    @abstractmethod
    def read_vector(self, file: DataFile) -> BitMap:
        """The positions of deleted rows; empty where the file has no vector."""

    @abstractmethod
    def write_vector(self, file: DataFile, positions: BitMap, name: str) -> str:
        """Write the positions of all deleted rows of a file, those of its former vector among them.
        Gives the JSON of the vector."""

    @abstractmethod
    def sweep(self, prefix: str, live: Sequence[DataFile] = ()) -> int:
        """Delete the files whose names begin with this, data files and vectors, but not data files
        that are `live`: those of a batch that was never committed. Gives how many there were."""


@dataclass(frozen=True)
class TableChange:
    """What a commit does to the files of a table."""

    added: Sequence[DataFile] = ()
    vectors: Sequence[tuple[DataFile, str, int]] = ()
    """Files with their new vectors and how many rows these delete; a file of which no row is left
    is in `removed` instead."""
    removed: Sequence[DataFile] = ()
    is_compaction: bool = False
    """Whether the rows are the same as before."""


class Transaction(Protocol):
    """A commit in the making, on the state that the table had when it began."""

    storage: Storage
    """For the columns after the schema change."""
    files: Sequence[DataFile]
    """The live data files."""

    @abstractmethod
    def commit(self, change: TableChange, properties: Mapping[str, str]) -> None:
        """Commit schema, files and properties at once. `properties` are properties of the table,
        and of the snapshot where the format has such; of Delta QUERY and BATCH are also an
        application transaction.

        Raises HeadraceError("replicas.conflict", retriable) where somebody else committed something
        that does not go together with it: begin again; ("replicas.not_written", retriable) where
        the catalog or the storage failed.
        """


class LakeTable(Protocol):
    """A table, in the command's process."""

    name: TableName

    @abstractmethod
    def schema(self) -> TableSchema:
        """The columns at the last `begin` or `refresh`; the key is that of the property
        `headrace.key`. Raises HeadraceError for columns of types that headrace does not write."""

    @abstractmethod
    def properties(self) -> Mapping[str, str]:
        """Those that begin with `headrace.`, at the last `begin` or `refresh`."""

    @abstractmethod
    def refresh(self) -> None:
        """Read the table's state again, if it changed. Raises HeadraceError."""

    @abstractmethod
    def begin(self, change: ColumnChange) -> Transaction:
        """Refresh, and begin a commit with this change of columns. Raises
        HeadraceError("replicas.column_not_taken") for a change that the format cannot take."""

    @abstractmethod
    def foreign_changes(self) -> Sequence[str]:
        """What others did to the rows since headrace's last commit, the last first, a sentence
        each. Compactions are left out, and what the table has forgotten."""

    @abstractmethod
    def expire(self, older_than: dt.datetime) -> None:
        """Forget the states of the table before a moment, but not the last one, and delete the
        files that only they had. Without it, a commit costs more the more there were before."""

    @abstractmethod
    def version(self) -> str:
        """The id of the last snapshot or version; empty before the first."""


class Lake(Protocol):
    """A catalog, or a folder of tables, in the command's process. Methods may be called by several
    threads, but for the same table by one at a time."""

    @abstractmethod
    def table(self, name: TableName) -> LakeTable | None:
        """The table of that name, or None. Raises HeadraceError(NAME_NOT_TAKEN) for a name that no
        table can have here, and for what has that name and is no table that headrace can keep."""

    @abstractmethod
    def create(
        self, name: TableName, schema: TableSchema, properties: Mapping[str, str]
    ) -> LakeTable:
        """Create an empty table, and its namespace, where `table` gave None. Raises
        HeadraceError("replicas.column_not_taken") for a type or a name that the format cannot take,
        and ("replicas.not_written", retriable)."""

    @abstractmethod
    def announce(self, name: TableName) -> None:
        """Let readers find a table that is there where the options say so, besides its place.
        Raises HeadraceError."""

    @abstractmethod
    def close(self) -> None:
        """Let everything go. Never raises."""


class LakeFormat(Protocol):
    """A table format: what a sink of replicas needs of it before Spark starts."""

    name: str
    """`iceberg` or `delta`, the value of `headrace.sink.type`."""
    options: Sequence[str]
    """Names of its own options, without `headrace.sink.`."""

    @abstractmethod
    def packages(self, options: Mapping[str, str]) -> Sequence[str]:
        """Maven coordinates of the jars that its commits need on the driver's class path, without
        what these need in turn: all that is needed is listed."""

    @abstractmethod
    def session_settings(self, options: Mapping[str, str]) -> Mapping[str, str]:
        """Settings of Spark that its commits need, besides the jars."""

    @abstractmethod
    def check(self, options: Mapping[str, str]) -> None:
        """Raise HeadraceError for options that are wrong, missing or contradict each other."""

    @abstractmethod
    def require(self, options: Mapping[str, str], name: TableName, schema: TableSchema) -> None:
        """Raise HeadraceError for a new table whose name or columns the format cannot take, as far
        as that is known without its lake."""

    @abstractmethod
    def prove(self, options: Mapping[str, str]) -> str | None:
        """Try whether the storage takes, gives and deletes a file, and say of which; None: nothing
        was tried. Raises HeadraceError where it does not, and as `check` does."""

    @abstractmethod
    def prove_catalog(self, options: Mapping[str, str], spark: Mapping[str, str]) -> str | None:
        """Try what only Java reaches, with the jars that settings of Spark name, and say of what;
        None: nothing was tried. Raises HeadraceError, with a code that ends with `_not_checked`
        where only a start can say it."""

    @abstractmethod
    def local(self, folder: Path) -> dict[str, str]:
        """The options for tables in a folder of this host."""

    @abstractmethod
    def reading(self, folder: Path, name: TableName) -> Sequence[str]:
        """Lines of Python that print the rows of a table which `local` has put there, by a reader
        that is independent of headrace."""

    @abstractmethod
    def open(self, spark: SparkSession, options: Mapping[str, str]) -> Lake:
        """A lake on a running Spark. Raises HeadraceError."""
