"""`headrace verify` as a command, while `headrace run` replicates."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headrace.cli import main
from headrace.cli.upkeep.verify import lines_of
from headrace.sinks.iceberg.format import FORMAT
from headrace.spark.sinks.comparison import ComparedTable, DifferenceKind, Repair, RowDifference
from headrace.testing.embedded import PostgresServer
from tests.cli.sinks.test_resync import CONFIGURATION
from tests.docs.pages import block
from tests.sinks.replicas.evolving.replicated import Replicated, replicated
from tests.sinks.replicas.verifying.comparing import Writer


def verify(run: Replicated, *words: str) -> subprocess.CompletedProcess[str]:
    """The guide's command on the query's file and folder, with more words."""
    (line,) = block("docs/guides/verify.md", "headrace verify").commands
    names = {"shop.properties": str(run.file), "state": str(run.state)}
    _, *arguments = (names.get(word, word) for word in line.split())
    return subprocess.run(
        [sys.executable, "-m", "headrace.cli", *arguments, *words],
        env=dict(os.environ), capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip


@pytest.mark.postgres
@pytest.mark.spark
def test_rows_that_differ_are_printed_repaired_and_equal_afterwards(
    postgres_servers: Callable[[int], PostgresServer], spark: SparkSession, tmp_path: Path
) -> None:
    more = {"read_only": "true", "headrace_acknowledge_interval": "500ms"}
    with replicated(postgres_servers(16), "iceberg", tmp_path, "verified", **more) as run:
        run.execute(
            "CREATE TABLE a (id int, part text, name text, PRIMARY KEY (id, part));"
            "CREATE TABLE b (id int PRIMARY KEY, name text);"
            "INSERT INTO a SELECT i, 'it''s', 'name ' || i FROM generate_series(1, 500) i;"
            "INSERT INTO b SELECT i, 'name ' || i FROM generate_series(1, 500) i"
        )
        run.start()
        run.catch_up()
        lake = FORMAT.open(spark, {"warehouse": str(run.lake)})
        a, b = Writer(lake, "public", "a"), Writer(lake, "public", "b")
        a.lose(7, "it's")
        a.change(8, "it's", name="other")
        b.change(9, id=1000)
        verified = verify(run, "--repair")
        assert verified.returncode == 1, verified.stderr
        lines = verified.stdout.splitlines()
        line = r"public\.{}: 500 rows in \d+ chunks, 2 differ, confirmed at [0-9A-F]+/[0-9A-F]+"
        assert re.fullmatch(line.format("a"), lines[0])
        assert sorted(lines[1:3]) == [
            '  id=7, part="it\'s": missing in the replica',
            '  id=8, part="it\'s": different: '
            "name: 'name 8' in the source, 'other' in the replica",
        ]
        assert re.fullmatch(line.format("b"), lines[3])
        assert "the rows that differ of public.a are copied again" in verified.stderr
        assert "all rows of public.b are copied again" in verified.stderr
        run.await_(lambda: not run.difference("a") and not run.difference("b"), "not repaired")
        run.await_(lambda: not run.requests(), "b is not copied again")
        again = verify(run, "--json")
        assert again.returncode == 0, again.stderr + again.stdout
        tables = {each["table"]: each for each in json.loads(again.stdout)}
        assert {name: each["rows"] for name, each in tables.items()} == {
            "public.a": 500,
            "public.b": 500,
        }
        lake.close()
        assert run.end() == 0


def test_a_table_has_a_line_and_one_for_each_row_that_is_shown() -> None:
    table = ComparedTable(
        "s.t",
        ("s.t",),
        1200,
        3,
        3,
        2,
        "0/10",
        differences=(
            RowDifference(DifferenceKind.SURPLUS, {"id": "1"}),
            RowDifference(DifferenceKind.DIFFERENT, {"id": "2"}, {"v": ("'a'", "null")}),
        ),
        notes=("the column x is not in the replica yet",),
        repairs=(Repair(("s.t",), "id = 2"),),
    )
    assert lines_of(table) == [
        "s.t: 1,200 rows in 3 chunks, 3 differ, 2 changed each time they were read, "
        "confirmed at 0/10",
        "  id=1: not in the source",
        "  id=2: different: v: 'a' in the source, null in the replica",
        "  and 1 more",
        "  note: the column x is not in the replica yet",
    ]
    assert lines_of(ComparedTable("s.t", why="it has no key")) == [
        "s.t: not compared: it has no key"
    ]
    known = json.loads(json.dumps(table.to_json(with_repairs=True)))
    assert ComparedTable.from_json(known).to_json(with_repairs=True) == known


@pytest.mark.parametrize(
    ("mode", "said"),
    [("events", "cli.nothing_to_verify"), ("replica", "cli.no_checkpoint")],
)
def test_what_has_no_replicas_is_refused_before_spark_starts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], mode: str, said: str
) -> None:
    file = tmp_path / "shop.properties"
    file.write_text(CONFIGURATION.replace("mode=replica", f"mode={mode}"))
    assert main(["verify", str(file), "--checkpoint", str(tmp_path / "state")]) == 1
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    "words", [("--rate", "0"), ("--limit", "-1"), ("--wait", "0"), ("--table", "(")]
)
def test_wrong_numbers_and_expressions_are_wrong_usage(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["verify", "FILE", *words])
    assert caught.value.code == 2
    assert words[0] in capsys.readouterr().err
