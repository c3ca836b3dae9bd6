"""Errors of a replica that cannot follow its source, each with a remedy."""

from __future__ import annotations

from collections.abc import Sequence

from headrace.errors import HeadraceError
from headrace.sinks.replicas.lake import Column, TableName, TableSchema
from headrace.sinks.replicas.modes.mode import Mode

COPY_INCOMPLETE = "replicas.copy_incomplete"
NO_ENVELOPE = "replicas.no_envelope"
OLDER_CHECKPOINT = "replicas.older_checkpoint"
OTHER_KEEPER = "replicas.other_keeper"
OTHER_MODE = "replicas.other_mode"
OTHER_RUN = "replicas.other_run"
TRUNCATED_IN_PART = "replicas.truncated_in_part"
OLDER_TABLE = "replicas.older_table"
TABLE_GONE = "replicas.table_gone"


def columns_gone(table: TableName, names: Sequence[str]) -> HeadraceError:
    return HeadraceError(
        "replicas.changed_by_others",
        f"Somebody else dropped or renamed columns of {table}: {', '.join(names)}",
        "Leave columns of the source to headrace. Name them as they were, or copy the table "
        f"again: headrace resync FILE {table} --checkpoint STATE.",
    )


def changed_by_others(table: TableName, changes: Sequence[str]) -> HeadraceError:
    return HeadraceError(
        "replicas.changed_by_others",
        f"Somebody else changed rows of {table}: {'; '.join(changes)}",
        "Leave writing to headrace. Roll these changes back, or copy the table again: headrace "
        f"resync FILE {table} --checkpoint STATE.",
    )


def default_unknown(table: TableName, column: Column) -> HeadraceError:
    return HeadraceError(
        "replicas.default_unknown",
        f"{table}: the column {column.name} was added at the source, and the log does not "
        "say which values it has in the rows that were there before it",
        f"Copy the table again: headrace resync FILE {table} --checkpoint STATE.",
    )


def incomplete(reason: str, remedy: str) -> HeadraceError:
    return HeadraceError(
        "replicas.incomplete",
        f"Replicas, change logs and histories have each change of their source, and {reason}",
        f"{remedy}, or permit the difference by headrace.sink.incomplete=true.",
    )


def require_whole(schema: TableSchema) -> None:
    """Refuse a table if the source leaves some of its changes out. Raises HeadraceError."""
    if schema.left_out:
        raise incomplete(
            f"of {schema.source} {schema.left_out}",
            "Have the source leave nothing out (ALTER PUBLICATION … SET (publish = 'insert, "
            "update, delete, truncate'), and no WHERE). Capture a partitioned table either without "
            "its partitions and with publish_via_partition_root (publish.via.partition.root=true), "
            "or only by its partitions (table.exclude.list)",
        )


def no_key(table: TableName) -> HeadraceError:
    return HeadraceError(
        "replicas.no_key",
        f"{table} has no key, so its changes name no row of a replica",
        "Name columns that identify a row in message.key.columns, give the table a primary key, or "
        "keep a row for each change: name the table in headrace.sink.append.tables.",
    )


def require_identifying(schema: TableSchema, mode: Mode) -> None:
    """Refuse a source table whose rows may share or exchange values of the key, except for a change
    log, which does not find rows by it. Raises HeadraceError."""
    if schema.key_doubt and mode is not Mode.APPEND:
        raise HeadraceError(
            "replicas.no_key",
            f"{schema.source} has no key that identifies a row: {schema.key_doubt}",
            "Give the table a primary key that is NOT DEFERRABLE, make the columns of the unique "
            "index NOT NULL, or keep a row for each change: name the table in "
            "headrace.sink.append.tables.",
        )


def no_document(setting: str, table: TableName | None = None) -> HeadraceError:
    """Return the error for a setting with which updates lack their documents: for a table with a
    column of their text; None: for every table."""
    whose = "every replica" if table is None else f"the replica {table}"
    return HeadraceError(
        "replicas.no_document",
        f"With {setting} updates come without their documents, and {whose} has the text "
        "of documents as a column",
        "Set capture.mode=change_streams_update_full (or "
        "change_streams_update_full_with_pre_image), or declare the columns of the documents by "
        "headrace.sink.target.schema.DATABASE.COLLECTION.",
    )


def older_checkpoint(table: TableName, number: int, planned: int) -> HeadraceError:
    return HeadraceError(
        OLDER_CHECKPOINT,
        f"The table {table} has micro-batch {number} of this query, and its checkpoint "
        f"has planned {planned} at most: it is older than the table, from a backup perhaps",
        "Go on with the newest checkpoint, or begin with a new one and "
        "headrace.sink.existing=replace: the rows are then copied again.",
    )


def other_run(table: TableName, number: str) -> HeadraceError:
    return HeadraceError(
        OTHER_RUN,
        f"Another run of this query has committed micro-batch {number} to {table} meanwhile: a "
        "copy of its state folder and checkpoint is in use",
        "End one of the two runs and delete its copy. If both have committed to tables, begin with "
        "a new checkpoint and headrace.sink.existing=replace: the rows are then copied again.",
    )


def other_keeper(table: TableName, *, is_query: bool) -> HeadraceError:
    whose = "belongs to another query" if is_query else "was not made by headrace"
    return HeadraceError(
        OTHER_KEEPER,
        f"The table {table} exists and {whose}",
        "Go on with that query's checkpoint, name another namespace or prefix, or begin with a "
        "new checkpoint and headrace.sink.existing=replace: the first copy then replaces the "
        "table's rows by those that the source has. A query that has begun cannot replace "
        "them, because it does not copy them again.",
    )


def other_mode(table: TableName, mode: str, source: str, wanted: str) -> HeadraceError:
    return HeadraceError(
        OTHER_MODE,
        f"The table {table} of the lake has headrace.sink.mode={mode}, and the configuration says "
        f"{wanted} for {source or 'its source'}",
        f"Choose {mode} for it (headrace.sink.mode, headrace.sink.append.tables, "
        "headrace.sink.history.tables), or write to another table by headrace.sink.namespace or "
        "headrace.sink.prefix.",
    )


def shared_name(table: TableName, sources: Sequence[str]) -> HeadraceError:
    return HeadraceError(
        "replicas.shared_name",
        f"{' and '.join(sources)} of the source would both be the table {table}",
        "Leave one of them out by table.exclude.list, or rename it.",
    )


def table_replaced(table: TableName) -> HeadraceError:
    return HeadraceError(
        "replicas.table_replaced",
        f"Another table has the name of {table} at the source now: it was dropped and made "
        "again, or two tables were renamed",
        f"Copy the table again: headrace resync FILE {table} --checkpoint STATE.",
    )


def copy_lacks(table: TableName, lost: int) -> HeadraceError:
    return HeadraceError(
        COPY_INCOMPLETE,
        f"While {table} was copied, {lost} changes did not carry all values of rows that the "
        "table did not have",
        f"Copy the table once more: headrace resync FILE {table} --checkpoint STATE.",
    )


def copy_ended(table: TableName, ended: Sequence[str]) -> HeadraceError:
    return HeadraceError(
        COPY_INCOMPLETE,
        f"The copy of {table} ended before it was whole ({', '.join(ended)}), so the table has "
        "rows of before that the source may not have",
        "See in the log why, and copy the table once more: headrace resync FILE "
        f"{table} --checkpoint STATE.",
    )


def require_committed(table: TableName, number: str | None, committed: int) -> None:
    """Refuse a table without the micro-batches that its query has committed to it. `number` is the
    last one that it has (None: it is gone, or has none). Raises
    HeadraceError("replicas.older_table"), ("replicas.table_gone")."""
    if number is None:
        raise HeadraceError(
            TABLE_GONE,
            f"The table {table} is not there, and this query has committed micro-batch {committed} "
            "to it",
            "Make the storage of the tables available again, or begin with a new checkpoint.",
        )
    if int(number) >= committed:
        return
    raise HeadraceError(
        OLDER_TABLE,
        f"The table {table} has micro-batch {number} of this query, which has committed "
        f"{committed} to it: it was restored from a backup",
        f"Copy the table again: headrace resync FILE {table} --checkpoint STATE.",
    )


def no_copy(table: TableName, ended: Sequence[str]) -> str:
    """Return why a requested copy has not begun."""
    return f"{table} is not copied again ({', '.join(ended)})"


def copy_failed(table: TableName, error: HeadraceError) -> HeadraceError:
    """Return an error for a table that cannot take the rows of its copy."""
    return HeadraceError(
        error.code,
        f"{error.message}. The copy of {table} has ended, and its changes are left out from here "
        "on",
        f"{error.remedy} Then copy the table again: headrace resync FILE {table} "
        "--checkpoint STATE.",
    )


def left_out(table: TableName, error: HeadraceError) -> HeadraceError:
    """Return an error for a table of which the tasks could not make the changes."""
    return HeadraceError(
        error.code,
        f"{error.message}. Changes of {table} are left out from here on",
        f"{error.remedy} Then copy the table again: headrace resync FILE {table} "
        "--checkpoint STATE.",
    )


def not_read_again(table: TableName) -> HeadraceError:
    return HeadraceError(
        COPY_INCOMPLETE,
        f"The log was gone, and the snapshot that replaces it does not read {table} "
        "(snapshot.include.collection.list), so changes of it are missing",
        f"Copy the table: headrace resync FILE {table} --checkpoint STATE.",
    )


def merged_meanwhile(table: TableName, files: Sequence[str]) -> HeadraceError:
    return HeadraceError(
        COPY_INCOMPLETE,
        f"While {table} was copied, its files were merged ({files[0]}), so nobody can tell rows of "
        "before from those of the copy",
        "Let compaction (OPTIMIZE, rewrite_data_files, headrace maintain) of the table rest, and "
        f"copy it once more: headrace resync FILE {table} --checkpoint STATE.",
    )


def truncated_in_part(table: TableName) -> HeadraceError:
    return HeadraceError(
        TRUNCATED_IN_PART,
        f"{table} has rows of several tables of the source, and one of these was truncated: a "
        "TRUNCATE does not say which rows are its own",
        f"Copy the table again: headrace resync FILE {table} --checkpoint STATE.",
    )


def truncated(table: TableName) -> HeadraceError:
    return HeadraceError(
        "replicas.truncated",
        f"{table} was truncated at the source, and headrace.sink.truncates=fail",
        "Set headrace.sink.truncates=apply to truncate the table, too.",
    )


def no_reader(table: TableName, table_format: str, remedy: str) -> HeadraceError:
    return HeadraceError(
        "replicas.no_reader",
        f"This Spark session cannot read the table {table}: it has no package of {table_format}",
        remedy,
    )
