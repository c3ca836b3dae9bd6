"""Builds an image as a Dockerfile says, without Docker: the file systems of its stages are layers
above this machine's, in mount namespaces, and each RUN is executed in them as it is."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path

PYTHON = Path(sys.base_prefix) / "bin"
BASE = f"{PYTHON}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""The PATH of Python's image: `python` is the one that runs the tests."""
_MOUNT = """
mount -t overlay overlay -o "lowerdir=/,upperdir=$UPPER,workdir=$WORK" "$MERGED" &&
mount --rbind /proc "$MERGED/proc" && mount --rbind /dev "$MERGED/dev" &&
exec chroot --userspec="$USERSPEC" "$MERGED" /usr/bin/env -i "$@"
"""


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """Names and arguments of a Dockerfile's instructions; lines that go on are one."""
    lines = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    for line in lines.replace("\\\n", " ").splitlines():
        if line.strip():
            name, _, arguments = line.strip().partition(" ")
            yield name.upper(), " ".join(arguments.split())


def is_ignored(path: str, patterns: list[str]) -> bool:
    """Whether a `.dockerignore` keeps a path, or a folder above it, out of the context: the last
    pattern that fits decides."""
    ignored = False
    parts = path.split("/")
    above = ["/".join(parts[: end + 1]) for end in range(len(parts))]
    for pattern in patterns:
        plain = pattern.removeprefix("!").removeprefix("**/")
        anywhere = pattern.removeprefix("!").startswith("**/")
        names = [each.rpartition("/")[2] for each in above] if anywhere else above
        if any(fnmatch(name, plain) and ("/" in plain or "/" not in name) for name in names):
            ignored = not pattern.startswith("!")
    return ignored


@dataclass
class Stage:
    """The file system of one stage in `folder`, and what its instructions set. Every user may read
    Python there, and the folder `shown` of this machine."""

    folder: Path
    environment: dict[str, str]
    shown: Path | None = None
    arguments: dict[str, str] = field(default_factory=dict)
    user: str = "0:0"
    work: str = "/"
    command: list[str] = field(default_factory=list)
    entry: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        for name in ("upper", "work", "merged"):
            (self.folder / name).mkdir(parents=True)
        if not (PYTHON / "python").exists():
            programs = self.upper / "usr/local/bin"
            programs.mkdir(parents=True)
            (programs / "python").symlink_to(os.path.realpath(sys.executable))
        for path in filter(None, (Path(sys.base_prefix), self.shown)):
            for folder in reversed(path.parents[:-1]):
                if folder.stat().st_mode & 0o11 != 0o11:
                    (self.upper / folder.relative_to("/")).mkdir(mode=0o711, exist_ok=True)

    @property
    def upper(self) -> Path:
        """The folder with the files of the stage, by paths without a leading slash."""
        return self.folder / "upper"

    def expand(self, text: str) -> str:
        """A text with the values of `$NAME`."""
        known = self.arguments | self.environment
        return re.sub(r"\$\{?(\w+)\}?", lambda match: known.get(match[1], ""), text)

    def path(self, text: str) -> Path:
        """A path of the image, in `upper`."""
        return self.upper / os.path.normpath(os.path.join(self.work, text)).lstrip("/")

    def run(self, *command: str, **more: str) -> subprocess.CompletedProcess[str]:
        """Runs a command in the image; `more` are further variables."""
        home = "/root" if self.user.startswith("0") else "/home/headrace"
        words = {"HOME": home, **self.environment, **more}
        known = [f"{name}={value}" for name, value in words.items()]
        change = ["/bin/sh", "-c", 'cd "$0" && exec "$@"', self.work]
        mounted = {
            "UPPER": str(self.upper),
            "WORK": str(self.folder / "work"),
            "MERGED": str(self.folder / "merged"),
            "USERSPEC": self.user,
        }
        return subprocess.run(
            ["unshare", "--mount", "/bin/sh", "-c", _MOUNT, "sh", *known, *change, *command],
            capture_output=True, text=True, check=False, env=os.environ | mounted,
        )  # fmt: skip


def can_build(folder: Path) -> bool:
    """Whether this process may mount layers, and whom it runs as may run Python there."""
    if os.geteuid() != 0 or shutil.which("unshare") is None or sys.platform != "linux":
        return False
    return Stage(folder, {"PATH": BASE}, user="10001:10001").run("python", "-V").returncode == 0


class Image:
    """An image that is built in `folder` from the files of `context`, with `arguments` of the
    build. Links to `packages`, a folder of this machine, can be read in it."""

    def __init__(
        self, folder: Path, context: Path, arguments: Mapping[str, str], packages: Path
    ) -> None:
        self._folder, self._context = folder, context
        self._given, self._packages = arguments, packages
        self._ignored = (context / ".dockerignore").read_text().split()
        self.stages: dict[str, Stage] = {}
        self.executed: list[str] = []

    @property
    def last(self) -> Stage:
        """The stage that is built, and in the end the image."""
        return list(self.stages.values())[-1]

    def execute(self, name: str, arguments: str) -> None:
        """Execute one instruction."""
        self.executed.append(f"{name} {arguments}")
        if name == "FROM":
            words = arguments.split()
            stage = words[2] if len(words) > 1 else str(len(self.stages))
            self.stages[stage] = Stage(self._folder / stage, {"PATH": BASE}, self._packages)
            return
        getattr(self, f"_{name.lower()}")(self.last, arguments)

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        """Runs a command in the image."""
        return self.last.run(*command)

    def _arg(self, stage: Stage, text: str) -> None:
        name, _, value = text.partition("=")
        stage.arguments[name] = self._given.get(name, value)

    def _env(self, stage: Stage, text: str) -> None:
        name, _, value = text.partition("=")
        stage.environment[name] = stage.expand(value)

    def _run(self, stage: Stage, text: str) -> None:
        without_index = {
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": "",
            "PIP_NO_BUILD_ISOLATION": "0",  # the setuptools of this environment builds
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        }
        run = stage.run("/bin/sh", "-c", text, **stage.arguments, **without_index)
        assert run.returncode == 0, f"RUN {text}\n{run.stdout}{run.stderr}"

    def _workdir(self, stage: Stage, text: str) -> None:
        stage.work = os.path.join(stage.work, text)
        stage.path(".").mkdir(parents=True, exist_ok=True)

    def _copy(self, stage: Stage, text: str) -> None:
        options = [word for word in text.split() if word.startswith("--")]
        *sources, target = (word for word in text.split() if not word.startswith("--"))
        if options:
            (option,) = options
            origin = self.stages[option.removeprefix("--from=")]
            shutil.copytree(origin.path(*sources), stage.path(target), symlinks=True)
            return
        for source in sources:
            assert not is_ignored(source, self._ignored), f"{source} is not in the context"
            if (self._context / source).is_dir():
                shutil.copytree(self._context / source, stage.path(target), ignore=self._left_out)
            else:
                shutil.copy(self._context / source, stage.path(target))

    def _left_out(self, folder: str, names: list[str]) -> set[str]:
        below = Path(folder).relative_to(self._context)
        return {name for name in names if is_ignored(str(below / name), self._ignored)}

    def _user(self, stage: Stage, text: str) -> None:
        stage.user = text

    def _expose(self, stage: Stage, text: str) -> None:
        assert text.isdecimal()

    def _entrypoint(self, stage: Stage, text: str) -> None:
        stage.entry = json.loads(text)

    def _cmd(self, stage: Stage, text: str) -> None:
        stage.command = json.loads(text)
