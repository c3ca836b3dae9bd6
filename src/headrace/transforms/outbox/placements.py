"""Common types of the outbox routers' options."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from headrace.transforms.transform import WrongOption


class InvalidOperation(StrEnum):
    """Handling of an update of an outbox, in which only inserts are allowed."""

    WARN = "warn"
    """The update is left out with a warning."""
    ERROR = "error"
    """The update is left out with an error in the log."""
    FATAL = "fatal"
    """The update is an error."""


class MissingField(StrEnum):
    """Handling of a record without an additional field."""

    ERROR = "error"
    IGNORE = "ignore"


class Place(StrEnum):
    """Place of an additional field."""

    HEADER = "header"
    ENVELOPE = "envelope"
    PARTITION = "partition"


@dataclass(frozen=True)
class Placement:
    """An additional field, its place, and its name there."""

    field: str
    place: Place
    name: str

    @staticmethod
    def parse(text: str, option: str) -> Placement:
        """Reads `field:place[:name]` of an option.

        Raises WrongOption("transforms.bad_placement").
        """
        parts = [part.strip() for part in text.split(":")]
        try:
            if len(parts) not in (2, 3) or not all(parts):
                raise ValueError
            return Placement(parts[0], Place(parts[1].lower()), parts[-1 if len(parts) > 2 else 0])
        except ValueError:
            raise WrongOption(
                "transforms.bad_placement",
                option,
                f" has {text!r}",
                "Write field:header, field:envelope or field:partition, each followed by :name "
                "for another name.",
            ) from None
