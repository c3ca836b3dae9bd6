"""The page on kernels, executed."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import numba
import numpy as np
import pytest

from headrace.connect.kernels.memory import address_of  # it sets Numba's folder
from tests.compiled import callable_part
from tests.docs.pages import block

PAGE = "docs/kernels.md"
MODULES = ("lines", "test_lines")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of the page's modules, where their kernels are kept, too."""
    folder = tmp_path_factory.mktemp("page")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        patch.setattr(numba.config, "CACHE_DIR", str(folder / "kernels"))
        for name in MODULES:
            (folder / f"{name}.py").write_text(block(PAGE, f'"""{name}.py: ').text)
        yield folder
    for name in MODULES:
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    "test",
    [
        "test_lines_end_after_each_newline",
        "test_nothing_beyond_the_buffers_is_read_or_written",
    ],
)
def test_the_tests_of_the_page_pass(page: Path, test: str) -> None:
    getattr(import_module("test_lines"), test)()
    assert list(page.glob("kernels/**/lines.find_lines-*.nbc"))


def test_the_page_names_each_test_here(page: Path) -> None:
    names = {name for name in vars(import_module("test_lines")) if name.startswith("test_")}
    marked = test_the_tests_of_the_page_pass.pytestmark[0]  # type: ignore[attr-defined]
    assert names == set(marked.args[1])


def test_a_part_of_the_page_can_be_called_as_it_says(page: Path) -> None:
    text = np.frombuffer(b"ab\nc", np.uint8)
    line_end = callable_part(import_module("lines").line_end)
    begin = address_of(text)
    assert line_end(begin, begin + 4) == begin + 3
    assert line_end(begin + 3, begin + 4) == -1
