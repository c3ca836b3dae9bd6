"""The definition of the Db2 connector. Importing it loads no driver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from headrace.connectors.db2.lsn import parse_lsn, place_of
from headrace.connectors.definition import ConnectorDefinition, Driver, NamedDefinition

if TYPE_CHECKING:
    from headrace.offsets.offset import OffsetObject


class Db2Definition(NamedDefinition):
    """The definition of Debezium's Db2 connector."""

    name = "db2"
    classes: Sequence[str] = ("io.debezium.connector.db2.Db2Connector",)
    driver: Driver | None = Driver("ibm_db", "headrace[db2]")
    change_order: Sequence[str] = ("commit_lsn", "change_lsn")
    kernels: Mapping[str, Sequence[str]] = {
        "headrace.streaming.changes.kernels.frame_kernel": ("index_frames",),
        "headrace.relational.row_lookup": ("_mark_lacking",),
        "headrace.relational.rows.image_kernel": ("measure_images", "write_images"),
        "headrace.connectors.db2.streaming.frames": (
            "index_frame",
            "write_changes",
            "write_end",
            "write_synchpoint",
        ),
    }
    verbs: Mapping[str, str] = {"db2": "headrace.connectors.db2.registering.tables_verb"}
    worker_modules: Sequence[str] = (
        "headrace.connectors.db2.reading.snapshot_reader",
        "headrace.streaming.slices",
    )

    configuration_class = "headrace.connectors.db2.config:Db2Config"
    open_function = "headrace.connectors.db2.connector:open_connector"
    check_function = "headrace.connectors.db2.checks.database:check"
    signal_function = "headrace.connectors.db2.signal_table:insert_signal"
    targets_function = "headrace.connectors.db2.signal_table:signal_targets"
    rows_function = "headrace.connectors.db2.reading.current_rows:current_rows"
    shapes_function = "headrace.connectors.db2.catalog.event_shapes:event_shapes"
    support_function = "headrace.connectors.db2.support.plan:support_plan"
    demo_class = "headrace_demo.db2.shop:ShopDemo"

    def caught_up(self, latest: OffsetObject, end: OffsetObject) -> bool:
        """Whether everything up to the synchpoint was delivered."""
        head, delivered = latest.get("commit_lsn"), end.get("commit_lsn")
        if head is None or delivered is None:
            return head == delivered
        if "transaction_lsn" in end:
            return False
        # On z/OS, numbers have texts of another length.
        return place_of(parse_lsn(str(delivered))) >= place_of(parse_lsn(str(head)))


DEFINITION: ConnectorDefinition = Db2Definition()
