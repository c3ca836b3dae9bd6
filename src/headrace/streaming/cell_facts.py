"""Facts of collections whose images always have the same cells."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from headrace.connect.records import Cell, Constant, Shape, Struct
from headrace.debezium.events import ColumnCells, change_event
from headrace.streaming.facts import EventSettings, TopicFacts


@dataclass(frozen=True)
class CellFacts(TopicFacts):
    """Facts of a collection; transaction metadata counts its records under its name. A subclass
    declares the cells of its images, in their order, and those of the key. `incremental`: its rows
    have no place in the log."""

    collection: str
    incremental: bool = False

    cells: ClassVar[tuple[ColumnCells, ...]]
    holds_changes = True

    @property
    def name(self) -> str:  # type: ignore[override]
        """The collection's name in filters and signals."""
        return self.collection

    @property
    def cell_names(self) -> tuple[str, ...]:  # type: ignore[override]
        """The names of the cells."""
        return tuple(column.name for column in self.cells)

    @abstractmethod
    def source(self, settings: EventSettings) -> Struct:
        """Return the source block of the collection's events."""

    def as_incremental(self) -> Self:
        """See Facts."""
        return replace(self, incremental=True)

    def key_cells(self, settings: EventSettings) -> list[Cell]:  # noqa: ARG002
        """See Facts."""
        by_name = {column.name: column.cell for column in self.cells}
        cells = (by_name[name] for name in self.key)
        return [cell for cell in cells if isinstance(cell, Cell)]

    def shown_cells(self, settings: EventSettings) -> list[tuple[Cell, Cell | Constant]]:  # noqa: ARG002
        """See Facts: events show cells unchanged."""
        cells = (column.cell for column in self.cells)
        return [(cell, cell) for cell in cells if isinstance(cell, Cell)]

    def shape(self, settings: EventSettings) -> Shape:
        """Return the shape of Debezium's envelope."""
        by_name = {column.name: column for column in self.cells}
        return change_event(
            self.topic,
            self.cells,
            [by_name[name] for name in self.key],
            self.source(settings),
            settings.headers(),
            settings.transaction_block(counted=not self.incremental),
            settings.format,
            settings.names,
        )
