"""The live files of a table, read as one JSON text: the scan plan of a REST catalog."""

from __future__ import annotations

import json
from contextlib import closing
from typing import Any

from headrace.errors import HeadraceError
from headrace.sinks.iceberg.jvm import IcebergJvm
from headrace.sinks.iceberg.storage import IcebergStorage
from headrace.sinks.replicas.lake import DataFile


def live_files(java: IcebergJvm, table: Any, storage: IcebergStorage) -> tuple[DataFile, ...]:
    """The files of the last snapshot with their deletion vectors and the bounds of the key.

    Raises HeadraceError("iceberg.deletes_not_understood") for deletes of another kind.
    """
    scan = table.newScan()  # of the last snapshot, with the columns of the table
    if storage.schema.key:
        scan = scan.includeColumnStats(java.list_of(storage.schema.key))
    lists = java.iceberg.relocated.com.google.common.collect.Lists
    with closing(scan.planFiles()) as planned:
        tasks = lists.newArrayList(planned)
    if not tasks.size():
        return ()
    responses = java.iceberg.rest.responses
    builder = responses.FetchScanTasksResponse.builder(table.specs())
    response = builder.withFileScanTasks(tasks).build()
    text = json.loads(responses.FetchScanTasksResponseParser.toJson(response))
    vectors = {}
    for delete in text.get("delete-files", ()):
        if delete["file-format"] != "puffin":
            raise HeadraceError(
                "iceberg.deletes_not_understood",
                f"The Iceberg table {storage.table} has {delete['content']} in files of the format "
                f"{delete['file-format']}, and headrace reads only deletion vectors",
                "Rewrite the table's files by CALL system.rewrite_data_files, with the option "
                "delete-file-threshold=1.",
            )
        vectors[delete["referenced-data-file"]] = delete
    return tuple(
        storage.data_file(task["data-file"], vectors.get(task["data-file"]["file-path"]))
        for task in text["file-scan-tasks"]
    )
