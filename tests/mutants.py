"""`python -m tests.mutants [SEED] [COUNT]` changes one operator, constant or condition of a module
at a time, in a copy of the checkout, and runs the tests that ought to notice.

The tests of a module run once without a change first, and have to pass. It prints how many of the
mutants no test killed, and shows them: each is a line that may be wrong
without a test failing. Not every one can be killed: some are equal to what they replace.
"""

from __future__ import annotations

import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
COUNT = 50
MODULES = {
    "config/secret.py": ("tests/config",),
    "connect/java_numbers.py": ("tests/connect", "tests/converters/json"),
    "connect/json_records.py": ("tests/connect", "tests/converters/reading"),
    "connectors/oracle/streaming/windows/logs.py": ("tests/connectors/oracle/streaming/windows",),
    "connectors/postgresql/replication/pgoutput.py": (
        "tests/connectors/postgresql/replication/test_pgoutput.py",
        "tests/connectors/postgresql/replication/test_messages.py",
    ),
    "offsets/offset.py": (
        "tests/offsets",
        "tests/snapshots",
        "tests/connectors/postgresql/test_offset.py",
    ),
    "relational/history/history.py": (
        "tests/relational/history/test_history.py",
        "tests/relational/history/test_records.py",
        "tests/relational/history/test_file_store.py",
    ),
    "signals/conditions.py": ("tests/signals",),
    "sinks/file/output.py": (
        "tests/sinks/test_file_output.py",
        "tests/sinks/test_file_repeats.py",
        "tests/sinks/test_file_tail.py",
        "tests/sinks/test_file_spares.py",
    ),
    "snapshots/chunks.py": ("tests/snapshots",),
}
"""Modules below src/headrace, and the tests that ought to notice a change of each."""
_COMPARED = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_COMPUTED = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.FloorDiv: ast.Mult}
_WITHIN_S = 900
_KILLED = (1, 2)
"""The exit status of pytest when a test failed, and when a module could not be imported. Tests that
do not end, and a signal that ends pytest (a negative status), are kills too. Other statuses say
nothing of the mutant."""


@dataclass(frozen=True)
class Mutant:
    """`text` is the whole module with one change, which `change` shows."""

    module: str
    line: int
    change: str
    text: str


def mutants_of(module: str) -> Iterator[Mutant]:
    """Every mutant of a module."""
    source = (ROOT / "src" / "headrace" / module).read_text()
    tree = ast.parse(source)
    for number, node in enumerate(ast.walk(tree)):
        for changed in _changed(node):
            other = copy.deepcopy(tree)
            place = next(node for at, node in enumerate(ast.walk(other)) if at == number)
            before = ast.unparse(place)
            place.__dict__.update(changed.__dict__)
            change = f"{before}  ->  {ast.unparse(place)}"
            yield Mutant(module, getattr(node, "lineno", 0), change, ast.unparse(other))


def _changed(node: ast.AST) -> Iterator[ast.AST]:
    """Copies of a node with one difference each."""
    match node:
        case ast.Compare(ops=[operator]) if type(operator) in _COMPARED:
            other = copy.copy(node)
            other.ops = [_COMPARED[type(operator)]()]
            yield other
        case ast.BinOp(op=operator) if type(operator) in _COMPUTED:
            changed = copy.copy(node)
            changed.op = _COMPUTED[type(operator)]()
            yield changed
        case ast.BoolOp(op=operator):
            either = copy.copy(node)
            either.op = ast.Or() if isinstance(operator, ast.And) else ast.And()
            yield either
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value)
        case ast.Constant(value=int(value)):
            yield ast.Constant(value + 1)


def exit_status(module: str, checkout: Path) -> int | None:
    """Pytest's, of the tests that ought to notice a change of the module; None: they do not end.
    Compiled kernels are kept beside the checkout: the first run compiles them for all others."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider"]
    paths = os.pathsep.join(str(checkout / folder) for folder in ("src", "demo/src", "."))
    variables = {"PYTHONPATH": paths, "NUMBA_CACHE_DIR": str(checkout.with_name("kernels"))}
    try:
        return subprocess.run(
            [*command, "-m", "not (spark or chaos)", *MODULES[module]],
            cwd=checkout, env={**os.environ, **variables},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=_WITHIN_S, check=False,
        ).returncode  # fmt: skip
    except subprocess.TimeoutExpired:
        return None


def require_passing(module: str, checkout: Path) -> None:
    """Raises SystemExit if the module's tests do not pass without a change."""
    status = exit_status(module, checkout)
    if status != 0:
        raise SystemExit(f"Without a change of {module} {_ending(status)}: repair them first")


def is_killed(mutant: Mutant, checkout: Path) -> bool:
    """Whether a test fails, or does not end, with a mutant in a copy of the checkout. Raises
    SystemExit if pytest ends in another way."""
    path = checkout / "src" / "headrace" / mutant.module
    original = path.read_text()
    path.write_text(mutant.text)
    try:
        status = exit_status(mutant.module, checkout)
    finally:
        path.write_text(original)
    killed = status is None or status < 0 or status in _KILLED
    if not killed and status != 0:
        raise SystemExit(f"{mutant.module}:{mutant.line}  {mutant.change}: {_ending(status)}")
    return killed


def _ending(status: int | None) -> str:
    ended = "do not end" if status is None else f"end with pytest's exit status {status}"
    return f"the tests {ended}"


def main(seed: int, count: int) -> int:
    chance = random.Random(seed)
    every = {module: list(mutants_of(module)) for module in MODULES}
    chosen = [chance.choice(every[module]) for module in chance.choices(list(every), k=count)]
    lived = []
    with tempfile.TemporaryDirectory(prefix="headrace-mutants-") as folder:
        checkout = Path(folder) / "headrace"
        leave = shutil.ignore_patterns(".venv*", ".git", "__pycache__", "build", "dist")
        shutil.copytree(ROOT, checkout, ignore=leave)
        for module in sorted({mutant.module for mutant in chosen}):
            require_passing(module, checkout)
        for number, mutant in enumerate(chosen, 1):
            killed = is_killed(mutant, checkout)
            print(
                f"{number:3} {'killed' if killed else 'LIVES '} {mutant.module}:{mutant.line}  "
                f"{mutant.change.splitlines()[0][:120]}",
                flush=True,
            )
            if not killed:
                lived.append(mutant)
    print(f"SEED={seed}: {count - len(lived)} of {count} mutants were killed")
    return 0


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:]]
    sys.exit(main(*(numbers + [random.randrange(1 << 32), COUNT][len(numbers) :])))
