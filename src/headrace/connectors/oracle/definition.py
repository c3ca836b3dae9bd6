"""The definition of the Oracle connector. Importing it loads no driver."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from headrace.connectors.definition import ConnectorDefinition, Driver, NamedDefinition
from headrace.connectors.oracle.position import OraclePosition

if TYPE_CHECKING:
    from headrace.offsets.offset import OffsetObject

_QUIET_SCNS = 1000
"""SCNs that may lie between the positions of a connector that has caught up: it writes redo itself,
in the flush table."""


class OracleDefinition(NamedDefinition):
    """The definition of Debezium's Oracle connector."""

    name = "oracle"
    classes: Sequence[str] = ("io.debezium.connector.oracle.OracleConnector",)
    driver: Driver | None = Driver("oracledb", "headrace[oracle]")
    change_order: Sequence[str] = ("scn", "txSeq")
    kernels: Mapping[str, Sequence[str]] = {
        "headrace.connectors.oracle.redo.statement_kernel": ("parse_batch",),
        "headrace.connectors.oracle.streaming.frames": ("index_frame", "is_at_time"),
        "headrace.connectors.oracle.streaming.effects.effect_kernel": (
            "find_tails",
            "move_tails",
            "put_tables",
            "put_effects",
            "slot_of",
        ),
        "headrace.connectors.oracle.streaming.transactions.hold_kernel": (
            "abandon_transaction",
            "drop_transaction",
            "enter",
            "hold_rows",
            "release_transaction",
        ),
        "headrace.connectors.oracle.streaming.transactions.write_kernel": ("write_ready",),
        "headrace.streaming.changes.kernels.frame_kernel": ("index_frames",),
        "headrace.relational.row_lookup": ("_mark_lacking",),
        "headrace.relational.rows.image_kernel": ("measure_images", "write_images"),
        "headrace.streaming.changes.kernels.late_kernel": ("take_back_beginning", "add_late_begin"),
    }
    worker_modules: Sequence[str] = (
        "headrace.connectors.oracle.reading.snapshot_reader",
        "headrace.streaming.slices",
    )

    configuration_class = "headrace.connectors.oracle.config:OracleConfig"
    open_function = "headrace.connectors.oracle.connector:open_connector"
    check_function = "headrace.connectors.oracle.checks.database:check"
    signal_function = "headrace.connectors.oracle.signal_table:insert_signal"
    targets_function = "headrace.connectors.oracle.signal_table:signal_targets"
    rows_function = "headrace.connectors.oracle.reading.current_rows:current_rows"
    shapes_function = "headrace.connectors.oracle.catalog.event_shapes:event_shapes"
    comments_function = "headrace.connectors.oracle.catalog.table_comments:table_comments"
    support_function = "headrace.connectors.oracle.support.plan:support_plan"
    demo_class = "headrace_demo.oracle.shop:ShopDemo"

    def caught_up(self, latest: OffsetObject, end: OffsetObject) -> bool:
        """Whether fewer than 1000 SCNs lie between the positions."""
        head, delivered = OraclePosition.from_json(latest), OraclePosition.from_json(end)
        if delivered.transaction is not None or not delivered.committed:
            return False
        return head.scn - delivered.scn <= _QUIET_SCNS


DEFINITION: ConnectorDefinition = OracleDefinition()
