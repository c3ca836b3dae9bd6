"""Ids without a registry: for tests of bytes, not of registries."""

from __future__ import annotations

from headrace.converters.avro.converter import AvroConverter, AvroSettings
from headrace.converters.avro.schemas import AvroOptions
from headrace.kafka.registry import Registry


class Numbered(Registry):
    """Gives out ids in the order of schemas, as Confluent's mock does, and keeps what it was
    told."""

    def __init__(self) -> None:
        super().__init__({"url": "http://nowhere"})
        self.schemas: dict[str, int] = {}
        self.subjects: list[str] = []

    def register(self, subject: str, schema: str, *, normalize: bool) -> int:
        self.subjects.append(subject)
        return self.schemas.setdefault(schema, len(self.schemas) + 1)


def numbered_avro(options: AvroOptions) -> tuple[AvroConverter, Numbered]:
    registry = Numbered()
    return AvroConverter(AvroSettings(options), registry, is_key=False), registry
