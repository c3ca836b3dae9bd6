"""Whether the change stream can be opened, as the connector will open it."""

from __future__ import annotations

from typing import Any

from headrace.connectors.mongodb.capture.pipeline import change_stream_pipeline
from headrace.connectors.mongodb.checks.state import Checked
from headrace.connectors.mongodb.properties.modes import FullUpdateType


def check_stream(checked: Checked) -> None:
    """Opens the stream, which tells of privileges, pipeline and name at once, and closes it."""
    database, collection = checked.config.target()
    watched: Any = checked.client
    what = "The change stream of the deployment"
    if database is not None:
        watched = watched[database]
        what = f"The change stream of {database}"
        if database not in {one.database for one in checked.collections}:
            checked.warn(
                "no_target",
                f"capture.target: the database {database} is not there, or has no captured "
                "collection",
                "Nothing, if it is made later; otherwise correct capture.target.",
            )
    if collection is not None:
        watched = watched[collection]
        what = f"The change stream of {database}.{collection}"
    with checked.asking("Opening the change stream"):
        watched.watch(change_stream_pipeline(checked.config), **_images(checked)).close()
    checked.ok("change_stream", f"{what} can be opened")


def _images(checked: Checked) -> dict[str, str]:
    options = {}
    mode = checked.config.capture_mode
    if mode.full_update:
        looked_up = checked.config.capture_mode_full_update_type is FullUpdateType.LOOKUP
        options["full_document"] = "updateLookup" if looked_up else "whenAvailable"
    if mode.pre_image:
        options["full_document_before_change"] = "whenAvailable"
    return options
