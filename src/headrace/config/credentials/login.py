"""Logins with secrets that change: a refused login is tried once more with the new secret."""

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
    """Return the result of `connect`, which reveals the secrets. After one of the `errors` that
    `is_refused`, it is called once more if a secret has changed meanwhile. Raises the errors of
    `connect`."""
    changing = [secret for secret in secrets if secret is not None and secret.may_change]
    used = [secret.reveal() for secret in changing]
    try:
        return connect()
    except errors as error:
        if not is_refused(error) or not secrets_have_changed(changing, used):
            raise
    return connect()


def secrets_have_changed(secrets: Sequence[Secret], used: Sequence[str]) -> bool:
    """Return whether the present text of one of the secrets differs from the `used` and refused
    one."""
    pairs = zip(secrets, used, strict=True)
    return any(secret.renewed(text) != text for secret, text in pairs)
