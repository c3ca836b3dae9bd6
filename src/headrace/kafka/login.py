"""Logins of Kafka's clients with secrets that change.

librdkafka logs in again by itself, for as long as a client lives, with the secrets that it got at
first. When these have changed, other clients are closed and opened again; the native producer
cannot be closed inside a transaction, so it gets the new password.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from headrace.config.credentials.changing import ChangingText, have_changed, settings_now
from headrace.errors import HeadraceError

REFUSED_LOGIN = -169
"""librdkafka's code of a refused login."""
_USER, _WORD = "sasl.username", "sasl.password"
_SETTLE_SECONDS = 10.0
"""Seconds after a change of the password during which a broker may still refuse a login that was
begun with the former one."""


class Login:
    """The secrets of one client, whose `settings` may change. `used` has the settings with the
    secrets that the client uses now. Raises HeadraceError("config.secret_unreadable")."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._settings = settings
        self.used = settings_now(settings)
        self._renewed = -_SETTLE_SECONDS

    @property
    def has_changed(self) -> bool:
        """Whether a new client would get other secrets. Never raises: secrets that cannot be read
        count as unchanged."""
        try:
            return have_changed(self._settings, self.used)
        except HeadraceError:
            return False

    def renew(self, give: Callable[[str, str], None]) -> bool:
        """Return whether the client should try to log in again after a refused login. Calls `give`
        with the user and the password if they have changed. Raises only what `give` raises."""
        texts = [self._settings.get(name) for name in (_USER, _WORD)]
        if None in texts or not any(isinstance(text, ChangingText) for text in texts):
            return False
        if self.has_changed:
            with suppress(HeadraceError):
                self.used |= settings_now({name: self._settings[name] for name in (_USER, _WORD)})
                self._renewed = time.monotonic()
                give(self.used[_USER], self.used[_WORD])
        return time.monotonic() - self._renewed < _SETTLE_SECONDS
