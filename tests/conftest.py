"""What several folders of tests use: other array libraries, a Dask cluster, a Spark session."""

import contextlib
import os
import shutil
import sys

import pytest


@pytest.hookimpl(wrapper=True)
def pytest_collect_file():
    """Tests have no examples. Where pytest looks for them first, it skips a file that cannot be imported."""
    found = yield
    return [each for each in found if type(each) is pytest.Module]


@pytest.fixture(params=["array_api_strict", "torch", "cupy", "jax.numpy"], scope="session")
def library(request):
    """The namespace of a library other than NumPy, with arrays of float64; skipped where it is not installed."""
    module = pytest.importorskip(request.param, reason=f"{request.param} is not installed")
    if request.param == "jax.numpy":
        import jax

        jax.config.update("jax_enable_x64", True)
    with on_card(module):
        yield module


@contextlib.contextmanager
def on_card(module):
    """Within it, new arrays of PyTorch are on the card, where there is one; those of CuPy always are."""
    if module.__name__ != "torch" or not module.cuda.is_available():
        yield
        return
    module.set_default_device("cuda")
    try:
        yield
    finally:
        module.set_default_device("cpu")


@pytest.fixture(scope="session")
def dask_client():
    """Two worker processes, so that what they run is pickled."""
    distributed = pytest.importorskip("distributed", reason='Dask is not installed: pip install "properly[dask]"')
    pytest.importorskip("dask.dataframe", reason='Dask is not installed: pip install "properly[dask]"')
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    """Two tasks at a time, each tried up to four times."""
    sql = pytest.importorskip("pyspark.sql", reason='Spark is not installed: pip install "properly[spark]"')
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Java, which Spark needs, is not installed")
    settings = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "1g",
        "spark.local.dir": str(tmp_path_factory.mktemp("spark")),
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    before = os.environ.get("PYSPARK_PYTHON")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = sql.SparkSession.builder.master("local[2,4]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
    os.environ.pop("PYSPARK_PYTHON")
    if before is not None:
        os.environ["PYSPARK_PYTHON"] = before
