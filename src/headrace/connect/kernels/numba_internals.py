"""All that headrace uses of Numba beyond its public names, and beyond `numba.core.types` and
`numba.core.cgutils`, which its guide to intrinsics names: where compiled functions are kept, how
they are loaded, how parts of them are compiled, and where their code is in memory. It was tried
with `LOWEST` and with the version of constraints.txt. Others may have other names, or use them in
other ways: files lie by the paths of sources then, kernels are loaded with all that Numba compiles,
parts are plain `njit` functions, and a kernel that another one calls by its address is compiled
twice. That is slower and gives the same; plain parts are a warning. Damaged files are not found
without them."""

from __future__ import annotations

import hashlib
import io
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from numba import __version__ as numba_version
from numba import cfunc, config, int64, njit, types, version_info

from headrace.connect.kernels.other_packages import release_of

log = logging.getLogger(__name__)

_PACKAGE = f"{__name__.partition('.')[0]}."

LOWEST = (0, 63)
"""The oldest Numba whose private names are used; pyproject.toml requires it."""

NEWEST = (0, 68)
"""The newest Numba with which this module was tried. A later one has to compile a part first, and
loads kernels in its own way."""

PLAIN_PARTS = "HEADRACE_PLAIN_PARTS"
"""The environment variable that makes parts plain `njit` functions, for comparisons."""


def _made_of_private_names(make: Callable[[], Any]) -> Any:
    """Return the result of `make`; None if Numba is older than `LOWEST`, or if `make` fails:
    another Numba may lack a name, or take other arguments."""
    if version_info.short < LOWEST:
        return None
    try:
        return make()
    except Exception:
        log.debug("private names of Numba %s", numba_version, exc_info=True)
        return None


def _kernel_locator() -> Any:
    """Return the locator class that tells Numba where kernels are kept. Raises ImportError or
    AttributeError if Numba has other names."""
    from numba.core.caching import CacheImpl, _CacheLocator, _SourceFileBackedLocatorMixin

    class KernelLocator(_SourceFileBackedLocatorMixin, _CacheLocator):
        """The folder of a kernel's module below `numba.config.CACHE_DIR`, whose name is a digest of
        all sources that make kernels: installations of the same sources share it, whatever their
        paths."""

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
        def from_function(cls, py_func: Callable[..., object], py_file: str) -> Any:
            """Return a locator; None for another package's function, which has Numba's own
            locators."""
            if not py_func.__module__.startswith(_PACKAGE):
                return None
            return super().from_function(py_func, py_file)

    class ReleaseLocator(KernelLocator):
        """The folder where Numba itself would keep a kernel of another package that has entry
        points of headrace; the kernel is compiled again for each release of the package."""

        def get_cache_path(self) -> str:
            """See Numba's _CacheLocator."""
            return str(self._folder / self.get_suitable_cache_subpath(self._py_file))

        def get_source_stamp(self) -> Any:
            """See Numba's _CacheLocator."""
            content = _SourceFileBackedLocatorMixin.get_source_stamp(self)
            return content, release_of(self._module)

        @classmethod
        def from_function(cls, py_func: Callable[..., object], py_file: str) -> Any:
            """Return a locator; None for headrace's functions, and packages without entry
            points."""
            if not release_of(py_func.__module__):
                return None
            return super(KernelLocator, cls).from_function(py_func, py_file)

    CacheImpl._locator_classes[:0] = [KernelLocator, ReleaseLocator]
    return KernelLocator


_DIGEST_BYTES = 16
"""Bytes of the digest at the end of each file."""


def _checked_files() -> Any:
    """Return the class of Numba's cache files. Raises ImportError or AttributeError if Numba has
    other names."""
    from numba.core.caching import IndexDataCacheFile

    for name in (
        "_open_for_write", "_load_index", "_load_data", "_save_index", "_save_data", "_data_path",
    ):  # fmt: skip
        getattr(IndexDataCacheFile, name)

    class CheckedFiles(IndexDataCacheFile):
        """Cache files that end with a digest of their content, which Numba's readers ignore. Numba
        compiles the kernel of a damaged file again; without the digest it would load any machine
        code."""

        def save(self, key: Any, data: Any) -> None:
            """Save a kernel. Numba's IndexDataCacheFile writes the index first and numbers the
            files: after a failed write, the index of one release could name the code of another.
            Here the code's file is named by the sources and the types, and written before the
            index."""
            overloads = self._load_index()
            named = f"{self._source_stamp!r} {key!r}".encode()
            name = self._data_name_pattern.format(number=int.from_bytes(_digest(named)[:8]))
            self._save_data(name, data)
            if overloads.get(key) != name:
                overloads[key] = name
                self._save_index(overloads)
            indexed_files = {Path(self._data_path(each)) for each in overloads.values()}
            files = self._data_name_pattern.partition("{")[0]
            for file in Path(self._cache_path).glob(f"{escape(files)}*.nbc"):
                if file not in indexed_files:  # written by a former release
                    with suppress(OSError):
                        file.unlink()

        @contextmanager
        def _open_for_write(self, filepath: str) -> Iterator[Any]:
            """See Numba's IndexDataCacheFile."""
            content = io.BytesIO()
            yield content
            with super()._open_for_write(filepath) as file:
                file.write(content.getvalue() + _digest(content.getvalue()))

        def _load_index(self) -> Any:
            """See Numba's IndexDataCacheFile."""
            return {} if _is_damaged(Path(self._index_path)) else super()._load_index()

        def _load_data(self, name: str) -> Any:
            """See Numba's IndexDataCacheFile, which continues if a file does not exist."""
            path = Path(self._data_path(name))
            if _is_damaged(path):
                raise FileNotFoundError(path)
            return super()._load_data(name)

    if version_info.short > NEWEST:
        _try_files(CheckedFiles)
    return CheckedFiles


def _try_files(files: Any) -> None:
    """Save and load as a test. Raises an error if that does not work."""
    with TemporaryDirectory() as folder:
        cache = files(cache_path=folder, filename_base="tried", source_stamp="stamp")
        cache.save("key", [1])
        if cache.load("key") != [1]:
            raise AssertionError(numba_version)


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGEST_BYTES).digest()


def _is_damaged(file: Path) -> bool:
    """Return whether a file of a kernel has another digest than its content; it is removed then."""
    try:
        content = file.read_bytes()
    except OSError:
        return False  # Numba reports the error
    if _digest(content[:-_DIGEST_BYTES]) == content[-_DIGEST_BYTES:]:
        return False
    log.warning("the compiled kernel in %s is damaged, and is compiled again", file)
    with suppress(OSError):
        file.unlink()
    return True


def _entry_cache() -> Any:
    """The class that loads entries from their files. Raises ImportError or AttributeError where
    Numba has other names."""
    from numba.core.caching import FunctionCache
    from numba.core.runtime import rtsys

    for owner, name in (
        (FunctionCache, "_guard_against_spurious_io_errors"),
        (FunctionCache, "_load_overload"),
        (rtsys, "initialize"),
    ):
        getattr(owner, name)

    class EntryCache(FunctionCache):
        """Loads machine code without what only compiling needs: Numba imports the types and the
        implementations of all functions of Python and NumPy before it looks for a file, which takes
        as long as loading dozens of kernels. Its compiler does that by itself where there is no
        file."""

        def load_overload(self, sig: Any, target_context: Any) -> Any:
            """See Numba's _Cache. The machine code calls Numba's runtime where it raises errors."""
            rtsys.initialize(target_context)
            with self._guard_against_spurious_io_errors():
                return self._load_overload(sig, target_context)
            return None  # the error of a file was swallowed

    return EntryCache


def make_entry(function: Callable[..., Any], options: dict[str, Any]) -> Any:
    """Compile a function that Python calls, and whose compiled form is kept in files."""
    kernel = njit(cache=True, **options)(function)
    cache = getattr(kernel, "_cache", None)
    files = getattr(cache, "_cache_file", None)
    if _Files is not None and type(files) is _Files.__base__:
        files.__class__ = _Files
    is_own = function.__module__.startswith(_PACKAGE)  # others may call anything
    if _Cache is not None and type(cache) is _Cache.__base__ and is_own:
        cache.__class__ = _Cache
    return kernel


def files_of(kernel: Any) -> list[Path]:
    """Return the files that a kernel is kept in; [] if this Numba keeps them in other ways."""
    try:
        files = kernel._cache._cache_file
        codes = files._load_index().values()
        return [Path(files._index_path), *(Path(files._data_path(code)) for code in codes)]
    except AttributeError:
        return []


def share_kernels() -> bool:
    """Return whether Numba uses KernelLocator, its first choice. It does not if the user chose
    locators (`NUMBA_CACHE_LOCATOR_CLASSES`): then files are kept by the paths of sources."""
    return _Locator is not None


def address_of_code(kernel: Any, options: dict[str, Any]) -> int:
    """Return the address of a compiled kernel whose arguments and result are int64; valid while the
    process lives. `options` are those that the kernel was compiled with."""
    signature = (int64,) * kernel.py_func.__code__.co_argcount
    try:
        compiled = kernel.overloads[signature]
        name = compiled.fndesc.llvm_cfunc_wrapper_name
        return int(compiled.library.get_pointer_to_function(name))
    except AttributeError:
        function = kernel.py_func
        if function not in _callbacks:
            _callbacks[function] = cfunc(int64(*signature), **options)(function)
        return int(_callbacks[function].address)


_callbacks: dict[Callable[..., object], Any] = {}
"""Callbacks of kernels, which own the code in memory."""


def _without_literals(argument_type: Any) -> Any:
    """Return the type of an argument: a constant has no type of its own."""
    plain = types.unliteral(argument_type)
    if isinstance(plain, types.Tuple | types.UniTuple):
        return types.Tuple([_without_literals(item) for item in plain])
    return plain


def _part_dispatcher() -> Any:
    """Return the class of parts. Raises ImportError or AttributeError if Numba has other names."""
    from numba.core.base import BaseContext
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import CompilerBase, DefaultPassBuilder, Flags, _LowerResult
    from numba.core.compiler_machinery import register_pass
    from numba.core.registry import CPUDispatcher, cpu_target
    from numba.core.typed_passes import NativeLowering

    for owner, name in (
        (JITCodeLibrary, "finalize"),
        (JITCodeLibrary, "_get_module_for_linking"),
        (JITCodeLibrary, "_finalize_dynamic_globals"),
        (CPUDispatcher, "get_call_template"),
        (CPUDispatcher, "add_overload"),
        (DefaultPassBuilder, "define_nopython_pipeline"),
        (BaseContext, "insert_user_function"),
        (_LowerResult, "cfunc"),
        (Flags, "no_compile"),
    ):
        getattr(owner, name)
    library = JITCodeLibrary(cpu_target.target_context.codegen(), "headrace_names")
    for name in (
        "_final_module",
        "_finalized",
        "_linking_libraries",
        "_raise_if_finalized",
        "_reload_init",
    ):
        getattr(library, name)

    class PartLibrary(JITCodeLibrary):
        """A part's code, which its callers link and optimise with their own. By itself it is not
        optimised and has no machine code."""

        def finalize(self) -> None:
            """See Numba's CodeLibrary."""
            self._raise_if_finalized()
            for library in dict.fromkeys(self._linking_libraries):
                self._reload_init.update(library._reload_init)
                self._final_module.link_in(library._get_module_for_linking(), preserve=True)
            self._finalize_dynamic_globals()
            self._finalized = True

    @register_pass(mutates_CFG=True, analysis_only=False)
    class PartLowering(NativeLowering):
        """Lowers a part into a library of its own, for its callers."""

        _name = "headrace_part_lowering"

        def run_pass(self, state: Any) -> bool:
            """See Numba's LoweringPass."""
            state.library = PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
            state.flags.no_compile = True
            super().run_pass(state)
            lowered = state["cr"]
            address = object()  # callers use it to name the function; it is never called
            state.targetctx.insert_user_function(address, lowered.fndesc, [state.library])
            state.reload_init.extend(state.library._reload_init)
            state["cr"] = lowered._replace(cfunc=address)
            return True

    class PartCompiler(CompilerBase):
        """Numba's pipeline with PartLowering."""

        def define_pipelines(self) -> list[Any]:
            """See Numba's CompilerBase."""
            passes = DefaultPassBuilder.define_nopython_pipeline(self.state, "headrace_part")
            passes.passes = [
                (PartLowering, text) if step is NativeLowering else (step, text)
                for step, text in passes.passes
            ]
            passes._finalized = False
            passes.finalize()
            return [passes]

    class PartDispatcher(CPUDispatcher):
        """A function that only compiled functions call."""

        keeps_literals = False

        def get_call_template(self, args: Any, kws: Any) -> Any:
            """See Numba's Dispatcher: types have no literals, unless `keeps_literals`."""
            if not self.keeps_literals:
                args = tuple(map(_without_literals, args))
                kws = {name: _without_literals(argument) for name, argument in kws.items()}
            return super().get_call_template(args, kws)

        def add_overload(self, cres: Any) -> None:
            """See Numba's Dispatcher: Python cannot find the overload."""
            self.overloads[tuple(cres.signature.args)] = cres

        def __call__(self, *_args: object, **_kwargs: object) -> Any:
            name = f"{self.py_func.__module__}.{self.py_func.__name__}"
            raise TypeError(f"{name} is a part of kernels, and Python cannot call it: see `entry`")

    PartDispatcher.pipeline_class = PartCompiler
    if version_info.short > NEWEST:
        _try_part(PartDispatcher)
    return PartDispatcher


def _try_part(dispatcher: Any) -> None:
    """Compile a part and its caller as a test. Raises the errors of Numba."""

    def add_two(number: int) -> int:
        return number + 2

    known_part = _dispatched(dispatcher, add_two, is_inlined=False, options={})

    @njit
    def call(number: int) -> Any:
        return known_part(number)

    if call(1) != 3:
        raise AssertionError(numba_version)


def _is_set(variable: str) -> bool:
    return os.environ.get(variable, "0") not in ("", "0")


_Locator = (
    None
    if getattr(config, "CACHE_LOCATOR_CLASSES", "")
    else _made_of_private_names(_kernel_locator)
)
_Files = _made_of_private_names(_checked_files)
_Cache = None if version_info.short > NEWEST else _made_of_private_names(_entry_cache)
_Part = None if _is_set(PLAIN_PARTS) else _made_of_private_names(_part_dispatcher)
PLAIN = _Part is None
"""Whether parts are plain `njit` functions."""
if PLAIN and not _is_set(PLAIN_PARTS):
    log.warning(
        "Numba %s has other private names than headrace knows: kernels take about three times as "
        "long to compile, with the same result. Tested versions: %d.%d, and the one that "
        "constraints.txt names",
        numba_version,
        *LOWEST,
    )


def make_part(function: Callable[..., Any], *, is_inlined: bool, options: dict[str, Any]) -> Any:
    """Compile a function that only compiled functions call: typed and lowered once per set of
    types, without wrappers, machine code or file of its own."""
    if _Part is None:
        return njit(cache=True, forceinline=is_inlined, **options)(function)
    return _dispatched(_Part, function, is_inlined=is_inlined, options=options)


def _dispatched(
    dispatcher: Any, function: Callable[..., Any], *, is_inlined: bool, options: dict[str, Any]
) -> Any:
    part = dispatcher(
        py_func=function,
        targetoptions={
            "nopython": True,
            "forceinline": is_inlined,
            "no_cpython_wrapper": True,
            "no_cfunc_wrapper": True,
            "boundscheck": None,
            **options,
        },
        pipeline_class=dispatcher.pipeline_class,
    )
    part.keeps_literals = is_inlined
    return part
