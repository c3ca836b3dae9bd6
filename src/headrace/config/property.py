"""Declarations of properties: name, kind, default, meaning, and support.

    class SomeConfig(ConnectorConfig):
        database_port = Property("database.port", port, "5432", Group.CONNECTION, "TCP port …")

`config.database_port` is then an int, also for the type checker. An attribute is the property's
name with `_` for `.` and `-`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import (
    Any,
    Generic,
    Literal,
    NamedTuple,
    Protocol,
    Self,
    TypedDict,
    TypeVar,
    Unpack,
    overload,
)

from headrace.config.kinds import ValueKind
from headrace.config.secret import names_a_secret

T = TypeVar("T")
V = TypeVar("V")


class Group(StrEnum):
    """The sections of the reference page, in its order."""

    CONNECTION = "Identity and connection"
    REPLICATION = "Replication"
    CAPTURED = "What is captured"
    VALUES = "Value rendering"
    CONVERTERS = "Converters and transforms"
    TOPICS = "Topics, heartbeats and transactions"
    SNAPSHOT = "Snapshots"
    SIGNALS = "Signals and notifications"
    HISTORY = "Schema history"
    RUNTIME = "Runtime and errors"
    HEADRACE = "headrace"
    SINK = "Sinks"
    CONNECT = "Kafka Connect and Debezium Server"


class Support(StrEnum):
    """The support of a property."""

    SUPPORTED = "supported"
    NOT_NEEDED = "accepted, not needed"
    REFUSED = "refused"


@dataclass(frozen=True)
class SupportStatus:
    """A support with its reason, which completes a sentence: "it is not needed here: …"."""

    support: Support
    reason: str = ""


SUPPORTED = SupportStatus(Support.SUPPORTED)


def not_needed(reason: str) -> SupportStatus:
    """Return the status of a property that is accepted without effect."""
    return SupportStatus(Support.NOT_NEEDED, reason)


def refused(reason: str) -> SupportStatus:
    """Return the status of a property of which only the default is accepted."""
    return SupportStatus(Support.REFUSED, reason)


class HasValues(Protocol):
    """An object that has the values of declarations."""

    def value_of(self, attribute: str) -> Any:
        """Return the typed value of an attribute."""
        ...


class Required(Enum):
    """The marker of a property without default."""

    REQUIRED = "required"


REQUIRED: Literal[Required.REQUIRED] = Required.REQUIRED


class Successor(NamedTuple):
    """The property that replaced a former one, and a function that translates the former one's
    text."""

    name: str
    text: Callable[[str], str] = str


class Details(TypedDict, total=False):
    """Keyword arguments of a declaration, which most declarations leave out.

    status: default SUPPORTED.
    refused_values: values (typed, as text) of an enumeration that are not supported.
    aliases: former values, lower-case, and what they stand for; accepted with a warning.
    formerly: former or mistaken names of this property, for "did you mean".
    successor: of a former property, the one to write where it is missing.
    """

    status: SupportStatus
    refused_values: tuple[str, ...]
    aliases: Mapping[str, str]
    formerly: tuple[str, ...]
    successor: Successor


class Property(Generic[T]):
    """A declaration and, on an instance, the typed value."""

    @overload
    def __init__(
        self: Property[V],
        name: str,
        kind: ValueKind[V],
        default: str | Literal[Required.REQUIRED],
        group: Group,
        meaning: str,
        **details: Unpack[Details],
    ) -> None: ...
    @overload
    def __init__(
        self: Property[V | None],
        name: str,
        kind: ValueKind[V],
        default: None,
        group: Group,
        meaning: str,
        **details: Unpack[Details],
    ) -> None: ...
    def __init__(
        self,
        name: str,
        kind: ValueKind[Any],
        default: str | Literal[Required.REQUIRED] | None,
        group: Group,
        meaning: str,
        **details: Unpack[Details],
    ) -> None:
        self.name = name
        self.attribute = attribute_name(name)
        self.kind = kind
        self.group = group
        self.meaning = meaning
        self.status = details.get("status", SUPPORTED)
        self.refused_values = details.get("refused_values", ())
        self.aliases = details.get("aliases", {})
        self.formerly = details.get("formerly", ())
        self.successor = details.get("successor")
        self.is_required = default is REQUIRED
        self.default_text = default if isinstance(default, str) else None
        self.default: Any = None if self.default_text is None else kind.parse(self.default_text)

    def with_default(self, default: str) -> Property[T]:
        """Return a copy with another default, for a connector that has its own."""
        changed = copy(self)
        changed.is_required = False
        changed.default_text, changed.default = default, self.kind.parse(default)
        return changed

    def with_meaning(self, meaning: str) -> Property[T]:
        """Return a copy with the meaning for a connector."""
        changed = copy(self)
        changed.meaning = meaning
        return changed

    def with_status(self, status: SupportStatus) -> Property[T]:
        """Return a copy for a connector that does not support the property, or not to this
        extent."""
        changed = copy(self)
        changed.status = status
        return changed

    def with_refused(self, *values: str) -> Property[T]:
        """Return a copy for a connector that refuses exactly these values."""
        changed = copy(self)
        changed.refused_values = values
        return changed

    def __set_name__(self, owner: type, attribute: str) -> None:
        if attribute != self.attribute:
            raise TypeError(f"{owner.__name__}.{attribute} must be named {self.attribute}")

    @overload
    def __get__(self, instance: None, owner: type) -> Property[T]: ...
    @overload
    def __get__(self, instance: HasValues, owner: type) -> T: ...
    def __get__(self, instance: HasValues | None, owner: type) -> Property[T] | T:
        if instance is None:
            return self
        value: T = instance.value_of(self.attribute)
        return value

    def __set__(self, instance: HasValues, value: object) -> None:
        raise AttributeError(f"{self.attribute} is read-only")


class Member(NamedTuple, Generic[V]):
    """A property of a family: its variable parts in order, and its value."""

    variables: tuple[str, ...]
    value: V


class Family(Generic[T]):
    """Properties with a variable part, such as `column.mask.with.N.chars`.

    `template` has each variable part in capitals or as `*` (the rest of the name). `alias_of` names
    the properties whose comma-separated values include the first variable part: the case of such a
    key can be restored after Spark lower-cased it. `case_matters` is False if the variable parts
    are the same in any case (numbers).
    """

    def __init__(
        self,
        template: str,
        kind: ValueKind[T],
        group: Group,
        meaning: str,
        *,
        pattern: str | None = None,
        status: SupportStatus = SUPPORTED,
        alias_of: tuple[str, ...] = (),
        case_matters: bool = True,
    ) -> None:
        self.name = template
        self.kind = kind
        self.group = group
        self.meaning = meaning
        self.status = status
        self.alias_of = alias_of
        self.case_matters = case_matters
        self.attribute = ""
        self.pattern = re.compile(
            pattern or re.escape(template).replace(r"\*", "(.+)"), re.IGNORECASE
        )

    def with_meaning(self, meaning: str) -> Self:
        """Return a copy with the meaning for a connector."""
        changed = copy(self)
        changed.meaning = meaning
        return changed

    def __set_name__(self, owner: type, attribute: str) -> None:
        self.attribute = attribute

    @overload
    def __get__(self, instance: None, owner: type) -> Family[T]: ...
    @overload
    def __get__(self, instance: HasValues, owner: type) -> tuple[Member[T], ...]: ...
    def __get__(self, instance: HasValues | None, owner: type) -> Family[T] | tuple[Member[T], ...]:
        if instance is None:
            return self
        members: tuple[Member[T], ...] = instance.value_of(self.attribute)
        return members

    def __set__(self, instance: HasValues, value: object) -> None:
        raise AttributeError(f"{self.attribute} is read-only")

    def is_secret(self, name: str) -> bool:
        """Return whether the value of the member `name` must not be shown."""
        return self.kind.is_secret or names_a_secret(name)

    def may_change(self, name: str) -> bool:  # noqa: ARG002 - subclasses look at it
        """Return whether the value of the member `name` is read again at each use, if it is in a
        file."""
        return False


class PassThrough(Family[str]):
    """Properties `prefix.*`, passed on without the prefix: a mapping of name to text. `clients`
    matches the names of clients' settings, whose secrets in files are read when they connect."""

    def __init__(
        self,
        template: str,
        kind: ValueKind[str],
        group: Group,
        meaning: str,
        *,
        clients: str | None = None,
        pattern: str | None = None,
        status: SupportStatus = SUPPORTED,
        case_matters: bool = True,
    ) -> None:
        super().__init__(
            template,
            kind,
            group,
            meaning,
            pattern=pattern,
            status=status,
            case_matters=case_matters,
        )
        self._clients = None if clients is None else re.compile(clients, re.IGNORECASE)

    def may_change(self, name: str) -> bool:
        """See Family."""
        match = self.pattern.fullmatch(name)
        if self._clients is None or match is None or not self.is_secret(name):
            return False
        return self._clients.fullmatch(match[1]) is not None

    @overload  # type: ignore[override]
    def __get__(self, instance: None, owner: type) -> PassThrough: ...
    @overload
    def __get__(self, instance: HasValues, owner: type) -> Mapping[str, str]: ...
    def __get__(self, instance: HasValues | None, owner: type) -> PassThrough | Mapping[str, str]:
        if instance is None:
            return self
        members: tuple[Member[str], ...] = instance.value_of(self.attribute)
        return {member.variables[0]: member.value for member in members}


def attribute_name(name: str) -> str:
    """Return the attribute of a property: `topic.prefix` → `topic_prefix`."""
    return name.replace(".", "_").replace("-", "_")
