"""Updates in the format of connectors before 2.2: a `patch` with `$set` and `$unset`."""

from __future__ import annotations

from dataclasses import replace

from headrace.connect.evaluation.columns import column_of, with_values
from headrace.connect.evaluation.values import values
from headrace.connect.records import Records
from headrace.connect.schema import Schema, Type
from headrace.documents.bson import DOCUMENT
from headrace.documents.dialects import Dialect
from headrace.documents.extended_json import to_extended_json
from headrace.documents.parsing.plain import bson_of
from headrace.documents.values import elements_of
from headrace.transforms.documents.envelope import DocumentEnvelope

_EMPTY = b"\5\0\0\0\0"
_UPDATED = column_of(Schema(Type.STRING, optional=True))
_REMOVED = column_of(Schema(Type.ARRAY, optional=True, values=Schema(Type.STRING)))


def described(records: Records, envelope: DocumentEnvelope) -> tuple[Records, DocumentEnvelope]:
    """Return records that have a patch, with the updated and removed fields where later connectors
    have them.

    A patch without operators is the whole document. Raises HeadraceError
    ("documents.text_not_understood").
    """
    assert envelope.patch is not None
    updated: list[object] = []
    removed: list[object] = []
    for text in values(records, envelope.patch).to_pylist():
        patch = bson_of(text)
        members = {name: (kind, raw) for kind, name, raw in elements_of(patch[1:])}
        if any(name.startswith("$") for name in members):
            _, raw = members.get("$set", (DOCUMENT, _EMPTY))
            updated.append(to_extended_json(raw, Dialect.CANONICAL))
        else:
            updated.append(to_extended_json(patch[1:], Dialect.CANONICAL))
        _, unset = members.get("$unset", (DOCUMENT, _EMPTY))
        removed.append([name for _, name, _ in elements_of(unset)])
    records = with_values(with_values(records, _UPDATED, updated), _REMOVED, removed)
    return records, replace(envelope, updated=_UPDATED, removed=_REMOVED)
