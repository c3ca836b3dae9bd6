"""bytea, and the texts of unknown types as bytes, as `binary.handling.mode` says."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass

from headrace.connect.encoding import Encoding
from headrace.connect.schema import Schema, Type
from headrace.connectors.postgresql.types.type_facts import TypeFacts, TypeOptions
from headrace.relational.types import texts as values
from headrace.relational.types.declaration import Declaration, no_placeholder, text_of


def _same(raw: bytes) -> bytes:
    return raw


def _base64(raw: bytes) -> str:
    return base64.b64encode(raw).decode()


def _base64_url_safe(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode()


def _bytes_array(placeholder: bytes) -> list[object]:
    return [placeholder]


@dataclass(frozen=True)
class _Form:
    """How a mode shows bytes; `encoding` writes those of a bytea."""

    type: Type
    encoding: Encoding
    show: Callable[[bytes], object]


_FORMS = {
    "bytes": _Form(Type.BYTES, Encoding.BYTES_HEX, _same),
    # As a JSON string, bytes are base64 all the same.
    "base64": _Form(Type.STRING, Encoding.BYTES_HEX, _base64),
    "base64-url-safe": _Form(Type.STRING, Encoding.PYTHON, _base64_url_safe),
    "hex": _Form(Type.STRING, Encoding.HEX, bytes.hex),
}


_PLACEHOLDERS: dict[str, Callable[[bytes], object]] = {"bytes": _same, "hex": text_of}


@dataclass(frozen=True)
class Shown:
    """A decoder: what `read` gives, as `mode` shows bytes."""

    mode: str
    read: Callable[[bytes], bytes]

    def __call__(self, text: bytes) -> object:
        return _FORMS[self.mode].show(self.read(text))


def bytea(_facts: TypeFacts, _typmod: int, options: TypeOptions) -> Declaration:
    """`bytea`."""
    return _declared(options.binary_handling_mode, values.bytea)


def unknown(options: TypeOptions) -> Declaration:
    """The bytes of the server's text of a type that Debezium does not know."""
    found = _declared(options.binary_handling_mode, _same)
    return Declaration(
        found.schema,
        Encoding.PYTHON,
        found.decoder,
        found.zero,
        toasted=found.toasted,
        toasted_array=found.toasted_array,
    )


def _declared(mode: str, read: Callable[[bytes], bytes]) -> Declaration:
    form = _FORMS[mode]
    plain = form.type is Type.BYTES
    return Declaration(
        Schema(form.type),
        form.encoding,
        Shown(mode, read),
        b"" if plain else "",
        toasted=_PLACEHOLDERS.get(mode, no_placeholder),
        toasted_array=_bytes_array if plain else no_placeholder,
    )
