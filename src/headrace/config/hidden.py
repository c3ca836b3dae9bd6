"""Values that a configuration keeps out of messages: secrets, and the values of references."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from headrace.config.finding import PropertyFinding
from headrace.config.secret import (
    HIDDEN,
    LONG,
    SecretSource,
    names_a_secret,
    secrets_in,
    without_secrets,
)
from headrace.errors import HeadraceError

_PART = 4
"""The number of consecutive characters that count as a part of a value."""
_SENT = re.compile(r"query|statement|override|condition|filter|pipeline|string|ur[li]|host|user")
"""Matches names of properties whose texts are sent to a server, so that its errors quote parts of
them."""


@dataclass(frozen=True)
class HiddenText:
    """A property whose text contains hidden values: its name, its text as it may be shown, and the
    hidden `values`, each with its replacement.

    `is_reference`: the values are those of references. `is_name`: they name objects of the
    database, which its errors show. `is_secret`: the whole text is a secret, and no part of it is
    quoted. `source`: its values that this process has seen are hidden, too."""

    name: str
    text: str
    values: tuple[tuple[str, str], ...] = field(repr=False)
    is_reference: bool = False
    is_name: bool = False
    is_secret: bool = False
    source: SecretSource | None = None

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Return the hidden values, including those of the source, and their replacements."""
        if self.source is None:
            return self.values
        references = dict(self.values)
        for text, values in self.source.seen().items():
            references |= {value: reference for reference, value in values}
            for secret in secrets_in(self.name, text, is_secret=self.is_secret):
                references.setdefault(secret, HIDDEN)
        return tuple(references.items())

    def is_about(self, name: str) -> bool:
        """Return whether `name` is the property, or a prefix of its dotted name."""
        return f"{self.name}.".startswith(f"{name}.")


@dataclass(frozen=True)
class HiddenTexts:
    """The hidden texts of a configuration, which messages must not show."""

    properties: tuple[HiddenText, ...] = ()

    @classmethod
    def of_settings(cls, settings: Mapping[str, str]) -> HiddenTexts:
        """Return the secrets in a client's settings, found by the settings' names and texts."""
        texts = []
        for name, text in settings.items():
            is_secret = names_a_secret(name)
            secrets = secrets_in(name, text, is_secret=is_secret)
            values = tuple((secret, HIDDEN) for secret in secrets)
            if values:
                shown = HIDDEN if is_secret else without_secrets(text, secrets)
                texts.append(HiddenText(name, shown, values, is_secret=is_secret))
        return cls(tuple(texts))

    def under(self, prefix: str) -> HiddenTexts:
        """Return the texts of properties whose names begin with `prefix`."""
        return HiddenTexts(tuple(each for each in self.properties if each.name.startswith(prefix)))

    def in_finding(self, finding: PropertyFinding) -> PropertyFinding:
        """Return the finding with hidden values replaced. If it shows a part of a hidden value, it
        only names the property."""
        about = [each for each in self.properties if each.is_about(finding.property)]
        said = f"{finding.message} {finding.remedy}"
        if any(_shows(each, said, about) for each in about if _is_quoted(each)):
            written = " and ".join(
                dict.fromkeys(f"{each.name} = {each.text!r}" for each in about if _is_quoted(each))
            )
            finding = finding._replace(
                message=f"{written} is not accepted; the reason is not shown, because it contains "
                f"a part of a secret, or of the value of a reference",
                remedy="Correct what is hidden. The reason is shown if the value is in the "
                "property itself, and is not a secret.",
            )
        # Findings have fixed texts, so they contain secrets shorter than `LONG` only where they
        # quote the property.
        hidden = {
            value: mark
            for each in self.properties
            for value, mark in each.pairs()
            if each.is_reference or len(value) >= LONG or (each in about and not each.is_secret)
        }
        message, remedy = (
            without_secrets(text, hidden) for text in (finding.message, finding.remedy)
        )
        return finding._replace(message=message, remedy=remedy)

    def in_error(self, text: str, about: str | None = None) -> str:
        """Return the text of a driver, a server or a client without hidden values, except for names
        of the database's objects. `about` is the property whose text was in use, empty if none was:
        a text that shows a part of its hidden values is left out. None: it may be any property that
        is not a secret as a whole; then a part of a reference's value has the length of a secret
        (`LONG`), unless the property is sent to a server, because names of tables contain shorter
        parts."""
        hidden = [each for each in self.properties if not each.is_name]
        text = without_secrets(
            text, {value: mark for each in hidden for value, mark in each.pairs()}
        )
        if about is None:
            quoted = [each for each in hidden if not each.is_secret]
        else:
            quoted = [each for each in hidden if each.is_about(about)]
        if any(_shows(each, text, hidden, _part_of(each, about)) for each in quoted):
            names = ", ".join(dict.fromkeys(each.name for each in quoted))
            return f"the reason is not shown, because it contains a part of the secrets in {names}"
        return text

    def in_raised(self, error: HeadraceError, about: str | None = None) -> HeadraceError:
        """Return the error with its message as of `in_error`."""
        message = self.in_error(error.message, about)
        return HeadraceError(error.code, message, error.remedy, retriable=error.retriable)


def _is_quoted(hidden: HiddenText) -> bool:
    """Return whether findings may quote the text: a secret is quoted only as a reference's
    value."""
    return hidden.is_reference or not hidden.is_secret


def _part_of(hidden: HiddenText, about: str | None) -> int:
    """Return how many consecutive characters count as a part of a value, in an error `about` a
    property."""
    is_elsewhere = about is None and hidden.is_reference and not _SENT.search(hidden.name)
    return LONG if is_elsewhere else _PART


def _shows(
    hidden: HiddenText, text: str, properties: Iterable[HiddenText], part: int = _PART
) -> bool:
    """Return whether `text` contains `part` consecutive characters of a value, except in names and
    shown texts."""
    for each in properties:
        for written in (each.text, repr(each.text)[1:-1], each.name):
            text = text.replace(written, "\0")
        for _, mark in each.pairs():
            text = text.replace(mark, "\0")
    values = [value for value, _ in hidden.pairs()]
    # In a text with a password in it, only the password is secret.
    values = [value for value in values if not any(o in value for o in values if o != value)]
    # A shorter value is hidden only as a word of its own; its letters occur in most words.
    return any(
        value[start : start + part] in text
        for value in values
        for start in range(len(value) - part + 1)
        if value[start : start + part].strip()
    )
