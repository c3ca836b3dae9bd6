"""Where Numba keeps compiled kernels: by their modules, so that installations of the same sources
share them, wherever they are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from numba import config
from numba.core.caching import CacheImpl, _CacheLocator, _SourceFileBackedLocatorMixin

_PACKAGE = f"{__name__.partition('.')[0]}."


class KernelLocator(_SourceFileBackedLocatorMixin, _CacheLocator):
    """The folder of a kernel's module below `numba.config.CACHE_DIR`, whose name stands for the
    content of all sources that make kernels."""

    def __init__(self, py_func: Callable[..., object], py_file: str) -> None:
        self._py_file = py_file
        self._lineno = py_func.__code__.co_firstlineno
        self._folder = Path(config.CACHE_DIR)
        self._module = py_func.__module__

    def get_cache_path(self) -> str:
        """See Numba's _CacheLocator."""
        return str(self._folder / self._module.removeprefix(_PACKAGE))

    def get_source_stamp(self) -> str:
        """See Numba's _CacheLocator."""
        return self._folder.name

    @classmethod
    def from_function(cls, py_func: Callable[..., object], py_file: str) -> KernelLocator | None:
        """None: another package's function, which is left to Numba's own locators."""
        if not py_func.__module__.startswith(_PACKAGE):
            return None
        located: KernelLocator | None = super().from_function(py_func, py_file)
        return located


def share_kernels() -> bool:
    """Have Numba ask KernelLocator first; whether it does. It does not where the user chose
    locators (`NUMBA_CACHE_LOCATOR_CLASSES`): files lie by the paths of sources then."""
    if getattr(config, "CACHE_LOCATOR_CLASSES", ""):
        return False
    if KernelLocator not in CacheImpl._locator_classes:
        CacheImpl._locator_classes.insert(0, KernelLocator)
    return True
