"""Models, fitted and asked for predictions here, then in forked, spawned and loky's processes, threads and tasks.

    python processes.py boosting | average

A forked process that waits for threads of its parent would never end; an alarm ends it after a minute.
"""

import asyncio
import os
import pickle
import signal
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import numpy as np
from joblib import Parallel, delayed
from sklearn.datasets import make_classification

from properly.boosting import ProperBoostingClassifier
from properly.comparison import BestProbabilities

AVERAGE = "average" in sys.argv  # which spawned processes see as well
X, Y = make_classification(400 if AVERAGE else 5000, 8, n_informative=5, flip_y=0.1, random_state=0)


def fitted(n_jobs):
    if AVERAGE:
        return BestProbabilities("logistic,boosting,extra_trees", cv=2, calibration="platt").fit(X, Y)
    return ProperBoostingClassifier(n_estimators=10, random_state=0, n_jobs=n_jobs).fit(X, Y)


def refitted(n_jobs):
    signal.alarm(60)
    return fitted(n_jobs).predict_proba(X)


def predicted(model):
    signal.alarm(60)
    return model.predict_proba(X)


def forked(function, argument):
    """What a function returns in a forked process."""
    reader, writer = os.pipe()
    process = os.fork()
    if process == 0:
        with os.fdopen(writer, "wb") as file:
            pickle.dump(function(argument), file)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as file:
        data = file.read()
    os.waitpid(process, 0)
    return pickle.loads(data) if data else np.nan


async def tasks(model):
    both = asyncio.to_thread(model.predict_proba, X), asyncio.to_thread(lambda: fitted(None).predict_proba(X))
    return await asyncio.gather(*both)


def results(model):
    unread = pickle.loads(pickle.dumps(model))  # its trees are read where it is used
    yield "fork, then predict", [forked(predicted, model), forked(predicted, unread)]
    yield "fork, then fit", [forked(refitted, None), forked(refitted, 2)]
    for start in ("fork", "spawn"):
        with ProcessPoolExecutor(2, mp_context=get_context(start)) as pool:
            yield f"pool by {start}", [*pool.map(predicted, [model] * 2), *pool.map(refitted, [None, 2])]
    calls = [delayed(predicted)(model), delayed(refitted)(None)]
    yield "loky", Parallel(2, backend="loky")(calls)
    with ThreadPoolExecutor(4) as pool:
        yield (
            "threads",
            [*pool.map(model.predict_proba, [X] * 8), *pool.map(lambda _: fitted(2).predict_proba(X), "ab")],
        )
    yield "asyncio", asyncio.run(tasks(model))


if __name__ == "__main__":
    usual = fitted(None)
    p = usual.predict_proba(X)
    for name, found in results(usual):
        print(name if all(np.array_equal(each, p) for each in found) else f"{name}: other probabilities")
        sys.stdout.flush()
    print("end")
