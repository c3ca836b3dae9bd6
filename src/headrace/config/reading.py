"""Reads properties: each text becomes the value of its declaration, or a problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headrace.config.credentials.changing import ChangingText
from headrace.config.credentials.rotating import RotatingText
from headrace.config.finding import NOT_SUPPORTED, UNKNOWN, PropertyFinding, ignored, superseded
from headrace.config.formats import Properties
from headrace.config.hidden import HiddenText
from headrace.config.kinds import STATEMENTS, is_json
from headrace.config.property import Family, Group, Member, PassThrough, Property, Support
from headrace.config.references import (
    has_plain_reference,
    has_reference,
    is_one_reference,
    resolve_each,
)
from headrace.config.secret import HIDDEN, printable_name, secrets_in, without_passwords
from headrace.config.suggestions import Suggestions, is_elsewhere, nearest

_OF_NAMES = (Group.CONNECTION, Group.REPLICATION, Group.CAPTURED)
"""Groups of properties that name objects of a database."""
_OF_STEPS = ("transforms.", "predicates.")
"""Prefixes of the options of transforms and predicates."""


class Reading:
    """The results of reading the properties: `values` by attribute, `shown` texts, `texts` of
    values that JSON cannot represent, findings."""

    def __init__(
        self,
        declared: Mapping[str, Property[Any]],
        families: Mapping[str, Family[Any]],
        properties: Mapping[str, str],
        prefix: str,
    ) -> None:
        self._prefix = prefix
        self.values: dict[str, Any] = {}
        self.shown: dict[str, str] = {}
        self.texts: dict[str, str] = {}
        self.hidden: list[HiddenText] = []
        self.problems: list[PropertyFinding] = []
        self.warnings: list[PropertyFinding] = []
        self._source = properties if isinstance(properties, Properties) else Properties(properties)
        self.problems += self._source.problems
        self.warnings += self._source.notes
        self._declared, self._families = declared, families
        self._suggestions = Suggestions(self._declared, self._families)
        members: dict[str, list[Member[Any]]] = {attribute: [] for attribute in self._families}
        for declaration in self._declared.values():
            self.values[declaration.attribute] = declaration.default
        unknown: list[str] = []
        for name, text in self._source.items():
            if name in self._declared:
                self._read_property(self._declared[name], text)
            elif (family := self._find_family(name)) is not None:
                self._read_member(*family, name, text, members[family[0].attribute])
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
        """Return the name as messages show it."""
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
            # "database.pasword" is a typing error, not another setting of the driver.
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
        follow = declaration.kind.from_source
        if follow is not None and (source := self._source_of(name, text, declaration)):
            value = follow(value, source)
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
        elif (source := self._source_of(name, text, family)) is not None:
            value = ChangingText(resolved, source)
        self.shown[name] = self._show(text, is_secret=is_secret)
        members.append(Member(variables, value))
        if not is_secret and not is_json(value):
            self.texts[member_name(family, variables)] = resolved.strip()
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
            # The reference may be shown: it names the place of the secret.
            self.problems.append(
                PropertyFinding(
                    "config.unresolved_reference",
                    self._prefix + name,
                    f"{self._named(name)}: {error}",
                    "Provide it to the process that runs headrace, or correct the reference.",
                )
            )
            return None
        self._hide(name, text, resolved, values, declaration, is_secret=is_secret)
        is_plain = has_plain_reference(text) and not declaration.kind.has_placeholders
        if is_plain and not values:
            value = self._show(text, is_secret=False) if not is_secret else "its value"
            self.warnings.append(
                PropertyFinding(
                    "config.plain_reference",
                    self._prefix + name,
                    f"{self._named(name)}: {value} is taken literally",
                    "Write ${env:NAME} for an environment variable.",
                )
            )
        return resolved

    def _source_of(
        self, name: str, text: str, declaration: Property[Any] | Family[Any]
    ) -> RotatingText | None:
        """Return the source of a secret that may change at each use; None if it cannot change."""
        if isinstance(declaration, Family):
            may_change = declaration.may_change(name)
        else:
            may_change = declaration.kind.from_source is not None
        if not may_change:
            return None
        return RotatingText.of(self._named(name), text)

    def _hide(
        self,
        name: str,
        text: str,
        resolved: str,
        values: Sequence[tuple[str, str]],
        declaration: Property[Any] | Family[Any],
        *,
        is_secret: bool,
    ) -> None:
        """Note the hidden parts of a text: the `values` of its references, and secrets."""
        named, shown_text = self._named(name), self._show(text, is_secret=is_secret)
        if (source := self._source_of(name, text, declaration)) is not None:
            source.current()
            self.hidden.append(
                HiddenText(named, shown_text, (), is_reference=True, is_secret=True, source=source)
            )
            return
        if values:
            of_names = declaration.group in _OF_NAMES and declaration.kind is not STATEMENTS
            marks = tuple((value, reference) for reference, value in values)
            self.hidden.append(
                HiddenText(
                    named,
                    shown_text,
                    marks,
                    is_reference=True,
                    is_name=of_names and not is_secret,
                    is_secret=is_secret,
                )
            )
        known = {value for _, value in values}
        secrets = secrets_in(name, resolved, is_secret=is_secret)
        if written := tuple((secret, HIDDEN) for secret in secrets if secret not in known):
            self.hidden.append(HiddenText(named, shown_text, written, is_secret=is_secret))

    def _parse(
        self, name: str, declaration: Property[Any] | Family[Any], text: str, trimmed: str
    ) -> Any:
        try:
            return declaration.kind.parse(trimmed)
        except ValueError as error:
            is_secret = _is_secret(declaration, name)
            value = self._show(text, is_secret=is_secret)
            is_hidden = is_secret or has_reference(text)
            detail = "" if is_hidden else str(error)
            nearest_value = None if is_hidden else nearest(trimmed, declaration.kind.values)
            guess = f"; did you mean {nearest_value}?" if nearest_value else ""
            self.problems.append(
                PropertyFinding(
                    "config.impossible_value",
                    self._prefix + name,
                    f"{self._named(name)} = {value!r}{self._where(name)}: expected "
                    f"{declaration.kind.expects}" + (f" ({detail})" if detail else "") + guess,
                    f"Write {self._named(name)}={nearest_value}."
                    if nearest_value
                    else f"Set {self._named(name)} to {declaration.kind.expects}.",
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
        value = self._show(text, is_secret=_is_secret(declaration, name))
        message = refusal.replace("{value}", repr(value))
        self.problems.append(
            PropertyFinding(NOT_SUPPORTED, self._prefix + name, message, f"{remedy}.")
        )

    def _missing(self, declaration: Property[Any], unknown: Sequence[str]) -> None:
        """Report a missing property, unless an unknown property that suggests this name is
        reported."""
        name = declaration.name
        if any(self._fails(other) and self._suggestions.find(other) == name for other in unknown):
            return
        named = self._named(name)
        message = f"{named} is missing (expected {declaration.kind.expects})"
        remedy = f"Set {named}: {declaration.meaning.partition('. ')[0].rstrip('.')}."
        for former in self._declared.values():
            if former.successor is not None and former.successor.name == name:
                text = self._source.get(former.name, "").strip()
                if text:
                    text = without_passwords(text)
                    former_text = f"{self._named(former.name)} = {text!r}{self._where(former.name)}"
                    message = (
                        f"{former_text} is of former versions of Debezium, and {named} is missing"
                    )
                    remedy = f"Write {named}={former.successor.text(text)} in its place."
        self.problems.append(
            PropertyFinding("config.missing", self._prefix + name, message, remedy)
        )

    def _fails(self, unknown: str) -> bool:
        if unknown in self._source.surroundings:
            return False
        # A typing error such as table.whitelist must not capture every table.
        is_typo = self._suggestions.find_typo(unknown) is not None
        if self._prefix.startswith(_OF_STEPS) and not is_elsewhere(unknown):
            # Only the transform reads its options, so a similar name is meant for it.
            is_typo = is_typo or self._suggestions.find(unknown) is not None
        is_given = self._is_given("headrace.unknown.properties")
        return self._is_strict() or (is_typo and not is_given)

    def _is_strict(self) -> bool:
        """Return whether every unknown property is refused."""
        return self.values.get("headrace_unknown_properties") == "fail"

    def _note_status(self, name: str, declaration: Property[Any] | Family[Any]) -> None:
        if declaration.status.support is not Support.NOT_NEEDED:
            return
        successor = declaration.successor if isinstance(declaration, Property) else None
        if successor is not None and self._source.get(successor.name, "").strip():
            self.warnings.append(superseded(self._named(name), self._prefix + successor.name))
        elif declaration.group is Group.CONNECT:
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
            successor = self._suggestions.successor(name)
            if successor is not None and self._is_given(successor) and not self._is_strict():
                self.warnings.append(superseded(self._named(name), self._prefix + successor))
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
            finding = PropertyFinding(UNKNOWN, self._prefix + name, message, f"{remedy}.")
            (self.problems if fails else self.warnings).append(finding)

    def _show(self, text: str, *, is_secret: bool) -> str:
        """Return a value as it may be printed: the reference for a resolved one."""
        if is_secret and not (has_reference(text) and is_one_reference(text)):
            return HIDDEN
        text = without_passwords(text)
        return text if len(text) <= 200 else text[:200] + "…"

    def _where(self, name: str) -> str:
        origin = self._source.origin(name)
        return f" ({origin})" if origin else ""


def member_name(family: Family[Any], variables: Sequence[str]) -> str:
    """Return the key of a family's member among texts: no property's name contains this
    separator."""
    return "\0".join((family.name, *variables))


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _refused(declaration: Property[Any] | Family[Any]) -> str:
    reason = declaration.status.reason
    return f"is not supported: {reason}" if reason else "is not supported"


def _is_secret(declaration: Property[Any] | Family[Any], name: str) -> bool:
    """Return whether the value of the property `name` must not be shown."""
    if isinstance(declaration, Family):
        return declaration.is_secret(name)
    return declaration.kind.is_secret


def _refusal(declaration: Property[Any], value: object, name: str) -> str:
    """Return why this version does not support the value, or an empty text."""
    if value in declaration.refused_values:
        return f"{name} = {{value}} is not supported"
    if declaration.status.support is not Support.REFUSED:
        return ""
    if value == declaration.default:
        return ""
    return f"{name} = {{value}} {_refused(declaration)}"
