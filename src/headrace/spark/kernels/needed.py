"""The kernels that a configuration needs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from headrace.config.properties.connector import ConnectorConfig
from headrace.config.properties.frames import ChainConfig, FrameConfig
from headrace.config.properties.modes import ConverterName
from headrace.config.suggestions import nearest
from headrace.connectors.definition import ConnectorDefinition
from headrace.connectors.registry import definition_of, definitions, has_driver
from headrace.errors import HeadraceError
from headrace.spark.sinks.registry import sinks

Kernels = Mapping[str, Sequence[str]]
"""Names of kernels by module; all their arguments are int64, and the functions they call are
compiled into them."""

SHARED: Kernels = {
    "headrace.connect.evaluation.comparing": ("_same_cells",),
    "headrace.connect.evaluation.gathering": (
        "_gather",
        "_gather_one",
        "_copy_bytes",
        "_copy_fixed",
    ),
    "headrace.connect.evaluation.json_objects": ("find_members", "add_members"),
    "headrace.connect.evaluation.units": ("_count_units", "_shorten"),
    "headrace.connect.evaluation.zoned_texts": ("_read", "_write"),
    "headrace.streaming.kernels.count_kernel": ("count_rows", "endings_size", "write_endings"),
    "headrace.streaming.changes.kernels.hash_kernel": ("hash_rows",),
    "headrace.converters.kernels.emit": ("emit", "emit_headers"),
    "headrace.converters.json.kernels.binary": ("encode_cell",),
    "headrace.converters.json.kernels.interpreter": ("run_json",),
    "headrace.converters.kernels.prints": ("insert_patches", "write_sequences"),
    "headrace.converters.binary.kernels.interpreter": ("run_binary",),
    "headrace.converters.reading.kernels.envelope_kernel": ("open_envelopes", "schema_hash"),
    "headrace.converters.reading.kernels.images_kernel": ("read_images",),
    "headrace.converters.typed.kernels.variant_kernel": (
        "put_fixed",
        "put_lists",
        "put_objects",
        "put_texts",
    ),
    "headrace.documents.kernels.value_sizes": ("value_size",),
    "headrace.documents.kernels.indent_kernel": ("indent_column",),
    "headrace.documents.kernels.column_kernel": ("put_column",),
    "headrace.documents.kernels.field_kernel": ("filter_fields", "filter_names"),
    "headrace.documents.kernels.id_kernel": ("id_hash",),
    "headrace.documents.kernels.cells": ("put_document",),
    "headrace.documents.parsing.kernels.document_kernel": ("parse_texts",),
    "headrace.documents.kernels.scalars": ("put_decimal128",),
    "headrace.documents.kernels.split_kernel": ("split_values", "scatter_leaves"),
    "headrace.documents.target_schema.kernels.value_kernel": (
        "convert",
        "find_elements",
        "find_fields",
        "open_values",
    ),
    "headrace.documents.kernels.writer": ("put_cell",),
    "headrace.relational.row_lookup": ("_mark_lacking",),
    "headrace.spool.extract": ("_gather", "_gather_transactions", "relocate_entries"),
    "headrace.streaming.changes.kernels.row_kernel": ("open_transaction",),
    "headrace.streaming.changes.kernels.transaction_kernel": ("add_end",),
    "headrace.transforms.debezium.java_hashes": ("_hash_texts",),
}
"""The kernels of modules that no connector and no sink owns; theirs are in their definitions."""

_OF_EVERY_QUERY = (
    "headrace.connect.evaluation.gathering",
    "headrace.streaming.kernels.count_kernel",
    "headrace.streaming.changes.kernels.hash_kernel",
    "headrace.converters.kernels.emit",
    "headrace.converters.json.kernels.binary",
    "headrace.converters.json.kernels.interpreter",
    "headrace.converters.kernels.prints",
    "headrace.spool.extract",
    "headrace.streaming.changes.kernels.row_kernel",
    "headrace.streaming.changes.kernels.transaction_kernel",
)
_OF_TEXTS = (
    "headrace.converters.kernels.emit",
    "headrace.converters.json.kernels.binary",
    "headrace.converters.json.kernels.interpreter",
)
"""The shared modules that make texts of events."""
_OF_FRAMES = (
    "headrace.connect.evaluation.gathering",
    "headrace.connect.evaluation.json_objects",
    "headrace.converters.kernels.emit",
    "headrace.converters.json.kernels.interpreter",
    "headrace.converters.kernels.prints",
    "headrace.converters.reading.kernels.envelope_kernel",
    "headrace.converters.reading.kernels.images_kernel",
    "headrace.documents.kernels.cells",
    "headrace.documents.parsing.kernels.document_kernel",
)
_OF_DOCUMENTS = (
    "headrace.connect.evaluation.gathering",
    "headrace.documents.kernels.value_sizes",
    "headrace.documents.kernels.column_kernel",
    "headrace.documents.parsing.kernels.document_kernel",
    "headrace.documents.kernels.scalars",
    "headrace.documents.target_schema.kernels.value_kernel",
)
_BINARY = ("headrace.converters.binary.kernels.interpreter",)
OF_CONVERTERS: Mapping[ConverterName, Sequence[str]] = {
    ConverterName.JSON: (),
    ConverterName.AVRO: _BINARY,
    ConverterName.STRING: _BINARY,
    ConverterName.BYTES: _BINARY,
    ConverterName.SIMPLE: _BINARY,
    ConverterName.CLOUDEVENTS: _BINARY,  # Avro is among its formats
    ConverterName.ROW: (),
    ConverterName.VARIANT: ("headrace.converters.typed.kernels.variant_kernel",),
}
"""The modules of a converter's kernels, besides those of every query."""


def merged(parts: Iterable[Kernels]) -> dict[str, tuple[str, ...]]:
    """Return all kernels of the parts, each once."""
    kernels: dict[str, tuple[str, ...]] = {}
    for part in parts:
        for module, names in part.items():
            listed = kernels.get(module, ())
            kernels[module] = (*listed, *(name for name in names if name not in listed))
    return kernels


def shared(modules: Iterable[str]) -> dict[str, Sequence[str]]:
    """Return the kernels of shared modules."""
    return {module: SHARED[module] for module in modules}


def all_kernels() -> dict[str, tuple[str, ...]]:
    """Return the kernels that connectors share, those of the connectors whose driver is installed,
    and those of sinks."""
    of_connectors = (definition.kernels for definition in filter(has_driver, definitions()))
    of_sinks = (definition.kernels for definition in sinks())
    return merged((SHARED, *of_connectors, *of_sinks))


def query_kernels(
    config: ConnectorConfig, of_sink: Kernels | None = None, *, converts: bool = True
) -> dict[str, tuple[str, ...]]:
    """Return the kernels that a query of this configuration calls: those of its connector,
    converters, transforms and sink. If `converts` is false, it makes no texts of events. Raises
    HeadraceError for transforms that cannot be made."""
    if converts:
        modules = (*_OF_EVERY_QUERY, *_of_records(config))
    else:
        of_query = (module for module in _OF_EVERY_QUERY if module not in _OF_TEXTS)
        modules = (*of_query, *_of_transforms(config))
    return merged((shared(modules), definition_of(config).kernels, of_sink or {}))


def frame_kernels(config: FrameConfig) -> dict[str, tuple[str, ...]]:
    """Return the kernels that transforms of a DataFrame call, including those that read records.
    Raises HeadraceError as `query_kernels`."""
    return merged((shared((*_OF_FRAMES, *_of_records(config))),))


def document_kernels() -> dict[str, tuple[str, ...]]:
    """Return the kernels for columns of documents in Extended JSON."""
    return merged((shared(_OF_DOCUMENTS),))


def _of_records(config: ConnectorConfig | ChainConfig) -> list[str]:
    """Return the modules of kernels that transforms and converters call."""
    modules = _of_transforms(config)
    for role in ("key", "value", "header"):
        modules += OF_CONVERTERS[config.converter(role)]
    return modules


def _of_transforms(config: ConnectorConfig | ChainConfig) -> list[str]:
    from headrace.transforms.reading import chain_of

    return [*chain_of(config).kernels]


def kernels_by_name(names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the kernels that queries with these connectors, converters and sinks call, without
    transforms. Without the name of a converter, those of all converters, sinks and transforms.

    Raises HeadraceError("kernels.unknown_name").
    """
    connectors = {definition.name: definition for definition in definitions()}
    converters = {str(name): modules for name, modules in OF_CONVERTERS.items()}
    of_sinks = {definition.name: definition.kernels for definition in sinks()}
    known = (*connectors, *converters, *of_sinks)
    for name in names:
        if name not in known:
            near = nearest(name, known)
            raise HeadraceError(
                "kernels.unknown_name",
                f"{name} is not a connector, a converter or a sink"
                + (f"; did you mean {near}?" if near else ""),
                f"Name some of {', '.join(known)}.",
            )
    chosen: list[ConnectorDefinition] = [connectors[name] for name in names if name in connectors]
    of_connectors = [
        definition.kernels for definition in chosen or filter(has_driver, definitions())
    ]
    if not any(name in converters for name in names):
        return merged((SHARED, *of_connectors, *of_sinks.values()))
    modules = [*_OF_EVERY_QUERY]
    for name in names:
        modules += converters.get(name, ())
    return merged((shared(modules), *of_connectors, *(of_sinks.get(name, {}) for name in names)))


def listed(kernels: Kernels) -> Iterator[tuple[str, str]]:
    """Yield module and name of each kernel."""
    for module, names in kernels.items():
        for name in names:
            yield module, name
