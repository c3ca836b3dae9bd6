"""Tokens of a Groovy expression."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from headrace.transforms.expressions.tree import (
    LiteralTree,
    ScalarKind,
    decimal_literal,
    not_understood,
    text_literal,
)

_SPACE = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)+", re.DOTALL)
_NAME = re.compile(r"[^\W\d]\w*")
_NUMBER = re.compile(
    r"(?P<hex>0[xX][0-9a-fA-F]+)|(?P<digits>\d(?:[\d_]*\d)?)(?P<fraction>\.\d+)?"
    r"(?P<power>[eE][+-]?\d+)?"
)
_SYMBOLS = (
    "==~", "===", "!==", "<=>", "**=", "...", "..<", "==", "!=", "<=", ">=", "&&", "||", "=~", "?.",
    "?:", "..", "->", "++", "--", "**", "<<", ">>", "*.", "?[", "::", "+", "-", "*", "/", "%", "<",
    ">", "!", "?", ":", "(", ")", "[", "]", ".", ",", ";", "=", "{", "}", "&", "|", "^", "~", "@",
)  # fmt: skip
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "s": " "}
_INT_MAX, _LONG_MAX = 2**31, 2**63  # one more is valid after a minus
_ENDS_OPERAND = frozenset([")", "]", "}"])


@dataclass(frozen=True)
class Token:
    """A token at an offset of the text: a name, a symbol, a literal, or the end (all empty).

    `new_line`: a line ends between the previous token and this one.
    """

    offset: int
    name: str = ""
    symbol: str = ""
    literal: LiteralTree | None = None
    new_line: bool = False


def tokens(text: str) -> Iterator[Token]:
    """Yield the tokens of `text`, with the end as the last one. Raises HeadraceError."""
    at, last = 0, Token(0)
    while True:
        begin = at
        space = _SPACE.match(text, at)
        if space is not None:
            at = space.end()
        new_line = "\n" in text[begin:at]
        if at == len(text):
            yield Token(at, new_line=new_line)
            return
        last, at = _token(text, at, last, new_line)
        yield last


def _token(text: str, at: int, last: Token, new_line: bool) -> tuple[Token, int]:
    character = text[at]
    name = _NAME.match(text, at)
    if name is not None:
        return Token(at, name=name[0], new_line=new_line), name.end()
    if character.isdigit():
        return _number(text, at, new_line)
    ends_operand = bool(last.name or last.literal) or last.symbol in _ENDS_OPERAND
    if character in "'\"" or (character == "/" and not ends_operand):
        value, end = _text(text, at)
        try:
            return Token(at, literal=text_literal(value), new_line=new_line), end
        except ValueError as error:
            raise not_understood(text, at, str(error)) from None
    symbol = next((candidate for candidate in _SYMBOLS if text.startswith(candidate, at)), None)
    if symbol is None:
        raise not_understood(text, at, f"{character!r} belongs to nothing")
    return Token(at, symbol=symbol, new_line=new_line), at + len(symbol)


def _number(text: str, at: int, new_line: bool) -> tuple[Token, int]:
    match = _NUMBER.match(text, at)
    assert match is not None
    try:
        return _number_of(match, text, at, new_line)
    except (ValueError, OverflowError) as error:
        raise not_understood(text, at, str(error)) from None


def _number_of(match: re.Match[str], text: str, at: int, new_line: bool) -> tuple[Token, int]:
    """Read a number. Raises ValueError for more digits than columns support."""
    end = match.end()
    suffix = text[end : end + 1]
    has_fraction = bool(match["fraction"] or match["power"])
    if has_fraction:
        digits = match[0].replace("_", "")
        is_double = suffix and suffix in "dD"
        literal = (
            LiteralTree(float(digits), ScalarKind.DOUBLE) if is_double else decimal_literal(digits)
        )
    else:
        number = int(match["hex"], 16) if match["hex"] else int(match["digits"].replace("_", ""))
        if match["digits"] and len(match["digits"]) > 1 and match["digits"][0] == "0":
            raise not_understood(text, at, "a number that begins with 0 is octal in Groovy")
        literal = integer(number)
        if suffix and suffix in "lL":
            if number > _LONG_MAX:
                raise not_understood(text, at, "the number is not a long")
            literal = LiteralTree(number, ScalarKind.LONG)
        elif suffix and suffix in "dD":
            literal = LiteralTree(float(number), ScalarKind.DOUBLE)
    if suffix and (suffix in "gG" or (suffix in "lL" and not has_fraction) or suffix in "dD"):
        if suffix in "gG":
            literal = decimal_literal(match[0].replace("_", ""))
        end += 1
    if _NAME.match(text, end):
        raise not_understood(text, end, f"{text[end]!r} right after a number")
    return Token(at, literal=literal, new_line=new_line), end


def integer(number: int) -> LiteralTree:
    """Return a whole number in the smallest Groovy type that holds it."""
    if -_INT_MAX <= number < _INT_MAX:
        return LiteralTree(number, ScalarKind.INT)
    if -_LONG_MAX <= number < _LONG_MAX:
        return LiteralTree(number, ScalarKind.LONG)
    return decimal_literal(str(number))


def _text(text: str, begin: int) -> tuple[str, int]:
    """Return a text in quotes or between slashes, and its end."""
    quote = text[begin]
    if text.startswith(quote * 3, begin) and quote != "/":
        raise not_understood(text, begin, "texts in three quotes are not supported")
    pieces: list[str] = []
    at = begin + 1
    while at < len(text) and text[at] != quote:
        character = text[at]
        if character == "\n" and quote != "/":
            break
        if character == "$" and quote != "'" and re.match(r"\$[\w{]", text[at:]):
            raise not_understood(text, at, "a text with $ in it is a GString; join with + instead")
        if character == "\\":
            piece, at = _escaped(text, at, quote)
            pieces.append(piece)
            continue
        pieces.append(character)
        at += 1
    if at >= len(text) or text[at] != quote:
        raise not_understood(text, begin, f"the text that begins with {quote} does not end")
    return "".join(pieces), at + 1


def _escaped(text: str, at: int, quote: str) -> tuple[str, int]:
    follower = text[at + 1 : at + 2]
    if quote == "/":
        return ("/", at + 2) if follower == "/" else ("\\", at + 1)
    if follower == "u":
        digits = text[at + 2 : at + 6]
        if re.fullmatch("[0-9a-fA-F]{4}", digits) is None or 0xD800 <= int(digits, 16) < 0xE000:
            raise not_understood(text, at, "\\u takes four hexadecimal digits of a character")
        return chr(int(digits, 16)), at + 6
    if follower in _ESCAPES:
        return _ESCAPES[follower], at + 2
    if follower and follower in "\\'\"$":
        return follower, at + 2
    raise not_understood(text, at, f"\\{follower} is not an escape")
