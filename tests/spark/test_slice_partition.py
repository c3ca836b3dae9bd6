from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from headrace.connect.records import Records, Shape
from headrace.errors import HeadraceError
from headrace.spark.slice_partition import is_local, message_limit, partitions_of


@dataclass(frozen=True)
class Carried:
    """A slice that carries its rows."""

    rows: bytes
    epoch: int = 1

    @property
    def log_bytes(self) -> int | None:
        return len(self.rows)

    def shapes(self) -> Iterator[Shape]:
        return iter(())

    def read(self) -> Iterator[list[Records]]:
        return iter(())


def test_a_slice_that_no_message_to_an_executor_holds_is_an_error_that_says_so() -> None:
    small, large = Carried(b"x" * 100), Carried(bytes(3 << 20))
    with pytest.raises(HeadraceError, match=r"spark\.rpc\.message\.maxSize") as raised:
        partitions_of([small, large], 3)
    assert raised.value.code == "spark.slice_too_large"
    assert "to 4 or more" in str(raised.value)
    for limit in (4, None):
        assert [part.unpack() for part in partitions_of([small, large], limit)] == [small, large]


@pytest.mark.parametrize(
    ("command", "limit"),
    [
        ("java --conf spark.master=local[2] SparkSubmit", None),
        ("java --master local SparkSubmit", None),
        ("java --conf spark.master=local SparkSubmit", None),
        ("java --master local-cluster[2,1,1024] SparkSubmit", 128),
        ("java --conf spark.master=spark://host:7077 SparkSubmit", 128),
        ("java --master yarn --conf spark.rpc.message.maxSize=512 SparkSubmit", 512),
        ("", 128),
    ],
)
def test_the_limit_of_messages_is_that_of_the_driver(command: str, limit: int | None) -> None:
    words = [word.encode() for word in command.split()]
    assert message_limit(words, {}) == limit
    assert is_local(words) == (limit is None)


def test_the_limit_of_messages_is_found_in_the_defaults_of_spark(tmp_path: Path) -> None:
    (tmp_path / "spark-defaults.conf").write_text(
        "# spark.rpc.message.maxSize 7\nspark.master yarn\nspark.rpc.message.maxSize   256\n"
    )
    assert message_limit([], {"SPARK_CONF_DIR": str(tmp_path)}) == 256
    assert message_limit([b"spark.rpc.message.maxSize=64"], {"SPARK_CONF_DIR": str(tmp_path)}) == 64
