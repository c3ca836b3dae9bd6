"""Texts of clients' settings that are looked up again when a client is opened or refused."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.config.secret import SecretSource
from headrace.errors import HeadraceError


class ChangingText(str):
    """A text as it was when it was read, with the source that says what it is now. Two of them are
    equal where their sources are. It pickles without the text; in a process that cannot read it, it
    is empty, and `now` says why."""

    source: SecretSource

    def __new__(cls, text: str, source: SecretSource) -> ChangingText:
        made = super().__new__(cls, text)
        made.source = source
        return made

    @classmethod
    def read(cls, source: SecretSource) -> ChangingText:
        """The text of the source as it is on this host."""
        try:
            return cls(source.current(), source)
        except HeadraceError:
            return cls("", source)

    def now(self) -> str:
        """What it is now. Raises HeadraceError("config.secret_unreadable")."""
        return self.source.current()

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ChangingText):
            return self.source == other.source
        return str.__eq__(self, other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.source)

    def __repr__(self) -> str:
        return "ChangingText(…)"

    def __reduce__(self) -> tuple[object, ...]:
        return ChangingText.read, (self.source,)


def text_now(text: str) -> str:
    """A setting as it is now. Raises as `ChangingText.now`."""
    return text.now() if isinstance(text, ChangingText) else text


def settings_now(settings: Mapping[str, str]) -> dict[str, str]:
    """Settings as they are now. Raises as `ChangingText.now`."""
    return {name: text_now(text) for name, text in settings.items()}


def have_changed(settings: Mapping[str, str], used: Mapping[str, str]) -> bool:
    """Whether one of the settings is another one now than was `used`, and refused. Raises as
    `ChangingText.now`."""
    return any(
        text.source.renewed(used[name]) != used[name]
        for name, text in settings.items()
        if isinstance(text, ChangingText) and name in used
    )
