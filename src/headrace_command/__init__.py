"""The `headrace` command. A SIGINT ends it without a stack trace while its modules are loaded."""

import signal

signal.signal(signal.SIGINT, signal.SIG_DFL)


def main() -> int:
    """As `headrace.cli.main`, which heeds SIGINT by itself."""
    from headrace.cli import main as run

    try:
        return run()
    finally:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
