"""Dask: what stays on the workers, what is refused, and what happens when workers or the scheduler die."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from properly.calibration import CalibratedClassifier
from properly.engines.dask import DaskEngine
from properly.linear import ProperLinearClassifier
from properly.prevalence import PriorCorrectedClassifier
from properly.tree import ProperTreeClassifier

dask = pytest.importorskip("dask", reason='Dask is not installed: pip install "properly[dask]"')
da = pytest.importorskip("dask.array", reason='Dask is not installed: pip install "properly[dask]"')
distributed = pytest.importorskip("distributed", reason='Dask is not installed: pip install "properly[dask]"')
pytestmark = pytest.mark.xdist_group("dask")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(2000, 3))
Y = (X[:, 0] + RNG.logistic(size=2000) > 1.0).astype(int)


def dask_of(*arrays, rows=300):
    return [da.from_array(array, chunks=(rows, *array.shape[1:])) for array in arrays]


@pytest.mark.parametrize("form", ["frame", "series"])
def test_small_files_keep_their_partition(dask_client, tmp_path, form):
    """Of each column by itself, Dask would join other files."""
    dd, pd = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    table = pd.DataFrame(X, columns=list("abc")).assign(y=Y, text=np.where(Y, "yes", "no"), w=1.0)
    for number in range(4):
        table[500 * number : 500 * (number + 1)].to_parquet(tmp_path / f"{number}.parquet")
    frame = dd.read_parquet(str(tmp_path))
    y = frame["y"] if form == "series" else frame["text"]
    model = ProperLinearClassifier(tol=1e-12).fit(frame[["a", "b", "c"]], y, frame["w"])
    np.testing.assert_allclose(model.coef_, ProperLinearClassifier(tol=1e-12).fit(X, Y).coef_, atol=1e-9)


def test_predictions_are_lazy(dask_client):
    computed = []

    def traced(block):
        computed.append(len(block))
        return block

    model = ProperLinearClassifier().fit(X, Y)
    new = dask_of(X)[0].map_blocks(traced, dtype=np.float64, meta=np.empty((0, 3)))
    lazy = [model.predict_proba(new), model.predict(new), model.decision_function(new), model.predict_log_proba(new)]
    assert not computed
    assert [each.shape for each in lazy] == [(2000, 2), (2000,), (2000,), (2000, 2)]
    np.testing.assert_allclose(lazy[0].compute(), model.predict_proba(X), rtol=1e-12)
    np.testing.assert_array_equal(lazy[1].compute(), model.predict(X))


@pytest.mark.parametrize("kind", [CalibratedClassifier, PriorCorrectedClassifier])
def test_predictions_are_lazy_through_other_classifiers(dask_client, monkeypatch, kind):
    def brought_here(*_, **__):
        raise AssertionError("the data were brought to the client")

    new, labels = dask_of(X, Y)
    of_parts = kind(ProperLinearClassifier(class_weight="balanced")).fit(X, Y)
    methods = ("predict_proba", "predict", "decision_function", "predict_log_proba")
    with monkeypatch.context() as patched:
        patched.setattr(da.Array, "__array__", brought_here)
        patched.setattr(da.Array, "compute", brought_here)
        lazy = {name: getattr(of_parts, name)(new) for name in methods}
        assert of_parts.score(new, labels) == pytest.approx(of_parts.score(X, Y))
        of_rows = kind(FrozenEstimator(LogisticRegression().fit(X, Y))).fit(X, Y)
        with pytest.raises(ValueError, match=r"X is of Dask \(Array\), but rows must be in memory here"):
            of_rows.predict_proba(new)
        with pytest.raises(ValueError, match=r"X is of Dask \(Array\), but rows must be in memory here"):
            of_rows.score(new, labels)
    for name, found in lazy.items():
        np.testing.assert_allclose(found.compute(), getattr(of_parts, name)(X), rtol=1e-12)


def test_chunks_need_not_agree(dask_client):
    new, weight = np.asfortranarray(X).astype(np.float32), np.ones(2000)
    model = ProperLinearClassifier(tol=1e-12).fit(
        da.from_array(new, chunks=(700, 2)), *dask_of(Y, rows=301), *dask_of(weight, rows=2000)
    )
    np.testing.assert_allclose(model.coef_, ProperLinearClassifier(tol=1e-12).fit(new, Y).coef_, atol=1e-9)


def test_what_is_refused(dask_client):
    new, labels = dask_of(X, Y)
    with pytest.raises(ValueError, match="y must be a Dask array or series, like X, got a ndarray"):
        ProperLinearClassifier().fit(new, Y)
    with pytest.raises(ValueError, match="y has 1700 rows, X has 2000"):
        ProperLinearClassifier().fit(new, labels[300:])
    with pytest.raises(ValueError, match="partitions, X has 7"):
        ProperLinearClassifier().fit(new, labels[:600][labels[:600] >= 0])  # of unknown lengths
    with pytest.raises(ValueError, match="part 0 of X has no labels"):
        ProperLinearClassifier().fit(new)
    with pytest.raises(ValueError, match="X has 2 features, but the model was fitted with 3"):
        ProperLinearClassifier().fit(X, Y).predict(new[:, :2]).compute()
    with pytest.raises(ValueError, match="X of part 0 of X has no features; give it at least one column"):
        ProperLinearClassifier().fit(da.zeros((2000, 0), chunks=(300, 0)), labels)
    with pytest.raises(ValueError, match="X must have two dimensions, got 3; reshape it"):
        ProperLinearClassifier().fit(new[:, :, None], labels)


def test_what_is_behind_a_mask_is_no_value(dask_client):
    new, labels, weight = dask_of(X, Y, np.ones(2000))
    with pytest.raises(ValueError, match="X of part 0 of X has masked entries, first in row"):
        ProperLinearClassifier().fit(da.ma.masked_greater(new, 2.0), labels)
    with pytest.raises(ValueError, match="y of part 0 of X has masked entries, first in row"):
        ProperLinearClassifier().fit(new, da.ma.masked_equal(labels, 1))
    with pytest.raises(ValueError, match="sample_weight of part 2 of X has masked entries, first in row 0"):
        ProperLinearClassifier().fit(new, labels, da.ma.masked_where(da.arange(2000, chunks=300) >= 600, weight))
    with pytest.raises(ValueError, match=r"X of part \d of X has masked entries"):
        ProperLinearClassifier().fit(X, Y).predict_proba(da.ma.masked_greater(new, 2.0)).compute()


def test_dates_are_no_numbers(dask_client):
    new, labels = dask_of(X.astype("datetime64[ns]"), Y)
    with pytest.raises(ValueError, match=r"column 0 holds dates or times, .* \(in part 0 of X\)"):
        ProperLinearClassifier().fit(new, labels)


def test_missing_values_of_pandas_are_named(dask_client):
    dd, pd = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    table = pd.DataFrame(X, columns=list("abc")).astype("Float64")
    whole = dd.from_pandas(table.assign(y=Y), npartitions=2)
    model = ProperLinearClassifier(tol=1e-12).fit(whole[list("abc")], whole["y"])
    np.testing.assert_allclose(model.coef_, ProperLinearClassifier(tol=1e-12).fit(X, Y).coef_, atol=1e-9)
    gaps = dd.from_pandas(table.mask(table > 2.0).assign(y=Y), npartitions=2)
    with pytest.raises(ValueError, match="X of part 0 of X contains NaN or infinity in column 'a'; drop or impute"):
        ProperLinearClassifier().fit(gaps[list("abc")], gaps["y"])


def test_what_is_no_collection_of_rows(dask_client):
    bag = pytest.importorskip("dask.bag")
    new, labels = dask_of(X, Y)
    with pytest.raises(ValueError, match="X must be a Dask array, data frame or series, got a DelayedLeaf; make one"):
        ProperLinearClassifier().fit(dask.delayed(X), labels)
    with pytest.raises(ValueError, match="got a Delayed"):
        ProperLinearClassifier().fit(X, Y).predict_proba(dask.delayed(X))
    with pytest.raises(ValueError, match="X must be a Dask array, data frame or series, got a Bag"):
        ProperLinearClassifier().fit(bag.from_sequence([1, 2]), labels)
    with pytest.raises(ValueError, match="y must be a Dask array or series, like X, got a Delayed"):
        ProperLinearClassifier().fit(new, dask.delayed(Y))


def test_errors_of_rows_are_not_logged_by_the_workers(dask_client, caplog):
    """They come back as results."""
    new, labels = dask_of(np.where(X > 3.0, np.nan, X), Y)
    dask_client.run(_remember_warnings)
    with pytest.raises(ValueError, match="contains NaN or infinity in column"):
        ProperLinearClassifier().fit(new, labels)
    with pytest.raises(ValueError, match="masked entries"):
        ProperLinearClassifier().fit(da.ma.masked_greater(new, 2.0), labels)
    assert not any(dask_client.run(_remembered).values())


def _remember_warnings():
    import logging
    import logging.handlers

    logging.remembered = logging.handlers.MemoryHandler(1000, flushLevel=100)
    logging.getLogger("distributed.worker").addHandler(logging.remembered)


def _remembered():
    import logging

    return [each.getMessage() for each in logging.remembered.buffer if each.levelno >= logging.WARNING]


@pytest.mark.parametrize("kind", ["str", "category", "datetime64[ns]"])
def test_columns_that_are_no_numbers_are_named(dask_client, kind):
    dd, pd = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    table = pd.DataFrame({"a": X[:, 0], "odd": pd.Series(np.arange(2000)).astype(kind), "y": Y})
    frame = dd.from_pandas(table, npartitions=2)
    with pytest.raises(ValueError, match=r"column 'odd' of X holds .*, not numbers; encode or leave it out"):
        ProperLinearClassifier().fit(frame[["a", "odd"]], frame["y"])


def test_the_rest_of_a_pass_is_cancelled(dask_client, monkeypatch):
    engine, _ = DaskEngine.of_training_data(ProperLinearClassifier(), *dask_of(X, Y), None, None)
    given, begin = [], type(dask_client).map

    def watched(*args, **options):
        given.extend(begin(*args, **options))  # as the traceback of an error holds on to them
        return list(given)

    monkeypatch.setattr(type(dask_client), "map", watched)
    results = engine.visit(lambda part, number: time.sleep(0.5 * number))
    next(results)
    results.close()  # as when the user interrupts
    engine.release()
    assert [future.status for future in given[-3:]] == ["cancelled"] * 3
    before = time.monotonic()
    while any(dask_client.processing().values()):
        assert time.monotonic() - before < 5.0  # all would take eight
        time.sleep(0.1)


def test_parts_are_released_after_the_fit(dask_client):
    ProperLinearClassifier().fit(*dask_of(X, Y))
    deadline = time.monotonic() + 10.0
    while any(dask_client.has_what().values()):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_parts_are_released_if_a_fit_fails_and_its_error_is_kept(dask_client, monkeypatch):
    """A prompt keeps the last error, and with it engines of other weights."""

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("properly.linear.fitting._solve", interrupted)
    with pytest.raises(KeyboardInterrupt) as error:
        ProperLinearClassifier(class_weight="balanced").fit(*dask_of(X, Y))
    deadline = time.monotonic() + 10.0
    while any(dask_client.has_what().values()):
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert error.traceback


def test_the_sample_that_comes_here_is_limited_in_bytes(dask_client, monkeypatch):
    monkeypatch.setattr("properly.engines.partitioned.SAMPLE_BYTES", 8 * 3 * 500)
    drawn = []
    monkeypatch.setattr("properly.engines.dask.DaskEngine.sampled", lambda engine, rows: drawn.append(engine.sample))
    ProperLinearClassifier(C=np.inf).fit(*dask_of(X, Y))
    assert 300 < len(drawn[0].y) < 700


def test_a_client_is_needed(monkeypatch):
    def no_client():
        raise ValueError("No global client found and no address provided")

    monkeypatch.setattr(distributed, "get_client", no_client)
    with pytest.raises(ValueError, match=r"begin with distributed\.Client\(\)"):
        ProperLinearClassifier().fit(*dask_of(X, Y))


def test_other_models_do_not_bring_the_data_here_silently():
    with pytest.raises(ValueError, match="Dask"):
        ProperTreeClassifier().fit(*dask_of(X, Y))


def slow_rows(block, pause=0.1):
    time.sleep(pause)
    return block


def test_a_worker_that_is_killed_changes_nothing():
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster):
        new, labels = dask_of(X, Y, rows=50)
        new = new.map_blocks(slow_rows, dtype=np.float64, meta=np.empty((0, 3)))
        undisturbed = ProperLinearClassifier().fit(new, labels)
        victim = next(iter(cluster.workers.values())).process
        timer = threading.Timer(1.5, lambda: victim.process._process.kill())
        timer.start()
        model = ProperLinearClassifier().fit(new, labels)
        timer.join()
    np.testing.assert_array_equal(model.coef_, undisturbed.coef_)
    np.testing.assert_array_equal(model.intercept_, undisturbed.intercept_)


def die(block):
    os._exit(1)


def test_workers_that_die_each_time_are_reported():
    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": ":0"}
    allowed = dask.config.set({"distributed.scheduler.allowed-failures": 0})
    with allowed, distributed.LocalCluster(**options) as cluster, distributed.Client(cluster):
        new, labels = dask_of(X, Y)
        with pytest.raises(RuntimeError, match=r"workers of Dask died whenever .* make smaller partitions"):
            ProperLinearClassifier().fit(new.map_blocks(die, dtype=np.float64, meta=np.empty((0, 3))), labels)


_CLUSTER = """
import time
from distributed import LocalCluster
options = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": ":0", "host": "127.0.0.1"}
cluster = LocalCluster(**options, protocol="tcp")
print(cluster.scheduler_address, flush=True)
time.sleep(600)
"""


def test_a_scheduler_that_dies_is_reported():
    with subprocess.Popen([sys.executable, "-c", _CLUSTER], stdout=subprocess.PIPE, text=True) as process:
        try:
            with distributed.Client(process.stdout.readline().strip(), set_as_default=True) as client:
                new, labels = dask_of(X, Y)
                new = new.map_blocks(slow_rows, pause=60.0, dtype=np.float64, meta=np.empty((0, 3)))
                threading.Timer(1.0, lambda: process.send_signal(signal.SIGKILL)).start()
                begin = time.monotonic()
                with pytest.raises(ConnectionError, match="scheduler no longer answers"):
                    ProperLinearClassifier().fit(new, labels)
                assert time.monotonic() - begin < 31.0
                client.close(timeout=1)
        finally:
            process.kill()
