"""Creates the converters that a configuration names."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from headrace.config.properties.converter_options import (
    AvroConverterOptions,
    ByteArrayConverterOptions,
    CloudEventsConverterOptions,
    RowConverterOptions,
    below,
)
from headrace.config.properties.converters import ConverterConfig
from headrace.config.properties.modes import ConverterName, DecimalFormat
from headrace.converters.avro.converter import AvroConverter, AvroSettings
from headrace.converters.avro.schemas import AvroOptions
from headrace.converters.binary.converters import BytesConverter, SimpleConverter, StringConverter
from headrace.converters.cloudevents import CloudEventsConverter, CloudEventsOptions
from headrace.converters.converter import Converter
from headrace.converters.json.converter import JsonConverter
from headrace.converters.json.values import JsonOptions
from headrace.converters.rows import SliceConverter
from headrace.converters.shapes import Converters
from headrace.converters.typed.converters import RowConverter, VariantConverter
from headrace.debezium.naming.names import NameAdjustment
from headrace.errors import HeadraceError
from headrace.kafka.registry import Registry, registry_settings
from headrace.kafka.schema_ids import SchemaIds

_ROLES = ("key", "value", "header")


def slice_converter(
    config: ConverterConfig, ids: SchemaIds | None = None, columns: pa.Schema | None = None
) -> SliceConverter:
    """Return the SliceConverter with the three converters of a configuration. `ids` is the worker
    process's cache of schema ids; `columns` are the columns of the stream, which determine the
    structs of the converter `row`.

    Raises HeadraceError like `ConverterConfig.parse` for a configuration with problems.
    """
    of_roles = converters_of(config, ids, columns)
    return SliceConverter(of_roles.key, of_roles.value, of_roles.header)


def converters_of(
    config: ConverterConfig, ids: SchemaIds | None = None, columns: pa.Schema | None = None
) -> Converters:
    """Return the three converters of a configuration, without the output buffers of a
    SliceConverter. Parameters and errors are those of `slice_converter`."""
    return Converters(*(converter_of(config, role, ids, columns) for role in _ROLES))


def ask_registries(config: ConverterConfig) -> None:
    """Asks the schema registries of the converters whether they answer. Raises HeadraceError
    `registry.unreachable`, and what `converters_of` raises."""
    if not config.asks_registry():
        return
    urls = set()
    for role in _ROLES:
        if config.converter(role) is ConverterName.AVRO:
            registry = Registry(registry_settings(config.converter_options(role)))
            if registry.url not in urls:
                urls.add(registry.url)
                registry.ask()


def converter_of(
    config: ConverterConfig,
    role: str,
    ids: SchemaIds | None = None,
    columns: pa.Schema | None = None,
) -> Converter:
    """The converter of a role: key, value or header."""
    options = config.converter_options(role)
    match config.converter(role):
        case ConverterName.AVRO:
            return avro_converter(f"{role}.converter", options, is_key=role == "key", ids=ids)
        case ConverterName.STRING:
            return StringConverter()
        case ConverterName.SIMPLE:
            return SimpleConverter()
        case ConverterName.BYTES:
            return _bytes_converter(f"{role}.converter", options)
        case ConverterName.CLOUDEVENTS:
            return cloudevents_converter(config, options, ids)
        case ConverterName.VARIANT:
            return VariantConverter(role)
        case ConverterName.ROW:
            return _row_converter(role, options, columns)
    return JsonConverter(json_options(config, role))


def _row_converter(
    role: str, options: Mapping[str, str], columns: pa.Schema | None
) -> RowConverter:
    prefix = f"{role}.converter"
    unknown = RowConverterOptions.of(options, f"{prefix}.").fields_unknown
    column = pa.struct([]) if columns is None else columns.field(role).type
    if not pa.types.is_struct(column):
        raise HeadraceError(
            "converters.row_no_struct",
            f"the stream's column {role} is {column}, and {prefix}=row makes a struct",
            f"Declare {role} as a struct (.schema(...) of the reader), or declare nothing.",
        )
    return RowConverter(role, column, drops_fields=unknown == "drop")


def cloudevents_converter(
    config: ConverterConfig, options: Mapping[str, str], ids: SchemaIds | None = None
) -> CloudEventsConverter:
    """Debezium's converter of values with these options."""
    settings, data = cloudevents_settings(config.cloud_event_identity, options)
    avro = None
    if not config.is_text("value"):
        of_avro = below(options, "avro")
        avro = avro_converter("value.converter.avro", of_avro, is_key=False, ids=ids)
    return CloudEventsConverter(settings, data, avro)


def cloudevents_settings(
    identity: tuple[tuple[str, str], ...], properties: Mapping[str, str]
) -> tuple[CloudEventsOptions, JsonOptions]:
    """Return the CloudEvents options, and the options of the JSON in the events; `identity` is the
    connector's.

    Raises HeadraceError `config.invalid` and `config.not_supported`.
    """
    options = CloudEventsConverterOptions.of(properties, "value.converter.")
    settings = CloudEventsOptions(
        identity,
        options.extension_attributes_enable,
        options.schema_cloudevents_name,
        NameAdjustment(options.schema_name_adjustment_mode),
    )
    data = JsonOptions(
        options.json_replace_null_with_default,
        options.json_decimal_format is DecimalFormat.NUMERIC,
        options.json_schemas_enable,
    )
    return settings, data


def _bytes_converter(prefix: str, options_with_prefix: Mapping[str, str]) -> BytesConverter:
    """Return Debezium's ByteArrayConverter, which leaves records that are not bytes to its
    delegate."""
    options = ByteArrayConverterOptions.of(options_with_prefix, f"{prefix}.")
    if options.delegate_converter_type is None:
        return BytesConverter(None)
    schemas = options.delegate_converter_type_schemas_enable
    return BytesConverter(JsonConverter(JsonOptions(schemas_enable=schemas)))


def json_options(config: ConverterConfig, role: str) -> JsonOptions:
    """The declared options of a role."""
    if role == "key":
        return JsonOptions(
            config.key_converter_replace_null_with_default,
            config.key_converter_decimal_format is DecimalFormat.NUMERIC,
            config.key_converter_schemas_enable,
        )
    if role == "value":
        return JsonOptions(
            config.value_converter_replace_null_with_default,
            config.value_converter_decimal_format is DecimalFormat.NUMERIC,
            config.value_converter_schemas_enable,
        )
    return JsonOptions(
        config.header_converter_replace_null_with_default,
        config.header_converter_decimal_format is DecimalFormat.NUMERIC,
        config.header_converter_schemas_enable,
    )


def avro_converter(
    prefix: str, properties: Mapping[str, str], *, is_key: bool, ids: SchemaIds | None = None
) -> AvroConverter:
    """Return Confluent's converter with these options; `prefix` is the prefix of their names in
    error messages."""
    options = AvroConverterOptions.of(properties, f"{prefix}.")
    settings = AvroSettings(
        AvroOptions(
            connect_metadata=options.connect_meta_data,
            enhanced=options.enhanced_avro_schema_support,
        ),
        options.key_subject_name_strategy if is_key else options.value_subject_name_strategy,
        auto_register=options.auto_register_schemas,
        use_latest=options.use_latest_version,
        schema_id=options.use_schema_id if options.use_schema_id >= 0 else None,
        normalize=options.normalize_schemas,
    )
    return AvroConverter(settings, Registry(registry_settings(properties)), is_key=is_key, ids=ids)
