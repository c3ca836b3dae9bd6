"""Documents that people write, as JSON of MongoDB's shell or as Extended JSON, made BSON.

Anybody may have written them, and the driver has an exception of its own for each kind of nonsense:
here all of them become ValueError.
"""

from __future__ import annotations

from typing import Any

import bson
from bson import json_util
from bson.binary import UuidRepresentation
from bson.codec_options import CodecOptions, DatetimeConversion
from bson.json_util import JSONMode, JSONOptions

from headrace.connectors.mongodb.shell_json import to_extended_json

_CODEC: CodecOptions[Any] = CodecOptions(
    uuid_representation=UuidRepresentation.STANDARD,
    datetime_conversion=DatetimeConversion.DATETIME_MS,
)
# A date of BSON may be of any year, one of Python may not.
_RELAXED = JSONOptions(
    json_mode=JSONMode.RELAXED, datetime_conversion=DatetimeConversion.DATETIME_MS
)


def read_extended_json(text: str, options: JSONOptions = _RELAXED) -> Any:
    """The value that Extended JSON holds, by the driver's types; a value of each of them can be
    sent. Raises ValueError with a sentence."""
    try:
        value = json_util.loads(text, json_options=options)
        bson.encode({"": value}, codec_options=_CODEC)
    except Exception as error:  # noqa: BLE001 - whatever a type's constructor raises
        raise ValueError(f"it is not Extended JSON: {_reason(error)}") from None
    return value


def read_shell_json(text: str) -> Any:
    """As `read_extended_json`, of JSON that MongoDB's shell takes."""
    try:
        extended = to_extended_json(text)
    except ValueError as error:
        raise ValueError(f"it is not JSON: {error}") from None
    return read_extended_json(extended)


def read_document(text: str) -> bytes:
    """The BSON of a document that is written as JSON of MongoDB's shell. Raises ValueError with a
    sentence."""
    value = read_shell_json(text)
    if not isinstance(value, dict):
        raise ValueError("it is not a JSON object")
    return bson.encode(value, codec_options=_CODEC)


def _reason(error: Exception) -> str:
    """Exceptions of the decimal module have signals for a text."""
    text = str(error)
    return type(error).__name__ if not text or text.startswith("[<class") else text
