"""The contract of a database for the engine."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

from headrace.connect.slices import Slice
from headrace.connectors.connector_metrics import ConnectorMetrics
from headrace.errors import HeadraceError
from headrace.offsets.offset import Offset, OffsetObject, P
from headrace.offsets.snapshot_progress import SnapshotProgress
from headrace.signals.progress import Pending
from headrace.streaming.stream_state import StreamState


class OpenSnapshot(Protocol[P]):
    """A snapshot that begins or goes on. Methods raise HeadraceError, and AttemptOver where it was
    lost and cannot go on with another one."""

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
        """Looks whether the snapshot can go on from `progress` in another process."""
        ...

    def slices(self, start: Offset[P], end: Offset[P]) -> list[Slice]:
        """The slices of the chunks that `end` carries."""
        ...

    def close(self) -> None:
        """Let the snapshot go; never raises."""
        ...


class OpenStream(Protocol[P]):
    """The log from one offset on. Methods raise HeadraceError."""

    @property
    def start(self) -> Offset[P]:
        """Where it was opened."""
        ...

    def poll(
        self, after: Offset[P], seconds: float, target: int | None, *, moves: bool = False
    ) -> Offset[P]:
        """The end of the next range, or `after` when nothing comes within `seconds`; then the
        position is moved to where the log is, if it `moves`. With a `target` place, `after` only
        comes when the stream has passed it."""
        ...

    def slices(self, start: Offset[P], end: Offset[P]) -> list[Slice]:
        """The slices of (start, end]; waits until all of it was received."""
        ...

    def acknowledge(self, place: int) -> None:
        """The database may forget everything up to `place`."""
        ...

    def head(self) -> int:
        """The place at which the log ended when the database last told; 0: it did not yet."""
        ...

    def has_read(self, place: int) -> bool:
        """Whether the log was received up to `place`; where it was not, the database is asked where
        it is by now."""
        ...

    def state(self) -> StreamState:
        """The stream's state for metrics."""
        ...

    def close(self) -> None:
        """Free the log for the next reader; never raises."""
        ...


@dataclass(frozen=True)
class Lost:
    """The log from a stored position on is gone, and the configuration has an answer to that: the
    database's position is believed (`is_followed`), or a new snapshot begins."""

    error: HeadraceError
    is_followed: bool


class LostLog(Protocol[P]):
    """What a source does where the log from a stored position on is gone."""

    def tells(self, error: HeadraceError) -> bool:
        """Whether an error of the stream says that the log from its position on is gone."""
        ...

    def follow(self, after: Offset[P]) -> Offset[P]:
        """`after` moved to the database's position, in the next epoch."""
        ...

    def make_room(self, lost: Lost) -> None:
        """Takes away what a new beginning cannot use of the position in the log."""
        ...

    def keep(self, lost: Lost) -> None:
        """A range before the gap is left out: the next `Source.check` must still find the gap.
        Raises HeadraceError when it might not."""
        ...


@contextmanager
def closed_on_failure(snapshot: OpenSnapshot[Any]) -> Iterator[None]:
    """Around the beginning of a snapshot, which holds connections."""
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
    """What its offsets are of (topic.prefix)."""
    position_type: type[P]
    metrics: ConnectorMetrics
    """What is measured of snapshots and streams."""
    streams: bool = True
    """Whether the log is read after a snapshot (snapshot.mode)."""
    snapshots_every_start: bool = False
    """Whether rows are read at every start (snapshot.mode)."""
    lost_log: LostLog[P] | None = None
    """What is done when the log is gone; None: that ends the query."""
    beats_behind_snapshots: bool = True
    """Whether Debezium's connector of the database ends each snapshot with a heartbeat, where
    heartbeat.interval.ms asks for any."""
    heartbeat_action: Callable[[], None] | None = None
    """What is done with each heartbeat (heartbeat.action.query)."""

    @property
    def warnings(self) -> Sequence[str]:
        """What the operator should know while the query goes on; read often, and asks nobody."""
        return ()

    @abstractmethod
    def begin(self, epoch: int) -> tuple[Offset[P], OpenSnapshot[P] | None]:
        """Makes or finds the position in the log, and begins the snapshot that snapshot.mode asks
        for. What it made is undone when it fails."""
        ...

    @abstractmethod
    def check(self, stored: Offset[P], snapshot: OpenSnapshot[P] | None) -> Lost | None:
        """Whether a stored offset still fits the database; asked once until `forget_position`. An
        unfinished `snapshot` is asked, too, whether it can go on, and raises AttemptOver. Only a
        source with `lost_log` says Lost; without, what is gone is an error."""
        ...

    @abstractmethod
    def stream(self, start: Offset[P], *, greets: bool) -> OpenStream[P]:
        """Opens the log. `greets`: a notification says that this process took no snapshot before
        it."""
        ...

    @abstractmethod
    def log_end(self) -> int:
        """The place where the log ends now."""
        ...

    # -- what not every source says in its own way ----------------------------------------------

    def read_offset(self, data: OffsetObject) -> Offset[P]:
        """An offset of this connector; see Offset.from_json."""
        return Offset.from_json(data, self.server, self.position_type.from_json)

    def offset_at(self, place: int) -> Offset[P]:
        """The offset between transactions at `place`, to compare others with."""
        return Offset(self.server, self.position_type.at(place), 1)

    def validate(self, stored: Offset[P] | None) -> None:
        """See Connector.validate. The database is asked where its log ends when nothing is stored
        yet."""
        if stored is None or stored.is_initial:
            self.log_end()
        else:
            self.check(stored, None)

    # -- what not every source has --------------------------------------------------------------

    def begin_at(self, after: Offset[P]) -> tuple[Offset[P], OpenSnapshot[P]]:
        """Begins a snapshot at a stored position, in the next epoch: its rows come before the
        changes since then."""
        snapshot = self.snapshot()
        with closed_on_failure(snapshot):
            return snapshot.begin(replace(after, epoch=after.epoch + 1)), snapshot

    def snapshot(self) -> OpenSnapshot[P]:
        """A snapshot to go on with, or for a signal."""
        raise _no_snapshots()

    def give_up_snapshot(self) -> None:
        """Lets go of the snapshot's position in the log: the snapshot starts again with another."""
        return

    def ends_snapshot(self, error: HeadraceError) -> bool:  # noqa: ARG002
        """Whether the snapshot must be let go before what failed is tried again."""
        return False

    def translate(self, error: Exception) -> HeadraceError | None:  # noqa: ARG002
        """An error of the driver in our words; None: it is not the driver's."""
        return None

    def forget_position(self) -> None:
        """`check` asks the database again."""
        return

    def forget_tables(self) -> None:
        """What was read of the catalogue may be old from now on."""
        return

    def disconnect(self) -> None:
        """Close connections that may be broken; they are opened again when needed. Never raises."""
        return

    def close(self) -> None:
        """Close everything but streams and snapshots; never raises."""

    def drop(self) -> None:
        """Gives up the position in the log at an orderly end, if the configuration says so. Never
        raises."""
        return


def _no_snapshots() -> HeadraceError:
    return HeadraceError(
        "connectors.no_snapshots",
        "This connector cannot read existing rows",
        "Choose a snapshot.mode that reads no rows, and do not request blocking snapshots.",
    )
