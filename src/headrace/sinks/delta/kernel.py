"""Delta Kernel in Spark's JVM: a table's state, its live files and its commits, as JSON.

The descriptions of files do not cross the gateway one by one: Kernel writes live files as lines of
JSON and reads a commit's actions from such lines, as it does with the log.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from headrace.errors import HeadraceError
from headrace.sinks.replicas.lake import CONFLICT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WRITER = DOMAIN = "headrace"
_LOCAL_LOG = ("io.delta.kernel.logStore.file.impl", "io.delta.storage.LocalLogStore")
"""The class with which Kernel writes logs in local folders. Its default starts two processes and
writes a checksum file for each file, which is half of the cost of a commit."""
_CONFLICTS = (
    "ConcurrentWriteException",
    "ConcurrentTransactionException",
    "MetadataChangedException",
    "ProtocolChangedException",
    "MaxCommitRetryLimitReachedException",
    "TableAlreadyExistsException",
)
_STORAGE = (
    "IOException",
    "UncheckedIOException",
    "KernelEngineException",
    "CommitStateUnknownException",
    "CommitFailedException",
)
_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Metadata:
    """A version of a table, with Kernel's `snapshot`; columns as in the log."""

    version: int
    snapshot: Any
    fields: Sequence[dict[str, Any]]
    configuration: Mapping[str, str]
    domain: Mapping[str, str]
    """The content of headrace's metadata domain."""
    partition_columns: Sequence[str]


class Kernel:
    """The classes of Delta Kernel. `close` removes its folder of temporary files."""

    def __init__(self, spark: SparkSession) -> None:
        """Raises HeadraceError("delta.no_kernel") if the jars are not on the class path."""
        jvm: Any = spark._jvm
        package = jvm.io.delta.kernel
        internal = package.internal
        try:
            with _translated("Delta Kernel"):
                context: Any = spark._jsc
                configuration = jvm.org.apache.hadoop.conf.Configuration(
                    context.hadoopConfiguration()
                )
                configuration.setIfUnset(*_LOCAL_LOG)
                self._engine = package.defaults.engine.DefaultEngine.create(configuration)
                self._none = jvm.java.util.Optional.empty()
                self._actions = internal.actions.SingleAction.FULL_SCHEMA
                self._update = package.Operation.STREAMING_UPDATE
        except TypeError:
            raise HeadraceError(
                "delta.no_kernel",
                "Delta Kernel's jars are not on the class path of Spark's driver",
                "Let headrace start the session, or add the jars that `headrace check` names to "
                "spark.jars or spark.jars.packages.",
            ) from None
        self._manager = package.TableManager
        self._iterables = package.utils.CloseableIterable
        self._files = package.utils.FileStatus
        self._utils = internal.util.Utils
        self._types = internal.types.DataTypeJsonSerDe
        self._json = package.defaults.internal.json.JsonUtils
        self._list = jvm.java.util.ArrayList
        self._map, self._set = jvm.java.util.HashMap, jvm.java.util.HashSet
        self._scratch = TemporaryDirectory(prefix="headrace-delta-")

    def close(self) -> None:
        """Remove the temporary files; never raises."""
        self._scratch.cleanup()

    def create(self, root: str, schema: str, properties: Mapping[str, str]) -> None:
        """Commit version 0 of a table. Raises HeadraceError("replicas.conflict") if the table
        exists, ("replicas.not_written"), ("delta.refused")."""
        with _translated(f"The Delta table in {root}"):
            struct = self._types.deserializeStructType(schema)
            builder = self._manager.buildCreateTableTransaction(root, struct, WRITER)
            transaction = builder.withTableProperties(self._java_map(properties)).build(
                self._engine
            )
            result = transaction.commit(self._engine, self._iterables.emptyIterable())
            self._run_hooks(root, result)

    def load(self, root: str) -> Metadata:
        """Load the last version. Raises HeadraceError("replicas.not_written"),
        ("delta.refused")."""
        with _translated(f"The Delta table in {root}"):
            return self._metadata(self._manager.loadSnapshot(root).build(self._engine))

    def live_files(self, root: str, snapshot: Any) -> Iterator[dict[str, Any]]:
        """The `add` actions of the live files of a version, with statistics and vectors. Raises as
        `load`."""
        with self._temporary() as path:
            with _translated(f"The Delta table in {root}"):
                scan = snapshot.getScanBuilder().build()
                rows = self._utils.intoRows(scan.getScanFiles(self._engine, True))
                self._engine.getJsonHandler().writeJsonFileAtomically(str(path), rows, True)
            with path.open(encoding="utf-8") as lines:
                for line in lines:
                    yield json.loads(line)["add"]

    def commit(
        self,
        root: str,
        snapshot: Any,
        actions: Sequence[Mapping[str, Any]],
        *,
        schema: str | None,
        properties: Mapping[str, str],
        removed: Sequence[str],
        domain: Mapping[str, str],
        application: tuple[str, int] | None,
    ) -> Metadata | None:
        """Commit on this version, or not at all. `properties` are added to the table's, `removed`
        are removed, `domain` is the new content of the metadata domain (empty: unchanged);
        `application` are an application's id and the number of its transaction. Returns what `load`
        would, None if that must be called.

        Raises HeadraceError("replicas.conflict"), ("replicas.not_written"), ("delta.refused").
        """
        with _translated(f"The Delta table in {root}"):
            builder = snapshot.buildUpdateTableTransaction(WRITER, self._update).withMaxRetries(0)
            if properties:
                builder = builder.withTablePropertiesAdded(self._java_map(properties))
            if removed:
                builder = builder.withTablePropertiesRemoved(self._java_set(removed))
            if schema is not None:
                builder = builder.withUpdatedSchema(self._types.deserializeStructType(schema))
            if application is not None:
                builder = builder.withTransactionId(*application)
            transaction = builder.build(self._engine)
            if domain:
                transaction.addDomainMetadata(DOMAIN, json.dumps(domain))
            result = transaction.commit(self._engine, self._rows(actions))
            if self._run_hooks(root, result):
                return None  # a snapshot that begins at the checkpoint is smaller
            post_commit = result.getPostCommitSnapshot()
            return self._metadata(post_commit.get()) if post_commit.isPresent() else None

    def _metadata(self, snapshot: Any) -> Metadata:
        said = json.loads(self._json.rowToJson(snapshot.getMetadata().toRow()))
        domain = snapshot.getDomainMetadata(DOMAIN)
        return Metadata(
            snapshot.getVersion(),
            snapshot,
            json.loads(said["schemaString"])["fields"],
            said.get("configuration", {}),
            json.loads(domain.get()) if domain.isPresent() else {},
            said.get("partitionColumns", []),
        )

    def _run_hooks(self, root: str, result: Any) -> bool:
        """Write checksums and checkpoints, which a commit does not need; returns whether there was
        a checkpoint."""
        checkpoint = False
        for hook in list(result.getPostCommitHooks()):
            kind = hook.getType().toString()
            try:
                with _translated(f"The Delta table in {root}"):
                    hook.threadSafeInvoke(self._engine)
                checkpoint = checkpoint or kind == "CHECKPOINT"
            except HeadraceError as error:
                _log.warning("A commit succeeded, but its %s was not written: %s", kind, error)
        return checkpoint

    def _rows(self, actions: Sequence[Mapping[str, Any]]) -> Any:
        if not actions:
            return self._iterables.emptyIterable()
        with self._temporary() as path:
            with path.open("w", encoding="utf-8") as output:
                output.writelines(json.dumps(action) + "\n" for action in actions)
            status = self._utils.singletonCloseableIterator(
                self._files.of(str(path), path.stat().st_size, 0)
            )
            handler = self._engine.getJsonHandler()
            rows = self._list()
            with closing(handler.readJsonFiles(status, self._actions, self._none)) as batches:
                while batches.hasNext():
                    rows.addAll(batches.next().getRows().toInMemoryList())
        return self._iterables.inMemoryIterable(self._utils.toCloseableIterator(rows.iterator()))

    def _java_map(self, properties: Mapping[str, str]) -> Any:
        java_map = self._map()
        for name, value in properties.items():
            java_map.put(name, value)
        return java_map

    def _java_set(self, names: Sequence[str]) -> Any:
        java_set = self._set()
        for name in names:
            java_set.add(name)
        return java_set

    @contextmanager
    def _temporary(self) -> Iterator[Path]:
        """A path for a file, which is deleted afterwards with Hadoop's checksum of it."""
        path = Path(self._scratch.name) / f"{uuid4()}.json"
        try:
            yield path
        finally:
            for file in (path, path.with_name(f".{path.name}.crc")):
                file.unlink(missing_ok=True)


@contextmanager
def _translated(what: str) -> Iterator[None]:
    """Translate Java exceptions to HeadraceErrors."""
    from py4j.protocol import Py4JError, Py4JJavaError  # type: ignore[import-untyped]

    try:
        yield
    except Py4JJavaError as error:
        raise _error(what, error.java_exception) from None
    except Py4JError as error:
        raise HeadraceError(
            "replicas.not_written",
            f"{what} cannot be reached: Spark's driver does not answer ({type(error).__name__})",
            "Start the query again.",
            retriable=True,
        ) from None


def _error(what: str, exception: Any) -> HeadraceError:
    names: list[str] = []
    messages: list[str] = []
    while exception is not None and len(names) < 10:
        names.append(exception.getClass().getSimpleName())
        message = exception.getMessage()
        messages.append((message or "").strip().split("\n")[0])
        exception = exception.getCause()
    said = f"{names[0]}: {messages[0]}"
    if any(name in _CONFLICTS for name in names):
        return HeadraceError(
            CONFLICT,
            f"{what} was changed by another writer: {said}",
            "The changes are applied again to the new version.",
            retriable=True,
        )
    if any(name in _STORAGE or name.endswith("IOException") for name in names):
        return HeadraceError(
            "replicas.not_written",
            f"{what} cannot be read or written: {said}",
            "Check the folder, its permissions and the space on the disk.",
            retriable=True,
        )
    return HeadraceError(
        "delta.refused",
        f"{what} is refused by Delta Kernel: {said}",
        "Look at the table's properties and features: headrace keeps tables that Delta Kernel can "
        "write.",
    )
