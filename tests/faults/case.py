"""A case of the matrix of faults: what somebody does, or what happens to them, and what they must see.

Every case runs in an empty folder of its own, which is the current one. What it must see is one of

``Error``
    an exception whose message names the parameter, the allowed range and the value;
``Warned``
    a warning that says what is wrong and what to do, at the line of the caller;
``Exit``
    a command that ends with one line and an exit code, and leaves no file behind;
``Right``
    a result that is compared with something independent, without any warning.
"""

from __future__ import annotations

import io
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

import elliptope
from commandline import EMBED, GOOD, Outcome, X, snapshot
from commandline import check as check_outcome
from elliptope import SDPEmbedding
from elliptope.cli import main
from elliptope.persistence import save

KINDS = ("input", "numerics", "runtime", "files", "command line", "security")
_PACKAGE = str(Path(elliptope.__file__).parent)


@dataclass(frozen=True)
class Error:
    """``run`` raises, with a message that the regular expression is found in."""

    message: str
    kind: type[BaseException] | tuple[type[BaseException], ...] = ValueError

    def check(self, run: Callable[[], Any]) -> None:
        try:
            _, noted = _recorded(run)
        except self.kind as error:
            raised = str(error)
        else:
            raise AssertionError(f"no {self.kind}, but {noted or 'nothing'}")
        assert re.search(self.message, raised, re.DOTALL), f"{raised!r} does not match {self.message!r}"


@dataclass(frozen=True)
class Warned:
    """``run`` warns, with a message that the regular expression is found in, at a line outside of the package."""

    message: str
    accepts: Callable[[Any], Any] = bool

    def check(self, run: Callable[[], Any]) -> None:
        result, noted = _recorded(run)
        matching = [warning for warning in noted if re.search(self.message, str(warning.message), re.DOTALL)]
        assert matching, f"no warning {self.message!r}, but {[str(warning.message) for warning in noted]}"
        inside = [warning.filename for warning in noted if warning.filename.startswith(_PACKAGE)]
        assert not inside, f"the warning points into the package: {inside}"
        assert self.accepts(result) is not False


@dataclass(frozen=True)
class Right:
    """``run`` ends without a warning, and ``accepts`` holds for its result; ``says`` names what it is compared with."""

    says: str
    accepts: Callable[[Any], Any]

    def check(self, run: Callable[[], Any]) -> None:
        result, noted = _recorded(run)
        assert not noted, [str(warning.message) for warning in noted]
        outcome = self.accepts(result)
        assert outcome is None or bool(outcome), outcome


@dataclass(frozen=True)
class Exit:
    """A command ends with one line of error, an exit code, nothing on standard output and every file as it was."""

    message: str
    code: int = 1

    def check(self, run: Callable[[], Any]) -> None:
        outcome, changed = run()
        check_outcome(outcome, self.code, self.message)
        assert not changed, f"files left behind or changed: {changed}"


@dataclass(frozen=True)
class Case:
    """``run`` is called without arguments, or with each of ``values``, whose text replaces ``{value}`` in the message."""

    kind: str
    name: str
    run: Callable[..., Any]
    expect: Error | Warned | Exit | Right
    values: tuple = ()

    def check(self) -> None:
        """An AssertionError where a user does not see what is expected."""
        if not self.values:
            self.expect.check(self.run)
            return
        assert isinstance(self.expect, Error | Warned)
        texts = [self.expect.message.replace("{value}", re.escape(repr(value))) for value in self.values]
        for text, value in zip(texts, self.values, strict=True):
            replace(self.expect, message=text).check(partial(self.run, value))


@dataclass(frozen=True)
class Command:
    """A command line in a folder with the table ``t.csv``, a model ``m`` of it, a file ``old.csv`` and ``folder.csv/``."""

    line: str
    files: Mapping[str, str | bytes] = field(default_factory=dict)
    stdin: bytes = b""

    def __call__(self) -> tuple[Outcome, set[Path]]:
        """The outcome, and the files that it changed."""
        Path("folder.csv").mkdir()
        for name, content in {"t.csv": GOOD, "old.csv": "old", "m": small_model(), **self.files}.items():
            Path(name).write_bytes(content.encode() if isinstance(content, str) else content)
        before = snapshot(Path())
        outcome = run_command(*self.line.split(), stdin=self.stdin)
        after = snapshot(Path())
        return outcome, {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}


def refused(line: str, message: str, code: int = 1, files: Mapping[str, str | bytes] | None = None) -> tuple[Command, Exit]:
    """What a case of the command line does and must see."""
    return Command(line, files or {}), Exit(message, code)


def csv_case(content: str | bytes, message: str, line: str = EMBED, code: int = 1) -> tuple[Command, Exit]:
    """The same with another table ``t.csv``."""
    return refused(line, message, code, {"t.csv": content})


def run_command(*argv: str, stdin: bytes = b"") -> Outcome:
    """The command line within this process."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
    given = mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
    with redirect_stdout(out), redirect_stderr(err), given:
        code = main(list(argv))
    return Outcome(code, out.buffer.getvalue(), err.buffer.getvalue().decode())  # type: ignore[attr-defined]


@cache
def small_model() -> bytes:
    """The bytes of a model of the small table."""
    est = SDPEmbedding(bandwidth=2.0, random_state=0).fit(X)
    est.feature_names_in_ = np.array(["a", "b", "c"], dtype=object)
    with tempfile.TemporaryDirectory() as folder:
        save(est, Path(folder) / "m")
        return (Path(folder) / "m").read_bytes()


def _recorded(run: Callable[[], Any]) -> tuple[Any, list[warnings.WarningMessage]]:
    """The result, and the warnings. An overflow, a division by zero and the like are always an error."""
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always")
        result = run()
    numeric = [str(warning.message) for warning in noted if issubclass(warning.category, RuntimeWarning)]
    assert not numeric, numeric
    return result, noted
