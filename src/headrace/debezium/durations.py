"""Debezium's durations: microseconds, ISO 8601 text, or a struct of parts."""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

from headrace.connect.schema import Schema, Type
from headrace.debezium import structured_time

MICRO_DURATION = Schema(Type.INT64, name="io.debezium.time.MicroDuration", version=1)
INTERVAL = Schema(Type.STRING, name="io.debezium.time.Interval", version=1)
ZERO_TEXT = "P0Y0M0DT0H0M0S"
_DAYS_PER_MONTH = 365.25 / 12
_LONG_MIN, _LONG_MAX = -(2**63), 2**63 - 1


class Duration(NamedTuple):
    """A duration in the units in which it was given, each with its own sign."""

    years: int
    months: int
    days: int
    hours: int
    minutes: int
    micros: int
    """Microseconds of the seconds and their fraction."""

    def total_micros(self) -> int:
        """Return microseconds, with months of 365.25/12 days.

        The sum is computed in doubles, as in Debezium, and truncated; beyond 64 bits it is the
        largest or smallest number.
        """
        days = (self.years * 12 + self.months) * _DAYS_PER_MONTH + self.days
        seconds = self.micros / 1_000_000
        micros = (((days * 24.0 + self.hours) * 60.0 + self.minutes) * 60.0 + seconds) * 1_000_000.0
        return max(_LONG_MIN, min(_LONG_MAX, int(micros)))

    def text(self) -> str:
        """Return `P1Y2M3DT4H5M6.78S`, always with all parts."""
        seconds = Decimal(self.micros).scaleb(-6).normalize()
        return f"P{self.years}Y{self.months}M{self.days}DT{self.hours}H{self.minutes}M{seconds:f}S"

    def struct(self, precision: int) -> dict[str, object]:
        """Return a StructuredDuration; `precision` is the number of fraction digits that the column
        declares."""
        sign = -1 if self.micros < 0 else 1
        seconds, rest = divmod(abs(self.micros), 1_000_000)
        return structured_time.struct_of(
            structured_time.DURATION,
            years=self.years,
            months=self.months,
            days=self.days,
            hours=self.hours,
            minutes=self.minutes,
            seconds=sign * seconds,
            nanos=sign * rest * 1000,
            precision=precision,
        )
