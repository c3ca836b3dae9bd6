"""Changes whose rows are in the log as images, for the kernels that read it."""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from headrace.connect.images import split_checked
from headrace.connect.kernels.functions import part
from headrace.streaming.changes.kernels.key_kernel import CELLS
from headrace.streaming.changes.kernels.row_kernel import (
    BROKEN,
    COLUMNS,
    CREATE,
    DELETE,
    KEY,
    LACKS_KEY,
    LEFT_OUT,
    MORE,
    RELATION_WORDS,
    add_change,
    count_change,
    is_skipped,
)


@part
def add_images(
    images, stop, virtual, operation, index, place, size,
    rows, transactions, relations, options, scratch, state,
):  # fmt: skip
    """Add the rows of one change of the open transaction. Its whole images begin at the address
    `images`, follow each other and end at `stop`: the old one (of an update and a delete), then the
    new one (of a create and an update). `virtual` is the difference between a virtual address and
    an address. `index` is that of the relation version; `place` in the log and `size` in bytes are
    the change's. Returns MORE; KEY (nothing was added, and key texts must be rendered first); or
    BROKEN."""
    relation = relations + 8 * RELATION_WORDS * index
    columns = relation[COLUMNS]
    second = images
    if operation != CREATE:
        second = split_checked(images, stop, columns, scratch)
    end = second
    if second > 0 and operation != DELETE:
        end = split_checked(second, stop, columns, scratch + CELLS)
    if end < 0:
        return BROKEN
    outcome = LEFT_OUT
    if not is_skipped(relation, operation, options):
        old = images + virtual if operation != CREATE else 0
        new = second + virtual if operation != DELETE else 0
        outcome = add_change(
            rows, transactions, state, operation, index, relation, old, new, 1,
            scratch, scratch + CELLS, place, size, options, scratch,
        )  # fmt: skip
    if outcome == LACKS_KEY:
        return KEY
    count_change(state, outcome)
    return MORE
