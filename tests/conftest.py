"""Array libraries that formulas must run on, with the results of NumPy."""

import pytest


@pytest.fixture(params=["array_api_strict", "torch", "cupy", "jax.numpy"], scope="session")
def library(request):
    """The namespace of a library other than NumPy, with arrays of float64; skipped where it is not installed."""
    module = pytest.importorskip(request.param, reason=f"{request.param} is not installed")
    if request.param == "jax.numpy":
        import jax

        jax.config.update("jax_enable_x64", True)
    return module
