"""The converters `row` and `variant`: a column of Spark's types, built from Records at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.connect.evaluation.values import tombstones
from headrace.connect.records import Constant, Node, Records, Shape
from headrace.connect.schema import Schema, Type
from headrace.converters.json.program import compile_json
from headrace.converters.json.values import JsonOptions
from headrace.converters.program import MadeColumns, Program
from headrace.converters.typed.evaluation import typed_values
from headrace.converters.typed.types import typed
from headrace.converters.typed.variant_values import VARIANT, variants
from headrace.debezium import heartbeats, transactions
from headrace.debezium.notifications import NOTIFICATION_VALUE
from headrace.errors import HeadraceError

_NOTHING = Constant(Schema(Type.STRING, optional=True), None)
_NO_SCHEMAS = JsonOptions(schemas_enable=False)
_OF_NO_TABLE = {heartbeats.VALUE.name, NOTIFICATION_VALUE.name, transactions.VALUE.name}
_LOGICAL_MESSAGE = ".MessageValue"


class ColumnConverter(ABC):
    """A converter that makes the column of a batch's records itself, instead of a program per
    record; see `headrace.converters.converter`."""

    def __init__(self, role: str, column: pa.DataType) -> None:
        """`role` is key or value."""
        self.role, self.column = role, column

    def program(
        self,
        topic: str,  # noqa: ARG002
        node: Node,  # noqa: ARG002
        made_columns: MadeColumns,
        *,
        null_has_schema: bool,  # noqa: ARG002
    ) -> Program:
        """Return a program that writes nothing."""
        return compile_json(_NOTHING, _NO_SCHEMAS, made_columns)

    def constant(self, topic: str, schema: Schema, value: object) -> bytes | None:  # noqa: ARG002
        raise AssertionError("the configuration refuses constants in columns")

    def column_of(self, records: Records) -> pa.Array:
        """Return the values of the records, an array of `column`, one entry per record in their
        order.

        Raises HeadraceError.
        """
        node = records.shape.key if self.role == "key" else records.shape.value
        if node is None:
            return pa.nulls(len(records), self.column)
        array = self._array(records, node)
        if self.role == "key":
            return array
        absent = tombstones(records)
        if not absent.any():
            return array
        return array.take(pa.array(np.arange(len(records)), mask=absent))

    @abstractmethod
    def _array(self, records: Records, node: Node) -> pa.Array:
        """The values of a node that is not None, an array of `column`."""


class VariantConverter(ColumnConverter):
    """Keys or values as VARIANT: structs and maps are objects, and fields have the types that
    `types` describes. Extended JSON and JSON are texts in it."""

    def __init__(self, role: str) -> None:
        super().__init__(role, VARIANT)

    def _array(self, records: Records, node: Node) -> pa.Array:
        return variants(typed_values(records, node))


class RowConverter(ColumnConverter):
    """Keys or values of one table as a struct with the fields of `column`.

    Fields are found by name; a field that a record lacks is null. Records that do not belong to a
    table (heartbeats, transactions, notifications, logical messages) are null.
    """

    def __init__(self, role: str, column: pa.StructType, *, drops_fields: bool = False) -> None:
        """`drops_fields`: fields that `column` lacks are left out; otherwise they are an error."""
        super().__init__(role, column)
        self._drops_fields = drops_fields

    def _array(self, records: Records, node: Node) -> pa.Array:
        if is_of_no_table(records.shape):
            return pa.nulls(len(records), self.column)
        topic = records.shape.topic
        if not pa.types.is_struct(typed(node.schema)):
            raise HeadraceError(
                "converters.row_no_struct",
                f"{self.role}s of {topic} are {node.schema.type.value}, which has no fields",
                f"Set {self.role}.converter=json, or remove the transform that drops the fields.",
            )
        return self._fitted(typed_values(records, node), self.column, topic, ())

    def _fitted(
        self, array: pa.Array, target: pa.DataType, topic: str, path: Sequence[str]
    ) -> pa.Array:
        """Convert an array to another type: fields by name, numbers and texts by casts without
        loss."""
        kind = array.type
        if not (pa.types.is_struct(kind) and pa.types.is_struct(target)):
            return self._cast(array, target, topic, path)
        names = [field.name for field in kind]
        others = [name for name in names if target.get_field_index(name) < 0]
        if others and not self._drops_fields:
            raise self._other_schema(
                topic, (*path, others[0]), f"the stream has no field {others[0]}"
            )
        members = [
            self._fitted(array.field(names.index(f.name)), f.type, topic, (*path, f.name))
            if f.name in names
            else pa.nulls(len(array), f.type)
            for f in target
        ]
        return pa.StructArray.from_arrays(members, fields=list(target), mask=pc.is_null(array))

    def _cast(
        self, array: pa.Array, target: pa.DataType, topic: str, path: Sequence[str]
    ) -> pa.Array:
        try:
            return array if array.type == target else pc.cast(array, target)
        except pa.ArrowException:
            reason = f"a value of type {array.type} does not fit into the stream's type {target}"
            raise self._other_schema(topic, path, reason) from None

    def _other_schema(self, topic: str, path: Sequence[str], reason: str) -> HeadraceError:
        name = f"{self.role}.converter"
        return HeadraceError(
            "converters.row_of_other_schema",
            f"{name}=row: {self.role}s of {topic}, field {'.'.join(path)}: {reason}",
            "A stream's columns are those that its table had when the query began. Start the query "
            "again with the same checkpoint to use the table's current columns, declare the "
            f"columns (.schema(...) of the reader), or set {name}.fields.unknown=drop.",
        )


def is_of_no_table(shape: Shape) -> bool:
    """Whether values are heartbeats, transactions, notifications or logical messages."""
    name = None if shape.value is None else shape.value.schema.name
    return name is not None and (name in _OF_NO_TABLE or name.endswith(_LOGICAL_MESSAGE))
