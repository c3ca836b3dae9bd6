"""A class of declarations becomes a checked, typed, immutable configuration."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar, Self

from headrace.config.finding import NOT_SUPPORTED, PropertyFinding, error_of, ignored
from headrace.config.kinds import STATEMENTS, is_json
from headrace.config.property import Family, Group, Member, PassThrough, Property, Support
from headrace.config.references import (
    References,
    Resolved,
    has_plain_reference,
    has_reference,
    is_one_reference,
    resolve_each,
)
from headrace.config.secret import HIDDEN, printable_name
from headrace.config.source import Properties
from headrace.config.suggestions import Suggestions, is_elsewhere, nearest

_OF_NAMES = (Group.CONNECTION, Group.REPLICATION, Group.CAPTURED)
"""Groups of properties that name what a database has."""


_OF_STEPS = ("transforms.", "predicates.")
"""Prefixes of the options of transforms and predicates."""


class Configuration:
    """Subclasses declare `Property`, `Family` and `PassThrough` attributes.

    Instances come from `parse` only. They are immutable, comparable and picklable (with
    resolved secrets, because tasks open connections); `repr` and `redacted` hide secrets.
    """

    exclusive: ClassVar[tuple[tuple[str, str], ...]] = ()
    """Pairs of properties of which at most one may be set."""

    _values: Mapping[str, Any]
    _shown: Mapping[str, str]
    _texts: Mapping[str, str]
    """Texts of the values, by property name, that JSON cannot hold."""
    references: References
    """What must not be shown but as written."""
    warnings: tuple[PropertyFinding, ...]
    """What the operator should know though the configuration is accepted."""

    def __init__(
        self,
        values: Mapping[str, Any],
        shown: Mapping[str, str],
        warnings: tuple[PropertyFinding, ...],
        texts: Mapping[str, str],
        references: References,
    ) -> None:
        object.__setattr__(self, "_values", values)
        object.__setattr__(self, "_shown", shown)
        object.__setattr__(self, "_texts", texts)
        object.__setattr__(self, "references", references)
        object.__setattr__(self, "warnings", warnings)

    @classmethod
    def properties(cls) -> dict[str, Property[Any]]:
        """Declarations by property name, a parent class's first."""
        return {
            declaration.name: declaration
            for parent in reversed(cls.__mro__)
            for declaration in vars(parent).values()
            if isinstance(declaration, Property)
        }

    @classmethod
    def supports(cls, name: str) -> bool:
        """Whether a property is declared, and its value is heeded: what remedies may name."""
        declaration = cls.properties().get(name)
        return declaration is not None and declaration.status.support is Support.SUPPORTED

    @classmethod
    def families(cls) -> dict[str, Family[Any]]:
        """Declarations with a variable part, by attribute."""
        return {
            attribute: declaration
            for parent in reversed(cls.__mro__)
            for attribute, declaration in vars(parent).items()
            if isinstance(declaration, Family)
        }

    @classmethod
    def parse(cls, properties: Mapping[str, str]) -> Self:
        """Checks every property and resolves references.

        An empty value is the same as none. Raises HeadraceError("config.invalid"), or
        "config.not_supported" when nothing is wrong but this version cannot do it; the message
        names all properties concerned, their values (never a secret's) and what is expected.
        """
        config, problems = cls.examine(properties)
        if problems:
            raise error_of(problems)
        return config

    @classmethod
    def examine(
        cls, properties: Mapping[str, str], *, prefix: str = ""
    ) -> tuple[Self, list[PropertyFinding]]:
        """As `parse`, but returns the problems; what is wrong then has its default. They call each
        property by its name behind `prefix`, which `properties` and `check` leave out."""
        reading = _Reading(cls, properties, prefix)
        references = References(tuple(reading.resolved))
        config = cls(reading.values, reading.shown, (), reading.texts, references)
        concerned = {problem.property for problem in reading.problems}
        for found in config.check():
            problem = found
            if prefix:
                named = found.message.startswith(found.property)
                message = prefix + ("" if named else f"{found.property}: ") + found.message
                problem = found._replace(property=prefix + found.property, message=message)
            if problem.property not in concerned:
                reading.problems.append(problem)
        warnings = tuple(references.in_finding(warning) for warning in reading.warnings)
        object.__setattr__(config, "warnings", warnings)
        return config, [references.in_finding(problem) for problem in reading.problems]

    def check(self) -> Iterator[PropertyFinding]:
        """What is wrong between properties. Values that are wrong themselves are defaults here."""
        for first, second in self.exclusive:
            if self.is_set(first) and self.is_set(second):
                yield PropertyFinding(
                    "config.exclusive",
                    first,
                    f"{first} and {second} are both set",
                    f"Keep one: {first} names what to take, {second} what to leave out.",
                )

    def with_warnings(self, warnings: Sequence[PropertyFinding]) -> Self:
        """The same configuration with more that the operator should know."""
        if not warnings:
            return self
        warnings = (*self.warnings, *warnings)
        return type(self)(self._values, self._shown, warnings, self._texts, self.references)

    def value_of(self, attribute: str) -> Any:
        """The typed value behind an attribute."""
        return self._values[attribute]

    def is_set(self, name: str) -> bool:
        """Whether the property `name` was written (not left to its default)."""
        return name in self._shown

    def redacted(self) -> dict[str, str]:
        """The properties that are set, as text: secrets hidden, references as written."""
        return {printable_name(name): text for name, text in self._shown.items()}

    def fingerprint(self) -> str:
        """64 hexadecimal digits, the same for the same settings however they were written.

        Secrets, defaults and properties without effect do not enter it. A value of a type of its
        own enters as its property's text, without the spaces around it.
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
                member_name = _member_name(family, member.variables)
                value = self._texts.get(member_name, member.value)
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
        return type(self), (*texts, self.references)


class _Reading:
    """One pass over the properties: `values` by attribute, `shown` texts, `texts` of values that
    JSON cannot hold, findings."""

    def __init__(
        self, cls: type[Configuration], properties: Mapping[str, str], prefix: str
    ) -> None:
        self._prefix = prefix
        self.values: dict[str, Any] = {}
        self.shown: dict[str, str] = {}
        self.texts: dict[str, str] = {}
        self.resolved: list[Resolved] = []
        self.problems: list[PropertyFinding] = []
        self.warnings: list[PropertyFinding] = []
        self._source = properties if isinstance(properties, Properties) else Properties(properties)
        self.problems += self._source.problems
        self.warnings += self._source.notes
        self._declared = cls.properties()
        self._families = cls.families()
        self._suggestions = Suggestions(self._declared, self._families)
        members: dict[str, list[Member[Any]]] = {attribute: [] for attribute in self._families}
        for declaration in self._declared.values():
            self.values[declaration.attribute] = declaration.default
        unknown: list[str] = []
        for name, text in self._source.items():
            if name in self._declared:
                self._read_property(self._declared[name], text)
            elif (found := self._find_family(name)) is not None:
                self._read_member(*found, name, text, members[found[0].attribute])
            else:
                unknown.append(name)
        for attribute, values in members.items():
            self.values[attribute] = tuple(values)
        for declaration in self._declared.values():
            if declaration.is_required and not self._is_given(declaration.name):
                self._missing(declaration, unknown)
        self._report_unknown(unknown)

    def _is_given(self, name: str) -> bool:
        full = self._prefix + name
        return name in self.shown or any(full == problem.property for problem in self.problems)

    def _named(self, name: str) -> str:
        """The name as messages show it."""
        return printable_name(self._prefix + name)

    def _find_family(self, name: str) -> tuple[Family[Any], tuple[str, ...]] | None:
        for family in self._families.values():
            match = family.pattern.fullmatch(name)
            if match is None:
                continue
            if family.alias_of and not any(
                match[1] in _split(self._source.get(listing, "")) for listing in family.alias_of
            ):
                continue
            # "database.pasword" is not one more setting of the driver.
            if family.status.support is Support.NOT_NEEDED and self._suggestions.find_typo(name):
                return None
            return family, match.groups()
        return None

    def _read_property(self, declaration: Property[Any], text: str) -> None:
        name = declaration.name
        resolved = self._resolve(name, text, declaration, is_secret=declaration.kind.is_secret)
        if resolved is None:
            return
        trimmed = resolved if declaration.kind.keeps_spaces else resolved.strip()
        if not trimmed and not declaration.kind.may_be_empty:
            return
        replaced = declaration.aliases.get(trimmed.lower())
        if replaced is not None:
            self.warnings.append(
                PropertyFinding(
                    "config.former_value",
                    self._prefix + name,
                    f"{self._named(name)} = {trimmed!r} is a former value and is read as "
                    f"{replaced!r}",
                    f"Write {self._named(name)}={replaced}.",
                )
            )
            trimmed = replaced
        value = self._parse(name, declaration, text, trimmed)
        if value is None:
            return
        refusal = _refusal(declaration, value, self._named(name))
        if refusal:
            self._refuse(name, declaration, text, refusal)
            return
        self.shown[name] = self._show(text, is_secret=declaration.kind.is_secret)
        self.values[declaration.attribute] = value
        if not declaration.kind.is_secret and not is_json(value):
            self.texts[name] = trimmed
        self._note_status(name, declaration)

    def _read_member(
        self,
        family: Family[Any],
        variables: tuple[str, ...],
        name: str,
        text: str,
        members: list[Member[Any]],
    ) -> None:
        is_secret = family.is_secret(name)
        resolved = self._resolve(name, text, family, is_secret=is_secret)
        if resolved is None:
            return
        if family.status.support is Support.REFUSED:
            self._refuse(name, family, text, f"{self._named(name)} {_refused(family)}")
            return
        value: object = resolved
        if not isinstance(family, PassThrough):
            trimmed = resolved if family.kind.keeps_spaces else resolved.strip()
            value = self._parse(name, family, text, trimmed)
            if value is None:
                return
        self.shown[name] = self._show(text, is_secret=is_secret)
        members.append(Member(variables, value))
        if not is_secret and not is_json(value):
            self.texts[_member_name(family, variables)] = resolved.strip()
        self._note_status(name, family)

    def _resolve(
        self,
        name: str,
        text: str,
        declaration: Property[Any] | Family[Any],
        *,
        is_secret: bool,
    ) -> str | None:
        try:
            resolved, values = resolve_each(text)
        except ValueError as error:
            # The reference itself is shown: it is where the secret is, not the secret.
            self.problems.append(
                PropertyFinding(
                    "config.unresolved_reference",
                    self._prefix + name,
                    f"{self._named(name)}: {error}",
                    "Provide it to the process that runs headrace, or correct the reference.",
                )
            )
            return None
        if values:
            is_name = declaration.group in _OF_NAMES and declaration.kind is not STATEMENTS
            shown, is_name = self._show(text, is_secret=is_secret), is_name and not is_secret
            self.resolved.append(Resolved(self._named(name), shown, values, is_name, is_secret))
        elif has_plain_reference(text) and not declaration.kind.has_placeholders:
            shown = "its value" if is_secret else self._show(text, is_secret=False)
            self.warnings.append(
                PropertyFinding(
                    "config.plain_reference",
                    self._prefix + name,
                    f"{self._named(name)}: {shown} is taken literally",
                    "Write ${env:NAME} for an environment variable.",
                )
            )
        return resolved

    def _parse(
        self, name: str, declaration: Property[Any] | Family[Any], text: str, trimmed: str
    ) -> Any:
        try:
            return declaration.kind.parse(trimmed)
        except ValueError as error:
            is_secret = declaration.kind.is_secret
            shown = self._show(text, is_secret=is_secret)
            is_hidden = is_secret or has_reference(text)
            detail = "" if is_hidden else str(error)
            near = None if is_hidden else nearest(trimmed, declaration.kind.values)
            guess = f"; did you mean {near}?" if near else ""
            self.problems.append(
                PropertyFinding(
                    "config.impossible_value",
                    self._prefix + name,
                    f"{self._named(name)} = {shown!r}{self._where(name)}: expected "
                    f"{declaration.kind.expects}" + (f" ({detail})" if detail else "") + guess,
                    f"Write {self._named(name)}={near}."
                    if near
                    else f"Give {self._named(name)} {declaration.kind.expects}.",
                )
            )
            return None

    def _refuse(
        self, name: str, declaration: Property[Any] | Family[Any], text: str, refusal: str
    ) -> None:
        default = declaration.default_text if isinstance(declaration, Property) else None
        remedy = (
            f"Set {self._named(name)} to {default}" if default else f"Remove {self._named(name)}"
        )
        if isinstance(declaration, Property) and declaration.refused_values:
            allowed = [v for v in declaration.kind.values if v not in declaration.refused_values]
            remedy = f"Use {' or '.join(allowed)}"
        shown = self._show(text, is_secret=declaration.kind.is_secret)
        message = refusal.replace("{value}", repr(shown))
        self.problems.append(
            PropertyFinding(NOT_SUPPORTED, self._prefix + name, message, f"{remedy}.")
        )

    def _missing(self, declaration: Property[Any], unknown: Sequence[str]) -> None:
        """One problem: an unknown property that is refused under this name tells of it, too."""
        name = declaration.name
        if any(self._fails(other) and self._suggestions.find(other) == name for other in unknown):
            return
        shown = self._named(name)
        message = f"{shown} is missing (expected {declaration.kind.expects})"
        remedy = f"Set {shown}: {declaration.meaning.partition('. ')[0].rstrip('.')}."
        for former in self._declared.values():
            if former.successor is not None and former.successor.name == name:
                text = self._source.get(former.name, "").strip()
                if text:
                    given = f"{self._named(former.name)} = {text!r}{self._where(former.name)}"
                    message = f"{given} is of former versions of Debezium, and {shown} is missing"
                    remedy = f"Write {shown}={former.successor.text(text)} in its place."
        self.problems.append(
            PropertyFinding("config.missing", self._prefix + name, message, remedy)
        )

    def _fails(self, unknown: str) -> bool:
        if unknown in self._source.surroundings:
            return False
        # Nobody who writes table.whitelist wants every table.
        is_typo = self._suggestions.find_typo(unknown) is not None
        if self._prefix.startswith(_OF_STEPS) and not is_elsewhere(unknown):
            # Nothing but the transform reads its options, so what resembles one is meant for it.
            is_typo = is_typo or self._suggestions.find(unknown) is not None
        is_given = self._is_given("headrace.unknown.properties")
        return self.values.get("headrace_unknown_properties") == "fail" or (
            is_typo and not is_given
        )

    def _note_status(self, name: str, declaration: Property[Any] | Family[Any]) -> None:
        if declaration.status.support is not Support.NOT_NEEDED:
            return
        if declaration.group is Group.CONNECT:
            self.warnings.append(ignored(self._prefix + name))
        else:
            self.warnings.append(
                PropertyFinding(
                    "config.not_needed",
                    self._prefix + name,
                    f"{self._named(name)} has no effect here: {declaration.status.reason}",
                    "It may stay in the configuration.",
                )
            )

    def _report_unknown(self, names: list[str]) -> None:
        for name in names:
            if name in self._source.surroundings:
                self.warnings.append(ignored(name))
                continue
            fails = self._fails(name)
            printable = self._named(name)
            suggested = self._suggestions.find(name)
            guess = f"; did you mean {self._prefix}{suggested}?" if suggested else ""
            target = self._declared.get(suggested or "")
            is_set = target is not None and self._is_given(target.name)
            remedy = f"Rename it to {self._prefix}{suggested}" if suggested else ""
            if not suggested or is_set:
                remedy = f"Remove {printable}"
                remedy += f" ({self._prefix}{suggested} is set)" if is_set else ""
            is_missing = (
                target is not None and target.is_required and not self._is_given(target.name)
            )
            if fails and not self._prefix and not is_missing:
                remedy += ", or set headrace.unknown.properties=warn to have it ignored"
            owner = self._prefix.removesuffix(".") or "this connector"
            message = f"{printable}{self._where(name)} is not a property of {owner}{guess}"
            finding = PropertyFinding(
                "config.unknown_property", self._prefix + name, message, f"{remedy}."
            )
            (self.problems if fails else self.warnings).append(finding)

    def _show(self, text: str, *, is_secret: bool) -> str:
        """What may be printed of a value: the reference for a resolved one."""
        if is_secret and not (has_reference(text) and is_one_reference(text)):
            return HIDDEN
        return text if len(text) <= 200 else text[:200] + "…"

    def _where(self, name: str) -> str:
        origin = self._source.origin(name)
        return f" ({origin})" if origin else ""


def _member_name(family: Family[Any], variables: Sequence[str]) -> str:
    """The key of a family's member among texts: no property has a name with this separator."""
    return "\0".join((family.name, *variables))


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _refused(declaration: Property[Any] | Family[Any]) -> str:
    reason = declaration.status.reason
    return f"is not supported: {reason}" if reason else "is not supported"


def _refusal(declaration: Property[Any], value: object, name: str) -> str:
    """Why this version cannot take the value, or an empty text."""
    if value in declaration.refused_values:
        return f"{name} = {{value}} is not supported"
    if declaration.status.support is not Support.REFUSED:
        return ""
    if value == declaration.default:
        return ""
    return f"{name} = {{value}} {_refused(declaration)}"
