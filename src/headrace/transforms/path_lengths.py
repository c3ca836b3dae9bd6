"""A limit on the length of the paths after which fields of nested structs, and their schemas, are
named."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.errors import HeadraceError

MAX_CHARACTERS = 16_000_000


@dataclass
class PathLengths:
    """The remaining characters of paths for one record. A field with a long name lengthens the path
    of each field below it."""

    left: int = MAX_CHARACTERS

    def take(self, path: str) -> str:
        """Count and return the path. Raises HeadraceError("transforms.paths_too_long")."""
        self.left -= len(path)
        if self.left < 0:
            raise HeadraceError(
                "transforms.paths_too_long",
                f"the paths of a record's fields have more than {MAX_CHARACTERS:,} characters",
                "Rename the outer field that has the long name, or leave it out.",
            )
        return path
