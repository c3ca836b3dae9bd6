"""Options of a sink of replicas, independent of the table format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from headrace.config.properties.connector import ConnectorConfig
from headrace.config.properties.snapshots import SnapshotConfig
from headrace.errors import HeadraceError
from headrace.sinks.replicas.changes.declared_documents import OPTIONS as OF_DOCUMENTS
from headrace.sinks.replicas.changes.declared_documents import DeclaredDocuments
from headrace.sinks.replicas.lake import TableName
from headrace.sinks.replicas.modes.mode import MODE, Mode, TableModes
from headrace.sinks.replicas.modes.mode import OPTIONS as OF_MODES
from headrace.sinks.replicas.refusals import NO_ENVELOPE, incomplete, no_document
from headrace.snapshots.modes import SnapshotRule

RESYNC = "resync"
"""The folder of requests to copy tables again, in the sink's state."""


class Deletes(StrEnum):
    """The effect of a DELETE on a row of a replica."""

    HARD = "hard"
    SOFT = "soft"


class Truncates(StrEnum):
    """The effect of a TRUNCATE on a replica."""

    APPLY = "apply"
    FAIL = "fail"


class Existing(StrEnum):
    """The handling of a table that another query wrote."""

    FAIL = "fail"
    REPLACE = "replace"


class Errors(StrEnum):
    """The effect of an error of one table."""

    STOP_TABLE = "stop-table"
    FAIL = "fail"


class Ambiguous(StrEnum):
    """The handling of columns that were either renamed or dropped and added; the log does not
    tell."""

    FAIL = "fail"
    RENAME = "rename"
    REPLACE = "replace"


class FirstCopy(StrEnum):
    """The time from which readers see the rows of a table's first copy."""

    VISIBLE = "visible"
    STAGED = "staged"


class Transactions(StrEnum):
    """The commits into which the changes of a transaction go."""

    WHOLE = "whole"
    SPLIT = "split"


_NAMESPACE, _PREFIX, _JARS, _INCOMPLETE, _THREADS, _KEPT, _COMPACT, _KEEP, _KEEP_CUTS = (
    "namespace",
    "prefix",
    "jars",
    "incomplete",
    "threads",
    "kept.max.bytes",
    "compact.commits",
    "snapshots.keep.minutes",
    "cuts.keep.minutes",
)
_LONGEST_CUTS = 7 * 24 * 60
"""The most minutes for which cuts are kept: VACUUM of Delta tables deletes files that were removed
a week ago."""
_CHOICES: Mapping[str, type[StrEnum]] = {
    "deletes": Deletes,
    "truncates": Truncates,
    "existing": Existing,
    "ambiguous.columns": Ambiguous,
    "errors": Errors,
    "first.copy": FirstCopy,
    "transactions": Transactions,
}
OPTIONS = (
    MODE,
    *OF_MODES,
    *_CHOICES,
    _NAMESPACE,
    _PREFIX,
    _JARS,
    _INCOMPLETE,
    _THREADS,
    _KEPT,
    _COMPACT,
    _KEEP,
    _KEEP_CUTS,
    *OF_DOCUMENTS,
)
"""The names of the options, without `headrace.sink.`."""


@dataclass(frozen=True)
class ReplicaOptions:
    """Validated options of a sink of replicas. `namespace` replaces that of every table (None:
    derived from the topic), `prefix` precedes every table's name, and `threads` is how many tables
    are committed in parallel. For a table that stopped, whose first copy is staged, or whose
    transaction has not ended, at most `kept_bytes` of changes are kept. After `compact_commits`
    micro-batches the small files of a table are merged, and snapshots that were replaced longer
    than `keep` ago expire. `keep_cuts` is the time for which consistent cuts can be read.
    `is_incomplete`: the tables are meant to hold only a part of their source."""

    deletes: Deletes = Deletes.HARD
    truncates: Truncates = Truncates.APPLY
    existing: Existing = Existing.FAIL
    ambiguous: Ambiguous = Ambiguous.FAIL
    errors: Errors = Errors.STOP_TABLE
    first_copy: FirstCopy = FirstCopy.VISIBLE
    namespace: tuple[str, ...] | None = None
    prefix: str = ""
    is_incomplete: bool = False
    threads: int = 4
    kept_bytes: int = 1 << 30
    compact_commits: int = 20
    keep: timedelta = timedelta(minutes=180)
    documents: DeclaredDocuments = field(default_factory=DeclaredDocuments)
    """The columns of documents."""
    modes: TableModes = field(default_factory=TableModes)
    """The modes of the tables."""
    transactions: Transactions = Transactions.WHOLE
    keep_cuts: timedelta = timedelta(minutes=180)
    merges: bool = False
    """Whether transforms may give several tables of the source the same name."""

    @staticmethod
    def of(options: Mapping[str, str]) -> ReplicaOptions:
        """Parse options without `headrace.sink.`. Raises
        HeadraceError("replicas.option_invalid")."""
        chosen = {name: _choice(options, name, kind) for name, kind in _CHOICES.items()}
        namespace = options.get(_NAMESPACE)
        mode = mode_of(options) or Mode.REPLICA
        if mode.keeps_rows and "deletes" in options:
            raise HeadraceError(
                "replicas.option_invalid",
                f"headrace.sink.deletes={options['deletes']} has no meaning with headrace.sink.mode"
                f"={mode}, where no delete removes a row",
                "Leave headrace.sink.deletes out.",
            )
        return ReplicaOptions(
            Deletes(chosen["deletes"]),
            Truncates(chosen["truncates"]),
            Existing(chosen["existing"]),
            Ambiguous(chosen["ambiguous.columns"]),
            Errors(chosen["errors"]),
            FirstCopy(chosen["first.copy"]),
            None if namespace is None else tuple(filter(None, namespace.strip().split("."))),
            options.get(_PREFIX, "").strip(),
            _flag(options, _INCOMPLETE),
            _number(options, _THREADS, 4, most=64),
            _number(options, _KEPT, 1 << 30, most=1 << 62),
            _number(options, _COMPACT, 20, most=1 << 31),
            timedelta(minutes=_number(options, _KEEP, 180, most=1 << 31)),
            DeclaredDocuments.of(options),
            TableModes.of(options),
            Transactions(chosen["transactions"]),
            timedelta(minutes=_number(options, _KEEP_CUTS, 180, most=_LONGEST_CUTS)),
        )

    def replaced_before(self) -> datetime:
        """Return the moment before which snapshots that expire now were replaced."""
        return datetime.now(UTC) - self.keep

    def placed(self, name: TableName) -> TableName:
        """Return the name in the lake for a table name that was derived from a topic."""
        namespace = name.namespace if self.namespace is None else self.namespace
        return TableName(namespace, f"{self.prefix}{name.name}")


def mode_of(options: Mapping[str, str]) -> Mode | None:
    """Return the kind of the sink's tables; None: not configured. Raises
    HeadraceError("replicas.option_invalid")."""
    if MODE not in options:
        return None
    return Mode(_choice(options, MODE, Mode))


def require_complete(config: ConnectorConfig, options: ReplicaOptions) -> None:
    """Refuse configurations with which a replica would differ from its source: operations or rows
    that are left out, and transforms that leave out or rewrite events. Raises
    HeadraceError("replicas.incomplete")."""
    if options.is_incomplete:
        return
    skipped = sorted(set(config.skipped_operations) & set("cudt"))
    if skipped:
        raise incomplete(
            f"skipped.operations={','.join(skipped)} leaves changes out",
            "Set skipped.operations=none",
        )
    _require_rows(config)
    for alias, name in _transforms(config):
        if name not in _ROUTERS:
            raise incomplete(
                f"the transform {alias} ({name}) may leave out or rewrite events",
                "Leave the transform out",
            )


def require_envelope(config: ConnectorConfig) -> None:
    """Refuse transforms that remove Debezium's envelope. Raises
    HeadraceError("replicas.no_envelope")."""
    for alias, name in _transforms(config):
        if name.endswith(_UNWRAPPING):
            raise HeadraceError(
                NO_ENVELOPE,
                f"The transform {alias} ({name}) takes Debezium's envelope away, and a replica "
                "needs op, before and after",
                "Leave the transform out: the columns of a replica are those of the source.",
            )


def _transforms(config: ConnectorConfig) -> list[tuple[str, str]]:
    """Return the aliases of transforms, and the names of their classes without packages."""
    types = {
        member.variables[0]: member.value.strip()
        for member in config.transforms_options
        if member.variables[1] == "type"
    }
    return [(alias, types.get(alias, "").rpartition(".")[2]) for alias in config.transforms or ()]


def require_documents(config: ConnectorConfig, options: ReplicaOptions) -> None:
    """Refuse updates without their documents if no collection has a table that could take them.
    Raises HeadraceError("replicas.no_document")."""
    declared = options.documents.by_name.values()
    if (setting := config.without_documents) and all(columns.has_text for columns in declared):
        raise no_document(setting)


def _require_rows(config: ConnectorConfig) -> None:
    if isinstance(config, SnapshotConfig):
        mode, rule = str(config.snapshot_mode), SnapshotRule.of(config)
        # A recovery belongs to a query that continues.
        if mode != "recovery" and not (rule.at_first and rule.streams):
            omission = "follows no change" if rule.at_first else "copies no rows"
            raise incomplete(f"snapshot.mode={mode} {omission}", "Set snapshot.mode=initial")
    for name in _FILTERS:
        attribute = name.replace(".", "_")
        if not hasattr(config, attribute):
            continue  # a property of another connector
        value = getattr(config, attribute)
        if value and "".join(str(value).split()) != "[]":  # not a pipeline without stages
            raise incomplete(f"{name} may leave rows out or change them", f"Leave {name} out")


_FILTERS = (
    "snapshot.include.collection.list",
    "snapshot.select.statement.overrides",
    "cursor.pipeline",
)
"""Properties that select the rows or changes that are read, and how."""
_UNWRAPPING = ("EventRouter", "ExtractNewDocumentState", "ExtractNewRecordState")
"""Suffixes of the names of transforms whose records have no envelope."""
_ROUTERS = (
    "ByLogicalTableRouter",
    "DropHeaders",
    "HeaderFrom$Key",
    "HeaderFrom$Value",
    "InsertHeader",
    "PartitionRouting",
    "RegexRouter",
    "SchemaChangeEventFilter",
    "TimestampRouter",
    "ToLogicalTopicRouter",
)
"""Transforms that do not change rows."""


def _choice(options: Mapping[str, str], name: str, kind: type[StrEnum]) -> str:
    default = next(iter(kind))
    text = options.get(name, default).strip().lower()
    if text not in list(kind):
        raise _invalid(name, options[name], f"Set it to {' or '.join(kind)}.")
    return text


def _flag(options: Mapping[str, str], name: str) -> bool:
    text = options.get(name, "false").strip().lower()
    if text not in ("true", "false"):
        raise _invalid(name, options[name], "Set it to true or false.")
    return text == "true"


def _number(options: Mapping[str, str], name: str, default: int, *, most: int) -> int:
    text = options.get(name, str(default)).strip()
    if not text.isdecimal() or not 1 <= int(text) <= most:
        raise _invalid(name, options[name], f"Set it to a number from 1 to {most}.")
    return int(text)


def _invalid(name: str, text: str, remedy: str) -> HeadraceError:
    return HeadraceError(
        "replicas.option_invalid", f"headrace.sink.{name}={text} is not a valid value", remedy
    )
