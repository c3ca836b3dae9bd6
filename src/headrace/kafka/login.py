"""Logins of Kafka's clients with secrets that change.

librdkafka logs in again by itself, for as long as a client lives, with the secrets that it was
given. A client that is kept is opened again when they have changed; the native producer, in whose
transactions that is not a choice, gets the new password in its place.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from headrace.config.credentials.changing import ChangingText, have_changed, settings_now
from headrace.errors import HeadraceError

REFUSED_LOGIN = -169
"""librdkafka's number of a login that was refused."""
_USER, _WORD = "sasl.username", "sasl.password"
_SETTLE_SECONDS = 10.0
"""After so long no broker refuses a login that was begun with a former password."""


class Login:
    """The secrets of one client, whose `settings` may change. `used` is what the client gets of
    them now. Raises HeadraceError("config.secret_unreadable")."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._settings = settings
        self.used = settings_now(settings)
        self._renewed = -_SETTLE_SECONDS

    @property
    def has_changed(self) -> bool:
        """Whether another client would be given other secrets. Never raises: those that cannot be
        read have not changed."""
        try:
            return have_changed(self._settings, self.used)
        except HeadraceError:
            return False

    def renew(self, give: Callable[[str, str], None]) -> bool:
        """After a login was refused: whether the client tries another password now. If it has
        changed since, the client is given it, and the user, by `give`. Never raises, unless `give`
        does."""
        texts = [self._settings.get(name) for name in (_USER, _WORD)]
        if None in texts or not any(isinstance(text, ChangingText) for text in texts):
            return False
        if self.has_changed:
            with suppress(HeadraceError):
                self.used |= settings_now({name: self._settings[name] for name in (_USER, _WORD)})
                self._renewed = time.monotonic()
                give(self.used[_USER], self.used[_WORD])
        return time.monotonic() - self._renewed < _SETTLE_SECONDS
