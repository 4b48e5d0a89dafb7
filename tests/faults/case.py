"""A case of the matrix of faults: what somebody does, or what happens to them, and what they must see.

Every case runs in an empty folder of its own, which is the current one. What it must see is one of

``Error``
    an exception whose message names the parameter, the allowed range and the value: verdict "clear";
``Warned``
    a warning that says what is wrong and what to do, at the line of the caller: "clear";
``Exit``
    a command that ends with one line and an exit code, and leaves no file behind: "clear";
``Right``
    a result that is compared with something independent, without any warning: "right".
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
from commandline import EMBED, GOOD, Outcome, X, check, snapshot
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
    verdict = "clear"

    def seen(self, run: Callable[[], Any]) -> str:
        try:
            _, noted = _recorded(run)
        except self.kind as error:
            return _found(self.message, str(error))
        raise AssertionError(f"no {self.kind}, but {noted or 'nothing'}")


@dataclass(frozen=True)
class Warned:
    """``run`` warns, with a message that the regular expression is found in, at a line outside of the package."""

    message: str
    check: Callable[[Any], Any] = bool
    verdict = "clear"

    def seen(self, run: Callable[[], Any]) -> str:
        result, noted = _recorded(run)
        matching = [warning for warning in noted if re.search(self.message, str(warning.message), re.DOTALL)]
        assert matching, f"no warning {self.message!r}, but {[str(warning.message) for warning in noted]}"
        inside = [warning.filename for warning in noted if warning.filename.startswith(_PACKAGE)]
        assert not inside, f"the warning points into the package: {inside}"
        assert self.check(result) is not False
        return str(matching[0].message)


@dataclass(frozen=True)
class Right:
    """``run`` ends without a warning, and ``check`` accepts its result; ``says`` names what it is compared with."""

    says: str
    check: Callable[[Any], Any]
    verdict = "right"

    def seen(self, run: Callable[[], Any]) -> str:
        result, noted = _recorded(run)
        assert not noted, [str(warning.message) for warning in noted]
        outcome = self.check(result)
        assert outcome is None or bool(outcome), outcome
        return self.says


@dataclass(frozen=True)
class Exit:
    """A command ends with one line of error, an exit code, nothing on standard output and every file as it was."""

    message: str
    code: int = 1
    verdict = "clear"

    def seen(self, run: Callable[[], Any]) -> str:
        outcome, changed = run()
        check(outcome, self.code, self.message)
        assert not changed, f"files left behind or changed: {changed}"
        return outcome.err.splitlines()[-1]


@dataclass(frozen=True)
class Case:
    """``run`` is called without arguments, or with each of ``values``, whose text replaces ``{value}`` in the message."""

    kind: str
    name: str
    run: Callable[..., Any]
    expect: Error | Warned | Exit | Right
    values: tuple = ()
    unclear: str = ""  # why a user may still wonder, although the case does what is expected
    pending: str = ""  # what is missing; the case must fail until then

    @property
    def verdict(self) -> str:
        return "pending" if self.pending else "unclear" if self.unclear else self.expect.verdict

    def seen(self) -> str:
        """What a user sees; an AssertionError where it is not what is expected."""
        if not self.values:
            return self.expect.seen(self.run)
        assert isinstance(self.expect, Error | Warned)
        texts = [self.expect.message.replace("{value}", re.escape(repr(value))) for value in self.values]
        expected = [replace(self.expect, message=text) for text in texts]
        first, *_ = [one.seen(partial(self.run, value)) for one, value in zip(expected, self.values, strict=True)]
        return first


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


def _found(pattern: str, message: str) -> str:
    assert re.search(pattern, message, re.DOTALL), f"{message!r} does not match {pattern!r}"
    return message
