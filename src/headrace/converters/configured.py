"""The converters that a configuration names."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from headrace.config.properties.converters import ConverterConfig
from headrace.config.properties.modes import CONVERTER_CLASSES, ConverterName
from headrace.converters.avro.converter import AvroConverter, AvroSettings, SubjectStrategy
from headrace.converters.avro.schemas import AvroOptions
from headrace.converters.cloudevents import CloudEventsConverter, CloudEventsOptions
from headrace.converters.converter import Converter
from headrace.converters.json.converter import JsonConverter
from headrace.converters.json.values import JsonOptions
from headrace.converters.plain.converters import BytesConverter, SimpleConverter, StringConverter
from headrace.converters.rows import SliceConverter
from headrace.converters.shapes import Converters
from headrace.converters.typed.converters import RowConverter, VariantConverter
from headrace.debezium.naming.names import NameAdjustment, NameAdjustmentMode
from headrace.errors import HeadraceError
from headrace.kafka.registry import Registry, registry_settings
from headrace.kafka.schema_ids import SchemaIds

_ROLES = ("key", "value", "header")


def slice_converter(
    config: ConverterConfig, ids: SchemaIds | None = None, columns: pa.Schema | None = None
) -> SliceConverter:
    """The three converters of a configuration; see SliceConverter. `ids` are those of schemas that
    the process has; `columns` are those of the stream, which the converter `row` makes its structs
    by.

    Raises HeadraceError `config.impossible_value` for an option of a converter that it cannot
    take, and `registry.setting`.
    """
    of_roles = converters_of(config, ids, columns)
    return SliceConverter(of_roles.key, of_roles.value, of_roles.header)


def converters_of(
    config: ConverterConfig, ids: SchemaIds | None = None, columns: pa.Schema | None = None
) -> Converters:
    """The same three, without memory for rows."""
    return Converters(*(converter_of(config, role, ids, columns) for role in _ROLES))


def asks_registry(config: ConverterConfig) -> bool:
    """Whether a converter of the configuration needs ids of schemas."""
    options = config.converter_options("value")
    events = config.converter("value") is ConverterName.CLOUDEVENTS
    return any(config.converter(role) is ConverterName.AVRO for role in _ROLES) or (
        events and options.get("serializer.type", "json").lower() == "avro"
    )


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
            return BytesConverter(_delegate(f"{role}.converter", options))
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
    prefix, name = f"{role}.converter", "fields.unknown"
    unknown = options.get(name, "fail").lower()
    if unknown not in ("fail", "drop"):
        raise _impossible(f"{prefix}.{name}", unknown, "fail or drop")
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
    if options.get("serializer.type", "json").lower() == "avro":
        of_avro = _below(options, "avro")
        avro = avro_converter("value.converter.avro", of_avro, is_key=False, ids=ids)
    return CloudEventsConverter(settings, data, avro)


def cloudevents_settings(
    identity: tuple[tuple[str, str], ...], options: Mapping[str, str]
) -> tuple[CloudEventsOptions, JsonOptions]:
    """What options say of events, and of JSON in them; `identity` is the connector's.

    Raises HeadraceError `config.impossible_value`.
    """
    prefix = "value.converter"
    kinds = [_kind(prefix, options, name) for name in ("serializer.type", "data.serializer.type")]
    if kinds[0] != kinds[1]:
        raise _impossible(
            f"{prefix}.data.serializer.type", kinds[1], f"{kinds[0]}, as serializer.type"
        )
    for name in (
        "opentelemetry.tracing.attributes.enable",
        "schema.data.name.source.header.enable",
    ):
        if _flag(prefix, options, name, default=False):
            raise _impossible(f"{prefix}.{name}", "true", "false: it is not supported")
    sources = [part.strip() for part in options.get("metadata.source", "value").split(",")]
    if sources[0] != "value" or {"id:header", "type:header"} & set(sources):
        expected = "value, and id and type generated"
        raise _impossible(f"{prefix}.metadata.source", ",".join(sources), expected)
    mode = options.get("schema.name.adjustment.mode", "avro").lower()
    if mode not in list(NameAdjustmentMode):
        expected = "one of " + ", ".join(NameAdjustmentMode)
        raise _impossible(f"{prefix}.schema.name.adjustment.mode", mode, expected)
    settings = CloudEventsOptions(
        identity,
        _flag(prefix, options, "extension.attributes.enable", default=True),
        options.get("schema.cloudevents.name"),
        NameAdjustment(NameAdjustmentMode(mode)),
    )
    of_json = _below(options, "json")
    data = JsonOptions(
        _flag(f"{prefix}.json", of_json, "replace.null.with.default", default=True),
        of_json.get("decimal.format", "BASE64").upper() == "NUMERIC",
        _flag(f"{prefix}.json", of_json, "schemas.enable", default=True),
    )
    return settings, data


def _delegate(prefix: str, options: Mapping[str, str]) -> JsonConverter | None:
    """What Debezium's ByteArrayConverter leaves other records than bytes to."""
    name = options.get("delegate.converter.type")
    if name is None:
        return None
    if CONVERTER_CLASSES.get(name.lower(), name.lower()) != ConverterName.JSON:
        raise _impossible(f"{prefix}.delegate.converter.type", name, "JsonConverter")
    below = _below(options, "delegate.converter.type")
    schemas = _flag(f"{prefix}.delegate.converter.type", below, "schemas.enable", default=True)
    return JsonConverter(JsonOptions(schemas_enable=schemas))


def _below(options: Mapping[str, str], prefix: str) -> dict[str, str]:
    start = f"{prefix}."
    return {n.removeprefix(start): text for n, text in options.items() if n.startswith(start)}


def _kind(prefix: str, options: Mapping[str, str], name: str) -> str:
    text = options.get(name, "json").lower()
    if text not in ("json", "avro"):
        raise _impossible(f"{prefix}.{name}", text, "json or avro")
    return text


def json_options(config: ConverterConfig, role: str) -> JsonOptions:
    """The declared options of a role."""
    return JsonOptions(
        replace_null_with_default=getattr(config, f"{role}_converter_replace_null_with_default"),
        decimal_numeric=str(getattr(config, f"{role}_converter_decimal_format")) == "NUMERIC",
        schemas_enable=getattr(config, f"{role}_converter_schemas_enable"),
    )


def avro_converter(
    prefix: str, options: Mapping[str, str], *, is_key: bool, ids: SchemaIds | None = None
) -> AvroConverter:
    """Confluent's converter with these options; `prefix` is what their names begin with in
    errors."""
    role = "key" if is_key else "value"
    number = options.get("use.schema.id", "-1")
    try:
        schema_id = int(number)
    except ValueError:
        raise _impossible(f"{prefix}.use.schema.id", number, "the number of a schema") from None
    settings = AvroSettings(
        AvroOptions(
            connect_metadata=_flag(prefix, options, "connect.meta.data", default=True),
            enhanced=_flag(prefix, options, "enhanced.avro.schema.support", default=False),
        ),
        _strategy(prefix, options, f"{role}.subject.name.strategy"),
        auto_register=_flag(prefix, options, "auto.register.schemas", default=True),
        use_latest=_flag(prefix, options, "use.latest.version", default=False),
        schema_id=schema_id if schema_id >= 0 else None,
        normalize=_flag(prefix, options, "normalize.schemas", default=False),
    )
    registry = Registry(registry_settings(options))
    return AvroConverter(settings, registry, is_key=is_key, ids=ids)


def _flag(prefix: str, options: Mapping[str, str], name: str, *, default: bool) -> bool:
    text = options.get(name, "true" if default else "false").strip().lower()
    if text not in ("true", "false"):
        raise _impossible(f"{prefix}.{name}", text, "true or false")
    return text == "true"


def _strategy(prefix: str, options: Mapping[str, str], name: str) -> SubjectStrategy:
    text = options.get(name, SubjectStrategy.TOPIC.value)
    strategies = {strategy.value.lower(): strategy for strategy in SubjectStrategy}
    chosen = strategies.get(text.rpartition(".")[2].lower())
    if chosen is None:
        raise _impossible(f"{prefix}.{name}", text, "one of " + ", ".join(SubjectStrategy))
    return chosen


def _impossible(name: str, text: str, expected: str) -> HeadraceError:
    return HeadraceError(
        "config.impossible_value", f"{name} = {text!r}: expected {expected}", f"Correct {name}."
    )
