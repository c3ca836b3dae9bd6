"""Properties of logins that change."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Any, ClassVar

from headrace.config.configuration import Configuration
from headrace.config.credentials.command import COMMAND, LIFETIME, TIMEOUT, CommandSecret
from headrace.config.finding import PropertyFinding
from headrace.config.hidden import HiddenText
from headrace.config.kinds import Kind, duration
from headrace.config.property import Group, Property
from headrace.config.reading import Reading
from headrace.config.secret import HIDDEN, Secret


def _arguments(text: str) -> tuple[str, ...]:
    """As a shell splits it. Raises ValueError."""
    arguments = tuple(shlex.split(text))
    if not arguments or not arguments[0]:
        raise ValueError
    return arguments


_PROGRAM: Kind[tuple[str, ...]] = Kind(
    "a program and its arguments, quoted as in a shell", _arguments, is_secret=True
)


class CredentialsConfig(Configuration):
    """A password that a program prints."""

    password_property: ClassVar[str] = "database.password"  # noqa: S105 - its name
    """The property in whose place the program's text is used."""

    headrace_credentials_command = Property(
        COMMAND,
        _PROGRAM,
        None,
        Group.HEADRACE,
        "A program, with its arguments, that prints the database's password or token on one line. "
        "It runs without a shell, once per process and again after its lifetime or a refused "
        "login.",
    )
    headrace_credentials_timeout_ms = Property(
        TIMEOUT,
        duration(),
        "30000",
        Group.HEADRACE,
        "How long the program of headrace.credentials.command may take.",
    )
    headrace_credentials_lifetime_ms = Property(
        LIFETIME,
        duration(),
        "600000",
        Group.HEADRACE,
        "How long a process uses what the program of headrace.credentials.command printed for new "
        "connections; tokens of RDS are valid for 15 minutes.",
    )

    @classmethod
    def complete(cls, reading: Reading) -> None:
        """See Configuration: the program's text is the password."""
        super().complete(reading)
        values: dict[str, Any] = reading.values
        declaration = cls.properties().get(cls.password_property)
        arguments = values.get("headrace_credentials_command")
        if declaration is None or not arguments or reading.shown.get(declaration.name):
            return
        source = CommandSecret(
            arguments,
            values["headrace_credentials_timeout_ms"],
            values["headrace_credentials_lifetime_ms"],
        )
        values[declaration.attribute] = Secret("", source)
        reading.hidden.append(HiddenText(COMMAND, HIDDEN, (), is_secret=True, source=source))

    def check(self) -> Iterator[PropertyFinding]:
        """See Configuration."""
        yield from super().check()
        if self.is_set(COMMAND) and self.is_set(self.password_property):
            yield PropertyFinding(
                "config.exclusive",
                COMMAND,
                f"{COMMAND} and {self.password_property} are both set",
                f"Keep one: the program prints what {self.password_property} would have.",
            )
