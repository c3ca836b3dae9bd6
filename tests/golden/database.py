"""What recording and comparing need of a database."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

from tests.golden.normalise import Normalise
from tests.golden.workload import Workload, read

PREFIX = "golden"


class Reader(Protocol):
    """Our connector, driven as Spark would; see tests/connectors/harness.py."""

    def drain(self) -> Self:
        """Read everything that is in the log."""

    def restart(self) -> Self:
        """The source process ends; another one follows."""

    def stop(self) -> None:
        """The source process ends."""

    def in_order(self) -> list[dict[str, Any]]:
        """All records in total order."""


class Database(ABC):
    """A running server, on which one workload after another is run."""

    folder: ClassVar[Path]  # has workloads/, recordings/ and differences/
    suffix: ClassVar[str]  # of workloads
    artifact: ClassVar[str]  # Debezium's connector, as Maven names it
    java: ClassVar[tuple[Path, ...]] = ()  # sources that Debezium needs beside the connector
    java_options: ClassVar[tuple[str, ...]] = ()  # of the machine that Debezium runs in
    normalise: ClassVar[Normalise]

    @classmethod
    def names(cls) -> list[str]:
        """The names of all workloads."""
        return sorted(path.stem for path in (cls.folder / "workloads").glob(f"*{cls.suffix}"))

    @classmethod
    def jars(cls) -> list[Path]:
        """What Debezium needs beside the connector."""
        return []

    @classmethod
    def workload(cls, name: str) -> Workload:
        return read(cls.folder / "workloads" / f"{name}{cls.suffix}")

    @classmethod
    def recording(cls, name: str) -> Path:
        return cls.folder / "recordings" / f"{name}.jsonl"

    def recorded(self, name: str) -> list[str]:
        """The lines of a workload's recording."""
        return self.recording(name).read_text().rstrip("\n").split("\n")

    def properties_of(self, workload: Workload) -> dict[str, str]:
        """The database's properties and the workload's, which win; an empty one takes away."""
        found = {**self.properties(), **workload.properties}
        return {name: value for name, value in found.items() if value}

    @abstractmethod
    def properties(self) -> dict[str, str]:
        """What a workload's properties are added to."""

    @abstractmethod
    def renew(self) -> None:
        """Nothing of the last workload is left."""

    @abstractmethod
    def execute(self, block: str) -> None:
        """Run a block of a workload."""

    @abstractmethod
    def streaming(self) -> bool:
        """Whether Debezium waits for changes."""

    @abstractmethod
    def end(self) -> Any:
        """Where the log ends."""

    @abstractmethod
    def sent(self, end: Any) -> bool:
        """Whether Debezium was sent the log up to there."""

    @abstractmethod
    def reader(self, properties: Mapping[str, str]) -> Reader:
        """Our connector."""

    @abstractmethod
    def stopped(self) -> None:
        """Our connector has ended: wait until the server has noticed."""

    @abstractmethod
    def clean(self) -> None:
        """A workload is over."""

    @abstractmethod
    def close(self) -> None:
        """The server ends."""

    def left(self, workload: Workload) -> list[str]:
        """What the connector wrote elsewhere, as lines of events."""
        return []

    def execute_all(self, blocks: Sequence[str]) -> None:
        for block in blocks:
            self.execute(block)
