"""Addresses of memory that kernels read and write."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[2] / "src"


def of_temporaries(source: str) -> list[int]:
    """The lines that take the address of an array that nothing refers to afterwards: its memory is
    free, and other threads may use it, before a kernel does. `np.frombuffer` of a name has the
    memory of the named buffer."""
    lines = []
    for call in ast.walk(ast.parse(source)):
        if not (isinstance(call, ast.Call) and ast.unparse(call.func) == "address_of"):
            continue
        array = call.args[0]
        while isinstance(array, ast.Subscript | ast.Attribute):
            array = array.value
        if not isinstance(array, ast.Call):
            continue
        is_view = ast.unparse(array.func) == "np.frombuffer" and isinstance(array.args[0], ast.Name)
        if not is_view:
            lines.append(call.lineno)
    return lines


def test_addresses_of_temporary_arrays_are_found() -> None:
    assert of_temporaries("kernel(address_of(np.ones(3)))") == [1]
    assert of_temporaries("kernel(address_of(np.ones(3)[1:]))") == [1]
    assert of_temporaries("kernel(address_of(made().table))") == [1]
    assert of_temporaries("a = np.ones(3)\nkernel(address_of(a), address_of(self.b.c[1:]))") == []
    assert of_temporaries("address_of(np.frombuffer(data, np.uint8))") == []


def test_no_kernel_gets_the_address_of_a_temporary_array() -> None:
    places = [
        f"{file.relative_to(SOURCES)}:{line}"
        for file in sorted(SOURCES.rglob("*.py"))
        for line in of_temporaries(file.read_text())
    ]
    assert not places
