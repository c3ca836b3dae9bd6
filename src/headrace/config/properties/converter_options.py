"""Options of single converters, without the converter's prefix."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from headrace.config.configuration import Configuration
from headrace.config.finding import PropertyFinding, error_of
from headrace.config.kinds import BOOLEAN, COMMA_LIST, TEXT, ValueKind, choice, integer, one_of
from headrace.config.properties.modes import (
    CONVERTER_CLASSES,
    ConverterName,
    DecimalFormat,
    SubjectStrategy,
)
from headrace.config.property import REQUIRED, Group, PassThrough, Property, not_needed, refused
from headrace.debezium.naming.names import NameAdjustmentMode

C = TypeVar("C", bound="ConverterOptions")

_REGISTRY = "schema.registry."
_SOURCE, _USER = "basic.auth.credentials.source", "basic.auth.user.info"
_STORES = ("truststore", "keystore")


def _parse_strategy(text: str) -> SubjectStrategy:
    strategies = {strategy.value.lower(): strategy for strategy in SubjectStrategy}
    chosen = strategies.get(text.rpartition(".")[2].lower())
    if chosen is None:
        raise ValueError
    return chosen


def _parse_json_class(text: str) -> ConverterName:
    if CONVERTER_CLASSES.get(text.lower(), text.lower()) != ConverterName.JSON:
        raise ValueError
    return ConverterName.JSON


_STRATEGY = ValueKind(
    "one of " + ", ".join(SubjectStrategy), _parse_strategy, tuple(SubjectStrategy)
)


class ConverterOptions(Configuration):
    """Options of a converter; options that it does not declare have no effect on it."""

    others = PassThrough(
        "*",
        TEXT,
        Group.CONVERTERS,
        "Other options of Kafka Connect's converters.",
        pattern=r"(.+)",
        status=not_needed("the converter does not read it"),
    )

    @classmethod
    def examine_options(
        cls: type[C], options: Mapping[str, str], prefix: str
    ) -> tuple[C, list[PropertyFinding]]:
        """Check options as `Configuration.examine` does. References are already resolved; `prefix`
        ends with a dot."""
        declared = cls.properties()
        # Undeclared texts may be passwords, so only their names are used.
        texts = {name: text if name in declared else "" for name, text in options.items()}
        return cls.examine(texts, prefix=prefix)

    @classmethod
    def of(cls: type[C], options: Mapping[str, str], prefix: str) -> C:
        """Return the options. Raises HeadraceError as `Configuration.parse`; options of a parsed
        configuration are valid."""
        config, problems = cls.examine_options(options, prefix)
        if problems:
            raise error_of(problems)
        return config


class AvroConverterOptions(ConverterOptions):
    """Options of Confluent's AvroConverter and of its serializer."""

    schema_registry_url = Property(
        "schema.registry.url",
        TEXT,
        REQUIRED,
        Group.CONVERTERS,
        "The address of the schema registry, for example http://registry:8081.",
    )
    auto_register_schemas = Property(
        "auto.register.schemas",
        BOOLEAN,
        "true",
        Group.CONVERTERS,
        "Whether schemas are registered.",
    )
    use_latest_version = Property(
        "use.latest.version",
        BOOLEAN,
        "false",
        Group.CONVERTERS,
        "Whether the subject's latest schema is taken, without registering one.",
    )
    use_schema_id = Property(
        "use.schema.id",
        integer(-1),
        "-1",
        Group.CONVERTERS,
        "The number of the schema that is taken, without registering one.",
    )
    normalize_schemas = Property(
        "normalize.schemas",
        BOOLEAN,
        "false",
        Group.CONVERTERS,
        "Whether the registry normalizes schemas.",
    )
    connect_meta_data = Property(
        "connect.meta.data",
        BOOLEAN,
        "true",
        Group.CONVERTERS,
        "Whether schemas have Connect's names, versions and parameters.",
    )
    enhanced_avro_schema_support = Property(
        "enhanced.avro.schema.support",
        BOOLEAN,
        "false",
        Group.CONVERTERS,
        "Whether enumerations and packages keep their names.",
    )
    key_subject_name_strategy = Property(
        "key.subject.name.strategy",
        _STRATEGY,
        "TopicNameStrategy",
        Group.CONVERTERS,
        "How subjects of keys are named.",
    )
    value_subject_name_strategy = Property(
        "value.subject.name.strategy",
        _STRATEGY,
        "TopicNameStrategy",
        Group.CONVERTERS,
        "How subjects of values are named.",
    )


class CloudEventsConverterOptions(ConverterOptions):
    """Options of Debezium's CloudEventsConverter. Those with the prefix `avro.` are
    AvroConverterOptions."""

    serializer_type = Property(
        "serializer.type",
        one_of("json", "avro"),
        "json",
        Group.CONVERTERS,
        "How events are written.",
    )
    data_serializer_type = Property(
        "data.serializer.type",
        one_of("json", "avro"),
        "json",
        Group.CONVERTERS,
        "How their data is written: as events are.",
    )
    opentelemetry_tracing_attributes_enable = Property(
        "opentelemetry.tracing.attributes.enable",
        BOOLEAN,
        "false",
        Group.CONVERTERS,
        "Whether events have attributes of a trace.",
        status=refused("events carry no trace"),
    )
    schema_data_name_source_header_enable = Property(
        "schema.data.name.source.header.enable",
        BOOLEAN,
        "false",
        Group.CONVERTERS,
        "Whether a header names the schema of the data.",
        status=refused("the name is that of the record's schema"),
    )
    metadata_source = Property(
        "metadata.source",
        COMMA_LIST,
        "value",
        Group.CONVERTERS,
        "Where attributes come from: the value, id and type generated.",
    )
    schema_name_adjustment_mode = Property(
        "schema.name.adjustment.mode",
        choice(NameAdjustmentMode),
        "avro",
        Group.CONVERTERS,
        "Adjusts schema names to Avro.",
    )
    extension_attributes_enable = Property(
        "extension.attributes.enable",
        BOOLEAN,
        "true",
        Group.CONVERTERS,
        "Whether fields of `source` are attributes.",
    )
    schema_cloudevents_name = Property(
        "schema.cloudevents.name", TEXT, None, Group.CONVERTERS, "The name of the events' schema."
    )
    json_schemas_enable = Property(
        "json.schemas.enable", BOOLEAN, "true", Group.CONVERTERS, "Whether data has its schema."
    )
    json_decimal_format = Property(
        "json.decimal.format",
        choice(DecimalFormat),
        "BASE64",
        Group.CONVERTERS,
        "JSON rendering of Connect Decimals.",
    )
    json_replace_null_with_default = Property(
        "json.replace.null.with.default",
        BOOLEAN,
        "true",
        Group.CONVERTERS,
        "Whether null becomes the field's default.",
    )

    @property
    def is_avro(self) -> bool:
        """Return whether events and data are Avro."""
        return self.serializer_type == "avro"

    def check(self) -> Iterator[PropertyFinding]:
        """See Configuration."""
        yield from super().check()
        if self.data_serializer_type != self.serializer_type:
            yield _impossible(
                "data.serializer.type",
                self.data_serializer_type,
                f"{self.serializer_type}, as serializer.type",
            )
        sources = self.metadata_source
        if sources[:1] != ("value",) or {"id:header", "type:header"} & set(sources):
            yield _impossible(
                "metadata.source", ",".join(sources), "value, and id and type generated"
            )


class ByteArrayConverterOptions(ConverterOptions):
    """Options of Debezium's ByteArrayConverter."""

    delegate_converter_type = Property(
        "delegate.converter.type",
        ValueKind("JsonConverter", _parse_json_class),
        None,
        Group.CONVERTERS,
        "What writes other records than bytes.",
    )
    delegate_converter_type_schemas_enable = Property(
        "delegate.converter.type.schemas.enable",
        BOOLEAN,
        "true",
        Group.CONVERTERS,
        "Whether those records carry their schema.",
    )


class RowConverterOptions(ConverterOptions):
    """Options of the converter `row`."""

    fields_unknown = Property(
        "fields.unknown",
        one_of("fail", "drop"),
        "fail",
        Group.CONVERTERS,
        "What becomes of fields that the stream's column lacks.",
    )


_DECLARED: Mapping[ConverterName, type[ConverterOptions]] = {
    ConverterName.AVRO: AvroConverterOptions,
    ConverterName.CLOUDEVENTS: CloudEventsConverterOptions,
    ConverterName.BYTES: ByteArrayConverterOptions,
    ConverterName.ROW: RowConverterOptions,
}


def below(options: Mapping[str, str], prefix: str) -> dict[str, str]:
    """Return the options with the prefix `prefix.`, without it."""
    start = f"{prefix}."
    return {n.removeprefix(start): text for n, text in options.items() if n.startswith(start)}


def option_problems(
    converter: ConverterName, options: Mapping[str, str], prefix: str
) -> Iterator[PropertyFinding]:
    """Yield the problems of a converter's options; `prefix`, which ends with a dot, precedes their
    names. No registry is called."""
    declared = _DECLARED.get(converter, ConverterOptions)
    config, problems = declared.examine_options(options, prefix)
    yield from problems
    if isinstance(config, AvroConverterOptions):
        yield from registry_problems(options, prefix)
    if isinstance(config, CloudEventsConverterOptions) and config.is_avro:
        of_avro = below(options, ConverterName.AVRO)
        yield from option_problems(ConverterName.AVRO, of_avro, f"{prefix}avro.")


def registry_problems(options: Mapping[str, str], prefix: str = "") -> Iterator[PropertyFinding]:
    """Yield problems for options that the client of a schema registry does not support (names in
    lower case, with or without `schema.registry.`)."""
    names = {name.removeprefix(_REGISTRY): name for name in options}
    plain = {short: options[name].strip() for short, name in names.items()}
    source = plain.get(_SOURCE, "URL").upper()
    if source not in ("URL", "USER_INFO") or (source == "USER_INFO" and not plain.get(_USER)):
        name = prefix + names[_SOURCE]
        yield PropertyFinding(
            "registry.setting",
            name,
            f"{name}={source} needs a feature that this client does not have",
            "Use USER_INFO with basic.auth.user.info=USER:PASSWORD, or a URL with user and "
            "password.",
        )
    for store in _STORES:
        location = plain.get(f"ssl.{store}.location")
        kind = plain.get(f"ssl.{store}.type", "JKS").upper()
        if location is not None and kind != "PEM" and not _is_pem(location):
            name = prefix + names[f"ssl.{store}.location"]
            yield PropertyFinding(
                "registry.setting",
                name,
                f"{name} is a {kind} store, which only Java reads",
                f"Convert it to PEM (keytool and openssl pkcs12) and set {prefix}{_REGISTRY}"
                f"ssl.{store}.type=PEM.",
            )


def _is_pem(location: str) -> bool:
    try:
        return Path(location).read_bytes()[:4096].find(b"-----BEGIN") >= 0
    except OSError:
        return False


def _impossible(name: str, text: str, expected: str) -> PropertyFinding:
    return PropertyFinding(
        "config.impossible_value",
        name,
        f"{name} = {text!r}: expected {expected}",
        f"Correct {name}.",
    )
