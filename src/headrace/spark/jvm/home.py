"""A SPARK_HOME whose Python processes start fast.

Spark puts `pyspark.zip` first on the path of every Python process it starts; a zip has no compiled
modules, so each process would compile PySpark again. Without the zip they import the installed
package.
"""

from __future__ import annotations

import os
import shutil
import zlib
from pathlib import Path

import pyspark

from headrace.connect.cache_folders import cache_folder

_ZIP = "pyspark.zip"


def spark_home() -> Path:
    """Return a folder of links to the installed pyspark, without the zip; made once per version."""
    package = Path(pyspark.__file__).resolve().parent
    name = f"spark-{pyspark.__version__}-{zlib.crc32(str(package).encode())}"
    home = cache_folder("homes") / name
    if home.exists():
        return home
    staging = home.with_name(f"{name}.{os.getpid()}")
    shutil.rmtree(staging, ignore_errors=True)
    libraries = staging / "python" / "lib"
    libraries.mkdir(parents=True)
    for entry in package.iterdir():
        if entry.name not in ("python", "__pycache__"):
            (staging / entry.name).symlink_to(entry)
    for entry in (package / "python").iterdir():
        if entry.name != "lib":
            (staging / "python" / entry.name).symlink_to(entry)
    for entry in (package / "python" / "lib").iterdir():
        if entry.name != _ZIP:
            (libraries / entry.name).symlink_to(entry)
    try:
        staging.rename(home)
    except OSError:  # another process was first
        shutil.rmtree(staging, ignore_errors=True)
    return home
