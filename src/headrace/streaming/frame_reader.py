"""A reader of a log that its connector writes in frames."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from headrace.connect.kernels.loading import address_of_kernel
from headrace.streaming.changes.kernels.frame_kernel import FRAME_HEAD, index_frames
from headrace.streaming.changes.kernels.row_kernel import FRAME_KERNEL
from headrace.streaming.segment_reader import SegmentReader


class FrameReader(SegmentReader):
    """A log that is not a sequence of units with a size (rows of a driver, documents with several
    parts): `read_into` writes frames (see `frame_kernel`), and `frame_kernel` indexes one of them.
    """

    head = FRAME_HEAD
    kernel = staticmethod(index_frames)
    frame_kernel: ClassVar[Callable[..., int]]
    """The kernel that indexes one frame. Its arguments are the address of the frame, and what is to
    be added to an address of the segment to get a virtual one; the addresses of the tables of rows,
    transactions and ends, which have room for the rows of a frame; the address of the table of
    versions; the options; the addresses of the scratch memory of keys and of `state`: all of them
    int64. It returns MORE, or why the frame is not indexed."""

    def load_kernels(self) -> None:
        """See SegmentReader."""
        super().load_kernels()
        self.state[FRAME_KERNEL] = address_of_kernel(self.frame_kernel)
