"""The page of features by version of Spark has the results of the reports."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.installation import ROOT
from tests.spark.versions.table import FEATURES, REST, features_of, main, read

REPORT = """<testsuites><testsuite>
<testcase classname="tests.spark.tables.test_guide" name="test_a"/>
<testcase classname="tests.spark.tables.test_guide" name="test_b"><skipped/></testcase>
<testcase classname="tests.pipelines.test_avro" name="test_c"><failure/></testcase>
<testcase classname="tests.pipelines.test_avro" name="test_d"/>
<testcase classname="tests.upgrades.test_x" name="test_e"><skipped/></testcase>
<testcase classname="" name="tests.docs.test_first_steps"><error/></testcase>
<testcase classname="tests.release.test_image" name="test_f"/>
</testsuite></testsuites>"""


def report(folder: Path, name: str, text: str = REPORT) -> Path:
    """A report of tests with this name."""
    file = folder / name
    file.write_text(text)
    return file


def cells(page: Path) -> dict[str, list[str]]:
    """The cells of the table by feature; the versions by an empty text."""
    rows = [line.strip("| ").split(" | ") for line in page.read_text().splitlines() if "|" in line]
    header, _, *features = rows
    return {"": header, **{name: row for name, *row in features}}


def test_each_feature_has_the_outcome_of_its_tests(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    passed = '<testcase classname="tests.chaos.test_kills" name="test_g"/>'
    files = [
        report(tmp_path, "spark-4.10.0.xml", f"<testsuite>{passed}</testsuite>"),
        report(tmp_path, "spark-4.1.4.xml"),
        report(tmp_path, "kills-4.1.4.xml", f"<testsuite>{passed}</testsuite>"),
    ]
    assert main(tmp_path / "page.md", files) == 1
    cells_by_feature = cells(tmp_path / "page.md")
    assert cells_by_feature[""] == ["4.1.4", "4.10.0"]
    (tables,) = (row for feature, row in cells_by_feature.items() if "headrace.fold" in feature)
    assert tables == ["yes (1)", "not run"]
    assert cells_by_feature["Transforms and converters in a stream"] == ["1 of 2", "not run"]
    assert cells_by_feature["Checkpoints of former releases"] == ["skipped", "not run"]
    # Its module could not be imported.
    assert cells_by_feature["Examples of the guides"] == ["0 of 1", "not run"]
    assert cells_by_feature["Kills of every process"] == ["yes (1)", "yes (1)"]
    assert cells_by_feature[REST] == ["yes (1)", "not run"]
    assert capsys.readouterr().err.splitlines() == [
        "4.1.4: tests.pipelines.test_avro.test_c",
        "4.1.4: .tests.docs.test_first_steps",
    ]


@pytest.mark.parametrize(
    "reason",
    [
        "the jars of Spark&apos;s Kafka source cannot be fetched here",
        "pip cannot fetch grpcio here: no network",
    ],
)
def test_a_test_whose_needs_cannot_be_fetched_is_an_error_and_not_skipped(
    reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    skipped = (
        f'<testcase classname="tests.upgrades.test_x" name="test_a"><skipped message="{reason}"/>'
        '</testcase><testcase classname="tests.upgrades.test_x" name="test_b"><skipped '
        'message="this Spark does not pass the start"/></testcase>'
    )
    page = tmp_path / "page.md"
    files = [report(tmp_path, "spark-4.1.4.xml", f"<testsuite>{skipped}</testsuite>")]
    assert main(page, files) == 1
    assert cells(page)["Checkpoints of former releases"] == ["not run"]
    assert capsys.readouterr().err.splitlines() == [
        "4.1.4: tests.upgrades.test_x.test_a needs what cannot be fetched"
    ]


def test_a_version_without_a_report_is_an_error_and_the_page_has_the_others(tmp_path: Path) -> None:
    passed = '<testsuite><testcase classname="tests.cli.test_stop" name="test_a"/></testsuite>'
    page, files = tmp_path / "page.md", [report(tmp_path, "spark-4.1.4.xml", passed)]
    assert main(page, files) == 0
    assert main(page, [*files, tmp_path / "spark-4.3.0.xml"]) == 1
    assert cells(page)[""] == ["4.1.4"]


def test_a_page_is_kept_if_no_test_ran(tmp_path: Path) -> None:
    page = report(tmp_path, "page.md", "the last run")
    assert main(page, [tmp_path / "spark-4.1.4.xml"]) == 1
    with pytest.raises(ValueError, match=r"spark-4\.1\.4\.xml has no tests"):
        main(page, [report(tmp_path, "spark-4.1.4.xml", "<testsuite/>")])
    with pytest.raises(ValueError, match="no version of Spark"):
        read([report(tmp_path, "spark-other.xml")])
    assert page.read_text() == "the last run"


def test_each_feature_has_tests_with_spark() -> None:
    names = {
        f"{'.'.join(file.relative_to(ROOT).with_suffix('').parts)}.{name}"
        for file in (ROOT / "tests").rglob("test_*.py")
        if "mark.spark" in (text := file.read_text())
        for name in re.findall(r"^def (test_\w+)", text, re.M)
    }
    assert {feature for name in names for feature in features_of(name)} == {*FEATURES, REST}
