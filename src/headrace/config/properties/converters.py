"""Properties of converters, which convert records into bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar

from headrace.config.configuration import Configuration
from headrace.config.finding import UNKNOWN, PropertyFinding
from headrace.config.kinds import BOOLEAN, TEXT, choice, integer
from headrace.config.properties.converter_options import option_problems
from headrace.config.properties.modes import CONVERTER_CLASSES, ConverterName, DecimalFormat
from headrace.config.property import Group, PassThrough, Property, not_needed
from headrace.config.secret import printable_name
from headrace.config.suggestions import Suggestions

_ROLES = ("key", "value", "header")
_REFUSED = {ConverterName.PROTOBUF: "Use avro or json."}
_OF_COLUMNS = (ConverterName.VARIANT, ConverterName.ROW)
"""Converters that make columns of Spark's types, neither texts nor bytes."""
_OF_TEXTS = (ConverterName.STRING, ConverterName.SIMPLE)
"""Converters that make plain texts, which need not be JSON."""


class ConverterConfig(Configuration):
    """Kafka Connect's converters."""

    cloud_event_identity: ClassVar[tuple[tuple[str, str], ...]] = (
        ("name", "name"),
        ("ts", "ts_ms"),
    )
    """Labels and fields of `source` that form the id of a connector's CloudEvents."""

    key_converter = Property(
        "key.converter",
        choice(ConverterName, aliases=CONVERTER_CLASSES),
        "json",
        Group.CONVERTERS,
        "Renders keys: a converter class of Kafka Connect or a short name.",
    )
    key_converter_schemas_enable = Property(
        "key.converter.schemas.enable",
        BOOLEAN,
        "true",
        Group.CONVERTERS,
        "Whether JSON keys carry their schema.",
    )
    key_converter_decimal_format = Property(
        "key.converter.decimal.format",
        choice(DecimalFormat),
        "BASE64",
        Group.CONVERTERS,
        "JSON rendering of Connect Decimals in keys.",
    )
    key_converter_replace_null_with_default = Property(
        "key.converter.replace.null.with.default",
        BOOLEAN,
        "true",
        Group.CONVERTERS,
        "Whether null becomes the field's default in JSON keys.",
    )
    key_converter_schemas_cache_size = Property(
        "key.converter.schemas.cache.size",
        integer(0),
        "1000",
        Group.CONVERTERS,
        "Size of the converter's schema cache.",
        status=not_needed("schemas are rendered once"),
    )
    value_converter = Property(
        "value.converter",
        choice(ConverterName, aliases=CONVERTER_CLASSES),
        "json",
        Group.CONVERTERS,
        "Renders values: a converter class of Kafka Connect or a short name.",
    )
    value_converter_schemas_enable = Property(
        "value.converter.schemas.enable",
        BOOLEAN,
        "true",
        Group.CONVERTERS,
        "Whether JSON values carry their schema.",
    )
    value_converter_decimal_format = Property(
        "value.converter.decimal.format",
        choice(DecimalFormat),
        "BASE64",
        Group.CONVERTERS,
        "JSON rendering of Connect Decimals in values.",
    )
    value_converter_replace_null_with_default = Property(
        "value.converter.replace.null.with.default",
        BOOLEAN,
        "true",
        Group.CONVERTERS,
        "Whether null becomes the field's default in JSON values.",
    )
    value_converter_schemas_cache_size = Property(
        "value.converter.schemas.cache.size",
        integer(0),
        "1000",
        Group.CONVERTERS,
        "Size of the converter's schema cache.",
        status=not_needed("schemas are rendered once"),
    )
    header_converter = Property(
        "header.converter",
        choice(ConverterName, aliases=CONVERTER_CLASSES),
        "json",
        Group.CONVERTERS,
        "Renders header values: a converter class of Kafka Connect or a short name.",
    )
    header_converter_schemas_enable = Property(
        "header.converter.schemas.enable",
        BOOLEAN,
        "true",
        Group.CONVERTERS,
        "Whether JSON header values carry their schema.",
    )
    header_converter_decimal_format = Property(
        "header.converter.decimal.format",
        choice(DecimalFormat),
        "BASE64",
        Group.CONVERTERS,
        "JSON rendering of Connect Decimals in header values.",
    )
    header_converter_replace_null_with_default = Property(
        "header.converter.replace.null.with.default",
        BOOLEAN,
        "true",
        Group.CONVERTERS,
        "Whether null becomes the field's default in JSON header values.",
    )
    header_converter_schemas_cache_size = Property(
        "header.converter.schemas.cache.size",
        integer(0),
        "1000",
        Group.CONVERTERS,
        "Size of the converter's schema cache.",
        status=not_needed("schemas are rendered once"),
    )
    key_converter_options = PassThrough(
        "key.converter.*",
        TEXT,
        Group.CONVERTERS,
        "Settings of a key converter other than json, by their names in Kafka Connect.",
        case_matters=False,
        clients=r".+",
    )
    value_converter_options = PassThrough(
        "value.converter.*",
        TEXT,
        Group.CONVERTERS,
        "Settings of a value converter other than json, by their names in Kafka Connect.",
        case_matters=False,
        clients=r".+",
    )
    header_converter_options = PassThrough(
        "header.converter.*",
        TEXT,
        Group.CONVERTERS,
        "Settings of a header converter other than json, by their names in Kafka Connect.",
        case_matters=False,
        clients=r".+",
    )

    def converter(self, role: str) -> ConverterName:
        """Return the converter of a role: key, value or header."""
        name: ConverterName = getattr(self, f"{role}_converter")
        return name

    def converter_options(self, role: str) -> Mapping[str, str]:
        """Return a role's options that are not declared here, with names in lower case."""
        options: Mapping[str, str] = getattr(self, f"{role}_converter_options")
        return {name.lower(): text for name, text in options.items()}

    def is_text(self, role: str) -> bool:
        """Return whether the role's converter makes texts; otherwise bytes."""
        name = self.converter(role)
        if name is ConverterName.CLOUDEVENTS:
            return self.converter_options(role).get("serializer.type", "json").lower() == "json"
        return name is ConverterName.JSON or name in _OF_TEXTS

    def asks_registry(self) -> bool:
        """Whether a converter needs ids of schemas."""
        events = self.converter("value") is ConverterName.CLOUDEVENTS
        return any(self.converter(role) is ConverterName.AVRO for role in _ROLES) or (
            events and not self.is_text("value")
        )

    def plain_texts(self) -> tuple[str, ...]:
        """Return the roles whose converters make texts that are not JSON."""
        return tuple(role for role in _ROLES if self.converter(role) in _OF_TEXTS)

    def column_type(self, role: str) -> str:
        """Return the type of the role's column in Spark: string, binary, variant, or struct."""
        match self.converter(role):
            case ConverterName.VARIANT:
                return "variant"
            case ConverterName.ROW:
                return "struct"
        return "string" if self.is_text(role) else "binary"

    def makes_columns(self, role: str) -> bool:
        """Return whether the role's converter makes values of Spark's types: `variant` and
        `row`."""
        return self.converter(role) in _OF_COLUMNS

    def check(self) -> Iterator[PropertyFinding]:
        yield from super().check()
        for role in _ROLES:
            name, converter = f"{role}.converter", self.converter(role)
            if converter in _REFUSED:
                yield PropertyFinding(
                    "config.not_supported",
                    name,
                    f"{name} = {converter.value} is not supported",
                    _REFUSED[converter],
                )
            elif role == "header" and converter in _OF_COLUMNS:
                yield PropertyFinding(
                    "config.not_supported",
                    name,
                    f"{name} = {converter.value} is for keys and values only",
                    "Use json or avro.",
                )
            elif role != "value" and converter is ConverterName.CLOUDEVENTS:
                yield PropertyFinding(
                    "config.not_supported",
                    name,
                    f"{name} = {converter.value} is for values only",
                    "Use json, avro or string.",
                )
            else:
                yield from option_problems(converter, self.converter_options(role), f"{name}.")
                yield from self._misspelt(f"{name}.", getattr(self, f"{role}_converter_options"))

    def _misspelt(self, prefix: str, options: Iterable[str]) -> Iterator[PropertyFinding]:
        """Yield problems for options whose names are close to a declared property of their role."""
        declared = {
            n: declaration for n, declaration in self.properties().items() if n.startswith(prefix)
        }
        suggestions = Suggestions(declared, {})
        for name in options:
            near = suggestions.find_typo(prefix + name)
            if near is not None:
                printable = prefix + printable_name(name)
                yield PropertyFinding(
                    UNKNOWN,
                    prefix + name,
                    f"{printable} is not an option of a converter; did you mean {near}?",
                    f"Rename it to {near}.",
                )
