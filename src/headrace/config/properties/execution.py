"""Properties that Debezium does not have: ranges, spool, state, sinks, changing passwords."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import ClassVar

from headrace.config.configuration import Configuration
from headrace.config.credentials.command import COMMAND, LIFETIME, TIMEOUT, CommandSecret
from headrace.config.credentials.tokens import (
    AWS,
    DATABASE_SCOPE,
    ENTRA,
    PROVIDER,
    REGION,
    SCOPE,
    EntraToken,
    RdsToken,
)
from headrace.config.finding import PropertyFinding
from headrace.config.hidden import HiddenText
from headrace.config.kinds import (
    PATH,
    TEXT,
    TRIGGER,
    ValueKind,
    choice,
    duration,
    integer,
    one_of,
    size,
)
from headrace.config.properties.compatibility import CompatibilityConfig
from headrace.config.properties.modes import (
    SliceOrder,
    SliceTransport,
    UnknownColumns,
    UnknownProperties,
)
from headrace.config.property import Group, PassThrough, Property
from headrace.config.reading import Reading
from headrace.config.secret import HIDDEN, Secret, SecretSource


class ExecutionConfig(CompatibilityConfig):
    """How headrace runs a connector in Spark."""

    headrace_range_max_bytes = Property(
        "headrace.range.max.bytes",
        size(1),
        "64MB",
        Group.HEADRACE,
        "Log bytes that one micro-batch takes at most (one row change may exceed it).",
    )
    headrace_range_max_rows = Property(
        "headrace.range.max.rows",
        integer(0),
        "0",
        Group.HEADRACE,
        "Records that one micro-batch takes at most; 0 is one for each 64 bytes of "
        "headrace.range.max.bytes, which only narrow rows reach.",
    )
    headrace_range_direct_max_bytes = Property(
        "headrace.range.direct.max.bytes",
        size(),
        "512kB",
        Group.HEADRACE,
        "A range of at most this many bytes of log is written into the `file` or `kafka` sink by "
        "the source process itself, without a Spark task; 0: never.",
    )
    headrace_checkpoint_dir = Property(
        "headrace.checkpoint.dir",
        PATH,
        None,
        Group.HEADRACE,
        "Folder for checkpoint and state of `headrace run`, unless --checkpoint names one. In "
        "your own query with Spark 4.0 or 4.1: its checkpointLocation.",
    )
    headrace_table_unknown_columns = Property(
        "headrace.table.unknown.columns",
        choice(UnknownColumns),
        "fail",
        Group.HEADRACE,
        "What `headrace.table` does with a column that events have and that the table (of "
        "documents: the sample) did not have when the query started: `fail` ends the query, which "
        "has the column after a restart; `drop` leaves the column out.",
    )
    headrace_spool_max_bytes = Property(
        "headrace.spool.max.bytes",
        size(1),
        "256MB",
        Group.HEADRACE,
        "Memory for log that is read ahead and not yet delivered, and for its index; never less "
        "than three ranges of log. One row change may exceed it.",
    )
    headrace_acknowledge_interval = Property(
        "headrace.acknowledge.interval",
        duration(),
        "10 s",
        Group.HEADRACE,
        "How long the position may lag on idle tables before an empty micro-batch moves it.",
    )
    headrace_slices = Property(
        "headrace.slices",
        integer(0, 65536),
        "0",
        Group.HEADRACE,
        "Slices, hence Spark tasks, per range; 0 is the number of cores.",
    )
    headrace_slice_order = Property(
        "headrace.slice.order",
        choice(SliceOrder),
        "key",
        Group.HEADRACE,
        "`key`: records of one key are in one slice; `position`: contiguous slices for a sink "
        "that orders by `sequence` itself.",
    )
    headrace_slice_transport = Property(
        "headrace.slice.transport",
        choice(SliceTransport),
        "auto",
        Group.HEADRACE,
        "How log bytes reach tasks: shared memory, inline (clusters), or chosen by the master.",
    )
    headrace_trigger = Property(
        "headrace.trigger",
        TRIGGER,
        "0 ms",
        Group.HEADRACE,
        "Trigger of the command line's query: `availableNow` (ends with what was in the log when "
        "it started), or the least interval between micro-batches.",
        aliases={"once": "availableNow"},
    )
    headrace_unknown_properties = Property(
        "headrace.unknown.properties",
        choice(UnknownProperties),
        "warn",
        Group.HEADRACE,
        "The effect of an unknown property, or of an unknown option of a transform, predicate or "
        "sink: an error (`fail`) or a warning (`warn`). If this is not set, a name that is almost "
        "that of a known one is an error, and any other one a warning.",
    )
    event_format_version = Property(
        "event.format.version",
        one_of("current", "2.5"),
        "current",
        Group.HEADRACE,
        "Version of the event format: `2.5` is the envelope and source block of Debezium 2.3 to "
        "2.5, without context headers.",
    )
    headrace_sink_type = Property(
        "headrace.sink.type",
        TEXT,
        None,
        Group.SINK,
        "The command line's sink: `console`, `file`, `kafka`, one of a package, or a Spark format. "
        "Debezium Server's `debezium.sink.type` is the same.",
        formerly=("sink.type",),
    )
    headrace_sink = PassThrough(
        "headrace.sink.*",
        TEXT,
        Group.SINK,
        "Options of the sink, passed on without the prefix.",
        clients=r"kafka\..+",
    )


def _arguments(text: str) -> tuple[str, ...]:
    """Split a command line as a shell does. Raises ValueError."""
    arguments = tuple(shlex.split(text))
    if not arguments or not arguments[0]:
        raise ValueError
    return arguments


_PROGRAM: ValueKind[tuple[str, ...]] = ValueKind(
    "a program and its arguments, quoted as in a shell", _arguments, is_secret=True
)


class CredentialsConfig(Configuration):
    """Properties of a password that a program prints."""

    password_property: ClassVar[str] = "database.password"  # noqa: S105 - its name
    """The property that the program's output replaces."""

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
        duration(1),
        "30000",
        Group.HEADRACE,
        "How long the program of headrace.credentials.command may take.",
    )
    headrace_credentials_lifetime_ms = Property(
        LIFETIME,
        duration(),
        "600000",
        Group.HEADRACE,
        "How long a process uses the output of the program of headrace.credentials.command for "
        "new connections.",
    )

    def secret_source(self) -> tuple[str, SecretSource] | None:
        """Return the source of the password and the property that configures it; None: no
        source."""
        arguments = self.headrace_credentials_command
        if not arguments:
            return None
        timeout = self.headrace_credentials_timeout_ms
        return COMMAND, CommandSecret(arguments, timeout, self.headrace_credentials_lifetime_ms)

    def complete(self, reading: Reading) -> None:
        """See Configuration: the source's text is the password."""
        super().complete(reading)
        declaration = self.properties().get(self.password_property)
        named_source = self.secret_source()
        if declaration is None or named_source is None or self.is_set(declaration.name):
            return
        name, source = named_source
        reading.values[declaration.attribute] = Secret("", source)
        reading.hidden.append(HiddenText(name, HIDDEN, (), is_secret=True, source=source))

    def check(self) -> Iterator[PropertyFinding]:
        """See Configuration."""
        yield from super().check()
        if self.is_set(COMMAND) and self.is_set(self.password_property):
            yield PropertyFinding(
                "config.exclusive",
                COMMAND,
                f"{COMMAND} and {self.password_property} are both set",
                f"Keep one: the program prints the value of {self.password_property}.",
            )


class TokensConfig(CredentialsConfig):
    """Properties of cloud tokens in place of a password, for connectors whose `database.sslmode`
    says whether the server is verified."""

    headrace_credentials_provider = Property(
        PROVIDER,
        one_of(AWS, ENTRA),
        None,
        Group.HEADRACE,
        "The cloud whose tokens replace the password: AWS IAM for RDS and Aurora "
        "(headrace[aws]), or Microsoft Entra ID for Azure Database (headrace[azure]).",
    )
    headrace_credentials_region = Property(
        REGION,
        TEXT,
        None,
        Group.HEADRACE,
        "The region of the server, for aws-rds-iam; by default that of database.hostname, or of "
        "the environment.",
    )
    headrace_credentials_lifetime_ms = (
        CredentialsConfig.headrace_credentials_lifetime_ms.with_meaning(
            "How long a process uses the output of the program of headrace.credentials.command "
            "for new connections; tokens of RDS are valid for 15 minutes."
        )
    )
    headrace_credentials_scope = Property(
        SCOPE,
        TEXT,
        DATABASE_SCOPE,
        Group.HEADRACE,
        "The scope for which a token is requested, for entra-id; national clouds have others.",
    )

    def secret_source(self) -> tuple[str, SecretSource] | None:
        """See CredentialsConfig."""
        if self.headrace_credentials_provider == ENTRA:
            return PROVIDER, EntraToken(self.headrace_credentials_scope)
        if self.headrace_credentials_provider is None:
            return super().secret_source()
        names = ("database_hostname", "database_port", "database_user")
        host, port, user = (self.value_of(name) for name in names)
        return PROVIDER, RdsToken(str(host), int(port), str(user), self.headrace_credentials_region)

    def _sslmode(self) -> str:
        driver = {member.variables[0]: member.value for member in self.value_of("driver")}
        return str(driver.get("sslmode", self.value_of("database_sslmode")))

    def complete(self, reading: Reading) -> None:
        """See Configuration: a token for a server that is not verified is a warning."""
        super().complete(reading)
        if self.headrace_credentials_provider and self._sslmode() == "require":
            reading.warnings.append(
                PropertyFinding(
                    "config.token_unverified",
                    "database.sslmode",
                    f"database.sslmode is require, so that a token of {PROVIDER} goes to whichever "
                    "server answers",
                    "Set database.sslmode=verify-full and database.sslrootcert.",
                )
            )

    def check(self) -> Iterator[PropertyFinding]:
        """See Configuration."""
        yield from super().check()
        provider = self.headrace_credentials_provider
        if not provider:
            return
        for name in (self.password_property, COMMAND):
            if self.is_set(name):
                yield PropertyFinding(
                    "config.exclusive",
                    PROVIDER,
                    f"{PROVIDER} and {name} are both set",
                    f"Keep one: the tokens of {provider} take the place of the password.",
                )
        if self._sslmode() in ("disable", "allow", "prefer"):
            yield PropertyFinding(
                "config.token_without_tls",
                "database.sslmode",
                f"database.sslmode is {self._sslmode()}, with which a token of {PROVIDER} may be "
                "sent without encryption",
                "Set database.sslmode=verify-full, and database.sslrootcert to the file with the "
                "CA of the service.",
            )
