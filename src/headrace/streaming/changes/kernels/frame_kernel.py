"""Frames that a connector writes of its log by itself: their heads, and places of the log in them.

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
    """The head of the frame between these addresses."""
    store32_be(out, end - out)
    store8(out + 4, kind)


@part
def put_number(out, number):
    """64 bits in network byte order; returns their end."""
    store32_be(out, number >> 32)
    store32_be(out + 4, number)
    return out + 8


@part
def put_place(out, high, low):
    """A place's two halves in network byte order; returns their end."""
    return put_number(put_number(out, high), low)


@part
def put_place_frame(out, kind, high, low):
    """A frame that has a place only; returns its end."""
    end = put_place(out + FRAME_HEAD_BYTES, high, low)
    put_frame_head(out, end, kind)
    return end
