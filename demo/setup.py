"""headrace-demo has the version of the headrace in its checkout, and works with that one only."""

from __future__ import annotations

import re
from email.parser import HeaderParser
from pathlib import Path

from setuptools import setup

FOLDER = Path(__file__).resolve().parent
PRODUCT = FOLDER.parent / "src" / "headrace" / "version.py"
"""Where a checkout has the version."""
SDIST = FOLDER / "PKG-INFO"
"""Where an sdist has it, which was made in a checkout."""


def version() -> str:
    """Raises RuntimeError where neither is there."""
    if SDIST.exists():
        return str(HeaderParser().parsestr(SDIST.read_text(encoding="utf-8"))["Version"])
    text = PRODUCT.read_text(encoding="utf-8") if PRODUCT.exists() else ""
    match = re.search(r'^VERSION = "(.+)"$', text, re.M)
    if match is None:
        raise RuntimeError(f"headrace-demo is built in a checkout of headrace: no {PRODUCT}")
    return match[1]


setup(version=version(), install_requires=[f"headrace=={version()}"])
