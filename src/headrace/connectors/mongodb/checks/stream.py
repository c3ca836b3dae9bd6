"""Checks that the connector can open the change stream."""

from __future__ import annotations

from contextlib import closing

from headrace.connectors.mongodb.checks.state import Checked
from headrace.connectors.mongodb.starting.run import stream_cursor
from headrace.connectors.mongodb.streaming.cursor import after_token


def check_stream(checked: Checked) -> None:
    """Open the stream now and after the first resume token, which checks privileges, pipeline, name
    and kind of server at once, and close it."""
    database, collection = checked.config.target()
    stream = "The change stream of the deployment"
    if database is not None:
        stream = f"The change stream of {database}"
        if database not in {captured.database for captured in checked.collections}:
            checked.warn(
                "no_target",
                f"capture.target: the database {database} does not exist, or has no captured "
                f"collection",
                "Nothing, if it is created later; otherwise correct capture.target.",
            )
    if collection is not None:
        stream = f"The change stream of {database}.{collection}"
    with checked.asking("Opening the change stream"):
        token = _opened(checked, {})
        _opened(checked, after_token(token))
    checked.ok("change_stream", f"{stream} can be opened")


def _opened(checked: Checked, start: dict[str, object]) -> bytes:
    with closing(stream_cursor(checked.config)) as cursor:
        return cursor.open(start, batch_size=0).token
