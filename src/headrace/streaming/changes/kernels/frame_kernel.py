"""Frames in which a connector itself writes its log: their heads, and places of the log in them.

A frame begins with its size (uint32, network byte order) and its kind (one byte).
"""

# mypy: disable-error-code="no-untyped-def,no-untyped-call"

from __future__ import annotations

from headrace.connect.images import store32_be
from headrace.connect.kernels.functions import part
from headrace.connect.kernels.memory import store8

FRAME_HEAD_BYTES = 5
PLACE_BYTES = 16


@part
def put_frame_head(out, end, kind):
    """Write the head of the frame between these addresses."""
    store32_be(out, end - out)
    store8(out + 4, kind)


@part
def put_number(out, number):
    """Write 64 bits in network byte order; return their end."""
    store32_be(out, number >> 32)
    store32_be(out + 4, number)
    return out + 8


@part
def put_place(out, high, low):
    """Write the two halves of a place in network byte order; return their end."""
    return put_number(put_number(out, high), low)


@part
def put_place_frame(out, kind, high, low):
    """Write a frame that consists of a place; return its end."""
    end = put_place(out + FRAME_HEAD_BYTES, high, low)
    put_frame_head(out, end, kind)
    return end
