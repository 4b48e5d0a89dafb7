"""The command line as a process of its own: pipes that break, signals, a full disk, a terminal."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from commandline import snapshot, wine_rows, write_csv
from common import WINE, fit

SOURCE = Path(__file__).parents[2] / "src"
COMMAND = [sys.executable, "-m", "elliptope"]
PATIENCE = 120  # seconds, far more than any of these takes

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals and devices of POSIX systems")


def environment(**more):
    path = os.pathsep.join([str(SOURCE), os.environ.get("PYTHONPATH", "")])
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}  # argparse hides errors then
    return {**kept, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1", **more}


def start(*argv, **options):
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    # Whoever runs the tests in the background has SIGINT ignored, and so would all processes that they start.
    return subprocess.Popen([*COMMAND, *map(str, argv)], env=environment(), preexec_fn=heed_interrupts, **streams)


def heed_interrupts():
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture
def wine(tmp_path):
    return write_csv(tmp_path / "wine.csv", wine_rows(WINE))


@pytest.fixture
def large(tmp_path):
    """A table that takes long to embed."""
    np.save(tmp_path / "large.npy", np.random.default_rng(0).standard_normal((3000, 20)))
    return tmp_path / "large.npy"


def test_shell_pipeline(wine):
    script = (
        f"cut -d, -f1-13 {wine} | {' '.join(COMMAND)} embed - --method sdp -q"
        f" | {' '.join(COMMAND)} embed - --method sdp -q | tail -n +2"
    )
    done = subprocess.run(["bash", "-c", script], env=environment(), capture_output=True, timeout=PATIENCE, check=True)
    Z = fit(fit(WINE).embedding_).embedding_
    np.testing.assert_array_equal(np.loadtxt(done.stdout.decode().splitlines(), delimiter=","), Z)
    assert done.stderr == b""


@pytest.mark.parametrize(
    "command", ["embed wine.csv --label class", "embed wine.csv --label class --json", "info", "--help"]
)
def test_broken_pipe(wine, command):
    process = start(*command.replace("wine.csv", str(wine)).split())
    process.stdout.close()
    err = process.stderr.read().decode()
    assert process.wait(PATIENCE) == 141
    assert "rror" not in err
    assert "Exception" not in err


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("command", ["embed wine.csv --label class", "info", "--help"])
def test_full_disk(wine, command):
    with open("/dev/full", "wb") as full:
        process = start(*command.replace("wine.csv", str(wine)).split(), stdout=full)
        err = process.communicate(timeout=PATIENCE)[1].decode()
    assert process.returncode == 1
    assert [line for line in err.splitlines() if "error" in line] == ["elliptope: error: No space left on device"]
    assert "Exception" not in err
    assert "Traceback" not in err


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
@pytest.mark.parametrize("argv", [["embed", "-o", "out.csv"], ["report", "-o", "out.html"]])
def test_signals(large, tmp_path, number, code, argv):
    before = snapshot(tmp_path)
    process = start(argv[0], large, *argv[1:], cwd=tmp_path)
    try:
        first = process.stderr.readline().decode()  # the table has been read, and the fit begins
        assert "3000 rows, 20 features" in first
        process.send_signal(number)
        err = process.communicate(timeout=PATIENCE)[1].decode()
    finally:
        process.kill()
    assert process.returncode == code
    assert "Traceback" not in err
    assert err.splitlines()[-1:] == (["elliptope: error: interrupted"] if number == signal.SIGINT else [])
    assert snapshot(tmp_path) == before


def test_closed_streams(wine):
    script = f"{' '.join(COMMAND)} embed {wine} --label class >&-; echo $?; {' '.join(COMMAND)} embed - <&-; echo $?"
    done = subprocess.run(["bash", "-c", script], env=environment(), capture_output=True, timeout=PATIENCE, check=True)
    assert done.stdout.split() == [b"1", b"1"]
    assert b"elliptope: error: standard output is closed" in done.stderr
    assert b"elliptope: error: standard input is closed" in done.stderr


def test_terminal_that_knows_no_symbols():
    done = subprocess.run(
        [*COMMAND, "embed", "--help"],
        env=environment(PYTHONIOENCODING="ascii"),
        capture_output=True,
        timeout=PATIENCE,
        check=True,
    )
    assert b"cuda:1, \\u2026 or auto" in done.stdout
