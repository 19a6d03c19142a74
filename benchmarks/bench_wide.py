"""As many columns as rows, 1,000 by 1,000: CPU seconds of models that choose from a grid or correct for rare events.

    OMP_NUM_THREADS=1 python benchmarks/bench_wide.py

writes benchmarks/results/wide.md.
"""

from __future__ import annotations

import platform
import time
import warnings
from importlib.metadata import version
from pathlib import Path

from properly.datasets import make_rare_events
from properly.linear import GEVCanonicalRegressionCV, RareEventLogisticRegression, TailoredLinearClassifierCV

RESULTS = Path(__file__).parent / "results" / "wide.md"
MODELS = (RareEventLogisticRegression(), GEVCanonicalRegressionCV(), TailoredLinearClassifierCV(0.2))


def main() -> None:
    X, y, _ = make_rare_events(1000, 1000, rate=0.2, random_state=0)
    lines = [
        "# As many columns as rows",
        "",
        f"One fit to 1,000 rows of 1,000 columns, default settings; Python {platform.python_version()}, "
        f"NumPy {version('numpy')}. Written by `benchmarks/bench_wide.py`.",
        "",
        "| model | CPU s |",
        "|---|---:|",
    ]
    for model in MODELS:
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y)
        lines.append(f"| {type(model).__name__} | {time.process_time() - began:.1f} |")
        RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
