"""Loads the compiled kernels, compiling them the first time; seconds then, milliseconds later."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numba import config as numba_config

from headrace.connect.memory import PADDING, address_of
from headrace.connect.records import Shape, Struct, group_by_shape
from headrace.connect.rows import ROW, TRANSACTION, RowTable
from headrace.connect.schema import Schema, Type
from headrace.converters import json_kernel
from headrace.converters.json import JsonConverter
from headrace.converters.json_values import JsonOptions


def kernels_are_compiled() -> bool:
    """Whether this installation compiled kernels before, which takes up to a minute."""
    return any(Path(numba_config.CACHE_DIR).rglob("*.nbi"))


def load_kernels() -> None:
    """Run the converter over one empty record."""
    options = JsonOptions()
    value = Struct(Schema(Type.STRUCT), ())
    rows = np.zeros(1, ROW)
    rows["operation"] = ord("r")
    rows["new"] = 0
    table = RowTable(rows, np.zeros(1, TRANSACTION))
    records = group_by_shape(table, {0: Shape("", None, value)})
    for _batch in JsonConverter(options, options, options).convert(records, 0):
        pass
    out = np.zeros(256 + PADDING, np.uint8)
    program = np.zeros(json_kernel.WORDS * 2, np.int64)
    state = np.zeros(json_kernel.STATE_WORDS, np.int64)
    scratch = np.zeros(json_kernel.scratch_bytes(0) + PADDING, np.uint8)
    json_kernel.emit_one(
        address_of(program),
        json_kernel.ROW_THERE,
        0,
        address_of(rows),
        address_of(table.transactions),
        address_of(state),
        address_of(scratch),
        address_of(out),
    )
