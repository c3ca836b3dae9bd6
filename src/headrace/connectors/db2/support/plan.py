"""A Db2's part of a support bundle. Importing it loads no driver."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from importlib import metadata

from headrace.connectors.db2.config import Db2Config
from headrace.connectors.db2.errors import DriverError
from headrace.connectors.db2.support.kit import PLACE, Kit
from headrace.connectors.db2.support.open_questions import OPEN
from headrace.connectors.db2.support.questions import Questions
from headrace.support.plan import SupportPlan, Workload
from headrace.support.recording import Recording


def support_plan(config: Db2Config) -> SupportPlan:
    """See ConnectorDefinition."""

    def ask(recording: Recording, seconds: float) -> Generator[tuple[str, bytes]]:
        from headrace.connectors.db2.support import observing

        return observing.ask(config, recording, seconds)

    def ask_workload(recording: Recording, _seconds: float) -> Generator[tuple[str, bytes]]:
        from headrace.connectors.db2.support import workload

        return workload.ask(config, recording)

    return SupportPlan(
        lambda: f"ibm_db {metadata.version('ibm_db')}",
        Questions(config).all(),
        OPEN,
        ask,
        error_codes,
        Workload(
            f"{PLACE} with registered tables, which are dropped at the end",
            tuple(Kit(config).listed()),
            ask_workload,
        ),
    )


def error_codes(error: Exception) -> Mapping[str, object] | None:
    """See SupportPlan."""
    if not isinstance(error, DriverError):
        return None
    return {"code": error.code, "state": error.state}
