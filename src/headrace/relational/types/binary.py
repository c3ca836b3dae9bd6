"""Bytes as Connect's bytes or as text, depending on `binary.handling.mode`."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass, replace

from headrace.connect.encoding import Encoding
from headrace.connect.schema import Schema, Type
from headrace.relational.types import texts
from headrace.relational.types.declaration import TypeDeclaration, no_placeholder, text_of


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
    """The form of bytes in a mode; `encoding` is for bytes that arrive in hexadecimal."""

    type: Type
    encoding: Encoding
    show: Callable[[bytes], object]


_FORMS = {
    "bytes": _Form(Type.BYTES, Encoding.BYTES_HEX, _same),
    # In JSON, bytes are always a base64 string.
    "base64": _Form(Type.STRING, Encoding.BYTES_HEX, _base64),
    "base64-url-safe": _Form(Type.STRING, Encoding.PYTHON, _base64_url_safe),
    "hex": _Form(Type.STRING, Encoding.HEX, bytes.hex),
}


_PLACEHOLDERS: dict[str, Callable[[bytes], object]] = {"bytes": _same, "hex": text_of}


def shown_in(mode: str) -> Callable[[bytes], object]:
    """Return the function that converts bytes to a mode's form, also those of a placeholder in
    databases where it is bytes."""
    return _FORMS[mode].show


@dataclass(frozen=True)
class _BytesDecoder:
    """Converts the result of `read` to the form of `mode`."""

    mode: str
    read: Callable[[bytes], bytes]

    def __call__(self, text: bytes) -> object:
        return _FORMS[self.mode].show(self.read(text))


def binary(mode: str, read: Callable[[bytes], bytes] = texts.hexadecimal) -> TypeDeclaration:
    """Bytes that arrive in hexadecimal; `read` decodes them."""
    form = _FORMS[mode]
    plain = form.type is Type.BYTES
    return TypeDeclaration(
        Schema(form.type),
        form.encoding,
        _BytesDecoder(mode, read),
        b"" if plain else "",
        unavailable=_PLACEHOLDERS.get(mode, no_placeholder),
        unavailable_array=_bytes_array if plain else no_placeholder,
    )


def raw(mode: str) -> TypeDeclaration:
    """The original bytes of a text."""
    return replace(binary(mode, _same), encoding=Encoding.PYTHON)
