"""AutoGluon's probabilities for bench_fit.py, run by the interpreter of an environment that has AutoGluon.

    python fit_autogluon.py FOLDER TARGET

reads train.parquet and test.parquet in the folder and writes probabilities.parquet there: medium quality without
neural networks, in the time that amounts to 40 s on two quiet cores. The limit is longer on a busy machine; if it
stops the fit before it had the processor time of the 40 s, the run fails, and must be repeated.
"""

import os
import sys
import time
from multiprocessing import Pool

import pandas as pd
from autogluon.tabular import TabularPredictor

SECONDS, CORES, MARGIN = 40.0, 2, 1.4
NEURAL = ["NN_TORCH", "FASTAI"]


def _busy(seconds: float) -> float:
    """The processor time that one process gets in so many seconds."""
    end, start = time.monotonic() + seconds, time.process_time()
    while time.monotonic() < end:
        pass
    return time.process_time() - start


def slowdown(seconds: float = 2.0) -> float:
    """How many times longer work takes now than on quiet cores."""
    with Pool(CORES) as pool:
        return max(1.0, CORES * seconds / sum(pool.map(_busy, [seconds] * CORES)))


def main() -> None:
    folder, target = sys.argv[1:]
    predictor = TabularPredictor(target, eval_metric="log_loss", path=f"{folder}/models", verbosity=0)
    train, test = (pd.read_parquet(f"{folder}/{name}.parquet") for name in ("train", "test"))
    limit = MARGIN * SECONDS * slowdown()
    start, cpu = time.monotonic(), sum(os.times()[:4])
    predictor.fit(
        train,
        presets="medium_quality",
        time_limit=limit,
        excluded_model_types=NEURAL,
        num_cpus=CORES,
        num_gpus=0,
    )
    took, cpu = time.monotonic() - start, sum(os.times()[:4]) - cpu
    print(f"AutoGluon: {took:.0f} of {limit:.0f} s, {cpu:.0f} s of processor time", flush=True)
    if took > 0.9 * limit and cpu < CORES * SECONDS:
        sys.exit("the limit came too early")
    predictor.predict_proba(test).to_parquet(f"{folder}/probabilities.parquet")


if __name__ == "__main__":
    main()
