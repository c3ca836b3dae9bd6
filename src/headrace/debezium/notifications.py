"""Notifications, with which a connector reports on its snapshots: the schemas of Debezium's
records."""

from __future__ import annotations

from headrace.connect.schema import Field, Schema, Type

_TEXT = Schema(Type.STRING)

NOTIFICATION_KEY = Schema(
    Type.STRUCT,
    name="io.debezium.connector.common.NotificationKey",
    version=1,
    fields=(Field("id", _TEXT),),
)
NOTIFICATION_VALUE = Schema(
    Type.STRUCT,
    name="io.debezium.connector.common.Notification",
    version=1,
    fields=(
        Field("id", _TEXT),
        Field("type", _TEXT),
        Field("aggregate_type", _TEXT),
        Field(
            "additional_data",
            Schema(Type.MAP, optional=True, keys=_TEXT, values=_TEXT),
        ),
        Field("timestamp", Schema(Type.INT64)),
    ),
)
