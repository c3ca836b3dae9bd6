"""The envelope of a document's change event, and its parts that transforms keep."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.connect.records import Node, Shape, Struct
from headrace.connect.schema import Type
from headrace.connect.trees import as_struct, fields, member
from headrace.errors import HeadraceError
from headrace.transforms.debezium.envelopes import envelope_of


@dataclass(frozen=True)
class DocumentEnvelope:
    """The parts of an envelope whose images are texts or BSON; None for a missing part."""

    struct: Struct
    before: Node | None
    after: Node
    update: Node | None
    updated: Node | None
    removed: Node | None
    patch: Node | None = None

    @staticmethod
    def of(shape: Shape, *, is_debezium_compatible: bool = False) -> DocumentEnvelope | None:
        """Return the envelope of a shape; None if its value is not an envelope.

        Raises HeadraceError("transforms.row_is_no_document") for an envelope of rows, and with
        `is_debezium_compatible` for one of connectors before 2.2, which has no updateDescription.
        """
        struct = envelope_of(shape)
        if struct is None:
            return None
        members = fields(struct)
        after, update = members.get("after"), as_struct(members.get("updateDescription"))
        if (
            after is None
            or after.schema.type is not Type.STRING
            or (is_debezium_compatible and not update)
        ):
            raise HeadraceError(
                "transforms.row_is_no_document",
                f"{shape.topic} has events whose rows are not documents",
                "Use ExtractNewRecordState, or give the transform a predicate.",
            )
        parts = () if update is None else tuple(field.name for field in update.schema.fields)
        described = {name: member(update, name) for name in parts} if update is not None else {}
        return DocumentEnvelope(
            struct,
            members.get("before"),
            after,
            update,
            described.get("updatedFields"),
            described.get("removedFields"),
            members.get("patch"),
        )
