"""Keys, values and headers in JSON."""

from __future__ import annotations

from headrace.converters.json.converter import JsonConverter
from headrace.converters.json.values import JsonOptions
from headrace.converters.rows import SliceConverter


def json_converter(key: JsonOptions, value: JsonOptions, header: JsonOptions) -> SliceConverter:
    return SliceConverter(*map(JsonConverter, (key, value, header)))
