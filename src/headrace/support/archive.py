"""The file that a user sends: a ZIP archive of JSON, with a page that describes its contents."""

from __future__ import annotations

import json
import os
import platform
import zipfile
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from headrace.errors import HeadraceError
from headrace.support.plan import Open, SupportPlan
from headrace.support.questions import Question
from headrace.support.recording import Recording

VERSION = 1
_PAGE = """\
A support bundle of headrace.

manifest.json     versions of headrace, its connector, Python and the driver
statements.jsonl  a line for each statement: its name (--dry-run prints the texts), how long it
                  took, the codes of an error, how the driver describes the columns, the Python type
                  of each value, and values where they are the database's own
questions.json    what cannot be known without such a database, and what this bundle answers; each
                  question has a label, which has no other meaning
Other files are what the connector adds, such as redo rows as Arrow.

Names of users, schemas, tables, columns and files are numbered (NAME_0001). Values, defaults,
comments and literals are replaced by other characters of the same kinds. Passwords, hosts and the
configuration are not in the bundle. Tables of the workload (--workload), their columns and values
are the bundle's own, and are shown. Look through the bundle before you send it.
"""


def write(
    path: Path,
    plan: SupportPlan,
    recording: Recording,
    seconds: float,
    *,
    with_workload: bool = False,
    **manifest_members: str,
) -> BaseException | None:
    """Send the plan's statements, and those of its workload `with_workload`, and write the archive,
    completely or not at all. If an error ends the statements early, it is returned, and the archive
    has the statements before it. `manifest_members` are added to the manifest.

    Raises HeadraceError("support.not_written"), and the errors of the plan if nothing was recorded.
    """
    groups = (plan.ask, plan.workload.ask) if with_workload else (plan.ask,)
    ended: BaseException | None = None
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with zipfile.ZipFile(unfinished, "x", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("README.txt", _PAGE)
            for ask in groups:
                ended = _write_pieces(archive, ask(recording, seconds))
                if ended is not None:
                    break
            archive.writestr("statements.jsonl", _lines(recording.records))
            archive.writestr("questions.json", _json(_answers(plan, recording.records)))
            python = platform.python_version()
            manifest = {"bundle": VERSION, "python": python, **manifest_members}
            archive.writestr("manifest.json", _json(manifest))
        if recording.records:
            unfinished.replace(path)
    except OSError as error:
        raise HeadraceError(
            "support.not_written",
            f"The bundle {path} cannot be written: {error.strerror or error}",
            "Name another file with --output.",
        ) from error
    finally:
        unfinished.unlink(missing_ok=True)
    if ended is not None and not recording.records:
        raise ended
    return ended


def _write_pieces(
    archive: zipfile.ZipFile, pieces: Generator[tuple[str, bytes]]
) -> BaseException | None:
    """Write the pieces of a group of statements. Return the error that ended them, after the
    cleanup of a workload."""
    try:
        with closing(pieces):
            for name, piece in pieces:
                archive.writestr(name, piece)
    except OSError:
        raise  # of the archive: the driver's errors are raised as errors of its connector
    except BaseException as error:  # noqa: BLE001 - it is raised when the archive is written
        return error
    return None


def read(path: Path) -> tuple[Mapping[str, Any], Sequence[Mapping[str, Any]]]:
    """Return the manifest and the records of a bundle. Raises OSError, KeyError, ValueError and
    zipfile.BadZipFile for other files."""
    with zipfile.ZipFile(path) as archive:
        manifest = json.loads(archive.read("manifest.json"))
        # Of bytes: texts may contain other line separators, such as U+2028.
        lines = archive.read("statements.jsonl").splitlines()
    return manifest, [json.loads(line) for line in lines]


def _answers(
    plan: SupportPlan, records: Sequence[Mapping[str, Any]]
) -> Mapping[str, Mapping[str, object]]:
    return {
        question.name: {"question": question.question, **_answer(question, records)}
        for question in plan.open_questions
    }


def _answer(question: Open, records: Sequence[Mapping[str, Any]]) -> Mapping[str, object]:
    """The answer, or the class of the error if the records do not allow one."""
    try:
        return {"answer": question.answer(records)}
    except Exception as error:  # noqa: BLE001 - the records are what matters
        return {"answer": None, "error": type(error).__name__}


def _lines(records: Sequence[Mapping[str, Any]]) -> bytes:
    return b"".join(_json(record, indent=None) for record in records)


def _json(value: object, indent: int | None = 1) -> bytes:
    """JSON on one line, or indented; characters that are not valid UTF-8, such as half a surrogate
    pair, are escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    return f"{text}\n".encode(errors="backslashreplace")


def dry_run_lines(plan: SupportPlan, *, with_workload: bool = False) -> Iterator[str]:
    """Yield the lines of `--dry-run`: every statement that may be sent, and why."""
    yield from _statements(plan.questions)
    if with_workload:
        yield f"-- The workload, which writes: {plan.workload.place}"
        yield ""
        yield from _statements(plan.workload.questions)


def _statements(questions: Sequence[Question]) -> Iterator[str]:
    for question in questions:
        place = f" ({question.place})" if question.place else ""
        yield f"-- {question.name}{place}: {question.why}"
        yield f"{question.text};"
        yield ""
