"""Logins with secrets that change: one that is refused is tried once more with a fresh secret."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from headrace.config.secret import Secret

T = TypeVar("T")
E = TypeVar("E", bound=Exception)


def logged_in(
    secrets: Sequence[Secret | None],
    connect: Callable[[], T],
    errors: type[E],
    is_refused: Callable[[E], bool],
) -> T:
    """What `connect` returns, which reveals the secrets. After one of the `errors` that
    `is_refused`, it is called once more if a secret has changed meanwhile. Raises what `connect`
    raises."""
    changing = [secret for secret in secrets if secret is not None and secret.may_change]
    used = [secret.reveal() for secret in changing]
    try:
        return connect()
    except errors as error:
        if not is_refused(error) or not have_changed(changing, used):
            raise
    return connect()


def have_changed(secrets: Sequence[Secret], used: Sequence[str]) -> bool:
    """Whether one of the secrets, as it is now, is not what was `used` and refused."""
    pairs = zip(secrets, used, strict=True)
    return any(secret.renewed(text) != text for secret, text in pairs)
