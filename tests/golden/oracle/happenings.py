"""What happens in a database while a connector reads it: blocks of lines in JSON.

A line is one of a script (`headrace_demo.oracle.script`), or of a transaction, of which the
stand-in writes the redo:

- `insert` (with `values`), `update` (`where`, `set`), `delete` (`where`) of a table, `in` a
  transaction; without `in` it is one of its own;
- `begin` (with `user`, `client`, `thread`, `xid`) where a transaction is not an ordinary one,
  `savepoint` and `rollback_to` (a name, with `in`), `commit` and `rollback`;
- `ddl`: a statement that changes a table (with `user`);
- `change`: attributes of the database.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Line = Mapping[str, Any]


@dataclass
class Happenings:
    """`call` calls the stand-in by the name of a method, as `OracleServer.call` does."""

    call: Callable[..., Any]
    _open: dict[str, str] = field(default_factory=dict)

    def happen(self, block: str) -> None:
        """The lines of a block, in their order. The redo rows of a statement come at once: a server
        shows none of them before the last one."""
        rows: list[Line] = []
        for line in json.loads(block):
            if "redo" in line and (rows or line.get("csf")):
                rows.append(line)
            else:
                self._line(line)
            if rows and not line.get("csf"):
                self.call("apply", rows)
                rows = []
        assert not rows, f"a statement has no end: {rows[-1]}"

    def _line(self, line: Line) -> None:
        match line:
            case {"begin": called}:
                more = {name: line[name] for name in ("user", "client", "thread", "xid")
                        if name in line}  # fmt: skip
                self._open[called] = self.call("begin", **more)
            case {"insert": table, "values": values}:
                self._within(line, "insert", table, values)
            case {"update": table, "where": where, "set": values}:
                self._within(line, "update", table, where, values)
            case {"delete": table, "where": where}:
                self._within(line, "delete", table, where)
            case {"savepoint": name} | {"rollback_to": name}:
                called = "savepoint" if "savepoint" in line else "rollback_to"
                self.call(called, self._xid(line["in"]), name)
            case {"commit": called}:
                self.call("commit", self._open.pop(called))
            case {"rollback": called} if "redo" not in line:
                self.call("rollback", self._open.pop(called))
            case {"ddl": text}:
                self.call("execute_ddl", text, line.get("user", "APP"))
            case {"change": attributes}:
                self.call("change", **attributes)
            case _:
                self.call("apply", [line])

    def _xid(self, called: str) -> str:
        if called not in self._open:
            self._open[called] = self.call("begin")
        return self._open[called]

    def _within(self, line: Line, method: str, *arguments: Any) -> None:
        called = line.get("in")
        if called is not None:
            self.call(method, self._xid(called), *arguments)
            return
        xid = self.call("begin")
        self.call(method, xid, *arguments)
        self.call("commit", xid)
