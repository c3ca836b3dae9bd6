"""The `headrace` command. A SIGINT ends it without a stack trace while its modules are loaded."""

# The built-in half of `signal`: the other one takes milliseconds to load.
import _signal  # type: ignore[import-not-found]

_signal.signal(_signal.SIGINT, _signal.SIG_DFL)


def main() -> int:
    """As `headrace.cli.main`, which handles SIGINT by itself."""
    from headrace.cli import main as run

    try:
        return run()
    finally:
        _signal.signal(_signal.SIGINT, _signal.SIG_DFL)
