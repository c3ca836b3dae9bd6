"""Secrets that are read at each use: `${file:…}` and `${dir:…}`."""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass, field

from headrace.config.credentials.former import FormerTexts
from headrace.config.references import look_up_each, parts_of
from headrace.errors import HeadraceError

_TRIES, _PAUSE_SECONDS = 4, 0.25
"""Attempts to read a file, and seconds between them: a file that is replaced may be missing
briefly."""
_former = FormerTexts()


@dataclass(frozen=True)
class RotatingText:
    """The text of the property `name`, whose references to files are resolved at each use.

    `parts` are texts, and references to files. It is pickled without the values of references, so
    that a process on another host reads the files there."""

    name: str
    parts: tuple[tuple[bool, str], ...] = field(repr=False)

    @classmethod
    def of(cls, name: str, text: str) -> RotatingText | None:
        """Return the rotating text; None if the text cannot change while the process runs."""
        parts = parts_of(text)
        return cls(name, parts) if any(is_reference for is_reference, _ in parts) else None

    def current(self) -> str:
        """Return the present text. Raises HeadraceError("config.secret_unreadable")."""
        for left in reversed(range(_TRIES)):
            try:
                text, values = look_up_each(self.parts)
                break
            except ValueError as error:
                if not left:
                    raise HeadraceError(
                        "config.secret_unreadable",
                        f"{self.name} on the host {socket.gethostname()}: {error}",
                        "Provide the file on every host that runs headrace: Spark's driver and its "
                        "executors, whose tasks connect to the database. They read it at each "
                        "connection.",
                    ) from None
                time.sleep(_PAUSE_SECONDS)
        _former.note(self, text, values)
        return text

    def renewed(self, used: str) -> str:  # noqa: ARG002 - a file is read at each use
        """Return the present text after `used` was refused. Raises as `current`."""
        return self.current()

    def seen(self) -> dict[str, tuple[tuple[str, str], ...]]:
        """Return the last texts in this process, each with its references and their values."""
        return _former.of(self)
