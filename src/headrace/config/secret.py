"""A text that is used and never shown."""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping

HIDDEN = "********"
_SECRET_NAME = re.compile(
    r"passw(or)?d|pwd|passphrase|secret|token|credential|jaas|sas\.key|access\.?key|private\.?key"
    r"|user\.?info|account\.key|api\.?key",
    re.IGNORECASE,
)
_SHORTEST, _LONGEST_WORD = 4, 12
_BEFORE = r"""'"`:=/@(\[{<,;|"""
_SALT = re.compile(r"(\.with\.salt\.).+", re.IGNORECASE | re.DOTALL)


class Secret:
    """Wraps a password. `str`, `repr` and `format` hide it, `reveal()` gives it."""

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def reveal(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"Secret({HIDDEN})"

    def __str__(self) -> str:
        return HIDDEN

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        return hmac.compare_digest(
            self._text.encode("utf-8", "surrogatepass"),
            other._text.encode("utf-8", "surrogatepass"),
        )

    def __hash__(self) -> int:
        return hash((Secret, self._text))

    def __reduce__(self) -> tuple[object, ...]:
        return Secret, (self._text,)


def names_a_secret(name: str) -> bool:
    """Whether a pass-through property of this name is to be treated as a secret."""
    return _SECRET_NAME.search(name) is not None


def without_secrets(text: str, password: Secret | None, options: Mapping[str, str]) -> str:
    """`text` without a password, and without the values of those `options` that are secrets by
    their names."""
    secrets = ["" if password is None else password.reveal()]
    secrets += [value.strip() for name, value in options.items() if names_a_secret(name)]
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = without_secret(text, secret)
    return text


def without_secret(text: str, secret: str) -> str:
    """`text` with stars in place of a secret that is not empty.

    A secret that may as well be a word or a part of one (up to 3 characters, or up to 11 letters)
    is hidden where a message shows values: between the marks and quotes that stand around them.
    Elsewhere stars would mangle the message, and the word without them would tell the secret.
    """
    pattern = re.escape(secret)
    if len(secret) < _SHORTEST or (secret.isalpha() and len(secret) < _LONGEST_WORD):
        pattern = rf"(?:(?<![^{_BEFORE}])|(?<=[{_BEFORE}]\s)){pattern}(?!\w)"
    return re.sub(pattern, "***", text)


def printable_name(name: str) -> str:
    """`name` with the salt hidden that `column.mask.hash.ALG.with.salt.SALT` carries."""
    return _SALT.sub(rf"\g<1>{HIDDEN}", name)
