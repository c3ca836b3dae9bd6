"""The contract of a database for the engine."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from headrace.connect.slices import Slice
from headrace.connectors.connector_metrics import ConnectorMetrics
from headrace.errors import HeadraceError
from headrace.offsets.offset import Offset, OffsetObject, P
from headrace.offsets.snapshot_progress import SnapshotProgress
from headrace.signals.progress import Pending

if TYPE_CHECKING:
    from headrace.streaming.receiver import StreamState


class OpenSnapshot(Protocol[P]):
    """A snapshot that can begin or continue. Methods raise HeadraceError, and AttemptOver if it was
    lost and cannot continue with another one."""

    def begin(self, start: Offset[P]) -> Offset[P]:
        """The offset before the first chunk."""
        ...

    def poll(self, after: Offset[P]) -> Offset[P]:
        """The end of the next range of chunks; after the last one, `after` without snapshot."""
        ...

    def begin_blocking(self, start: Offset[P], tables: Sequence[Pending]) -> Offset[P]:
        """The offset before the first chunk of `tables`, which signals asked for."""
        ...

    def resumed(self, progress: SnapshotProgress) -> object:
        """Check that the snapshot can continue from `progress` in another process."""
        ...

    def slices(self, start: Offset[P], end: Offset[P]) -> list[Slice]:
        """The slices of the chunks that `end` carries."""
        ...

    def close(self) -> None:
        """Release the snapshot; never raises."""
        ...


class OpenStream(Protocol[P]):
    """The log from one offset on. Methods raise HeadraceError."""

    @property
    def start(self) -> Offset[P]:
        """The offset at which the stream was opened."""
        ...

    def poll(
        self, after: Offset[P], seconds: float, target: int | None, *, moves: bool = False
    ) -> Offset[P]:
        """Return the end of the next range, or `after` if nothing comes within `seconds`; if it
        `moves`, the position then advances to where the log is. With a `target` place, `after` is
        returned only once the stream has passed it."""
        ...

    def slices(self, start: Offset[P], end: Offset[P]) -> list[Slice]:
        """The slices of (start, end]; waits until all of it was received."""
        ...

    def acknowledge(self, place: int) -> None:
        """Allow the database to discard the log up to `place`."""
        ...

    def head(self) -> int:
        """Return the place at which the log ended when the database last reported it; 0: not yet
        reported."""
        ...

    def has_read(self, place: int) -> bool:
        """Whether the log was received up to `place`; if it was not, the database is asked for its
        current position."""
        ...

    def state(self) -> StreamState:
        """The stream's state for metrics."""
        ...

    def close(self) -> None:
        """Free the log for the next reader; never raises."""
        ...


@dataclass(frozen=True)
class Lost:
    """The loss of the log from a stored position on, for which the configuration has a solution:
    the database's position is used (`is_followed`), or a new snapshot begins."""

    error: HeadraceError
    is_followed: bool


class LostLog(Protocol[P]):
    """The actions of a source if the log from a stored position on is gone."""

    def means_loss(self, error: HeadraceError) -> bool:
        """Whether an error of the stream means that the log from its position on is gone."""
        ...

    def follow(self, after: Offset[P]) -> Offset[P]:
        """Return `after` moved to the database's position, in the next epoch."""
        ...

    def make_room(self, lost: Lost) -> None:
        """Remove the parts of the position in the log that a new start cannot use."""
        ...

    def keep(self, lost: Lost) -> None:
        """Ensure that the next `Source.check` still finds the gap, although a range before it is
        left out. Raises HeadraceError if it might not."""
        ...


@contextmanager
def closed_on_failure(snapshot: OpenSnapshot[Any]) -> Iterator[None]:
    """Close a snapshot, which holds connections, if its beginning fails."""
    try:
        yield
    except BaseException:
        snapshot.close()
        raise


class Source(Protocol[P]):
    """The database's side of a connector. One thread calls it. Methods raise HeadraceError, or an
    error of the driver that `translate` knows.

    A source derives from this class and leaves out what it does not need, such as `snapshot` where
    no rows are read. `server`, `position_type` and `metrics` have no default.
    """

    server: str
    """The topic.prefix whose offsets these are."""
    position_type: type[P]
    metrics: ConnectorMetrics
    """The metrics of snapshots and streams."""
    streams: bool = True
    """Whether the log is read after a snapshot (snapshot.mode)."""
    snapshots_every_start: bool = False
    """Whether rows are read at every start (snapshot.mode)."""
    lost_log: LostLog[P] | None = None
    """The actions if the log is gone; None: a lost log ends the query."""
    beats_after_snapshots: bool = True
    """Whether Debezium's connector of the database ends each snapshot with a heartbeat, if
    heartbeat.interval.ms is set."""
    heartbeat_action: Callable[[], None] | None = None
    """The action of each heartbeat (heartbeat.action.query)."""

    @property
    def warnings(self) -> Sequence[str]:
        """Warnings for the operator while the query goes on; read often, without asking the
        database."""
        return ()

    @abstractmethod
    def begin(self, epoch: int) -> tuple[Offset[P], OpenSnapshot[P] | None]:
        """Create or find the position in the log, and begin the snapshot that snapshot.mode asks
        for. If this fails, undo what was created."""
        ...

    @abstractmethod
    def check(self, stored: Offset[P], snapshot: OpenSnapshot[P] | None) -> Lost | None:
        """Check whether a stored offset still fits the database, which is asked once until
        `forget_position`. Also checks an unfinished `snapshot`, and raises AttemptOver if it cannot
        continue. Only a source with `lost_log` returns Lost; the others raise an error for a lost
        log."""
        ...

    @abstractmethod
    def stream(self, start: Offset[P], *, greets: bool) -> OpenStream[P]:
        """Open the log. `greets`: send a notification that this process took no snapshot before
        it."""
        ...

    @abstractmethod
    def log_end(self) -> int:
        """The place where the log ends now."""
        ...

    # -- defaults ---------------------------------------------------------------------------------

    def read_offset(self, data: OffsetObject) -> Offset[P]:
        """An offset of this connector; see Offset.from_json."""
        return Offset.from_json(data, self.server, self.position_type.from_json)

    def offset_at(self, place: int) -> Offset[P]:
        """The offset between transactions at `place`, to compare others with."""
        return Offset(self.server, self.position_type.at(place), 1)

    def validate(self, stored: Offset[P] | None) -> None:
        """See Connector.validate. If no offset is stored yet, asks the database where its log
        ends."""
        if stored is None or stored.is_initial:
            self.log_end()
        else:
            self.check(stored, None)

    # -- optional parts ---------------------------------------------------------------------------

    def begin_at(self, after: Offset[P]) -> tuple[Offset[P], OpenSnapshot[P]]:
        """Begin a snapshot at a stored position, in the next epoch: its rows come before the
        changes since then."""
        snapshot = self.snapshot()
        with closed_on_failure(snapshot):
            return snapshot.begin(replace(after, epoch=after.epoch + 1)), snapshot

    def snapshot(self) -> OpenSnapshot[P]:
        """Return a snapshot to continue with, or for a signal."""
        raise _no_snapshots()

    def give_up_snapshot(self) -> None:
        """Release the snapshot's position in the log: the snapshot starts again with another."""
        return

    def ends_snapshot(self, error: HeadraceError) -> bool:  # noqa: ARG002
        """Whether the snapshot must be closed before the failed action is retried."""
        return False

    def translate(self, error: Exception) -> HeadraceError | None:  # noqa: ARG002
        """Return an error of the driver as a HeadraceError; None: it is not the driver's."""
        return None

    def forget_position(self) -> None:
        """Make the next `check` ask the database again."""
        return

    def forget_tables(self) -> None:
        """Treat what was read from the catalogue as possibly outdated from now on."""
        return

    def disconnect(self) -> None:
        """Close connections that may be broken; they are opened again when needed. Never raises."""
        return

    def close(self) -> None:
        """Close everything but streams and snapshots; never raises."""

    def drop(self) -> None:
        """Give up the position in the log at an orderly end, if the configuration says so. Never
        raises."""
        return


def _no_snapshots() -> HeadraceError:
    return HeadraceError(
        "connectors.no_snapshots",
        "This connector cannot read existing rows",
        "Choose a snapshot.mode that reads no rows, and do not request blocking snapshots.",
    )
