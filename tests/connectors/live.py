"""Functions of tests that run on a live server in place of a stand-in."""

from __future__ import annotations

from typing import NoReturn

import pytest


def unscripted(database: str, action: str) -> NoReturn:
    """The test asks for what only a stand-in can be made to do."""
    pytest.skip(f"a live {database} cannot be made to {action}")
