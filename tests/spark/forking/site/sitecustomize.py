"""Imported first by each Python process of a session with a template: see tests.spark.forking. The
process of a source becomes a fork of the template; all others import the `sitecustomize` that this
one hides."""

import os
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec

_HERE = os.path.dirname(os.path.abspath(__file__))
_RUNNER = ["-m", "pyspark.sql.streaming.python_streaming_source_runner"]


def _fork_from(place: str) -> None:
    """Let the template at `place` fork, and end as the fork ends. Returns if it does not serve."""
    import json
    import signal
    import socket
    import struct

    with socket.socket(socket.AF_UNIX) as template:
        try:
            template.connect(place)
        except OSError:
            return
        request = {
            "environment": dict(os.environ),
            "folder": os.getcwd(),
            "path": sys.path,
            "process": os.getpid(),
        }
        text = json.dumps(request).encode()
        socket.send_fds(template, [struct.pack(">i", len(text))], [0, 1, 2])
        template.sendall(text)
        (fork,) = struct.unpack(">i", template.recv(4, socket.MSG_WAITALL))
        signal.signal(signal.SIGTERM, lambda *_: os.kill(fork, signal.SIGTERM))
        status = template.recv(4, socket.MSG_WAITALL)
        os._exit(struct.unpack(">i", status)[0] if status else 1)


def _import_hidden() -> None:
    # The next one, headrace's, imports what it hides, too.
    sys.path[:] = [place for place in sys.path if os.path.abspath(place) != _HERE]
    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is None or spec.loader is None:
        return
    sys.modules["sitecustomize"] = hidden = module_from_spec(spec)
    spec.loader.exec_module(hidden)


_place = os.environ.get("HEADRACE_TESTS_FORK_FROM")
if _place and getattr(sys, "orig_argv", [])[1:3] == _RUNNER:
    _fork_from(_place)
_import_hidden()
