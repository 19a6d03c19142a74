"""What one call costs on a small NumPy array, here and in another checkout, for instance one before array namespaces.

    python benchmarks/bench_namespace.py [../older-checkout/src]

Old and new run in turn, in processes of their own; the least processor time of all rounds counts. Fits and large arrays
are compared by ``against.py``.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

CODE = """
import json, sys, time, timeit
import numpy as np
import properly.links as links, properly.losses as losses, properly.calibration as calibration
from properly.linear import ProperLinearClassifier
random = np.random.RandomState(0)
v, p, y = random.normal(size=10), random.random_sample(10), np.arange(10) % 2
X = random.normal(size=(10, 3))
log_loss, platt = losses.Composite("log", "logit"), calibration.PlattScaling().fit(v, y)
linear = ProperLinearClassifier().fit(X, y)
calls = json.loads(sys.argv[1])
print(json.dumps([min(timeit.repeat(call, timer=time.process_time, number=500, repeat=9, globals=globals())) / 500
                  for call in calls]))
"""
CALLS = [
    "links.Logit().inverse(v)",
    "links.Probit().inverse(v)",
    "links.GEV(0.3).inverse_derivative(v)",
    "losses.LogLoss().loss1(p)",
    "log_loss.gradient(y, v)",
    "platt.predict_proba(v)",
    "linear.predict_proba(X)",
]


def seconds(source: str) -> list[float]:
    environment = os.environ | {"PYTHONPATH": source, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", CODE, json.dumps(CALLS)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return list(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    sources = [*sys.argv[1:2], str(Path(__file__).parents[1] / "src")]
    rounds = [[seconds(source) for source in sources] for _ in range(4)]
    print(f"| call, on 10 numbers | {'other checkout | ' if len(sources) > 1 else ''}this one |")
    print("|---|" + "---|" * len(sources))
    for number, call in enumerate(CALLS):
        best = (min(each[place][number] for each in rounds) for place in range(len(sources)))
        print(f"| `{call}` | " + " | ".join(f"{1e6 * time:.1f} µs" for time in best) + " |")


if __name__ == "__main__":
    main()
