"""Documents in Extended JSON as columns of Spark's types, in Arrow batches.

The conversion to a declared type is that of `headrace.documents.target_schema`: exact, or a
conflict. Versions 1 and 2 of Extended JSON are read.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    MapType,
    StringType,
    StructField,
    StructType,
    VariantType,
)

from headrace.documents.target_schema.ddl import declared
from headrace.documents.target_schema.policies import ConflictPolicy, UnknownFields
from headrace.documents.target_schema.target import REST, TargetSchema
from headrace.spark.kernels.beforehand import compile_beforehand, compile_if_local
from headrace.spark.kernels.needed import document_kernels
from headrace.spark.versions.columns import Convert, with_converted
from headrace.spark.versions.types import arrow_type


def with_documents(
    frame: DataFrame,
    names: Sequence[str],
    target: DataType,
    conflict: ConflictPolicy,
    unknown: UnknownFields = UnknownFields.DROP,
) -> DataFrame:
    """Return the frame with the texts of documents in the columns `names` as a target: a struct of
    their fields, or VARIANT for the whole text. `unknown` says what happens to fields that a struct
    lacks.

    Raises HeadraceError `documents.schema_not_understood` for a target with types that documents
    cannot be converted to, and `documents.rest_declared`.
    """
    if not isinstance(target, StructType):
        return frame.withColumns({name: F.parse_json(name) for name in names})
    schema = TargetSchema(declared(target.json()), conflict, unknown)
    if schema.keeps_rest:
        target = StructType([*target.fields, StructField(REST, VariantType())])
    compile_if_local(SparkSession.getActiveSession(), document_kernels())
    without_variants = _without_variants(target)
    frame = with_converted(frame, names, _converter(schema, without_variants), without_variants)
    if without_variants == target:
        return frame
    return frame.withColumns({name: _with_variants(F.col(name), target) for name in names})


def _without_variants(kind: DataType) -> DataType:
    """Return the type with text in place of VARIANT, which functions over Arrow do not return."""
    match kind:
        case VariantType():
            return StringType()
        case StructType():
            return StructType([StructField(f.name, _without_variants(f.dataType)) for f in kind])
        case ArrayType():
            return ArrayType(_without_variants(kind.elementType))
        case MapType():
            return MapType(kind.keyType, _without_variants(kind.valueType))
    return kind


def _with_variants(column: Column, kind: DataType) -> Column:
    """Return a column of `_without_variants(kind)` as one of `kind`."""
    match kind:
        case VariantType():
            return F.parse_json(column)
        case StructType():
            members = (_with_variants(column[f.name], f.dataType).alias(f.name) for f in kind)
            return F.when(column.isNotNull(), F.struct(*members))
        case ArrayType():
            inner = kind.elementType
            return F.transform(column, lambda element: _with_variants(element, inner))
        case MapType():
            value_type = kind.valueType
            return F.transform_values(column, lambda _, value: _with_variants(value, value_type))
    return column


def _converter(schema: TargetSchema, kind: DataType) -> Convert:
    arrow = arrow_type(kind)

    def convert(texts: pa.Array) -> pa.Array:
        return converted_texts(texts, schema, arrow)

    return convert


def converted_texts(texts: pa.Array, schema: TargetSchema, kind: pa.DataType) -> pa.Array:
    """Return texts of Extended JSON as an array of `kind`, the Arrow type of `schema` in Spark;
    null where the text is null.

    Raises HeadraceError: `documents.text_not_understood`, and the errors of
    `TargetSchema.converted`.
    """
    # Kernels are loaded in tasks, not where the query is built.
    from headrace.connect.evaluation.columns import bytes_cells
    from headrace.connect.images import TEXT
    from headrace.converters.typed.evaluation import typed_documents
    from headrace.documents.parsing.texts import parsed

    _compile_in_task()
    present = pc.drop_null(texts)
    values = bytes_cells(present.cast(pa.large_string()), TEXT)
    documents = parsed(values.table)
    array = typed_documents(schema.converted(documents.cells))
    if len(present) < len(texts):
        valid = np.asarray(texts.is_valid())
        index = np.cumsum(valid) - 1
        array = array.take(pa.array(index, mask=~valid))
    return as_spark(array, kind)


@cache
def _compile_in_task() -> None:
    """Compile the kernels that the driver did not compile, once per process: the process gets a
    call for each batch."""
    compile_beforehand(document_kernels())


def as_spark(array: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return an array of `headrace.converters.typed.types` as one of Spark's type in Arrow."""
    return array if array.type == kind else pc.cast(array, kind)
