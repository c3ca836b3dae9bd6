"""Names and values of a support bundle: numbered, or replaced by characters of the same kinds.

One bundle has one random key, which is nowhere kept: equal values have equal masks inside a bundle,
and nobody can try values out.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Iterator

_TOKEN = re.compile(
    r"(?P<text>[nN]?[qQ]'[\[({<].*?[\])}>]'|'(?:[^']|'')*'?)"
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
"""Formats of the connectors' own sessions: literals that say nothing of a value."""
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
"""Words of SQL that a mask leaves as they are; every other word may be a name."""
_BEFORE_SIZE = re.compile(
    r"\b(?:BINARY|BLOB|CHAR|CHARACTER|CLOB|DAY|DECFLOAT|DECIMAL|FLOAT|GRAPHIC|NCHAR|NUMBER|NUMERIC|"
    r"NVARCHAR2|RAW|SECOND|TIME|TIMESTAMP|UROWID|VARBINARY|VARCHAR|VARCHAR2|VARGRAPHIC|VECTOR|YEAR)"
    r"\s*\(\s*(?:\d{1,5}\s*,\s*-?)?$",
    re.IGNORECASE,
)
"""What stands before the size or the scale of a type, which stays."""
_TAIL = 60
_QUOTE = '"'


class Masks:
    """The masks of one bundle. Methods never return any part of what they were given."""

    def __init__(self, key: bytes | None = None) -> None:
        self._key = key or secrets.token_bytes(32)
        self._names: dict[str, str] = {}

    def name(self, text: str) -> str:
        """`NAME_0001` and so on: the same for the same name, with quotes or without."""
        return self._names.setdefault(text, f"NAME_{len(self._names) + 1:04}")

    def text(self, text: str) -> str:
        """As many characters: digits for digits, letters for letters in their case, a letter beyond
        ASCII for one of as many bytes, everything else as it is."""
        stream = self._stream(text.encode("utf-8", "surrogatepass"))
        return "".join(_alike(character, stream) for character in text)

    def data(self, data: bytes) -> str:
        """A digest in hexadecimal digits, of as many bytes."""
        stream = self._stream(data)
        return bytes(next(stream) for _ in data).hex()

    def sql(self, statement: str) -> str:
        """A statement whose words of SQL, punctuation and sizes of types stay; names are numbered,
        literals, numbers and comments masked by `text`, moments by other moments."""
        masked = ""
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
                case "number" if not _BEFORE_SIZE.search(masked[-_TAIL:]):
                    part = self.text(part)
            masked += part
        return masked

    def own_sql(self, statement: str, own: frozenset[str]) -> str:
        """A statement on a table of a workload: names and words stay that are SQL's or its `own`,
        and values, as they are the workload's. What stands in quotation marks within a literal is
        a name, too; a literal that holds a word of another kind than its values is a statement."""
        masked = ""
        for token in _TOKEN.finditer(statement):
            part = token[0]
            match token.lastgroup:
                case "text" if _QUOTE in part:
                    part = f"{part[0]}{self.own_sql(part[1:], own)}"
                case "name" if part.strip(_QUOTE).upper() not in own:
                    part = f'"{self.name(part.strip(_QUOTE))}"'
                case "comment":
                    part = f"{part[:2]}{self.text(part[2:])}"
                case "word" if part.upper() not in _KEPT_WORDS | own:
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
        """Another moment in the same form."""
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
        """Bytes that depend on the key and the value only."""
        block = 0
        while True:
            yield from hmac.digest(self._key, block.to_bytes(4, "big") + value, hashlib.sha256)
            block += 1


def _alike(character: str, stream: Iterator[int]) -> str:
    kinds: tuple[tuple[Callable[[str], bool], int, int], ...] = (
        (lambda one: one.isascii() and one.isdigit(), ord("0"), 10),
        (lambda one: one.isascii() and one.isupper(), ord("A"), 26),
        (lambda one: one.isascii() and one.islower(), ord("a"), 26),
    )
    for is_kind, first, count in kinds:
        if is_kind(character):
            return chr(first + next(stream) % count)
    if character.isascii():
        return character
    firsts = {2: 0xC0, 3: 0x4E00, 4: 0x1F600}
    size = len(character.encode("utf-8", "surrogatepass"))
    return chr(firsts[size] + next(stream) % 22)
