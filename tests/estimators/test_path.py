"""Paths of bandwidths against single fits and plain matrices; order, alignment, summaries and progress."""

import csv
import io
import sys
import warnings
from contextlib import nullcontext

import numpy as np
import pytest
from scipy.stats import ortho_group
from sklearn.exceptions import ConvergenceWarning

from common import PATH, RANK_4, WINE, Naive, assert_same_path, fit, fit_path, gram, weights
from elliptope import bandwidth_path
from elliptope.estimators.path import BandwidthPath, PathRecord


def products(result):
    return sum(record.n_products for record in result.records)


class TestOptimum:
    @pytest.mark.parametrize("w", [None, weights(178), weights(178, zeros=9)], ids=["uniform", "weights", "zeros"])
    def test_agrees_with_single_fits(self, w):
        result = fit_path(sample_weight=w)
        np.testing.assert_array_equal(result.bandwidths, PATH)
        for sigma, record in zip(PATH, result.records, strict=True):
            est = fit(WINE, w, bandwidth=sigma)
            assert record.bandwidth == sigma
            assert record.status == est.status_ == "optimal"
            np.testing.assert_allclose(record.factor @ record.factor.T, gram(est), atol=1e-6)
            np.testing.assert_allclose(record.embedding @ record.embedding.T, gram(est), atol=1e-6)
            np.testing.assert_allclose(record.eigenvalues, est.eigenvalues_, rtol=1e-6)
            assert record.certificate.objective == pytest.approx(est.certificate_.objective, rel=1e-10)

    def test_every_record_is_optimal_for_the_plain_matrix(self):
        for record in fit_path(bandwidths=np.linspace(1, 6, 6)).records:
            naive = Naive(WINE, record.bandwidth)
            root = np.sqrt(naive.d)
            J = root[:, None] * naive.Abar * root
            H = record.factor / root[:, None]
            L = np.diag(np.einsum("ij,ij->i", J @ H, H)) - J
            np.testing.assert_allclose(np.linalg.norm(H, axis=1), 1, rtol=1e-9)
            assert np.linalg.eigvalsh(L)[0] > -1e-7 * np.abs(L).max()
            assert np.abs(L @ H).max() < 1e-7 * np.abs(L).max()
            assert record.certificate.grade == "proved"
            assert record.certificate.relative_gap <= 1e-6

    @pytest.mark.parametrize(
        "parameters",
        [
            {"diagonal": "constant"},
            {"diagonal": np.linspace(1, 2, 40)},
            {"kernel": "laplacian"},
            {"n_components": 2, "normalize": "unit"},
            {"n_components": 7, "rank": 3},
            {"solver": "power", "tol": 1e-3},
        ],
        ids=lambda parameters: ",".join(parameters),
    )
    def test_parameters_are_passed_on(self, parameters):
        result = fit_path(RANK_4, [3.0, 2.5, 2.0], **parameters)
        for record in result.records:
            est = fit(RANK_4, bandwidth=record.bandwidth, **parameters)
            assert record.embedding.shape == est.embedding_.shape
            atol = 100 * est.tol if est.solver == "power" else 1e-6
            np.testing.assert_allclose(record.embedding @ record.embedding.T, gram(est), atol=atol)

    def test_data_frames_and_lists(self):
        pandas = pytest.importorskip("pandas")
        assert_same_path(fit_path(pandas.DataFrame(RANK_4), iter([2.0, 3.0])), fit_path(RANK_4.tolist(), np.array([2, 3])))


class TestWarmStart:
    def test_costs_fewer_products_than_cold_starts(self):
        sigmas = np.linspace(1, 6, 26)
        cold = sum(fit(WINE, bandwidth=sigma).n_products_ for sigma in sigmas)
        assert products(fit_path(bandwidths=sigmas)) < 0.9 * cold

    def test_does_not_suffer_from_what_is_shown(self):
        sigmas = np.linspace(2, 4, 6)
        all_of_it = products(fit_path(RANK_4, sigmas))
        assert products(fit_path(RANK_4, sigmas, n_components=1, normalize="unit")) == all_of_it

    @pytest.mark.parametrize(
        "sigmas", [[2.0, np.nextafter(2.0, 3), np.nextafter(2.0, 1)], [1e300, 1e-10, 1e-320]], ids=["close", "far apart"]
    )
    def test_steps_of_any_length(self, sigmas):
        result = fit_path(RANK_4, sigmas)
        assert [record.status for record in result.records] == [fit(RANK_4, bandwidth=sigma).status_ for sigma in sigmas]

    def test_a_constant_kernel_is_no_start(self):
        last, cold = fit_path(RANK_4, [1e9, 2.0]).records[-1], fit(RANK_4, bandwidth=2.0)
        np.testing.assert_array_equal(last.embedding, cold.embedding_)
        assert last.n_products == cold.n_products_


class TestOrder:
    def test_results_do_not_depend_on_it(self):
        shuffled = [PATH[i] for i in (3, 0, 4, 2, 1)]
        one, two = fit_path(), fit_path(bandwidths=shuffled)
        np.testing.assert_array_equal(two.bandwidths, shuffled)
        by_sigma = {record.bandwidth: record for record in two.records}
        assert_same_path(one, BandwidthPath(tuple(by_sigma[sigma] for sigma in PATH), (), two.weights))
        np.testing.assert_array_equal(one.aligned, two.aligned[[shuffled.index(sigma) for sigma in PATH]])

    def test_repeated_values_are_solved_once(self):
        solved = []
        result = fit_path(RANK_4, [2.0, 3.0, 2.0], callback=lambda record: solved.append(record.bandwidth))
        assert solved == [3.0, 2.0]
        assert result.records[0] is result.records[2]
        np.testing.assert_array_equal(result.aligned[0], result.aligned[2])


def by_hand(embeddings, w):
    """A path of given embeddings, the first one at the largest bandwidth."""
    certificate = fit(RANK_4, bandwidth=2.0).certificate_
    records = (
        PathRecord(10.0 - i, Z, Z, np.ones(Z.shape[1]), certificate, "optimal", 1, 1, 0.0) for i, Z in enumerate(embeddings)
    )
    return BandwidthPath(tuple(records), (), w)


class TestAlignment:
    def test_undoes_orthogonal_maps(self):
        Z = np.random.default_rng(0).standard_normal((30, 3))
        turns = ortho_group.rvs(3, size=4, random_state=1)
        result = by_hand([Z, *(Z @ Q for Q in turns), Z * [1, -1, 1]], weights(30))
        np.testing.assert_allclose(result.aligned, np.broadcast_to(Z, (6, 30, 3)), atol=1e-12)

    def test_undoes_them_between_different_ranks(self):
        Z = np.random.default_rng(0).standard_normal((30, 2))
        wide = np.hstack([Z, np.zeros((30, 1))]) @ ortho_group.rvs(3, random_state=1)
        aligned = by_hand([Z, wide, -Z], weights(30)).aligned
        np.testing.assert_allclose(aligned[:, :, :2], np.broadcast_to(Z, (3, 30, 2)), atol=1e-12)
        np.testing.assert_allclose(aligned[:, :, 2], 0, atol=1e-12)

    def test_neighbours_are_as_close_as_orthogonal_maps_can_bring_them(self):
        """The least Σ w ‖aQ - b‖² is ‖a‖² + ‖b‖² - 2 (sum of the singular values of aᵀ Diag(w) b)."""
        w = weights(178)
        result = fit_path(sample_weight=w, n_components=3)
        order = np.argsort(result.bandwidths)[::-1]
        given, turned = np.stack([r.embedding for r in result.records])[order], result.aligned[order]
        np.testing.assert_array_equal(turned[0], given[0])
        for k in range(1, len(order)):
            a, b = given[k], given[k - 1]
            least = w @ (a**2 + b**2).sum(axis=1) - 2 * np.linalg.norm((w[:, None] * a).T @ b, "nuc")
            residual = w @ ((turned[k] - turned[k - 1]) ** 2).sum(axis=1)
            assert residual == pytest.approx(least, rel=1e-9)
            assert residual <= w @ ((a - b) ** 2).sum(axis=1) * (1 + 1e-9)

    def test_changes_no_inner_product(self):
        result = fit_path(RANK_4, np.linspace(1.5, 4, 5))
        ranks = {record.embedding.shape[1] for record in result.records}
        assert len(ranks) > 1
        assert result.aligned.shape == (5, 40, max(ranks))
        for record, Z in zip(result.records, result.aligned, strict=True):
            np.testing.assert_allclose(Z @ Z.T, record.embedding @ record.embedding.T, atol=1e-12)

    def test_a_weight_of_two_is_a_point_given_twice(self):
        twice = fit_path(np.vstack([RANK_4, RANK_4[:9]]), [3.0, 2.0]).aligned
        weighted = fit_path(RANK_4, [3.0, 2.0], sample_weight=1.0 + (np.arange(40) < 9)).aligned
        np.testing.assert_allclose(twice[:, :40], weighted, atol=1e-6)


class TestSummaries:
    def test_spectra(self):
        result = fit_path(RANK_4, [1e9, 4.0, 2.0])
        ranks = [len(record.eigenvalues) for record in result.records]
        assert result.spectra.shape == (3, max(ranks))
        np.testing.assert_allclose(result.spectra.sum(axis=1), [0, 1, 1])  # a constant kernel has no spectrum
        for spectrum, record, rank in zip(result.spectra[1:], result.records[1:], ranks[1:], strict=True):
            np.testing.assert_allclose(spectrum[:rank] * record.eigenvalues.sum(), record.eigenvalues)
            np.testing.assert_array_equal(spectrum[rank:], 0)

    def test_rows_go_into_a_table(self):
        result = fit_path(RANK_4, [4.0, 2.0])
        rows = result.to_rows()
        assert {type(value) for row in rows for value in row.values()} == {str, int, float}
        buffer = io.StringIO()
        writer = csv.DictWriter(buffer, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
        buffer.seek(0)
        for row, record, spectrum in zip(csv.DictReader(buffer), result.records, result.spectra, strict=True):
            assert float(row["bandwidth"]) == record.bandwidth
            assert float(row["relative_gap"]) == record.certificate.relative_gap
            assert (row["status"], row["grade"]) == ("optimal", "proved")
            assert int(row["rank"]) == len(record.eigenvalues)
            assert int(row["n_products"]) == record.n_products
            np.testing.assert_array_equal([float(row[f"lambda_{k + 1}"]) for k in range(len(spectrum))], spectrum)

    def test_repr(self):
        result = fit_path(RANK_4, [1e-3, 4.0, 2.0])
        assert repr(result) == "BandwidthPath(3 bandwidths from 0.001 to 4: 1 degenerate, 2 optimal)"
        assert repr(result.records[1]).startswith("PathRecord(σ = 4  optimal  gap ")


class TestStatuses:
    def test_one_warning_for_all(self):
        sigmas = [1e9, 4.0, 1e-3, 1e-4, 2.0]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = bandwidth_path(RANK_4, sigmas, random_state=0)
        assert [record.status for record in result.records] == [fit(RANK_4, bandwidth=s).status_ for s in sigmas]
        assert len(caught) == 1
        assert caught[0].category is ConvergenceWarning
        assert caught[0].filename == __file__
        assert "status 'degenerate' at 3 of 5 bandwidths (σ = 1e+09, 0.001, 0.0001)" in str(caught[0].message)

    def test_running_out_of_iterations(self):
        with pytest.warns(ConvergenceWarning, match=r"'max_iter' at 7 of 7 bandwidths \(σ = 1, 1.5, 2, 2.5, 3, …\)"):
            result = bandwidth_path(WINE, np.linspace(1, 4, 7), max_iter=1, random_state=0)
        assert {record.status for record in result.records} == {"max_iter"}
        assert all(record.certificate.relative_gap > 1e-6 for record in result.records)

    def test_nothing_to_warn_of(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            bandwidth_path(RANK_4, [2.0, 4.0], random_state=0)


class TestProgress:
    def test_quiet_by_default(self, capsys):
        fit_path(RANK_4, [3.0, 2.0])
        assert capsys.readouterr() == ("", "")

    def test_a_line_per_bandwidth(self, capsys):
        result = fit_path(RANK_4, [2.0, 3.0], verbose=True)
        out, err = capsys.readouterr()
        assert out == ""
        assert err.splitlines() == [f"1/2  {result.records[1]}", f"2/2  {result.records[0]}"]

    def test_one_line_on_a_terminal(self, capsys, monkeypatch):
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
        monkeypatch.setenv("COLUMNS", "60")
        fit_path(RANK_4, [2.0, 3.0], verbose=True)
        err = capsys.readouterr().err
        assert err.count("\n") == 1
        first, second = err.rstrip("\n").lstrip("\r").split("\r")
        assert first.startswith("[##########..........] 1/2  σ = 3  optimal")
        assert second.startswith("[####################] 2/2  σ = 2  optimal")
        assert len(first) == len(second) == 59

    def test_callback_sees_every_record_as_it_comes(self):
        seen = []
        result = fit_path(RANK_4, [2.0, 3.0], callback=seen.append)
        assert seen == [result.records[1], result.records[0]]

    def test_callback_can_stop(self):
        with pytest.warns(ConvergenceWarning, match="ended early, bandwidths missing: 1"):
            result = bandwidth_path(RANK_4, [2.0, 3.0, 4.0], callback=lambda record: record.bandwidth == 3, random_state=0)
        np.testing.assert_array_equal(result.bandwidths, [3.0, 4.0])
        assert result.missing == (2.0,)


def interrupt_fit(monkeypatch, number):
    """Ctrl-C in the fifth iteration of the fit of that number."""
    count = [0]

    def watch(estimator, verbose):
        count[0] += 1
        if count[0] != number:
            return nullcontext()

        def press(progress):
            if progress.iteration == 5:
                raise KeyboardInterrupt

        return nullcontext(press)

    monkeypatch.setattr("elliptope.estimators.certified.progress_callback", watch)


class TestInterruption:
    def test_keeps_what_is_done(self, monkeypatch):
        interrupt_fit(monkeypatch, 3)
        with pytest.warns(ConvergenceWarning, match="ended early, bandwidths missing: 3"):
            result = bandwidth_path(WINE, PATH, random_state=0)
        np.testing.assert_array_equal(result.bandwidths, [6.0, 4.0])
        assert result.missing == (3.0, 1.5, 2.0)
        assert repr(result).endswith("2 optimal, 3 missing)")
        assert result.aligned.shape == (2, 178, 2)

    def test_is_passed_on_when_nothing_is_done(self, monkeypatch):
        interrupt_fit(monkeypatch, 1)
        with pytest.raises(KeyboardInterrupt):
            bandwidth_path(WINE, PATH, random_state=0)

    def test_between_fits(self):
        def press(record):
            raise KeyboardInterrupt

        np.testing.assert_array_equal(fit_path(callback=press).bandwidths, [6.0])


def test_parameters_are_checked():
    with pytest.raises(ValueError, match="`tol` must be positive and finite, got 0"):
        bandwidth_path(RANK_4, [1.0], tol=0)
