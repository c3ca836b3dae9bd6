"""Masks names (by numbers) and values (by characters of the same kinds) in a support bundle.

Each bundle has a random key, which is not stored: equal values have equal masks within a bundle,
and values cannot be guessed by trying them.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

_TOKEN = re.compile(
    r"(?P<text>[nN]?[qQ]'(?:\[.*?\]|\(.*?\)|\{.*?\}|<.*?>|(?P<mark>[^\s\[({<']).*?(?P=mark))'"
    r"|'(?:[^']|'')*'?)"
    r'|(?P<name>"(?:[^"]|"")*"?)'
    r"|(?P<comment>/\*.*?(?:\*/|$)|--[^\n]*)"
    r"|(?P<word>[^\W\d][\w$#]*)"
    r"|(?P<number>\d+(?:\.\d+)?)"
    r"|(?P<other>\s+|.)",
    re.DOTALL,
)
_MOMENT = re.compile(r"([+-]?\d{4})-(\d\d)-(\d\d)(?: (\d\d):(\d\d):(\d\d)(\.\d+)?(.*))?", re.DOTALL)
_FORMATS = frozenset(
    {
        "YYYY-MM-DD HH24:MI:SS", "SYYYY-MM-DD HH24:MI:SS", "YYYY-MM-DD HH24:MI:SS.FF9",
        "SYYYY-MM-DD HH24:MI:SS.FF9", "YYYY-MM-DD HH24:MI:SS.FF9 TZH:TZM",
        "SYYYY-MM-DD HH24:MI:SS.FF9 TZH:TZM",
    }
)  # fmt: skip
"""Formats of the connectors' own sessions: literals that reveal nothing about a value."""
_SQL_WORDS = """
    ADD ALL ALTER ALWAYS AND AS ASC BEGIN BETWEEN BIGINT BINARY BINARY_DOUBLE BINARY_FLOAT
    BLOB BOOLEAN BY BYTE CACHE CASCADE CASE CHAR CHARACTER CHECK CLOB CLUSTER COLUMN COLUMNS
    COMMENT COMMIT CONSTRAINT CONSTRAINTS CREATE CURRENT_DATE CURRENT_TIMESTAMP CYCLE DATA
    DATE DAY DBCLOB DECFLOAT DECIMAL DEFAULT DELETE DESC DISABLE DISTINCT DOUBLE DROP ELSE
    EMPTY_BLOB EMPTY_CLOB ENABLE END EXISTS FALSE FLOAT FOR FOREIGN FROM GENERATED GLOBAL
    GRANT GRAPHIC HEXTORAW IDENTITY IF IN INCREMENT INDEX INITIALLY INSERT INT INTEGER
    INTERVAL INTO INVISIBLE IS JSON KEY LIKE LOB LOCAL LOGGING LONG MERGE MODIFY MONTH NCHAR
    NCLOB NO NOCACHE NOCYCLE NOLOGGING NOORDER NOT NOVALIDATE NULL NUMBER NUMERIC NVARCHAR2 OF
    ON ONLINE OR ORDER PARTITION PARTITIONS PCTFREE PRECISION PRIMARY PURGE RANGE RAW REAL
    REFERENCES RENAME REPLACE ROLLBACK ROW ROWID SCHEMA SECOND SELECT SEQUENCE SESSION SET
    SMALLINT STORAGE STORE SUBPARTITION SUPPLEMENTAL SYSDATE SYSTIMESTAMP TABLE TABLESPACE
    TEMPORARY THEN TIME TIMESTAMP TO TO_CHAR TO_DATE TO_DSINTERVAL TO_NUMBER TO_TIMESTAMP
    TO_TIMESTAMP_TZ TO_YMINTERVAL TRUE TRUNCATE TYPE UNION UNIQUE UNISTR UNUSED UPDATE UROWID
    USING VALIDATE VALUES VARBINARY VARCHAR VARCHAR2 VARGRAPHIC VECTOR VIEW VIRTUAL VISIBLE
    WHEN WHERE WITH XML XMLTYPE YEAR ZONE
"""
_KEPT_WORDS = frozenset(_SQL_WORDS.split())
"""Words of SQL that a mask leaves unchanged; any other word may be a name."""
_TYPES_WITH_SIZE = (
    "BINARY|BLOB|CHAR|CHARACTER|CLOB|DBCLOB|DECFLOAT|DECIMAL|FLOAT|GRAPHIC|NCHAR|NCLOB|NUMBER|"
    "NUMERIC|NVARCHAR2|RAW|TIME|TIMESTAMP|UROWID|VARBINARY|VARCHAR|VARCHAR2|VARGRAPHIC|VECTOR"
)
_DAYS = r"DAY(?:\s*\(\s*\d{1,5}\s*\))?"
_BEFORE_SIZE = re.compile(
    r"(?:(?:[(,]|\b(?:ADD|MODIFY|COLUMN))\s*\"?\bNAME_\d+\b\"?|\bSET\s+DATA\s+TYPE)\s+"
    rf"(?:{_TYPES_WITH_SIZE}|INTERVAL\s+(?:YEAR|DAY|{_DAYS}\s+TO\s+SECOND))"
    r"\s*\(\s*(?:\d{1,5}\s*,\s*-?\s*)?$",
    re.IGNORECASE,
)
"""The text before a size, or the scale after it, in a masked statement that declares a column. In
an expression, such as a default, no name precedes the type."""
_SIZE = re.compile(r"\d{1,5}")
_LONGEST_BEFORE_SIZE = 120
_COLUMN_START = "(NAME_0 "
"""The text before the type of a column."""
_OBJECTS = (
    "OR|GLOBAL|PRIVATE|PUBLIC|UNIQUE|BITMAP|MATERIALIZED|TABLE|INDEX|VIEW|SEQUENCE|CLUSTER|SYNONYM|"
    "TRIGGER|TYPE|PACKAGE|PROCEDURE|FUNCTION|USER|TABLESPACE|SESSION|SYSTEM"
)
_STATEMENT = re.compile(
    r"\s*(?:(?:insert\s+into|update|delete\s+from|select)\s+\"|/\*|(?:declare|begin)\b(?!.*:=)|"
    r"(?:commit|rollback)\s*;?\s*$|set\s+transaction\b|comment\s+on\s+(?:table|column)\b|"
    rf"(?:create|alter|drop|truncate|purge|flashback|lock|analyze)\s+(?:{_OBJECTS})\b)",
    re.IGNORECASE | re.DOTALL,
)
"""The beginning of a statement whose quotation marks are those of SQL: a statement on rows, a block
of PL/SQL, or another statement of a user. Parts of large values are assignments (`buf_c := '…'`),
or the bare text."""
KEPT = "surrogateescape"
"""Error handler with which bytes that are not UTF-8 pass through texts."""
_QUOTE = '"'


class Masks:
    """The masks of one bundle. Methods return no name and no value of their arguments, except those
    of the workload (`own_words`). SQL's words, punctuation, sizes of columns and formats of dates
    stay."""

    def __init__(self, key: bytes | None = None) -> None:
        self._key = key or secrets.token_bytes(32)
        self._names: dict[str, str] = {}

    def name(self, text: str) -> str:
        """Return `NAME_0001` and so on: the same for equal names. `text` has no quotation marks."""
        return self._names.setdefault(text, f"NAME_{len(self._names) + 1:04}")

    def text(self, text: str) -> str:
        """Mask a text by one of the same length: digits by digits, letters by letters of the same
        case, every character outside ASCII by one of as many bytes; other characters stay."""
        stream = self._stream(text.encode("utf-8", "surrogatepass"))
        return "".join(_alike(character, stream) for character in text)

    def data(self, data: bytes) -> str:
        """Return a digest of the data in hexadecimal digits, of as many bytes."""
        stream = self._stream(data)
        return bytes(next(stream) for _ in data).hex()

    def sql(self, statement: str) -> str:
        """Mask a statement: SQL's words, punctuation and sizes of declared columns stay; names are
        numbered; literals, numbers and comments are masked by `text`; dates and times are
        replaced."""
        return self._sql(statement, "")

    def column_type(self, text: str) -> str:
        """The declared type of a column, with its sizes; names are numbered."""
        return self._sql(text, _COLUMN_START).removeprefix(_COLUMN_START)

    def _sql(self, statement: str, before: str) -> str:
        """Return the masked statement after `before`, which stays unchanged."""
        masked = before
        for token in _TOKEN.finditer(statement):
            part = token[0]
            match token.lastgroup:
                case "text":
                    part = self._literal(part)
                case "name":
                    part = f'"{self.name(part.strip(_QUOTE))}"'
                case "comment":
                    part = f"{part[:2]}{self.text(part[2:])}"
                case "word" if part.upper() not in _KEPT_WORDS:
                    part = self.name(part.upper())
                case "number" if not (
                    _SIZE.fullmatch(part) and _BEFORE_SIZE.search(masked[-_LONGEST_BEFORE_SIZE:])
                ):
                    part = self.text(part)
                case "other" if not part.isascii():
                    part = self.text(part)
            masked += part
        return masked

    def parts(self, parts: Sequence[str], own_words: frozenset[str] | None = None) -> list[str]:
        """Mask the parts of one statement, which may be split within a literal or a character
        (bytes that are not UTF-8 are surrogates, as KEPT makes them). They are masked as one
        statement by `sql`, or by `own_sql` with `own_words`, and split at the same places: each
        part has as many bytes as before, as far as the masked statement has so many, and a split
        between two characters is not moved into a character. A text that does not begin like a
        statement, such as a part without its beginning or of a large value, is masked by `text`,
        unless it belongs to the workload."""
        encoded = [part.encode(errors=KEPT) for part in parts]
        whole = b"".join(encoded).decode(errors=KEPT)
        if own_words is not None:
            masked = self.own_sql(whole, own_words)
        else:
            masked = self.sql(whole) if _STATEMENT.match(whole) else self.text(whole)
        data = masked.encode(errors=KEPT)
        cut, first, end = [], 0, 0
        for part, following in pairwise(encoded):
            end += len(part)
            place = min(end, len(data))
            while place > first and _is_within(data, place) and not _is_within(following, 0):
                place -= 1
            cut.append(data[first:place])
            first = place
        return [part.decode(errors=KEPT) for part in (*cut, data[first:])]

    def statements(
        self,
        texts: Sequence[str | None],
        goes_on: Sequence[object],
        own_words: Sequence[frozenset[str] | None],
    ) -> list[str | None]:
        """Mask the statements of rows by `parts`. `goes_on` says for each row whether its statement
        continues in the next row; `own_words` is the `own_words` of the statement that begins in
        the row."""
        masked: list[str | None] = []
        first = 0
        for row, more in enumerate(goes_on, 1):
            if more and row < len(texts):
                continue
            parts = self.parts([text or "" for text in texts[first:row]], own_words[first])
            masked += [
                None if text is None else part
                for text, part in zip(texts[first:row], parts, strict=True)
            ]
            first = row
        return masked

    def own_sql(self, statement: str, own_words: frozenset[str]) -> str:
        """Mask a statement on a table of a workload: SQL's names and words and those of `own_words`
        stay, and so do values, which are the workload's. A literal that contains quotation marks is
        masked like a statement, so a quoted text in it is a name."""
        masked = ""
        for token in _TOKEN.finditer(statement):
            part = token[0]
            match token.lastgroup:
                case "text" if _QUOTE in part:
                    part = f"{part[0]}{self.own_sql(part[1:], own_words)}"
                case "name" if part.strip(_QUOTE).upper() not in own_words:
                    part = f'"{self.name(part.strip(_QUOTE))}"'
                case "comment":
                    part = f"{part[:2]}{self.text(part[2:])}"
                case "word" if part.upper() not in _KEPT_WORDS | own_words:
                    part = self.name(part.upper())
            masked += part
        return masked

    def _literal(self, literal: str) -> str:
        if not literal.startswith("'"):  # q'[…]'
            return "'" + self.text(literal[literal.index("'") + 2 : -2]) + "'"
        inner = literal[1:].removesuffix("'")
        if inner in _FORMATS:
            return literal
        moment = _MOMENT.fullmatch(inner)
        masked = self.text(inner) if moment is None else self._moment(inner, moment)
        return f"'{masked}'"

    def _moment(self, text: str, moment: re.Match[str]) -> str:
        """Return another date and time in the same form."""
        stream = self._stream(text.encode())
        date = (
            f"{1900 + next(stream) % 200:04}-{next(stream) % 12 + 1:02}-{next(stream) % 28 + 1:02}"
        )
        sign = moment[1][0] if moment[1][0] in "+-" else ""
        if moment[4] is None:
            return sign + date
        time = f"{next(stream) % 24:02}:{next(stream) % 60:02}:{next(stream) % 60:02}"
        zone = (
            moment[8] if re.fullmatch(r"(?: [+-]\d\d:\d\d)?", moment[8]) else self.text(moment[8])
        )
        return f"{sign}{date} {time}{self.text(moment[7] or '')}{zone}"

    def _stream(self, value: bytes) -> Iterator[int]:
        """Yield bytes that depend only on the key and the value."""
        block = 0
        while True:
            yield from hmac.digest(self._key, block.to_bytes(4, "big") + value, hashlib.sha256)
            block += 1


def _is_within(text: bytes, place: int) -> bool:
    """Whether a place in UTF-8 is inside a character."""
    return place < len(text) and text[place] & 0xC0 == 0x80


def _alike(character: str, stream: Iterator[int]) -> str:
    kinds: tuple[tuple[Callable[[str], bool], int, int], ...] = (
        (lambda letter: letter.isascii() and letter.isdigit(), ord("0"), 10),
        (lambda letter: letter.isascii() and letter.isupper(), ord("A"), 26),
        (lambda letter: letter.isascii() and letter.islower(), ord("a"), 26),
    )
    for is_kind, first, count in kinds:
        if is_kind(character):
            return chr(first + next(stream) % count)
    if character.isascii():
        return character
    firsts = {2: 0xC0, 3: 0x4E00, 4: 0x1F600}
    size = len(character.encode("utf-8", "surrogatepass"))
    return chr(firsts[size] + next(stream) % 22)
