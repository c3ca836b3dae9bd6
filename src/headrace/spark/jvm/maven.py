"""Jars from Maven Central, downloaded once by the Ivy that comes with Spark."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from importlib import util
from pathlib import Path

from headrace.connect.cache_folders import cache_folder

_JARS_ALONE = """\
<ivysettings><settings defaultResolver="central"/><resolvers>
<ibiblio name="central" m2compatible="true" usepoms="false"/>
</resolvers></ivysettings>
"""


class NotFetched(Exception):
    """Raised if the jars cannot be downloaded."""


def fetch_jars(java: Path, module: tuple[str, str, str], *, alone: bool = False) -> Path:
    """Return the folder with the jars of a module (group, name, version) and, unless `alone`, of
    its dependencies. Raises NotFetched."""
    _, name, version = module
    folder = cache_folder("servers") / f"{name}-{version}"
    if not folder.exists():
        fresh = folder.with_name(f"{folder.name}.{os.getpid()}")
        ivy = spark_jar("ivy")
        pattern = f"{fresh}/jars/[artifact]-[revision](-[classifier]).jar"
        arguments: Sequence[str | Path] = (
            "-cache", fresh / "cache", "-dependency", *module, "-confs", "default",
            "-types", "jar", "bundle", "-retrieve", pattern,
        )  # fmt: skip
        if alone:
            fresh.mkdir(parents=True)
            (fresh / "settings.xml").write_text(_JARS_ALONE)
            arguments = ("-settings", fresh / "settings.xml", *arguments)
        try:
            fetched = subprocess.run(
                [java, "-jar", ivy, *arguments], capture_output=True, text=True, timeout=300
            )
            if fetched.returncode != 0:
                raise NotFetched(f"{name} cannot be fetched: {fetched.stdout[-2000:]}")
            (fresh / "jars").rename(folder)
        except subprocess.TimeoutExpired as error:
            raise NotFetched(f"{name} cannot be fetched within five minutes") from error
        except OSError:
            assert folder.exists()  # another run was faster
        finally:
            shutil.rmtree(fresh)
    return folder


def spark_jar(name: str) -> Path:
    """Return the jar of Spark with that name, of any version."""
    package = util.find_spec("pyspark")
    assert package is not None
    assert package.origin is not None
    return next((Path(package.origin).parent / "jars").glob(f"{name}-[0-9]*.jar"))
