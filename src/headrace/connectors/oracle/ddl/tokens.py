"""The words of a statement that changes tables."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

_TOKEN = re.compile(
    r"""\s+ | --[^\n]* | /\*.*?\*/
    | (?P<quoted>"[^"]*")
    | (?P<text>[nN]?'(?:[^']|'')*')
    | (?P<word>[^\W\d][\w$\#]*)
    | (?P<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+)
    | (?P<sign>\|\||[^\s])""",
    re.VERBOSE | re.DOTALL,
)
_ENDS = " \t\r\n;\0"
"""The text that may follow a statement, before and after a slash; LogMiner writes a byte 0."""


class DdlNotUnderstood(ValueError):
    """A statement has none of the known forms; the message says where."""


class TokenKind(Enum):
    """The kind of a token."""

    WORD = "word"
    QUOTED = "quoted"
    TEXT = "text"
    NUMBER = "number"
    SIGN = "sign"


@dataclass(frozen=True)
class DdlToken:
    """A token and its place; `text` is in upper case for words, and without quotes for names
    in quotes."""

    kind: TokenKind
    text: str
    start: int
    end: int


def tokens_of(sql: str) -> tuple[DdlToken, ...]:
    """Return the tokens of a statement without comments."""
    sql = sql.rstrip(_ENDS)
    if sql.endswith("/") and not sql.endswith("*/"):
        sql = sql[:-1].rstrip(_ENDS)
    tokens = []
    for match in _TOKEN.finditer(sql):
        if match.lastgroup is None:
            continue
        kind, text = TokenKind(match.lastgroup), match[0]
        if kind is TokenKind.WORD:
            text = text.upper()
        elif kind is TokenKind.QUOTED:
            text = text[1:-1]
        tokens.append(DdlToken(kind, text, *match.span()))
    return tuple(tokens)


def stated(sql: str) -> str:
    """Return a statement without the text before and after it: comments, spaces, and
    terminators."""
    tokens = tokens_of(sql)
    return sql[tokens[0].start : tokens[-1].end] if tokens else ""


class TokenCursor:
    """Reads tokens one after the other."""

    def __init__(self, sql: str) -> None:
        self.sql = sql
        self._tokens: Sequence[DdlToken] = tokens_of(sql)
        self._place = 0

    def peek(self, ahead: int = 0) -> DdlToken | None:
        """Return the next token, or one after it; None after the last."""
        place = self._place + ahead
        return self._tokens[place] if place < len(self._tokens) else None

    @property
    def at_end(self) -> bool:
        return self._place >= len(self._tokens)

    def next(self) -> DdlToken:
        """Return the next token, and move past it. Raises DdlNotUnderstood at the end."""
        token = self.peek()
        if token is None:
            raise DdlNotUnderstood("it ends too early")
        self._place += 1
        return token

    def sees(self, *texts: str) -> bool:
        """Whether these words or signs come next."""
        for ahead, text in enumerate(texts):
            token = self.peek(ahead)
            if token is None or not _is(token, text):
                return False
        return True

    def sees_any(self, texts: frozenset[str]) -> bool:
        """Whether one of these words or signs comes next."""
        token = self.peek()
        return token is not None and any(_is(token, text) for text in texts)

    def take(self, *texts: str) -> bool:
        """Skip these words or signs if they come next; returns whether they did."""
        if not self.sees(*texts):
            return False
        self._place += len(texts)
        return True

    def expect(self, *texts: str) -> None:
        """Skip these words or signs; raises DdlNotUnderstood if they do not come next."""
        if not self.take(*texts):
            raise DdlNotUnderstood(f"{' '.join(texts)} is lacking{self._here()}")

    def name(self) -> str:
        """Return the name that comes next: in upper case unless it is in quotes."""
        token = self.next()
        if token.kind not in (TokenKind.WORD, TokenKind.QUOTED):
            raise DdlNotUnderstood(f"a name is lacking at character {token.start + 1}")
        return token.text

    def path(self, schema: str) -> tuple[str, str]:
        """Return the schema and name that come next; `schema` is that of a name without one."""
        first = self.name()
        return (first, self.name()) if self.take(".") else (schema, first)

    def names(self) -> tuple[str, ...]:
        """Return the names in parentheses that come next."""
        listed = []
        self.expect("(")
        while True:
            listed.append(self.name())
            if not self.take(","):
                break
        self.expect(")")
        return tuple(listed)

    def number(self) -> int:
        """Return the whole number that comes next, with or without sign."""
        sign = -1 if self.take("-") else 1
        token = self.next()
        if token.kind is not TokenKind.NUMBER or not token.text.isdigit():
            raise DdlNotUnderstood(f"a number is lacking at character {token.start + 1}")
        return sign * int(token.text)

    def skip_until(self, is_end: Callable[[], bool]) -> str:
        """Move to a token outside of parentheses for which `is_end` is true, to a comma or a
        closing parenthesis that was not opened, or to the end; returns the text between. The first
        token is never the end."""
        first = self.peek()
        if first is None:
            raise DdlNotUnderstood("it ends too early")
        depth, last = 0, first
        while not self.at_end:
            if not depth and last is not first and (is_end() or self.sees(",")):
                break
            if not depth and self.sees(")"):
                break
            token = self.next()
            depth += _is(token, "(") - _is(token, ")")
            last = token
            if token is first and not depth and (self.at_end or is_end() or self.sees(",")):
                break
        return self.sql[first.start : last.end]

    def skip_parentheses(self) -> None:
        """Skip a pair of parentheses with its content, if it comes next."""
        if not self.take("("):
            return
        depth = 1
        while depth:
            token = self.next()
            depth += _is(token, "(") - _is(token, ")")

    def _here(self) -> str:
        token = self.peek()
        return " at its end" if token is None else f" at character {token.start + 1}"


def _is(token: DdlToken, text: str) -> bool:
    return token.text == text and token.kind in (TokenKind.WORD, TokenKind.SIGN)
