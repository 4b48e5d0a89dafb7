r"""Data sets of the paper [1]_, three generated and two loaded; and Covertype, a large one.

The loaders read local files from a folder, named by an argument or by the environment variable ``ELLIPTOPE_DATA``. Without
a folder they download the data.

References
----------
.. [1] M. Fanuel, A. Aspeel, J.-C. Delvenne and J. A. K. Suykens, "Positive semi-definite embedding for
       dimensionality reduction and out-of-sample extensions", SIAM Journal on Mathematics of Data
       Science 4(1), 153-178, 2022.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from http.client import HTTPException
from math import isfinite, pi
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

__all__ = ["clusters_with_outliers", "interval_grid", "load_covertype", "load_htru2", "load_mnist_digits", "two_moons"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DATA_VARIABLE = "ELLIPTOPE_DATA"
HTRU2_FILE = "htru2.npz"
HTRU2_OPENML_ID = 45558  # "Pulsar-Dataset-HTRU2": 17 898 rows, 8 features
COVERTYPE_FILE = "covtype10.npz"
COVERTYPE_COLUMNS = 10  # the quantitative ones; the others are indicators
MNIST_FILE = "mnist_train_1_4.npz"
MNIST_TRAIN_ROWS = 60_000  # OpenML stores the training split first, then the 10 000 test images


def two_moons(
    n_per_moon: int = 200,
    *,
    noise: float = 1 / 6,
    standardize: bool = True,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[Floats, Ints]:
    r"""Two interleaved half-circles, as in Figures 7 and 8 of Fanuel et al. (2022).

    With :math:`\varepsilon_i \sim N(0, \mathrm{noise}^2)` drawn once and shared by both moons,

    .. math::
        x_i^{\text{bottom}} &= (1, 0) + (1 + \varepsilon_i)(\cos\theta_i, \sin\theta_i),
            \quad \theta \text{ evenly spaced from } -1.1\pi \text{ to } 0.1\pi, \\
        x_i^{\text{top}} &= (0, 0) + (1 + \varepsilon_i)(\cos\varphi_i, \sin\varphi_i),
            \quad \varphi \text{ evenly spaced from } 1.1\pi \text{ to } -0.1\pi.

    As :math:`\varphi_i = -\theta_i`, the moons are mirror images:
    :math:`x_i^{\text{bottom}} - (1, 0)` is :math:`x_i^{\text{top}}` with its second coordinate negated.

    Parameters
    ----------
    n_per_moon : int, default=200
        Number of points in each moon.
    noise : float, default=1/6
        Standard deviation of the radius.
    standardize : bool, default=True
        Whether to bring each coordinate to mean 0 and standard deviation 1 (with ``ddof=1``).
    random_state : int, RandomState instance or None, default=None
        Seed of the noise.

    Returns
    -------
    X : ndarray of shape (2 * n_per_moon, 2)
        The bottom moon, then the top one.
    y : ndarray of shape (2 * n_per_moon,)
        0 for the bottom moon, 1 for the top one.
    """
    _check_count("n_per_moon", n_per_moon, least=1)
    if not (isfinite(noise) and noise >= 0):
        raise ValueError(f"`noise` must be non-negative and finite, got {noise!r}.")
    radius = 1 + noise * check_random_state(random_state).standard_normal(n_per_moon)
    bottom = _polar(radius, np.linspace(-1.1 * pi, 0.1 * pi, n_per_moon)) + [1.0, 0.0]
    top = _polar(radius, np.linspace(1.1 * pi, -0.1 * pi, n_per_moon))
    X = np.vstack([bottom, top])  # (2 n_per_moon, 2)
    y = np.repeat(np.arange(2), n_per_moon)
    return ((X - X.mean(axis=0)) / X.std(axis=0, ddof=1) if standardize else X), y


def clusters_with_outliers(
    n_per_cluster: int = 100,
    n_outliers: int = 10,
    *,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[Floats, Ints]:
    r"""Three Gaussian clusters in the plane and outliers scattered around them, after Figure 1 of Fanuel et al. (2022).

    .. math::
        x \mid \text{cluster } c &\sim N\bigl(2\,(\cos\theta_c, \sin\theta_c),\; 0.4^2 I\bigr),
            \quad \theta_c = \pi/2 + 2\pi c/3, \\
        x \mid \text{outlier} &= \rho\,(\cos\varphi, \sin\varphi),
            \quad \rho \sim U(3.5, 5),\; \varphi \sim U(0, 2\pi).

    The paper gives the numbers of points and the bandwidth, 1.2, but not the positions. These are ours,
    on the scale of that bandwidth: the centres are almost three bandwidths apart, and every outlier is more
    than one bandwidth from every centre. The layout was chosen among six because its optimum has rank two, as in
    the figure; that it does is therefore no evidence for the method.

    Parameters
    ----------
    n_per_cluster : int, default=100
        Number of points in each of the three clusters.
    n_outliers : int, default=10
        Number of outliers; may be 0.
    random_state : int, RandomState instance or None, default=None
        Seed of the points.

    Returns
    -------
    X : ndarray of shape (3 * n_per_cluster + n_outliers, 2)
        The clusters one after the other, then the outliers.
    y : ndarray of shape (3 * n_per_cluster + n_outliers,)
        0, 1, 2 for the clusters and -1 for the outliers.
    """
    _check_count("n_per_cluster", n_per_cluster, least=1)
    _check_count("n_outliers", n_outliers, least=0)
    rng = check_random_state(random_state)
    centres = _polar(np.full(3, 2.0), pi / 2 + 2 * pi * np.arange(3) / 3)  # (3, 2)
    labels = np.repeat(np.arange(3), n_per_cluster)
    clusters = centres[labels] + 0.4 * rng.standard_normal((3 * n_per_cluster, 2))
    radius = rng.uniform(3.5, 5.0, n_outliers)
    outliers = _polar(radius, rng.uniform(0.0, 2 * pi, n_outliers))
    return np.vstack([clusters, outliers]), np.concatenate([labels, np.full(n_outliers, -1)])


def interval_grid(n: int = 15, *, low: float = -1.0, high: float = 1.0) -> tuple[Floats, Floats]:
    r"""Midpoints of equal cells of an interval and their quadrature weights, as in Figures 2 and 3 of Fanuel et al. (2022).

    .. math:: x_i = \mathrm{low} + (i + \tfrac12)\,dx, \qquad w_i = dx = (\mathrm{high} - \mathrm{low})/n

    so that :math:`\sum_i w_i f(x_i)` is the midpoint rule for :math:`\int f`, exact for affine functions.

    Parameters
    ----------
    n : int, default=15
        Number of cells.
    low, high : float, default=-1.0 and 1.0
        Ends of the interval.

    Returns
    -------
    X : ndarray of shape (n, 1)
        The midpoints.
    w : ndarray of shape (n,)
        The weights, to be passed as ``sample_weight``.
    """
    _check_count("n", n, least=1)
    if not (isfinite(low) and isfinite(high) and low < high):
        raise ValueError(f"`low` and `high` must be finite with low < high, got {low!r} and {high!r}.")
    dx = (high - low) / n
    x = low + (np.arange(n, dtype=np.float64) + 0.5) * dx
    return x[:, np.newaxis], np.full(n, dx)


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


def _polar(radius: Floats, angle: Floats) -> Floats:
    """Points (r cos t, r sin t), one per row."""
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def _check_count(name: str, value: Any, *, least: int) -> None:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"`{name}` must be an integer of at least {least}, got {value!r}.")


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
