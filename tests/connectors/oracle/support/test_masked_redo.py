"""The parts of a captured row in a bundle whose SQL_REDO takes several rows (CSF = 1)."""

from __future__ import annotations

import threading
import time
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headrace.cli import main
from headrace.connectors.oracle.streaming.redo_rows import CSF, SQL_REDO
from headrace.support.archive import read
from tests.cli.first_steps.configurations import written
from tests.servers.oracle import OracleDatabase

pytestmark = pytest.mark.oracle

WORDS = (
    " may DISTINCT drivers on TIMESTAMP; do not DELETE 🚀 VARCHAR(407124816) "
    "interval (665517203) until bicycles CONNECT. It''s "
)
NUMBERS = ("407124816", "665517203")
HIDDEN = (
    "DISTINCT", "TIMESTAMP", "DELETE", "CONNECT", "VARCHAR(", "interval (", "🚀", "bicycles",
    "drivers", *NUMBERS,
)  # fmt: skip
"""So long that a mask, which is random, never has them."""
VALUE = ("x" * 380 + WORDS + "🚀" * 30) * 8
"""More than 4000 bytes; SQL words, emoji and numbers in every part."""


@pytest.fixture
def observed(
    oracle_database: OracleDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Path]:
    """The bundle of a time in which a row was written; `parts` is what the server is like."""

    def record(**parts: object) -> Path:
        oracle_database.change(**parts)
        oracle_database.create_table(
            "PATIENTS", "ID NUMBER(9,0) NOT NULL", "NOTE CLOB", "TEXT VARCHAR2(4000 CHAR)",
            "CODE NUMBER(9,0) DEFAULT CHAR(5551234)", key=["ID"],
        )  # fmt: skip
        file = written(tmp_path / "pipeline.properties", oracle_database.properties())
        pause, main_thread, rows = time.sleep, threading.main_thread(), [VALUE]

        def change(seconds: float) -> None:
            # Other threads of this process sleep, too.
            if threading.current_thread() is not main_thread or not rows:
                pause(seconds)
                return
            with oracle_database.transaction() as transaction:
                transaction.insert("INV.PATIENTS", ID=1, TEXT=rows.pop())
                transaction.update("INV.PATIENTS", {"ID": 1}, TEXT=VALUE[::-1])

        monkeypatch.setattr("headrace.connectors.oracle.support.plan.time.sleep", change)
        bundle = tmp_path / "bundle.zip"
        assert main(["support-bundle", str(file), "--output", str(bundle), "--seconds", "0.1"]) == 0
        assert rows == []
        return bundle

    return record


def redo(bundle: Path) -> pa.Table:
    with zipfile.ZipFile(bundle) as archive, pa.ipc.open_stream(archive.read("redo.arrow")) as rows:
        return rows.read_all()


def redo_of(contents: Mapping[str, Any]) -> str:
    """All recorded SQL_REDO."""
    places = [described[0] for described in contents.get("columns", ())]
    return "".join(row[places.index(SQL_REDO)][1] or "" for row in contents.get("rows", ()))


def assert_hides(text: str) -> None:
    for word in HIDDEN:
        assert word not in text
        assert word[::-1] not in text


@pytest.mark.parametrize("most_bytes", [4000, 97])
def test_no_word_emoji_or_number_of_a_value_is_shown_in_any_part(
    observed: Callable[..., Path], most_bytes: int
) -> None:
    bundle = observed(most_bytes=most_bytes)
    table = redo(bundle)
    assert sum(table.column(CSF).to_pylist()) >= 2, "statements of several rows"
    texts = [text for text in table.column(SQL_REDO).to_pylist() if text and text != "commit;"]
    statements = "".join(texts)
    assert statements.count('insert into "NAME_') == 1
    assert statements.count('update "NAME_') == 1
    assert statements.count(' where "NAME_') == 1, "the end of a statement is SQL, too"
    assert_hides(statements.replace("NULL", ""))
    _, records = read(bundle)
    (contents,) = (record for record in records if record["name"] == "contents")
    redo_text = redo_of(contents)
    assert 'insert into "NAME_' in redo_text
    assert_hides(redo_text.replace("NULL", ""))
    for record in records:
        assert "5551234" not in str(record), "of a default"


def test_parts_that_are_cut_within_a_character_are_masked_and_counted(
    observed: Callable[..., Path],
) -> None:
    bundle = observed(most_bytes=97, cuts_characters=True)
    table = redo(bundle)
    texts = table.column(SQL_REDO).cast(pa.large_binary()).to_pylist()
    assert_hides(b"".join(filter(None, texts)).decode().replace("NULL", ""))
    _, records = read(bundle)
    (facts,) = (record["facts"] for record in records if record["name"] == "redo")
    assert facts["cut_characters"] > 0
    (contents,) = (record for record in records if record["name"] == "contents")
    # As the driver reads rows, which may raise an error for such a text.
    assert "UnicodeDecodeError" in contents.get("error", {"class": "UnicodeDecodeError"}).values()
    assert_hides(redo_of(contents).replace("NULL", ""))
