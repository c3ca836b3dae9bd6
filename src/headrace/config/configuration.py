"""Configurations: classes of declarations, whose instances are checked, typed and immutable."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

from headrace.config.finding import PropertyFinding, error_of
from headrace.config.hidden import HiddenTexts
from headrace.config.property import Family, Property, Support
from headrace.config.reading import Reading, member_name
from headrace.config.secret import HIDDEN, printable_name


class Configuration:
    """Base class of configurations; subclasses declare `Property`, `Family` and `PassThrough`
    attributes.

    Only `parse` makes instances. They are immutable, comparable and picklable, with resolved
    secrets, because tasks open connections; secrets in files and of commands are not pickled, and
    each process looks them up. `repr` and `redacted` hide secrets.
    """

    exclusive: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Pairs of properties of which at most one may be set."""

    _values: Mapping[str, Any]
    _shown: Mapping[str, str]
    _texts: Mapping[str, str]
    """Texts, by property name, of values that JSON cannot represent."""
    hidden: HiddenTexts
    """Secrets, and the values of references."""
    warnings: tuple[PropertyFinding, ...]
    """Warnings about a configuration that is accepted."""

    def __init__(
        self,
        values: Mapping[str, Any],
        shown_texts: Mapping[str, str],
        warnings: tuple[PropertyFinding, ...],
        texts: Mapping[str, str],
        hidden: HiddenTexts,
    ) -> None:
        object.__setattr__(self, "_values", values)
        object.__setattr__(self, "_shown", shown_texts)
        object.__setattr__(self, "_texts", texts)
        object.__setattr__(self, "hidden", hidden)
        object.__setattr__(self, "warnings", warnings)

    @classmethod
    def properties(cls) -> dict[str, Property[Any]]:
        """Return the declarations by property name, those of a parent class first."""
        return {
            declaration.name: declaration
            for parent in reversed(cls.__mro__)
            for declaration in vars(parent).values()
            if isinstance(declaration, Property)
        }

    @classmethod
    def supports(cls, name: str) -> bool:
        """Return whether a property is declared and has an effect, so that remedies may name it."""
        declaration = cls.properties().get(name)
        return declaration is not None and declaration.status.support is Support.SUPPORTED

    @classmethod
    def families(cls) -> dict[str, Family[Any]]:
        """Return the declarations with a variable part, by attribute."""
        return {
            attribute: declaration
            for parent in reversed(cls.__mro__)
            for attribute, declaration in vars(parent).items()
            if isinstance(declaration, Family)
        }

    @classmethod
    def parse(cls, properties: Mapping[str, str]) -> Self:
        """Check every property and resolve references; return the configuration.

        An empty value counts as not set. Raises HeadraceError("config.invalid"), or
        "config.not_supported" if all properties are valid, but this version does not support one;
        the message names all these properties, their values (never a secret's) and what is
        expected.
        """
        config, problems = cls.examine(properties)
        if problems:
            raise error_of(problems)
        return config

    @classmethod
    def examine(
        cls, properties: Mapping[str, str], *, prefix: str = ""
    ) -> tuple[Self, list[PropertyFinding]]:
        """Return the configuration, with defaults in place of invalid values, and the problems.
        Their messages put `prefix` before each property's name; `properties` and `check` have names
        without it."""
        reading = Reading(cls.properties(), cls.families(), properties, prefix)
        config = cls(reading.values, reading.shown, (), reading.texts, HiddenTexts())
        config.complete(reading)
        hidden = HiddenTexts(tuple(reading.hidden))
        object.__setattr__(config, "hidden", hidden)
        concerned = {problem.property for problem in reading.problems}
        for finding in config.check():
            problem = finding
            if prefix:
                named = finding.message.startswith(finding.property)
                message = prefix + ("" if named else f"{finding.property}: ") + finding.message
                problem = finding._replace(property=prefix + finding.property, message=message)
            if problem.property not in concerned:
                reading.problems.append(problem)
        warnings = tuple(hidden.in_finding(warning) for warning in reading.warnings)
        object.__setattr__(config, "warnings", warnings)
        return config, [hidden.in_finding(problem) for problem in reading.problems]

    def complete(self, reading: Reading) -> None:
        """Derive values from others: subclasses write them into `reading.values`."""

    def check(self) -> Iterator[PropertyFinding]:
        """Yield problems between properties. Invalid values are defaults here."""
        for first, second in self.exclusive:
            if self.is_set(first) and self.is_set(second):
                yield PropertyFinding(
                    "config.exclusive",
                    first,
                    f"{first} and {second} are both set",
                    f"Keep one: {first} lists what to include, {second} what to exclude.",
                )

    def with_warnings(self, warnings: Sequence[PropertyFinding]) -> Self:
        """Return the configuration with further warnings."""
        if not warnings:
            return self
        warnings = (*self.warnings, *warnings)
        return type(self)(self._values, self._shown, warnings, self._texts, self.hidden)

    def value_of(self, attribute: str) -> Any:
        """Return the typed value of an attribute."""
        return self._values[attribute]

    def is_set(self, name: str) -> bool:
        """Return whether the property `name` was set (not left to its default)."""
        return name in self._shown

    def redacted(self) -> dict[str, str]:
        """Return the properties that are set, as text: secrets hidden, references as written."""
        return {printable_name(name): text for name, text in self._shown.items()}

    def fingerprint(self) -> str:
        """Return 64 hexadecimal digits, the same for the same settings, however they were written.

        Secrets, defaults and properties without effect are not included. A value of a type of its
        own is included as its property's text, without surrounding spaces.
        """
        settings: dict[str, object] = {"": type(self).__name__}
        for name, declaration in self.properties().items():
            value = self._values[declaration.attribute]
            if declaration.kind.is_secret or declaration.status.support is Support.NOT_NEEDED:
                continue
            if value != declaration.default:
                settings[name] = self._texts.get(name, value)
        for family in self.families().values():
            if family.status.support is Support.NOT_NEEDED:
                continue
            for member in self._values[family.attribute]:
                name = printable_name(".".join(member.variables))
                secret = family.is_secret(f"{family.name}.{name}")
                named = member_name(family, member.variables)
                value = self._texts.get(named, member.value)
                settings[f"{family.name}:{name}"] = HIDDEN if secret else value
        text = json.dumps(settings, sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def __setattr__(self, attribute: str, value: object) -> None:
        raise AttributeError(f"{attribute} is read-only")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Configuration) or type(self) is not type(other):
            return NotImplemented
        return self._values == other._values

    def __hash__(self) -> int:
        return hash(self.fingerprint())

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.redacted()!r})"

    def __reduce__(self) -> tuple[object, ...]:
        texts = dict(self._values), dict(self._shown), self.warnings, dict(self._texts)
        return type(self), (*texts, self.hidden)
