"""The rendering of a database type: the form of a declaration, and common kinds."""

from __future__ import annotations

import hashlib
import math
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from headrace.connect.encoding import Encoding
from headrace.connect.schema import Schema, Type
from headrace.errors import HeadraceError
from headrace.relational.types import texts


class _NoPlaceholder:
    """Marks a column whose schema cannot hold a placeholder: the value is null, and marked as
    unavailable."""

    def __repr__(self) -> str:
        return "NO_PLACEHOLDER"

    def __reduce__(self) -> str:
        return "NO_PLACEHOLDER"


NO_PLACEHOLDER: Final = _NoPlaceholder()


def no_placeholder(_placeholder: bytes) -> object:
    """The placeholder function of kinds without a placeholder."""
    return NO_PLACEHOLDER


@dataclass(frozen=True)
class TypeDeclaration:
    """The rendering of a type, apart from nullability and defaults.

    `zero` is the value of a required column that the log omits; `unavailable` creates the
    placeholder from its bytes, `unavailable_array` that of an array of this type. `nullable`: the
    schema is optional even if the column is not.
    """

    schema: Schema
    encoding: Encoding
    decoder: texts.Decoder
    zero: object
    parameter: int = 0
    unavailable: Callable[[bytes], object] = field(default=no_placeholder)
    unavailable_array: Callable[[bytes], object] = field(default=no_placeholder)
    nullable: bool = False

    def reads(self, text: str) -> bool:
        """Whether this is the text of a value of the type."""
        try:
            self.decoder(text.encode())
        except (HeadraceError, UnicodeEncodeError):
            return False
        return True

    def default(self, text: str) -> object | None:
        """Return the Connect value of the default with this text; None if it is not a value of the
        type, or Connect does not allow a default of the type."""
        if not self.reads(text):
            return None
        value = self.decoder(text.encode())
        if isinstance(value, float) and math.isnan(value):
            return math.nan  # one object, so that equal schemas are equal
        return None if isinstance(value, dict) else value


def text_of(placeholder: bytes) -> str:
    """The placeholder as text."""
    return placeholder.decode(errors="replace")


def texts_of(placeholder: bytes) -> list[object]:
    """The placeholder as an array of one text."""
    return [text_of(placeholder)]


def signed_bytes(placeholder: bytes) -> list[object]:
    """The placeholder as an array of Java's bytes."""
    return [byte - 256 if byte > 127 else byte for byte in placeholder]


def uuids_of(placeholder: bytes) -> list[object]:
    """An array of Java's UUID.nameUUIDFromBytes: version 3 without a name space."""
    digest = hashlib.md5(placeholder, usedforsecurity=False).digest()
    return [str(uuid.UUID(bytes=digest, version=3))]


def enum_declaration(labels: Iterable[str]) -> TypeDeclaration:
    """Debezium's Enum of these labels."""
    allowed = (("allowed", ",".join(labels)),)
    return text_declaration("io.debezium.data.Enum", array=no_placeholder, parameters=allowed)


def text_declaration(
    name: str | None = None,
    *,
    decoder: texts.Decoder = texts.string,
    zero: object = "",
    array: Callable[[bytes], object] = texts_of,
    parameters: tuple[tuple[str, str], ...] = (),
) -> TypeDeclaration:
    """The server's text as a Connect string; `name` is its semantic type."""
    schema = Schema(
        Type.STRING, name=name, version=None if name is None else 1, parameters=parameters
    )
    return TypeDeclaration(
        schema, Encoding.STRING, decoder, zero, unavailable=text_of, unavailable_array=array
    )
