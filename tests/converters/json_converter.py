"""Keys, values and headers in JSON."""

from __future__ import annotations

from collections.abc import Callable

from headrace.converters.json.converter import JsonConverter
from headrace.converters.json.values import JsonOptions
from headrace.converters.rows import SliceConverter
from headrace.errors import HeadraceError


def json_converter(
    key: JsonOptions,
    value: JsonOptions,
    header: JsonOptions,
    *,
    failed: Callable[[str, HeadraceError], None] | None = None,
) -> SliceConverter:
    return SliceConverter(*map(JsonConverter, (key, value, header)), failed=failed)
