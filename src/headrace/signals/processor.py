"""Applies signals of any channel: each request is checked, and carried out by the component that
reads snapshots."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Generic, Protocol, TypeVar

from headrace.config.properties.connector import ConnectorConfig
from headrace.config.secret import without_passwords
from headrace.errors import HeadraceError
from headrace.signals.channels import Channels
from headrace.signals.notifications import APPLIED, IGNORED, report_outcome
from headrace.signals.progress import Ended, SignalProgress
from headrace.signals.signal import (
    Action,
    DropTransaction,
    ExecuteSnapshot,
    LogMessage,
    PauseSnapshot,
    ResumeSnapshot,
    Signal,
    StopSnapshot,
    WindowMark,
    parse_action,
    unread_members,
)

log = logging.getLogger(__name__)
signal_log = logging.getLogger("headrace.signals")

P = TypeVar("P", contravariant=True)
"""A signal's place in the log."""


class SnapshotActions(Protocol[P]):
    """The actions that signals request of snapshots. `progress` is the state of reading; it is
    replaced, never changed, so restoring the former object undoes a signal."""

    progress: SignalProgress

    def execute(self, signal: Signal, action: ExecuteSnapshot, place: P, /) -> None:
        """Read the tables that an execute-snapshot names."""
        ...

    def stop(self, collections: tuple[str, ...], place: P, /) -> None:
        """Stop reading these tables; an empty tuple means all."""
        ...

    def pause(self, place: P, /) -> None:
        """Read no further chunk until `resume`."""
        ...

    def resume(self, place: P, /) -> None:
        """Continue reading."""
        ...

    def drop_transaction(self, transaction: str, /) -> None:
        """Drop an open transaction. Raises ValueError if it is not open."""
        ...

    def position_text(self, place: P, /) -> str:
        """Return a position of the log for people."""
        ...


class SignalProcessor(Generic[P]):
    """Applies the signals of one stream."""

    def __init__(self, config: ConnectorConfig, actions: SnapshotActions[P]) -> None:
        self._actions = actions
        self._channels = Channels(config)
        self.reads_collection = "source" in config.signal_enabled_channels
        """Whether inserts into the signal collection are signals."""

    @property
    def has_channels(self) -> bool:
        """Whether a channel other than the log is enabled."""
        return bool(self._channels)

    def apply_channels(self, stored_progress: SignalProgress, place: P) -> None:
        """Apply the signals of channels other than the log; `stored_progress` is the checkpoint's
        progress."""
        if not self._channels:
            return
        self._channels.acknowledge(stored_progress)
        signals, self._actions.progress = self._channels.take(self._actions.progress)
        for signal in signals:
            self.apply(signal, place)

    def apply_row(self, identity: str, texts: list[str | None], place: P) -> None:
        """Apply a row of the signal collection: its id, its type and its data."""
        if len(texts) < 3:
            log.warning("signal %s is ignored: the signal table lacks columns", identity)
            return
        self.apply(Signal(identity, texts[1] or "", texts[2]), place)

    def apply(self, signal: Signal, place: P) -> None:
        """Run the action of a signal. An error of the signal is logged, not raised: the signal is
        in the log or the checkpoint, so the error would return with every start. Raises
        HeadraceError for errors of the database."""
        before = self._actions.progress
        try:
            action = parse_action(signal)
            for name in unread_members(signal):
                log.warning("signal %s has an unknown member: %s", signal.id, name)
            self._act(signal, action, place)
            if not isinstance(action, WindowMark):
                goes_on = isinstance(action, ExecuteSnapshot) and not action.blocking
                report_outcome(signal.id, APPLIED, {"goes_on": str(goes_on).lower()})
        except HeadraceError:
            raise
        except Exception as problem:
            self._actions.progress = before
            if signal.type == "execute-snapshot":
                ended = (*before.ended, Ended("", signal.id, IGNORED))
                self._actions.progress = replace(before, ended=ended)
            expected = isinstance(problem, ValueError)
            reason = without_passwords(str(problem), signal.data or "")
            log.warning("signal %s is ignored: %s", signal.id, reason, exc_info=not expected)
            report_outcome(signal.id, IGNORED, {"reason": reason})

    def _act(self, signal: Signal, action: Action, place: P) -> None:
        progress = self._actions.progress
        match action:
            case WindowMark():
                pass  # a mark of a chunk that is not read any more
            case LogMessage(message):
                signal_log.info("%s", message.replace("{}", self._actions.position_text(place)))
            case DropTransaction(transaction):
                self._actions.drop_transaction(transaction)
            case ExecuteSnapshot():
                self._actions.execute(signal, action, place)
            case StopSnapshot() | PauseSnapshot() if not progress.running:
                raise ValueError("no incremental snapshot is running")
            case StopSnapshot(collections):
                self._actions.stop(collections, place)
            case PauseSnapshot():
                if not progress.paused:
                    self._actions.pause(place)
            case ResumeSnapshot():
                if progress.paused:
                    self._actions.resume(place)

    def close(self) -> None:
        """Close the channels; never raises."""
        self._channels.close()
