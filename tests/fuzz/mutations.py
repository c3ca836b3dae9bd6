"""Mutations of sound bytes."""

from __future__ import annotations

from random import Random

_LENGTHS = (b"\xff\xff\xff\xff", b"\x7f\xff\xff\xff", b"\x80\0\0\0", b"\0\0\0\0", b"\0\0\0\5")


def mutated(random: Random, raw: bytes) -> bytes:
    """Some bytes changed, dropped, repeated, or the end cut off; often nothing at all."""
    data = bytearray(raw)
    for _ in range(random.choice((0, 1, 1, 1, 2, 5))):
        place = random.randrange(len(data) + 1)
        match random.randrange(6):
            case 0 if data:
                data[place % len(data)] = random.randrange(256)
            case 1:
                del data[place : place + random.randrange(1, 9)]
            case 2:
                data[place:place] = random.randbytes(random.randrange(1, 9))
            case 3:
                data[place : place + 4] = random.choice(_LENGTHS)
            case 4:
                start = random.randrange(len(data) + 1)
                data[place:place] = data[start : start + random.randrange(1, 80)]
            case 5:
                del data[place:]
    return bytes(data)
