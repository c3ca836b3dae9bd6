"""The rows of the tables of Debezium's manual, "Data change events" of each connector: the fields
that it explains, by the sections of our pages."""

from __future__ import annotations

KEY = ("schema", "name", "optional", "fields", "payload")
TIMES = "ts_ms"
ROW = ("before", "after", "source", "op", TIMES)
CREATE = ("schema", "name", "name", "name", "payload", *ROW)
RELATIONAL = {"Key": KEY, "Create": CREATE, "Update": ROW, "Delete": ROW}
WITHOUT_ROW = ("source", "op", TIMES)
CHANGED = ("updateDescription", "removedFields", "updatedFields", "truncatedArrays")

MANUAL = {
    "postgresql": {
        **RELATIONAL,
        "Truncate": WITHOUT_ROW,
        "Message": ("source", "op", TIMES, "message", "prefix", "content"),
    },
    "oracle": {**RELATIONAL, "Truncate": WITHOUT_ROW},
    "db2": RELATIONAL,
    "mongodb": {
        "Key": KEY,
        "Create": CREATE,
        "Update": (*ROW, *CHANGED),
        "Delete": (*ROW, "updateDescription"),
    },
}
"""Fields, by page and section. Fields of one name are several rows."""

SOURCE = {
    "postgresql": "version connector name db sequence schema table snapshot txId lsn xmin ts_ms",
    "oracle": "version connector name db schema table txId scn commit_scn lcr_position rs_id ssn "
    "redo_thread user_name snapshot ts_ms row_id commit_ts_ms start_scn start_ts_ms",
    "db2": "version connector name ts_ms snapshot db schema table change_lsn commit_lsn",
    "mongodb": "version connector name collection db snapshot ts_ms ord lsid txnNumber",
}
"""What the manual lists for the source block; `rs` and `h` of MongoDB are in the older format."""
