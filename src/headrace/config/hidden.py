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
                without_secret = HIDDEN if is_secret else without_secrets(text, secrets)
                texts.append(HiddenText(name, without_secret, values, is_secret=is_secret))
        return cls(tuple(texts))

    def under(self, prefix: str) -> HiddenTexts:
        """Return the texts of properties whose names begin with `prefix`."""
        return HiddenTexts(
            tuple(
                hidden_text
                for hidden_text in self.properties
                if hidden_text.name.startswith(prefix)
            )
        )

    def in_finding(self, finding: PropertyFinding) -> PropertyFinding:
        """Return the finding with hidden values replaced. If it shows a part of a hidden value, it
        only names the property."""
        about = [
            hidden_text for hidden_text in self.properties if hidden_text.is_about(finding.property)
        ]
        said = f"{finding.message} {finding.remedy}"
        if any(
            _shows(hidden_text, said, about) for hidden_text in about if _is_quoted(hidden_text)
        ):
            written = " and ".join(
                dict.fromkeys(
                    f"{hidden_text.name} = {hidden_text.text!r}"
                    for hidden_text in about
                    if _is_quoted(hidden_text)
                )
            )
            finding = finding._replace(
                message=f"{written} is not accepted; the reason is not shown, because it contains "
                f"a part of a secret, or of the value of a reference",
                remedy="Correct the hidden value. To see the reason, write the value into the "
                "property in place of the reference, unless it is a secret.",
            )
        # Findings have fixed texts, so they contain secrets shorter than `LONG` only where they
        # quote the property.
        hidden = {
            value: mark
            for hidden_text in self.properties
            for value, mark in hidden_text.pairs()
            if hidden_text.is_reference
            or len(value) >= LONG
            or (hidden_text in about and not hidden_text.is_secret)
        }
        message, remedy = (
            without_secrets(text, hidden) for text in (finding.message, finding.remedy)
        )
        return finding._replace(message=message, remedy=remedy)

    def in_error(self, text: str, about: str | None = None) -> str:
        """Return the text of a driver, a server or a client with hidden values replaced; names of
        database objects stay.

        `about` is the property whose text was in use. If `text` shows a part of one of its hidden
        values, a note is returned instead. Empty: no property was in use, so only whole values are
        replaced. None: any property that is not a secret as a whole may have been in use; then
        `LONG` consecutive characters of a reference's value count as a part, because names of
        tables contain shorter ones, and `_PART` if the property is sent to a server.
        """
        hidden = [hidden_text for hidden_text in self.properties if not hidden_text.is_name]
        text = without_secrets(
            text, {value: mark for hidden_text in hidden for value, mark in hidden_text.pairs()}
        )
        if about is None:
            quoted = [hidden_text for hidden_text in hidden if not hidden_text.is_secret]
        else:
            quoted = [hidden_text for hidden_text in hidden if hidden_text.is_about(about)]
        if any(
            _shows(hidden_text, text, hidden, _part_of(hidden_text, about))
            for hidden_text in quoted
        ):
            names = ", ".join(dict.fromkeys(hidden_text.name for hidden_text in quoted))
            return f"the reason is not shown, because it contains a part of the secrets in {names}"
        return text

    def in_raised(self, error: HeadraceError, about: str | None = None) -> HeadraceError:
        """Return the error with its message, and those of its parts, as of `in_error`. A remedy is
        a text of headrace, so only whole values are replaced in it."""
        return HeadraceError(
            error.code,
            self.in_error(error.message, about),
            self.in_error(error.remedy, ""),
            retriable=error.retriable,
            parts=[self.in_raised(part, about) for part in error.parts],
        )


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
    for hidden_text in properties:
        for written in (hidden_text.text, repr(hidden_text.text)[1:-1], hidden_text.name):
            text = text.replace(written, "\0")
        for _, mark in hidden_text.pairs():
            text = text.replace(mark, "\0")
    values = [value for value, _ in hidden.pairs()]
    # Of a value that contains another one (a URL with its password), only the inner one counts.
    values = [value for value in values if not any(o in value for o in values if o != value)]
    # A shorter value is hidden only as a word of its own; its letters occur in most words.
    return any(
        value[start : start + part] in text
        for value in values
        for start in range(len(value) - part + 1)
        if value[start : start + part].strip()
    )
