"""How records become bytes: converters, transforms and predicates."""

from __future__ import annotations

from headrace.config.configuration import Configuration
from headrace.config.kinds import BOOLEAN, COMMA_LIST, TEXT, choice, integer
from headrace.config.properties.modes import CONVERTER_CLASSES, ConverterName, DecimalFormat
from headrace.config.property import Family, Group, Property, not_needed, planned

_LATER_CONVERTERS = tuple(name for name in ConverterName if name != "json")


class ConverterConfig(Configuration):
    """Kafka Connect's converters and single message transforms."""

    key_converter = Property(
        "key.converter",
        choice(ConverterName, aliases=CONVERTER_CLASSES),
        "json",
        Group.CONVERTERS,
        "Renders keys: a converter class of Kafka Connect or a short name.",
        planned=_LATER_CONVERTERS,
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
        "Whether null gives the field's default in JSON keys.",
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
        planned=_LATER_CONVERTERS,
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
        "Whether null gives the field's default in JSON values.",
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
        planned=_LATER_CONVERTERS,
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
        "Whether null gives the field's default in JSON header values.",
    )
    header_converter_schemas_cache_size = Property(
        "header.converter.schemas.cache.size",
        integer(0),
        "1000",
        Group.CONVERTERS,
        "Size of the converter's schema cache.",
        status=not_needed("schemas are rendered once"),
    )
    converter_options = Family(
        "CONVERTER.converter.*",
        TEXT,
        Group.CONVERTERS,
        "Settings of converters that are not there.",
        pattern=r"(?:key|value|header)\.converter\.(.+)",
        status=not_needed("the JSON converter has no such setting"),
        case_matters=False,
    )
    transforms = Property(
        "transforms",
        COMMA_LIST,
        None,
        Group.CONVERTERS,
        "Aliases of single message transforms, in order.",
        status=planned("this version has no transforms"),
    )
    transforms_options = Family(
        "transforms.ALIAS.*",
        TEXT,
        Group.CONVERTERS,
        "Settings of a transform.",
        status=planned("this version has no transforms"),
        pattern=r"transforms\.([^.]+)\.(.+)",
        alias_of=("transforms",),
    )
    predicates = Property(
        "predicates",
        COMMA_LIST,
        None,
        Group.CONVERTERS,
        "Aliases of the predicates that transforms name.",
        status=planned("this version has no transforms"),
    )
    predicates_options = Family(
        "predicates.ALIAS.*",
        TEXT,
        Group.CONVERTERS,
        "Settings of a predicate.",
        status=planned("this version has no transforms"),
        pattern=r"predicates\.([^.]+)\.(.+)",
        alias_of=("predicates",),
    )
