"""The envelope of a document's change event, and what of it goes on with the document."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from headrace.connect.records import Header, Node, Shape, Struct
from headrace.connect.schema import Type
from headrace.connect.trees import as_struct, fields, member
from headrace.errors import HeadraceError


@dataclass(frozen=True)
class DocumentEnvelope:
    """The parts of an envelope whose images are texts or BSON. None: it has no such part."""

    struct: Struct
    before: Node | None
    after: Node
    update: Node | None
    updated: Node | None
    removed: Node | None
    patch: Node | None = None

    @staticmethod
    def of(shape: Shape, *, as_released: bool = False) -> DocumentEnvelope | None:
        """That of a shape; None where its value is no envelope.

        Raises HeadraceError("transforms.row_is_no_document") for an envelope of rows, and
        `as_released` for one of connectors before 2.2, which has no updateDescription.
        """
        struct = as_struct(shape.value)
        if struct is None or not (struct.schema.name or "").endswith(".Envelope"):
            return None
        members = fields(struct)
        after, update = members.get("after"), as_struct(members.get("updateDescription"))
        if after is None or after.schema.type is not Type.STRING or (as_released and not update):
            raise HeadraceError(
                "transforms.row_is_no_document",
                f"{shape.topic} has events whose rows are no documents",
                "Use ExtractNewRecordState, or give the transform a predicate.",
            )
        parts = () if update is None else tuple(each.name for each in update.schema.fields)
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


def with_headers(shape: Shape, made: Iterable[tuple[str, Node]]) -> tuple[Header, ...]:
    """The headers of the shape and these, which replace those of their names."""
    added = tuple(Header(name, node) for name, node in made)
    replaced = {header.name for header in added}
    return (*(header for header in shape.headers if header.name not in replaced), *added)
