"""The rules of snapshot.mode: when existing rows are read, and whether changes follow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from headrace.offsets.offset import OffsetObject


class SnapshotModeProperties(Protocol):
    """The properties that say when existing rows are read."""

    @property
    def snapshot_mode(self) -> object: ...
    @property
    def snapshot_mode_configuration_based_snapshot_data(self) -> bool: ...
    @property
    def snapshot_mode_configuration_based_start_stream(self) -> bool: ...
    @property
    def snapshot_mode_configuration_based_snapshot_on_data_error(self) -> bool: ...


@dataclass(frozen=True)
class SnapshotRule:
    """`at_first`: rows are read when there is no position yet; `at_every`: at every start.
    `streams`: the log is read after them. `repairs`: after a lost position a new snapshot is
    read."""

    at_first: bool
    at_every: bool
    streams: bool
    repairs: bool

    @property
    def ever_reads(self) -> bool:
        """Whether rows are read in any circumstances."""
        return self.at_first or self.repairs

    def reads(self, epoch: int) -> bool:
        """Whether rows are read where an epoch begins: an epoch after the first one begins because
        a position or a snapshot was lost."""
        return self.at_first or (self.repairs and epoch > 1)

    def goes_on(self, stored: OffsetObject | None) -> bool:
        """Whether a start from this offset of a checkpoint (None: no offset yet) continues with the
        log, and reads no rows before it."""
        begins = stored is None or not stored.keys() > {"v", "server"} or "snapshot" in stored
        return not begins and self.streams and not self.at_every

    @staticmethod
    def of(config: SnapshotModeProperties) -> SnapshotRule:
        """Return the rule of a configuration. Raises KeyError for an unknown mode."""
        mode = str(config.snapshot_mode)
        if mode == "configuration_based":
            reads = config.snapshot_mode_configuration_based_snapshot_data
            return SnapshotRule(
                reads,
                reads,
                config.snapshot_mode_configuration_based_start_stream,
                reads or config.snapshot_mode_configuration_based_snapshot_on_data_error,
            )
        return _RULES[mode]


# Debezium's `always` checks the old position first, and fails where a new snapshot would help.
_RULES = {
    "always": SnapshotRule(True, True, True, True),
    "initial": SnapshotRule(True, False, True, False),
    "initial_only": SnapshotRule(True, False, False, False),
    "no_data": SnapshotRule(False, False, True, False),
    "when_needed": SnapshotRule(True, False, True, True),
    "recovery": SnapshotRule(False, False, True, False),
}
