"""The program: its parser, and how errors are reported."""

from __future__ import annotations

import argparse
import io
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from types import ModuleType
from typing import Any, NoReturn, TextIO

from .._utils.progress import say
from .._version import __version__
from .console import Console
from .errors import CommandError, ExitCode, UsageError, one_line

# One module of `commands` each, which is imported when it is asked for: `elliptope --help` waits for no library.
COMMANDS = {
    "embed": "coordinates of every row",
    "transform": "coordinates of new rows, by a model",
    "report": "a page for the browser",
    "info": "about the installation, or about a model",
}
# Options of every command, which only `elliptope --help` lists.
_MESSAGES = {
    ("-q", "--quiet"): "no progress and no notes; warnings and errors remain",
    ("--json",): "the result as JSON on standard output",
    ("--debug",): "show where in the program an error arose",
}
_DESCRIPTION = "Embed tables, and prove how good the embedding is."
_EPILOG = """\
Tables are CSV, TSV, Parquet, NPY, NPZ or MTX, by suffix; - is standard input or output, and CSV.

exit codes:
  0    done; what was fitted is certified as optimal
  1    a file, its contents or the computation are at fault
  2    the command line is
  3    done and written, but not certified as optimal
  130  interrupted (Ctrl-C): an unfinished result is not written
  141  the reader of standard output went away
  143  terminated from outside
"""


class Parser(argparse.ArgumentParser):
    """Raises instead of printing the usage, so that all errors take one line."""

    def error(self, message: str) -> NoReturn:
        if message.startswith("argument --") and message.endswith("expected one argument"):
            message += f"; one that begins with - goes behind =, as in {message.split()[1].rstrip(':')}=-1"
        raise UsageError(f"{message} (see {self.prog} --help)")


def make_parser(asked: str | None) -> Parser:
    """The parser, with the options of the command that is ``asked`` for."""
    formatter = argparse.RawDescriptionHelpFormatter
    parser = Parser(
        prog="elliptope", description=_DESCRIPTION, epilog=_EPILOG, formatter_class=formatter, allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"elliptope {__version__}")
    messages = parser.add_argument_group("messages", "These stand before or after the command.")
    for flags, text in _MESSAGES.items():
        messages.add_argument(*flags, action="store_true", help=text)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command", required=True)
    for name, summary in COMMANDS.items():
        sub = commands.add_parser(name, help=summary, formatter_class=formatter, allow_abbrev=False)
        if name == asked:
            module = _module(name)
            sub.description = module.__doc__
            sub.epilog = "Options for messages, which all commands have, are listed by: elliptope --help"
            module.configure(sub)
            for flags in _MESSAGES:  # without a default, which would replace what stands before the command
                sub.add_argument(*flags, action="store_true", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
    return parser


def _module(command: str) -> ModuleType:
    return import_module(f".commands.{command}", __package__)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code; errors are one line on standard error."""
    argv = list(sys.argv[1:] if argv is None else argv)
    console = Console()
    debug = "--debug" in argv  # needed even if the rest cannot be parsed
    try:
        args = make_parser(next((word for word in argv if word in COMMANDS), None)).parse_args(argv)
        from .options import check_files

        console = Console(quiet=args.quiet, json=args.json)
        check_files(args)
        with console.warnings():
            return int(_module(args.command).run(args, console))
    except SystemExit as end:  # --help and --version
        return int(end.code or 0)
    except BaseException as error:
        if debug:
            say(traceback.format_exc(), end="")
        return int(_explain(error, console))


def _explain(error: BaseException, console: Console) -> ExitCode:
    """One line about what went wrong, and the exit code for it."""
    if isinstance(error, KeyboardInterrupt):
        console.error("interrupted")
        return ExitCode.INTERRUPTED
    if isinstance(error, BrokenPipeError):
        return ExitCode.BROKEN_PIPE
    if isinstance(error, CommandError):
        for line in error.details:
            say(line)
        console.error(one_line(error))
        return error.code
    if isinstance(error, OSError | ValueError | MemoryError | ImportError):
        console.error(one_line(error))
    else:
        console.error(f"unexpected {type(error).__name__}: {one_line(error)} (run again with --debug, and report it)")
    return ExitCode.FAILURE


def run() -> NoReturn:
    """The entry point of the process."""

    def terminate(*_: Any) -> NoReturn:
        raise SystemExit(ExitCode.TERMINATED)

    _open_streams()
    signal.signal(signal.SIGTERM, terminate)  # an exception, so that unfinished files are removed
    for stream in (sys.stdout, sys.stderr):  # terminals without ≤ must not make a command fail
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.exit(_finish_output(main()))


def _open_streams() -> None:
    """Let no file that is opened later become standard input, output or error where that is closed."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free


def _finish_output(code: int) -> int:
    """Flush both streams here: at its exit Python would report a failure in its own words, and change the exit code."""
    if sys.stdout is not None and (error := _flush(sys.stdout)):
        code = code or _explain(error, Console())
    if sys.stderr is not None:
        _flush(sys.stderr)
    return code


def _flush(stream: TextIO) -> OSError | None:
    """Write out what a stream holds back. If that fails, it is given up."""
    try:
        stream.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
        return error
    return None
