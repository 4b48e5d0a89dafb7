"""The planner: what memory there is, what a fit needs, what is chosen, and refusals that come before any allocation."""

import subprocess
import sys
import time
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import elliptope
from elliptope import RKHSEmbedding, estimate_memory
from elliptope.kernels import Gaussian
from elliptope.kernels.neighbors import Neighbors
from elliptope.memory.available import Memory, available_memory
from elliptope.memory.planner import InsufficientMemoryError, check_fits, choose_operator, plan, size_of

GB = 10**9
PLENTY = Memory(10**16, "a test")
UNKNOWN = Memory(None, "unknown")
STORED = ("dense", "tiled", "sparse", "precomputed", "regularized")


@pytest.fixture
def system(tmp_path):
    """Writes a tree of fake system files, given as path and text, below a root; 64 GB are free unless it says otherwise."""

    def write(files):
        for path, text in {"proc/meminfo": "MemTotal: 99 kB\nMemAvailable:   64000000 kB\n", **files}.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)
        return tmp_path

    return write


def control_groups(own="/", **groups):
    """Files of a tree of control groups. A group is (limit, usage, memory.stat)."""
    files = {"proc/self/cgroup": f"0::{own}\n"}
    for name, (limit, usage, stat) in groups.items():
        folder = f"sys/fs/cgroup/{name.replace('__', '/')}".removesuffix("/top")
        files |= {f"{folder}/memory.max": limit, f"{folder}/memory.current": usage, f"{folder}/memory.stat": stat}
    return files


class TestAvailableMemory:
    def test_physical(self, system):
        assert available_memory(system({})) == Memory(64_000_000 * 1024, "free physical memory")

    def test_container_with_a_limit_of_its_own(self, system):
        memory = available_memory(
            system(control_groups(top=("8000000000\n", "3000000000\n", "anon 1\ninactive_file 500000000\n")))
        )
        assert memory.bytes == 8 * GB - 3 * GB + GB // 2
        assert "control group /" in memory.source

    def test_all_reclaimable_cache_counts_as_free(self, system):
        stat = "inactive_file 1000\nactive_file 200\nslab_reclaimable 30\nshmem 7777\nfile 9999\n"
        assert available_memory(system(control_groups(top=("100000", "50000", stat)))).bytes == 100_000 - 50_000 + 1230

    @pytest.mark.parametrize("tightest", ["a", "a__b", "a__b__c"])
    def test_every_group_above_counts(self, system, tightest):
        groups = {name: ("9000" if name != tightest else "5000", "1000", "") for name in ("a", "a__b", "a__b__c")}
        memory = available_memory(system(control_groups(own="/a/b/c", **groups)))
        assert memory.bytes == 4000
        assert memory.source.endswith("/" + tightest.replace("__", "/"))

    def test_a_neighbouring_group_does_not_count(self, system):
        assert available_memory(system(control_groups(own="/a", a=("9000", "0", ""), b=("1", "0", "")))).bytes == 9000

    def test_no_limit(self, system):
        assert available_memory(system(control_groups(own="/a", a=("max\n", "5", "")))).source == "free physical memory"

    def test_throttling_is_a_limit(self, system):
        files = control_groups(own="/a", a=("9000", "1000", "")) | {"sys/fs/cgroup/a/memory.high": "4000"}
        assert available_memory(system(files)).bytes == 3000

    def test_usage_beyond_the_limit(self, system):
        assert available_memory(system(control_groups(own="/a", a=("10", "20", "")))).bytes == 0

    def test_more_cache_than_usage(self, system):
        """Counters are not read at one moment."""
        assert available_memory(system(control_groups(own="/a", a=("10", "2", "inactive_file 5\n")))).bytes == 10

    @pytest.mark.parametrize("own", ["/", "/docker/1f", "/../../other"])
    def test_container_whose_group_stands_at_the_top(self, system, own):
        """By its own name, by that of the host, and moved out of sight."""
        assert available_memory(system(control_groups(own=own, top=("7000", "0", "")))).bytes == 7000

    def test_group_below_that_of_the_container(self, system):
        groups = {"sub": ("6000", "0", ""), "top": ("7000", "0", "")}
        assert available_memory(system(control_groups(own="/docker/1f/sub", **groups))).bytes == 6000

    @pytest.mark.parametrize(
        "files",
        [
            {"proc/self/cgroup": "nonsense"},
            {"proc/self/cgroup": "0::/a\n"},
            control_groups(own="/a", a=("many", "x", "y z q")),
            {"proc/self/statm": ""},
        ],
    )
    def test_damaged_files_are_passed_over(self, system, files):
        assert available_memory(system(files)).source == "free physical memory"

    def test_damaged_statistics_are_passed_over(self, system):
        assert available_memory(system(control_groups(own="/a", a=("9", "2", "inactive_file x")))).bytes == 7

    def test_nothing_known(self, system, monkeypatch):
        monkeypatch.setattr("os.sysconf", lambda name: 1 / 0)
        root = system({"proc/meminfo": "MemTotal: 1 kB\n"})
        assert available_memory(root) == UNKNOWN
        (root / "proc/meminfo").unlink()
        assert available_memory(root) == UNKNOWN

    def test_without_proc(self, tmp_path, monkeypatch):
        monkeypatch.setattr("os.sysconf", {"SC_PHYS_PAGES": 1000, "SC_PAGE_SIZE": 4096}.__getitem__)
        assert available_memory(tmp_path) == Memory(4_096_000, "physical memory, free or not")

    def test_address_space(self):
        """In a process of its own, because a limit cannot be taken back."""
        resource = pytest.importorskip("resource")
        if not sys.platform.startswith("linux"):
            pytest.skip("what is used of the address space is known on Linux only")
        code = "from elliptope.memory.available import available_memory as a; m = a(); print(m.bytes, m.source)"
        limit = 3 * GB
        result = subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        )
        number, source = result.stdout.split(" ", 1)
        assert 0 < int(number) < limit
        assert "ulimit -v" in source

    def test_here(self):
        memory = available_memory()
        assert memory.bytes is None or 0 < memory.bytes < 2**60


class TestEstimate:
    @given(
        st.sampled_from(STORED),
        st.tuples(*[st.integers(1, 10**6)] * 2),
        st.tuples(*[st.integers(1, 1000)] * 2),
        st.tuples(*[st.integers(1, 200)] * 2),
        st.tuples(*[st.integers(1, 200)] * 2),
    )
    def test_grows_with_everything(self, operator, n, p, n_neighbors, rank):
        def estimate(f):
            return estimate_memory(f(n), f(p), operator=operator, n_neighbors=f(n_neighbors), rank=f(rank))

        assert 0 < estimate(min) <= estimate(max)

    @pytest.mark.parametrize("operator", STORED)
    def test_strictly_with_rows(self, operator):
        sizes = [estimate_memory(n, 10, operator=operator) for n in (10, 1000, 5000, 10**5, 10**6)]
        assert sizes == sorted(set(sizes))

    def test_order_of_growth(self):
        """Quadratic where all pairs are stored, linear elsewhere."""
        growth = {o: estimate_memory(10**6, 10, operator=o) / estimate_memory(10**5, 10, operator=o) for o in STORED}
        for operator in ("dense", "precomputed", "regularized"):
            assert 95 < growth[operator] < 100
        for operator in ("tiled", "sparse"):
            assert 8 < growth[operator] < 10

    def test_parameters_that_matter(self):
        def extra(operator, **more):
            return estimate_memory(10**5, 10, operator=operator, **more) - estimate_memory(10**5, 10, operator=operator)

        assert extra("sparse", n_neighbors=30) >= 12 * 10**5 * 15
        assert extra("tiled", rank=40) >= 8 * 10**5 * 2 * 8 * 20
        assert extra("tiled", dtype="float32") == 8 * 10**5 * 10
        assert extra("tiled", n_neighbors=30) == 0

    @pytest.mark.parametrize("operator", ["dense", "precomputed", "regularized"])
    def test_against_a_measurement(self, operator):
        """Never less than what arrays take, as tracemalloc has it, in a usual fit, and not much more."""
        rng = np.random.default_rng(0)
        rows = {"dense": 1000, "precomputed": 1000, "regularized": 500}[operator]
        X = np.concatenate([rng.standard_normal((rows, 3)) + 4 * k for k in range(3)])
        estimator = {"dense": elliptope.SDPEmbedding(bandwidth="median"), "regularized": RKHSEmbedding()}
        if operator == "precomputed":
            X = Gaussian(5.0)(X)
        est = estimator.get(operator, elliptope.SDPEmbedding(kernel="precomputed")).set_params(random_state=0)
        tracemalloc.start()
        try:
            est.fit(X)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert peak <= estimate_memory(*X.shape, operator=operator) <= 2 * peak + 2**26

    @pytest.mark.parametrize(
        ("arguments", "options", "message"),
        [
            ((0, 3), {}, "`n` must be an integer of at least 1, got 0"),
            ((10, 2.5), {}, "`p` must be an integer of at least 1, got 2.5"),
            ((10, 3), {"operator": "cluster"}, "`operator` must be one of 'dense'.*got 'cluster'"),
            ((10, 3), {"n_neighbors": None}, "`n_neighbors` must be an integer of at least 1, got None"),
            ((10, 3), {"rank": 0}, "`rank` must be 'auto' or an integer of at least 1, got 0"),
        ],
    )
    def test_bad_arguments(self, arguments, options, message):
        with pytest.raises(ValueError, match=message):
            estimate_memory(*arguments, **options)


class TestPlan:
    @pytest.mark.parametrize(
        ("n", "memory", "expected"),
        [
            (1000, PLENTY, "dense"),
            (30_000, PLENTY, "dense"),
            (30_001, PLENTY, "tiled"),
            (
                20_000,
                Memory(int(1.1 * estimate_memory(20_000, 10)), "a test"),
                "tiled",
            ),  # dense would fit, but not with ease
            (20_000, Memory(int(1.5 * estimate_memory(20_000, 10)), "a test"), "dense"),
            (100_000, Memory(16 * GB, "a test"), "tiled"),
            (1000, UNKNOWN, "dense"),
            (100_000, UNKNOWN, "tiled"),
            (10**7, UNKNOWN, "tiled"),
        ],
    )
    def test_auto(self, n, memory, expected):
        assert plan(n, 10, memory=memory).operator == expected

    @pytest.mark.parametrize("n", [10, 1000, 10**6])
    def test_neighbours_are_sparse_whatever_there_is(self, n):
        for memory in (PLENTY, UNKNOWN, Memory(1, "a test")):
            assert plan(n, 10, kernel="neighbors", memory=memory).operator == "sparse"

    def test_threads_make_more_rows_tolerable(self):
        memory = Memory(64 * GB, "a test")
        assert not plan(10**6, 10, memory=memory, n_threads=1).fits
        assert plan(10**6, 10, memory=memory, n_threads=64).operator == "tiled"

    def test_as_asked_for(self):
        for operator in ("dense", "tiled"):
            chosen = plan(1000, 10, operator=operator, memory=PLENTY)
            assert chosen.operator == operator
            assert chosen.need == estimate_memory(1000, 10, operator=operator)
            assert chosen.limit == PLENTY.bytes

    @pytest.mark.parametrize(
        ("kernel", "operator"),
        [("precomputed", "tiled"), ("neighbors", "dense"), ("overlap", "tiled"), (Neighbors(), "tiled")],
    )
    def test_operators_that_cannot_hold_the_kernel(self, kernel, operator):
        with pytest.raises(ValueError, match=rf"`operator` must be one of 'auto'.* for kernel=.*got '{operator}'"):
            plan(1000, 10, kernel=kernel, operator=operator, memory=PLENTY)

    def test_unknown_operator(self):
        with pytest.raises(ValueError, match="`operator` must be one of 'auto', 'dense', 'tiled', got 3"):
            plan(1000, 10, operator=3)

    def test_precomputed_needs_more(self):
        assert plan(5000, 5000, kernel="precomputed", memory=PLENTY).need == estimate_memory(
            5000, 5000, operator="precomputed"
        )

    def test_reason_has_the_numbers(self):
        chosen = plan(100_000, 10, memory=Memory(16 * GB, "a test"))
        dense = estimate_memory(100_000, 10) / 1e9
        assert dense > 120  # 12 n²
        for words in (
            "'tiled'",
            "100000 rows of 10 features",
            f"{dense:.0f} GB",
            f"{chosen.need / 1e9:.2g} GB",
            "16 GB (a test)",
        ):
            assert words in chosen.reason


class TestRefusal:
    def test_numbers_and_remedies(self):
        chosen = plan(10**6, 10, operator="dense", memory=Memory(32 * GB, "the limit of control group /job"))
        with pytest.raises(MemoryError) as error:
            check_fits(chosen)
        assert isinstance(error.value, InsufficientMemoryError)
        message = str(error.value)
        for words in (
            "operator='dense' for 1000000 rows of 10 features",
            f"{estimate_memory(10**6, 10) / 1e9:,.0f} GB",
            "32 GB (the limit of control group /job)",
            "Instead: kernel='neighbors' of SDPEmbedding",
            "a sample of the rows, and `transform` for the others",
        ):
            assert words in message

    def test_neighbours(self):
        with pytest.raises(InsufficientMemoryError, match="Instead: a fit to a sample of the rows, and `transform`"):
            choose_operator(10**8, 10, kernel="neighbors", memory=Memory(GB, "a test"))

    def test_other_estimators_are_told_of_this_one(self):
        for estimator, only in (("DiffusionMap", "dense"), ("RKHSEmbedding", "regularized")):
            with pytest.raises(
                InsufficientMemoryError, match=rf"{estimator} for .*Instead: kernel='neighbors' of SDPEmbedding"
            ):
                choose_operator(10**6, 10, only=only, estimator=estimator, memory=Memory(32 * GB, "a test"))

    def test_what_is_not_known_is_not_refused(self):
        check_fits(plan(10**6, 10, operator="dense", memory=UNKNOWN))

    def test_comes_before_any_allocation(self):
        tracemalloc.start()
        try:
            start = time.perf_counter()
            with pytest.raises(MemoryError):
                choose_operator(10**6, 10, operator="dense")
            assert time.perf_counter() - start < 1
            assert tracemalloc.get_traced_memory()[1] < 2**20
        finally:
            tracemalloc.stop()

    def test_rkhs(self, monkeypatch):
        monkeypatch.setattr("elliptope.memory.planner.available_memory", lambda: Memory(10**8, "a test"))
        X = np.random.default_rng(0).standard_normal((4000, 2))
        tracemalloc.start()
        try:
            with pytest.raises(InsufficientMemoryError, match="RKHSEmbedding for 4000 rows of 2 features"):
                RKHSEmbedding().fit(X)
            assert tracemalloc.get_traced_memory()[1] < 8 * 4000**2 / 10
        finally:
            tracemalloc.stop()

    def test_rkhs_counts_distinct_points(self, monkeypatch):
        monkeypatch.setattr("elliptope.memory.planner.available_memory", lambda: Memory(10**8, "a test"))
        X = np.random.default_rng(0).standard_normal((20, 2))
        est = RKHSEmbedding(random_state=0).fit(np.tile(X, (200, 1)))
        assert est.embedding_.shape[0] == 4000


class TestChoice:
    def test_says_what_it_chose_when_asked(self, capsys):
        assert choose_operator(1000, 10, memory=PLENTY) == "dense"
        assert capsys.readouterr().out == ""
        assert choose_operator(1000, 10, memory=PLENTY, verbose=True) == "dense"
        assert capsys.readouterr().out == plan(1000, 10, memory=PLENTY).reason + "\n"

    @pytest.mark.parametrize(
        ("X", "weight", "expected"),
        [
            (np.zeros((5, 3)), None, (5, 3)),
            ([[1, 2], [3, 4], [5, 6]], None, (3, 2)),
            (np.zeros((5, 3)), [0, 1, 2, 0, 0], (2, 3)),
            (np.zeros((5, 3)), 2.0, (5, 3)),
            (np.zeros((5, 3)), np.ones(9), (5, 3)),
            (np.zeros(5), None, None),
            (np.zeros((5, 0)), None, None),
            (np.zeros((0, 5)), None, None),
            ([1, 2, 3], None, None),
            ([], None, None),
            (None, None, None),
            (iter([1]), None, None),
        ],
    )
    def test_size_of_what_is_not_validated(self, X, weight, expected):
        assert size_of(X, weight) == expected

    def test_size_of_a_frame(self):
        pandas = pytest.importorskip("pandas")
        assert size_of(pandas.DataFrame(np.zeros((5, 3)))) == (5, 3)

    def test_size_of_what_no_memory_could_hold(self):
        assert size_of(np.broadcast_to(0.0, (10**9, 10**4))) == (10**9, 10**4)
