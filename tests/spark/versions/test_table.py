"""The table of features says what runs gave."""

from __future__ import annotations

from pathlib import Path

from tests.spark.versions.table import read, table

REPORT = """<testsuites><testsuite>
<testcase classname="tests.spark.tables.test_guide" name="test_a"/>
<testcase classname="tests.spark.tables.test_guide" name="test_b"><skipped/></testcase>
<testcase classname="tests.pipelines.test_avro" name="test_c"><failure/></testcase>
<testcase classname="tests.pipelines.test_avro" name="test_d"/>
<testcase classname="tests.contract.test_x" name="test_e"><skipped/></testcase>
</testsuite></testsuites>"""


def test_each_feature_has_the_outcome_of_its_tests(tmp_path: Path) -> None:
    file = tmp_path / "spark-4.1.4.xml"
    file.write_text(REPORT)
    lines = table(read([file, tmp_path / "other.xml"])).splitlines()
    assert lines[4] == "| | 4.1.4 |"
    cells = {line.split("|")[1].strip(): line.split("|")[2].strip() for line in lines[6:]}
    assert cells["Transforms and converters in a stream"] == "1 of 2"
    assert cells["The conformance suite of connectors"] == "skipped"
    assert cells["Five kills"] == "not run"
    tables = next(cell for feature, cell in cells.items() if "headrace.fold" in feature)
    assert tables == "yes (1)"
