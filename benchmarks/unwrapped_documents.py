"""ExtractNewDocumentState over Records: documents per second on one core.

`python -m benchmarks.unwrapped_documents` splits 10,000 documents with ten fields, all of one
structure and of twenty, as BSON (as in a connector) and as texts of Extended JSON (as from
elsewhere), processor time of the best of several passes.
"""

from __future__ import annotations

import datetime as dt
import struct
import sys
import time
from collections.abc import Callable

import bson
import numpy as np

from headrace.connect.encoding import Encoding
from headrace.connect.images import BINARY, TEXT, image_of
from headrace.connect.kernels.memory import PADDING, address_of
from headrace.connect.records import Cell, Constant, Image, Node, Records, Shape, struct_of
from headrace.connect.rows import NULL, ROW, TRANSACTION, RowTable
from headrace.connect.schema import Schema, Type
from headrace.documents.cells import decoder
from headrace.documents.dialects import DIALECTS
from headrace.documents.extended_json import value_to_extended_json
from headrace.transforms.documents.extract_new_document_state import DECLARATION

DOCUMENTS = 10_000
PASSES = 30
_TEXT = Schema(Type.STRING)
_OPTIONAL = Schema(Type.STRING, optional=True)


def row(number: int, variant: int) -> dict[str, object]:
    """A document of ten fields; `variant` names the last one."""
    return {
        "_id": bson.ObjectId(struct.pack(">IQ", 1700000000, number)),
        "number": number,
        "total": bson.Int64(10_000_000_000 + number),
        "price": number * 0.25,
        "paid": number % 2 == 0,
        "placed": dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC),
        "customer": f"Customer {number}",
        "status": "shipped",
        "city": "Montréal",
        f"note{variant}": "none",
    }


def records(variants: int, *, as_text: bool) -> Records:
    """Created documents, `variants` structures of them in turn."""
    form = Encoding.EXTENDED_JSON_LEGACY
    images = []
    for number in range(DOCUMENTS):
        document = row(number, number % variants)
        identifier = b"\7" + document["_id"].binary  # type: ignore[attr-defined]
        whole = b"\3" + bson.encode(document)
        if as_text:
            texts = [value_to_extended_json(raw, DIALECTS[form]) for raw in (identifier, whole)]
            images.append(image_of([(TEXT, text.encode()) for text in texts]))
        else:
            images.append(image_of([(BINARY, identifier), (BINARY, whole)]))
    memory = np.frombuffer(b"".join(images) + bytes(PADDING), np.uint8)
    lengths = np.array([len(image) for image in images], np.int64)
    rows = np.zeros(DOCUMENTS, ROW)
    rows["new"] = address_of(memory) + np.cumsum(lengths) - lengths
    rows["operation"] = ord("c")
    transactions = np.zeros(1, TRANSACTION)
    transactions["xid"] = NULL

    def cell(schema: Schema, column: int) -> Cell:
        if as_text:
            return Cell(schema, Image.NEW, column, Encoding.STRING, 0, bytes.decode)
        return Cell(schema, Image.NEW, column, form, 0, decoder(form))

    members: dict[str, Node] = {
        "before": Constant(_OPTIONAL, None),
        "after": cell(_OPTIONAL, 1),
        "op": Constant(_TEXT, "c"),
    }
    key = struct_of("shop.items.Key", {"id": cell(_TEXT, 0)})
    shape = Shape("shop.items", key, struct_of("shop.items.Envelope", members))
    place = np.arange(DOCUMENTS)
    return Records(shape, RowTable(rows, transactions, (memory,)), place, place)


def best(run: Callable[[], object]) -> float:
    """Documents per second of a core in the fastest pass."""
    least = float("inf")
    for _ in range(PASSES):
        begun = time.process_time()
        run()
        least = min(least, time.process_time() - begun)
    return DOCUMENTS / least


def main() -> int:
    """Measure and print."""
    options, _ = DECLARATION.options.examine({})
    for as_text in (False, True):
        for variants in (1, 20):
            transform = DECLARATION.make(options)
            batch = records(variants, as_text=as_text)
            speed = best(lambda batch=batch, transform=transform: list(transform.apply(batch)))  # type: ignore[misc]
            form = "texts" if as_text else "BSON"
            print(f"{form}, {variants} structures: {speed:,.0f} documents/s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
