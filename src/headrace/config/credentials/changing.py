"""Settings of clients whose texts are read again when a client is opened, and after the server
refused it."""

from __future__ import annotations

from collections.abc import Mapping

from headrace.config.secret import SecretSource
from headrace.errors import HeadraceError


class ChangingText(str):
    """A text as of the time when it was read, with the source that has its present value. It equals
    another ChangingText with an equal source, and no plain text. It is pickled without the text; in
    a process that cannot read the text, the text is empty, and `now` raises the error."""

    source: SecretSource

    def __new__(cls, text: str, source: SecretSource) -> ChangingText:
        changing = super().__new__(cls, text)
        changing.source = source
        return changing

    @classmethod
    def read(cls, source: SecretSource) -> ChangingText:
        """Return the present text of the source, on this host."""
        try:
            return cls(source.current(), source)
        except HeadraceError:
            return cls("", source)

    def now(self) -> str:
        """Return the present text. Raises HeadraceError("config.secret_unreadable")."""
        return self.source.current()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ChangingText) and self.source == other.source

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self.source)

    def __repr__(self) -> str:
        return "ChangingText(…)"

    def __reduce__(self) -> tuple[object, ...]:
        return ChangingText.read, (self.source,)


def text_now(text: str) -> str:
    """Return the present text of a setting. Raises as `ChangingText.now`."""
    return text.now() if isinstance(text, ChangingText) else text


def settings_now(settings: Mapping[str, str]) -> dict[str, str]:
    """Return the present texts of settings. Raises as `ChangingText.now`."""
    return {name: text_now(text) for name, text in settings.items()}


def have_changed(settings: Mapping[str, str], used: Mapping[str, str]) -> bool:
    """Return whether a setting has another text than in `used`, with which the server refused the
    client. Raises as `ChangingText.now`."""
    return any(
        text.source.renewed(used[name]) != used[name]
        for name, text in settings.items()
        if isinstance(text, ChangingText) and name in used
    )
