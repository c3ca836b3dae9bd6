"""The plan for writing a micro-batch, which is decided once and stored before the first write.

The plan is that of the last planned micro-batch: it is completed in the way it was begun, even if
the configuration changes before a restart.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from headrace.errors import HeadraceError
from headrace.sinks.kafka.markers import Turn, TurnKind

_VERSION = 1


class Way(StrEnum):
    """The writer of a range: the source process, each task for its slice, or the driver from the
    parts that tasks made of queried rows."""

    DIRECT = "direct"
    SLICES = "slices"
    PARTS = "parts"

    @property
    def kind(self) -> TurnKind:
        """The transactions that the writer uses."""
        return TurnKind.SLICES if self is Way.SLICES else TurnKind.WHOLE


@dataclass(frozen=True)
class Plan:
    """The plan of the micro-batch `turn`: its writer, and the number of records that the source
    process wrote before it."""

    turn: Turn
    way: Way
    written: int


def digest_of(end: Mapping[str, Any]) -> str:
    """A digest that identifies the records of a range by its end: it begins where the range before
    it ends."""
    text = json.dumps(end, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


class PlanFolder:
    """The sink's folder on this host: the last plan, and the parts of tasks."""

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.parts = self.folder / "parts"
        self._file = self.folder / "plan.json"

    def open(self) -> None:
        """Create the folders; delete parts that will not be committed. Raises
        HeadraceError("kafka.not_writable")."""
        try:
            self.parts.mkdir(parents=True, exist_ok=True)
            for stale in self.parts.iterdir():
                stale.unlink(missing_ok=True)
        except OSError as error:
            raise _not_writable(error) from error

    def last(self) -> Plan | None:
        """The last plan. Raises HeadraceError("kafka.bad_plan")."""
        try:
            text = self._file.read_text()
            if not text.strip("\0"):
                return None  # lost in a power failure
            members = json.loads(text)
            if members["v"] > _VERSION:
                raise HeadraceError(
                    "kafka.newer_plan",
                    f"{self._file} has version {members['v']}; this release knows {_VERSION}",
                    "Use the newer release of headrace.",
                )
            turn = members["turn"]
            turn["kind"] = TurnKind(turn["kind"])
            return Plan(Turn(**turn), Way(members["way"]), int(members["written"]))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise HeadraceError(
                "kafka.bad_plan",
                f"{self._file}, the plan of the kafka sink, cannot be read ({error.strerror})",
                "Let the user of headrace read the state folder.",
            ) from error
        except (ValueError, KeyError, TypeError) as error:
            raise HeadraceError(
                "kafka.bad_plan",
                f"{self._file} is not a plan of the kafka sink",
                "Restore the state folder that belongs to the checkpoint.",
            ) from error

    def write(self, plan: Plan) -> None:
        """Replace the last plan. A power failure may lose it; the markers still show what was
        written. Raises HeadraceError("kafka.not_writable")."""
        fresh = self._file.with_suffix(".new")
        document = {
            "v": _VERSION,
            "turn": asdict(plan.turn),
            "way": plan.way,
            "written": plan.written,
        }
        try:
            fresh.write_text(json.dumps(document) + "\n")
            fresh.replace(self._file)
        except OSError as error:
            raise _not_writable(error) from error


def _not_writable(error: OSError) -> HeadraceError:
    return HeadraceError(
        "kafka.not_writable",
        f"The kafka sink cannot write {error.filename or 'its state'} ({error.strerror or error})",
        "Check the free space and the permissions of the state folder.",
        retriable=True,
    )
