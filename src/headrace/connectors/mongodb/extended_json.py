"""Documents that people write, in the JSON of MongoDB's shell or as Extended JSON, converted to
BSON.

The input is arbitrary, and the driver raises a different exception for each kind of invalid value:
all of them become ValueError here.
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
# BSON has dates of any year, Python has not.
_RELAXED = JSONOptions(
    json_mode=JSONMode.RELAXED, datetime_conversion=DatetimeConversion.DATETIME_MS
)


def read_extended_json(text: str, options: JSONOptions = _RELAXED) -> Any:
    """The value of Extended JSON, in the driver's types; all values can be encoded as BSON. Raises
    ValueError with a sentence."""
    try:
        value = json_util.loads(text, json_options=options)
        bson.encode({"": value}, codec_options=_CODEC)
    except Exception as error:  # noqa: BLE001 - whatever a type's constructor raises
        raise ValueError(f"it is not Extended JSON: {_reason(error)}") from None
    return value


def read_shell_json(text: str) -> Any:
    """Read the JSON of MongoDB's shell, as `read_extended_json` does Extended JSON."""
    try:
        extended = to_extended_json(text)
    except ValueError as error:
        raise ValueError(f"it is not JSON: {error}") from None
    return read_extended_json(extended)


def read_document(text: str) -> bytes:
    """The BSON of a document in the JSON of MongoDB's shell. Raises ValueError with a sentence."""
    value = read_shell_json(text)
    if not isinstance(value, dict):
        raise ValueError("it is not a JSON object")
    return bson.encode(value, codec_options=_CODEC)


def _reason(error: Exception) -> str:
    """The text of an exception; the decimal module's exceptions have only their signals as text."""
    text = str(error)
    return type(error).__name__ if not text or text.startswith("[<class") else text
