"""The forms of events that the kills are tried with."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from tests.chaos.databases.database import ChaosDatabase, Row

_MARK = "__"


class Form(ABC):
    """The configuration of a run, and how its values are read."""

    has_before: ClassVar[bool]
    """Whether events have the row before the change."""

    @abstractmethod
    def properties(self, database: ChaosDatabase) -> dict[str, str]:
        """The properties to set; names have `_` in place of dots."""

    @abstractmethod
    def event(self, database: ChaosDatabase, value: Row) -> Row:
        """A value as an envelope."""


class Envelopes(Form):
    """Events as Debezium has them."""

    has_before = True

    def properties(self, database: ChaosDatabase) -> dict[str, str]:
        return {}

    def event(self, database: ChaosDatabase, value: Row) -> Row:
        return value


class Rows(Form):
    """Rows, with what is needed of their events beside the columns."""

    has_before = False

    def properties(self, database: ChaosDatabase) -> dict[str, str]:
        members = ("op", *(f"source.{name}" for name in database.source_members))
        return {
            "transforms": "unwrap",
            "transforms_unwrap_type": database.unwrapping,
            "transforms_unwrap_delete_tombstone_handling_mode": "rewrite",
            "transforms_unwrap_add_fields": ",".join(members),
        }

    def event(self, database: ChaosDatabase, value: Row) -> Row:
        if "__op" not in value:  # a message of the log, which is no row
            return value
        row = {name: cell for name, cell in value.items() if not name.startswith(_MARK)}
        image, is_gone = database.image(row), str(value["__deleted"]).lower() == "true"
        return {
            "op": value["__op"],
            "source": {name: value[f"__source_{name}"] for name in database.source_members},
            "before": image if is_gone else None,
            "after": None if is_gone else image,
        }


FORMS: dict[str, Form] = {"envelopes": Envelopes(), "rows": Rows()}
