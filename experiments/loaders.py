"""Data sets that are loaded: HTRU2 and MNIST, of the paper, and Covertype, a large one.

They are read from a folder, named by an argument or by the environment variable ``ELLIPTOPE_DATA``. Without one they are
downloaded.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from http.client import HTTPException
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from elliptope.datasets import Floats, Ints

DATA_VARIABLE = "ELLIPTOPE_DATA"
HTRU2_FILE = "htru2.npz"
HTRU2_OPENML_ID = 45558  # "Pulsar-Dataset-HTRU2": 17 898 rows, 8 features
COVERTYPE_FILE = "covtype10.npz"
COVERTYPE_COLUMNS = 10  # the quantitative ones; the others are indicators
MNIST_FILE = "mnist_train_1_4.npz"
MNIST_TRAIN_ROWS = 60_000  # OpenML stores the training split first, then the 10 000 test images


def load_htru2(data_home: str | os.PathLike[str] | None = None) -> tuple[Floats, Ints]:
    """Pulsar candidates of the High Time Resolution Universe survey (Figure 6 and Table 1 of Fanuel et al. (2022)).

    Parameters
    ----------
    data_home : path or None, default=None
        Folder that holds ``htru2.npz``, with arrays ``X`` and ``y``. ``None``: the folder named by the
        environment variable ``ELLIPTOPE_DATA``; if that is unset or empty, OpenML.

    Returns
    -------
    X : ndarray of shape (17898, 8)
        The features as published, not standardized.
    y : ndarray of shape (17898,)
        1 for the 1639 pulsars, 0 for the rest.

    Raises
    ------
    FileNotFoundError
        If a folder is given and the file is not in it.
    OSError
        If no folder is given and OpenML cannot be reached.
    """
    path = _local_file(HTRU2_FILE, data_home)
    if path is not None:
        X, y = _read_npz(path)
    else:
        X, y = _fetch_openml("HTRU2", data_id=HTRU2_OPENML_ID)
    return X.astype(np.float64), _integer_labels(y)


def load_covertype(data_home: str | os.PathLike[str] | None = None) -> tuple[Floats, Ints]:
    """The ten quantitative columns of Covertype: elevation, slope, distances, shade of 581 012 plots of forest.

    Parameters
    ----------
    data_home : path or None, default=None
        Folder that holds ``covtype10.npz``, with arrays ``X`` and ``y``; see :func:`load_htru2`. Without a folder,
        scikit-learn's ``fetch_covtype`` downloads them.

    Returns
    -------
    X : ndarray of shape (581012, 10)
        As published, not standardized.
    y : ndarray of shape (581012,)
        Type of cover, 1 to 7.
    """
    path = _local_file(COVERTYPE_FILE, data_home)
    if path is not None:
        X, y = _read_npz(path)
    else:
        from sklearn.datasets import fetch_covtype

        X, y = fetch_covtype(return_X_y=True)
    return X[:, :COVERTYPE_COLUMNS].astype(np.float64), _integer_labels(y)


def load_mnist_digits(
    digits: Sequence[int] = (1, 4), data_home: str | os.PathLike[str] | None = None
) -> tuple[Floats, Ints]:
    """Training images of some MNIST digits, pixels scaled to [0, 1] (Figure 4 of Fanuel et al. (2022)).

    Parameters
    ----------
    digits : sequence of int, default=(1, 4)
        The digits to keep.
    data_home : path or None, default=None
        Folder that holds ``mnist_train_1_4.npz``, with arrays ``X`` (pixels from 0 to 255) and ``y``; see
        :func:`load_htru2`.

    Returns
    -------
    X : ndarray of shape (n, 784)
        Pixels divided by 255. The default digits give n = 12584.
    y : ndarray of shape (n,)
        The digit of each row.

    Raises
    ------
    FileNotFoundError, OSError
        As :func:`load_htru2`.
    ValueError
        If `digits` is not a non-empty sequence of integers from 0 to 9, or the local file lacks one of
        them.
    """
    wanted = _check_digits(digits)
    path = _local_file(MNIST_FILE, data_home)
    if path is not None:
        X, y = _read_npz(path)
    else:
        X, y = _fetch_openml("MNIST", name="mnist_784", version=1)
        X, y = X[:MNIST_TRAIN_ROWS], y[:MNIST_TRAIN_ROWS]
    y = _integer_labels(y)
    available = np.unique(y).tolist()
    missing = sorted(wanted.difference(available))
    if missing:
        raise ValueError(
            f"`digits` asks for {missing}, but {path or 'OpenML'} holds only {available}. "
            f"Leave out `data_home` and unset {DATA_VARIABLE} to get all ten digits from OpenML."
        )
    keep = np.isin(y, sorted(wanted))
    return X[keep] / 255.0, y[keep]


def _check_digits(digits: Sequence[int]) -> set[int]:
    entries = list(digits) if np.ndim(digits) == 1 else []
    if not entries or not all(isinstance(d, Integral) and 0 <= d <= 9 for d in entries):
        raise ValueError(f"`digits` must be a non-empty sequence of integers from 0 to 9, got {digits!r}.")
    return {int(d) for d in entries}


def _local_file(name: str, data_home: str | os.PathLike[str] | None) -> Path | None:
    """Path of a local file; None when no folder is given. A folder without the file is an error.

    Going to the network because a named folder lacks the file would hide a mistyped path.
    """
    folder = data_home if data_home is not None else os.environ.get(DATA_VARIABLE) or None
    if folder is None:
        return None
    path = Path(folder).expanduser() / name
    if not path.is_file():
        source = "`data_home`" if data_home is not None else f"the environment variable {DATA_VARIABLE}"
        raise FileNotFoundError(
            f"No file {name!r} in the folder '{path.parent}', which {source} names. "
            f"Put it there, or leave out `data_home` and unset {DATA_VARIABLE} to use OpenML."
        )
    return path


def _read_npz(path: Path) -> tuple[NDArray[Any], NDArray[Any]]:
    """Arrays X (n, p) and y (n,) of an .npz file; pickled objects are refused."""
    with np.load(path, allow_pickle=False) as arrays:
        absent = [key for key in ("X", "y") if key not in arrays]
        if absent:
            raise ValueError(f"'{path}' must hold arrays 'X' and 'y'; {absent} not found.")
        X, y = arrays["X"], arrays["y"]
    if X.ndim != 2 or y.shape != X.shape[:1]:
        raise ValueError(f"'{path}' must hold X (n, p) and y (n,), got shapes {X.shape} and {y.shape}.")
    return X, y


def _fetch_openml(title: str, **query: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    from sklearn.datasets import fetch_openml

    try:
        # This parser needs no pandas and reads floats exactly; the default one promises neither.
        return fetch_openml(**query, as_frame=False, parser="liac-arff", return_X_y=True)
    except (OSError, HTTPException) as error:
        raise OSError(
            f"{title} could not be fetched from OpenML ({error}). To work offline, set the environment "
            f"variable {DATA_VARIABLE} to a folder that holds the data, or pass `data_home`."
        ) from error


def _integer_labels(y: NDArray[Any]) -> Ints:
    """Labels as integers; OpenML gives them as strings such as '1'."""
    return y.astype(np.float64).astype(np.int64)
