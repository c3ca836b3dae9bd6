"""Texts that are never shown, and the one rule by which they are hidden."""

from __future__ import annotations

import hmac
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Protocol
from urllib.parse import quote, quote_plus, unquote, unquote_plus

HIDDEN = "********"
LONG = 8
"""The least length of a secret, in characters, that is hidden wherever it occurs, in any case. A
shorter one may also be part of a word: it is hidden only as a separate word, without a letter,
digit or underscore beside it."""
_WORDS = (
    r"passw(?:or)?d|pwd|passphrase|secret|token|credential|jaas|sas\.key|access[._-]?key"
    r"|private[._-]?key|account[._-]?key|api[._-]?key"
)
_SECRET_NAME = re.compile(rf"{_WORDS}|user\.?info|ssl\.key\.pem$|keystore\.key$", re.IGNORECASE)
_LOGIN_NAME = re.compile(r"user\.?info", re.IGNORECASE)
_MAX_FOUND, _MAX_READ = 100, 1 << 20
"""The most passwords that are searched in a text, and the most characters of such a text."""
_SALT = re.compile(r"(\.with\.salt\.).+", re.IGNORECASE | re.DOTALL)
_QUOTED = r""""(?:[^"\\]|\\.|""){0,2000}"|'(?:[^'\\]|\\.|''){0,2000}'"""
_SQL_TEXT = rf"(?:[ENB]|U&)?(?:{_QUOTED}|\$(?P<tag>\w*)\$.{{0,2000}}?\$(?P=tag)\$)"
_BARE = r"""(?:\$\{[^}]*\}|[^\s;,&'")}])+"""
_PASSWORDS = tuple(
    re.compile(pattern, re.IGNORECASE | re.DOTALL)
    for pattern in (
        # scheme://user:PASSWORD@host, up to the last @: a password may contain an unescaped one.
        r"://[^:/@\s]*:((?:(?!://)[^\s\"'<>])*)@",
        # user/PASSWORD@host
        r"""(?:^|[\s"'(=]|:(?!\d))[\w$#.-]+/("[^"]*"|[^\s/@"']+)@""",
        # password=…, PWD=…, "password": "…"; no comparison
        rf"(?:{_WORDS}|user\.?_?info)[\w.-]{{0,64}}[\"']?\s*=(?![=~>])\s*"
        rf"(''[^']+''|{_SQL_TEXT}|['\"]?{_BARE})",
        rf"(?:{_WORDS})[\w.-]{{0,64}}[\"']\s*:\s*({_QUOTED})",
        r"\b(?:Bearer|Basic)\s+([\w.~+/=-]{8,})",
        r"SESSION_TOKEN:([^\s,&]+)",
        # SQL
        rf"\b(?:{_WORDS})\s+({_SQL_TEXT})",
        rf"(?:{_WORDS})[\w.-]{{0,64}}\s*(?:=>|\bTO\b)\s*({_SQL_TEXT}|{_BARE})",
        rf"(?:{_WORDS})[\w.-]{{0,64}}'\s*,\s*({_SQL_TEXT})",
        rf"\bIDENTIFIED\s+BY\s+(?:VALUES\s+)?({_QUOTED}|{_BARE})",
    )
)
_NO_PASSWORD = re.compile(r"\*+|[?]|[:@$]\w+|%s|null|none|\$\{[^}]*\}", re.IGNORECASE)
"""A replacement of a secret: stars, a parameter, a reference."""
_PLACE = 0x10_0000
_PLACES = re.compile(f"[{chr(_PLACE)}-{chr(_PLACE + 0xFFFF)}]")
"""Characters of Unicode's last plane, which have no meaning; they stand for marks."""


class SecretSource(Protocol):
    """The source of a secret that may change. It is hashable, and pickled without the secret."""

    def current(self) -> str:
        """Return the present secret. Raises HeadraceError."""
        ...

    def renewed(self, used: str) -> str:
        """Return the present secret after `used` was refused. Raises HeadraceError."""
        ...

    def seen(self) -> Mapping[str, tuple[tuple[str, str], ...]]:
        """Return the last secrets in this process, each with its references and their values."""
        ...


class Secret:
    """Wraps a password. `str`, `repr` and `format` hide it, `reveal()` returns it.

    A secret with a `source` is read from it at each use, and pickled without its text."""

    __slots__ = ("_source", "_text")

    def __init__(self, text: str, source: SecretSource | None = None) -> None:
        self._text = text if source is None else ""
        self._source = source

    @property
    def may_change(self) -> bool:
        """Whether another use may reveal another text."""
        return self._source is not None

    def reveal(self) -> str:
        """Return the present text. Raises the HeadraceError of its source."""
        return self._text if self._source is None else self._source.current()

    def renewed(self, used: str) -> str:
        """Return the text after the server refused `used`. Raises as `reveal`."""
        return self._text if self._source is None else self._source.renewed(used)

    def from_source(self, source: SecretSource) -> Secret:
        """Return a secret that is read from the source."""
        return Secret("", source)

    def __repr__(self) -> str:
        return f"Secret({HIDDEN})"

    def __str__(self) -> str:
        return HIDDEN

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret):
            return NotImplemented
        if self._source is not None or other._source is not None:
            return self._source == other._source
        return hmac.compare_digest(
            self._text.encode("utf-8", "surrogatepass"),
            other._text.encode("utf-8", "surrogatepass"),
        )

    def __hash__(self) -> int:
        return hash((Secret, self._text, self._source))

    def __reduce__(self) -> tuple[object, ...]:
        return Secret, (self._text, self._source)


def names_a_secret(name: str) -> bool:
    """Return whether a pass-through property of this name is treated as a secret."""
    return _SECRET_NAME.search(name) is not None


def passwords_in(text: str) -> tuple[str, ...]:
    """Return the passwords written into a URL, a connection string, a login configuration or
    SQL."""
    passwords: dict[str, None] = {}
    for pattern in _PASSWORDS:
        for match in pattern.finditer(text):
            password = _unquoted(match[1])
            if len(passwords) == _MAX_FOUND:
                return tuple(passwords)
            if password.strip() and not _NO_PASSWORD.fullmatch(password):
                passwords[password] = None
    return tuple(passwords)


def _unquoted(text: str) -> str:
    """Return the content of a text in quotes of SQL, of Java or of JSON."""
    if text.startswith("''") and text.endswith("''") and len(text) > 4:
        return text[2:-2]  # inside a text of SQL
    text = re.sub(r"^(?:[ENB]|U&)(?=['\"])", "", text, flags=re.IGNORECASE)
    if tag := re.match(r"\$\w*\$", text):
        return text.removeprefix(tag[0]).removesuffix(tag[0])
    if text[:1] not in ("'", '"'):
        return text
    mark, text = text[0], text[1:].removesuffix(text[0])
    return re.sub(rf"\\(.)|{mark}({mark})", r"\1\2", text)


def secrets_in(name: str, text: str, *, is_secret: bool) -> tuple[str, ...]:
    """Return the secrets in the text of the property `name`: all of it if the property `is_secret`,
    and the passwords that are written into it."""
    passwords = passwords_in(text)
    if is_secret:
        _, colon, password = text.partition(":")
        login = (password,) if colon and _LOGIN_NAME.search(name) else ()
        passwords = (text, *login, *passwords)
    return tuple(dict.fromkeys(secret for secret in passwords if secret.strip()))


def without_secrets(text: str, secrets: Mapping[str, str] | Iterable[str]) -> str:
    """Return `text` with secrets (see `LONG`) replaced by stars, or as a mapping says: as written,
    and in the forms of messages: on one line, with escapes, percent-encoded and decoded."""
    text = _PLACES.sub("\N{REPLACEMENT CHARACTER}", text)
    if not isinstance(secrets, Mapping):
        secrets = dict.fromkeys(secrets, HIDDEN)
    lowered = text.lower()
    present = tuple(item for item in _all_forms(tuple(secrets.items())) if item[0] in lowered)
    if not present:
        return text
    pattern, marks = _pattern(present)
    # After a secret is hidden, the text beside it may be a separate word; marks are left alone.
    while True:
        hidden = pattern.sub(lambda match: chr(_PLACE + (match.lastindex or 1)), text)
        if hidden == text:
            return _PLACES.sub(lambda place: marks[ord(place[0]) - _PLACE - 1], hidden)
        text = hidden


def without_passwords(text: str, written: str | None = None) -> str:
    """Return `text` with recognised passwords replaced by stars, those in it or in the text
    `written` that it is about. It is replaced as a whole if that text is too long to search."""
    written = text if written is None else written
    passwords = () if len(written) > _MAX_READ else passwords_in(written)
    if len(written) > _MAX_READ or len(passwords) == _MAX_FOUND:
        return f"a text of {len(written)} characters, which may have passwords in it"
    return without_secrets(text, passwords)


def printable_name(name: str) -> str:
    """Return `name` with the salt of `column.mask.hash.ALG.with.salt.SALT` hidden."""
    return _SALT.sub(rf"\g<1>{HIDDEN}", name)


@lru_cache(maxsize=64)
def _all_forms(secrets: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str, str], ...]:
    """Return each form of the secrets, the longest first: in lower case, as it is, and its mark."""
    marks: dict[str, str] = {}
    for secret, mark in secrets:
        for form in _forms(secret):
            marks.setdefault(form, mark)
    longest_first = sorted(filter(str.strip, marks), key=len, reverse=True)
    return tuple((form.lower(), form, marks[form]) for form in longest_first)


@lru_cache(maxsize=64)
def _pattern(
    forms: tuple[tuple[str, str, str], ...],
) -> tuple[re.Pattern[str], tuple[str, ...]]:
    """Return the pattern of these forms of `_all_forms`, a group for each, and the marks of the
    groups."""
    pattern = "|".join(
        f"((?i:{re.escape(form)}))" if len(form) >= LONG else rf"(?<!\w)({re.escape(form)})(?!\w)"
        for _, form, _ in forms
    )
    return re.compile(pattern), tuple(mark for _, _, mark in forms)


def _forms(secret: str) -> Iterator[str]:
    """Yield the forms of a secret in messages."""
    for text in dict.fromkeys((secret, secret.strip(), unquote(secret), unquote_plus(secret))):
        yield text
        yield " ".join(text.split())
        yield repr(text)[1:-1]
        yield json.dumps(text)[1:-1]
        yield json.dumps(text, ensure_ascii=False)[1:-1]
        yield text.replace("'", "''")
        yield text.replace('"', '""')
        yield re.sub(r"(['\\])", r"\\\1", text)
        for encoded in (
            quote(text, errors="replace"),
            quote(text, safe="", errors="replace"),
            quote_plus(text, errors="replace"),
        ):
            yield encoded
            yield re.sub("%[0-9A-F]{2}", lambda digits: digits[0].lower(), encoded)
    lines = [line.strip() for line in secret.splitlines()]
    if len(lines) > 1:
        yield from (line for line in lines if len(line) >= LONG)
