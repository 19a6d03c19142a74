"""Fits, calibration and metrics of tensors on a card: times, coefficient errors, memory.

    python benchmarks/bench_gpu.py                  # one CUDA card with 40 GiB or more: about 8 minutes
    python benchmarks/bench_gpu.py --seconds 120    # sections that begin later are left out, and named
    python benchmarks/bench_gpu.py --small          # 1/100 of the rows

Without a card it runs small sizes on the host, which shows that it runs and results agree, nothing about speed.
Writes benchmarks/results/gpu.md. PyTorch is needed; scikit-learn is timed on the host, and cuML where it is installed.
"""

from __future__ import annotations

import argparse
import contextlib
import platform
import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from properly import kernels
from properly.calibration import AutoCalibration, IsotonicCalibration, PlattScaling
from properly.engines import DeviceEngine
from properly.kernels import LinearModel
from properly.linear import GEVCanonicalRegression, GEVCanonicalRegressionCV, ProperLinearClassifier
from properly.losses import Composite, GEVLoss
from properly.metrics import auc, brier_score, expected_calibration_error, log_loss
from properly.numeric import arrays

RESULTS = Path(__file__).parent / "results" / "gpu.md"
ON_CARD = torch.cuda.is_available()
DEVICE = torch.device("cuda" if ON_CARD else "cpu")
MODELS = {
    "logistic": ProperLinearClassifier(),
    "GEV, xi = -0.2": GEVCanonicalRegression(-0.2),
    "GEV, xi = 0.1": GEVCanonicalRegression(0.1),
    "GEV, xi = 0.37": GEVCanonicalRegression(0.37),
}
ROUNDS = 3


def timed(work: Callable[[], Any], rounds: int = ROUNDS) -> tuple[float, Any]:
    """The median time of some rounds, and the last result."""
    times, result = [], None
    for _ in range(rounds):
        synchronise()
        start = time.perf_counter()
        result = work()
        synchronise()
        times.append(time.perf_counter() - start)
    return statistics.median(times), result


def synchronise() -> None:
    if ON_CARD:
        torch.cuda.synchronize()


@contextlib.contextmanager
def plain_path() -> Iterator[None]:
    """Without Triton."""
    before = arrays._fused
    arrays._fused = lambda device: None  # type: ignore[assignment]
    try:
        yield
    finally:
        arrays._fused = before


def rows(n: int, k: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Normal features in float32, and labels of which about 0.8 % are 1."""
    generator = torch.Generator(DEVICE).manual_seed(seed)
    coef = 0.15 * torch.randn(k, device=DEVICE, generator=generator)
    X = torch.empty((n, k), device=DEVICE, dtype=torch.float32)
    y = torch.empty(n, device=DEVICE, dtype=torch.int8)
    step = 1_000_000
    for i in range(0, n, step):
        part = X[i : i + step].normal_(generator=generator)
        chance = torch.rand(len(part), device=DEVICE, generator=generator)
        y[i : i + step] = (chance < torch.sigmoid(part @ coef - 4.9)).to(torch.int8)
    return X, y


class Page:
    """The table, printed while it grows."""

    def __init__(self, seconds: float, full: bool) -> None:
        self.lines: list[str] = []
        self.full = full  # goals are for the full sizes on a card
        self.start, self.seconds = time.perf_counter(), seconds

    def row(self, what: str, goal: str, found: str, note: str = "") -> None:
        self.lines.append(f"| {what} | {goal if self.full else ''} | {found} | {note} |")
        print(f"{time.perf_counter() - self.start:6.1f} s  {what}: {found} {note}", flush=True)

    def section(self, work: Callable[..., None], *arguments: Any) -> None:
        """Left out when the time is over; an error is a line of the table, not the end of it."""
        if time.perf_counter() - self.start > self.seconds:
            self.row(work.__name__.replace("_", " "), "", "left out", f"after {self.seconds:.0f} s")
            return
        try:
            work(self, *arguments)
        except Exception as error:
            self.row(
                work.__name__.replace("_", " "), "", "failed", f"{type(error).__name__}: {error}".replace("|", "/")
            )
        if ON_CARD:
            torch.cuda.empty_cache()

    def write(self, sizes: dict[str, int]) -> None:
        if ON_CARD:
            where = f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, CUDA {torch.version.cuda}."
        else:
            where = (
                f"**No card was there: small sizes on the host** ({platform.machine()}, PyTorch {torch.__version__}). "
                "The table shows that the script runs and that results agree; its times say nothing about a card, for "
                "which all goals are."
            )
        listed = ", ".join(f"{name} {size:,}" for name, size in sizes.items())
        head = ["# On a card", "", "Written by `benchmarks/bench_gpu.py`. " + where, "", f"Sizes: {listed}.", ""]
        head += [f"Times are medians of {ROUNDS} rounds after one that warms up; that of the grid is of one round.", ""]
        head += ["| what | goal | found | note |", "|---|---|---|---|"]
        RESULTS.write_text("\n".join([*head, *self.lines, ""]))


def passes_over_X(page: Page, X: torch.Tensor, y: torch.Tensor) -> None:
    torch.sum(X)
    once, _ = timed(lambda: torch.sum(X))
    page.row("reading X once", "", f"{1e3 * once:.2f} ms", f"{X.nbytes / once / 1e9:,.0f} GB/s")
    engine, coef = DeviceEngine(X, y), np.full((1, X.shape[1] + 1), 0.01)
    for name, model in MODELS.items():
        composite = Composite("log") if name == "logistic" else Composite(GEVLoss(model.xi))
        linear = LinearModel(composite)
        for kind, each in {"float64": engine, "float32": engine.rough(linear)}.items():
            if each is None:
                continue
            each.reduce(kernels.gradient, linear, coef, False)
            taken, _ = timed(lambda each=each, linear=linear: each.reduce(kernels.gradient, linear, coef, False))
            goal = "1.3" if kind == "float32" else ""
            page.row(f"gradient, {name}, {kind}: times reading X", goal, f"{taken / once:.2f}", f"{1e3 * taken:.1f} ms")
        with plain_path():
            engine.reduce(kernels.gradient, linear, coef, False)
            taken, _ = timed(lambda linear=linear: engine.reduce(kernels.gradient, linear, coef, False), 1)
            page.row(
                f"gradient, {name}, without Triton: times reading X", "", f"{taken / once:.1f}", f"{1e3 * taken:.1f} ms"
            )
    taken, _ = timed(lambda: engine.reduce(kernels.moments, None))
    page.row("describing pass (moments)", "", f"{1e3 * taken:.1f} ms")
    taken, _ = timed(lambda: engine.reduce(kernels.hessian, LinearModel(Composite("log")), coef, False, None), 1)
    page.row("a curvature matrix of all rows (not part of a fit)", "", f"{1e3 * taken:.0f} ms")


def fits(page: Page, X: torch.Tensor, y: torch.Tensor) -> None:
    for name, model in MODELS.items():
        exact = model.set_params(tol=1e-12).fit(X, y).coef_
        for tol, goal in ((1e-8, "0.15 (0.08)"), (1e-6, "(0.05)")):
            model.set_params(tol=tol).fit(X, y)
            if ON_CARD:
                torch.cuda.reset_peak_memory_stats()
                before = torch.cuda.memory_allocated()
            taken, fitted = timed(lambda model=model: model.fit(X, y))
            error, solution = float(np.abs(fitted.coef_ - exact).max()), fitted.solutions_[0]
            note = f"error {error:.1e}, {solution.passes} passes, {solution.status.name}"
            page.row(f"fit, {name}, tol {tol:.0e}, s", goal, f"{taken:.3f}", note)
            if ON_CARD and tol == 1e-8:
                peak = torch.cuda.max_memory_allocated() / before
                page.row(f"peak memory of that fit, times the data ({before / 2**30:.1f} GiB)", "1.1", f"{peak:.3f}")
        with plain_path():
            model.set_params(tol=1e-8).fit(X, y)
            taken, fitted = timed(lambda model=model: model.fit(X, y))
            error = float(np.abs(fitted.coef_ - exact).max())
            page.row(f"fit, {name}, tol 1e-08, without Triton, s", "0.4", f"{taken:.3f}", f"error {error:.1e}")


def scoring(page: Page, X: torch.Tensor, y: torch.Tensor) -> None:
    for name in ("logistic", "GEV, xi = 0.37"):
        model = MODELS[name].set_params(tol=1e-8).fit(X, y)
        model.predict_proba(X)
        taken, p = timed(lambda model=model: model.predict_proba(X))
        part = X[:1000].cpu().numpy().astype(np.float64)
        apart = float(np.abs(p[:1000].cpu().numpy() - model.predict_proba(part)).max())
        page.row(f"probabilities of all rows, {name}, s", "0.02", f"{taken:.4f}", f"from NumPy's: {apart:.1e}")


def grid(page: Page, n: int, k: int) -> None:
    X, y = rows(n, k, 1)
    GEVCanonicalRegressionCV().fit(X[: n // 100], y[: n // 100])
    taken, model = timed(lambda: GEVCanonicalRegressionCV().fit(X, y), 1)
    page.row(f"GEVCanonicalRegressionCV, {n:,} x {k}, s", "3", f"{taken:.2f}", f"best xi {model.xi_:g}")


def agreement(page: Page) -> None:
    random = np.random.default_rng(0)
    X = random.normal(size=(100_000, 10))
    rotated, _ = np.linalg.qr(random.normal(size=(10, 10)))
    ill = X @ (rotated * np.logspace(0, -4, 10)) @ rotated.T
    score = X @ np.linspace(-0.5, 0.5, 10)
    for what, rows_of, shift in (("ordinary", X, -1.0), ("rare", X, -5.0), ("ill-conditioned", ill, -1.0)):
        y = (random.random(len(X)) < 1.0 / (1.0 + np.exp(-(score + shift)))).astype(np.int8)
        for kind in (np.float64, np.float32):
            given = rows_of.astype(kind)
            for name, model in MODELS.items():
                model.set_params(tol=1e-12)
                expected = model.fit(given.astype(np.float64), y).coef_
                found = model.fit(torch.asarray(given, device=DEVICE), torch.asarray(y, device=DEVICE)).coef_
                apart = float(np.abs(found - expected).max())
                page.row(f"coefficients from NumPy's, {what}, {name}, {kind.__name__}", "1e-8", f"{apart:.1e}")


def calibration(page: Page, n: int, n_host: int) -> None:
    generator = torch.Generator(DEVICE).manual_seed(2)
    score = 2.0 * torch.randn(n, device=DEVICE, generator=generator, dtype=torch.float64)
    y = (torch.rand(n, device=DEVICE, generator=generator) < torch.sigmoid(0.7 * score - 1.0)).to(torch.int8)
    few, labels = score[:n_host].cpu().numpy(), y[:n_host].cpu().numpy()
    peers = {
        "isotonic": (IsotonicCalibration(), lambda: IsotonicRegression(out_of_bounds="clip").fit(few, labels)),
        "Platt": (PlattScaling(noisy_labels=False), lambda: LogisticRegression(C=np.inf).fit(few[:, None], labels)),
        "AutoCalibration": (AutoCalibration(), None),
    }
    for name, (model, peer) in peers.items():
        model.fit(score[: n // 100], y[: n // 100])
        taken, _ = timed(lambda model=model: model.fit(score, y), 1)
        note = ""
        if peer is not None:
            host, _ = timed(peer, 1)
            note = f"scikit-learn on the host, {n_host:,} scores: {host:.2f} s"
        page.row(f"{name}, {n:,} scores, s", "", f"{taken:.3f}", note)
        taken, p = timed(lambda model=model: model.predict_proba(score), 1)
        page.row(f"{name}, prediction of them, s", "", f"{taken:.3f}")
    for metric in (log_loss, brier_score, auc, expected_calibration_error):
        metric(y[: n // 100], p[: n // 100])
        taken, _ = timed(lambda metric=metric: metric(y, p), 1)
        page.row(f"{metric.__name__}, {n:,} rows, s", "", f"{taken:.3f}")


def cuml_fit(page: Page, X: torch.Tensor, y: torch.Tensor) -> None:
    try:
        from cuml.linear_model import LogisticRegression as CumlRegression
    except ImportError:
        page.row("cuML", "", "not installed")
        return
    taken, _ = timed(lambda: CumlRegression(C=1.0, tol=1e-8, max_iter=1000).fit(X, y.to(torch.float32)), 1)
    page.row("cuML's LogisticRegression, tol 1e-08, s", "", f"{taken:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=480.0)
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    share = 1 if ON_CARD and not options.small else 100
    sizes = {
        "rows": 50_000_000,
        "rows of the grid": 10_000_000,
        "scores": 100_000_000,
        "scores on the host": 10_000_000,
    }
    sizes = {name: size // share for name, size in sizes.items()}
    columns = {"columns": 100, "columns of the grid": 50} if share == 1 else {"columns": 20, "columns of the grid": 10}
    sizes |= columns
    page = Page(options.seconds, full=share == 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        X, y = rows(sizes["rows"], sizes["columns"])
        page.section(passes_over_X, X, y)
        page.section(fits, X, y)
        page.section(scoring, X, y)
        page.section(cuml_fit, X, y)
        del X, y
        page.section(agreement)
        page.section(grid, sizes["rows of the grid"], sizes["columns of the grid"])
        page.section(calibration, sizes["scores"], sizes["scores on the host"])
    page.write(sizes)
    print(f"written to {RESULTS}")


if __name__ == "__main__":
    main()
