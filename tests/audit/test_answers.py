import numpy as np

from properly.audit import answer, audit


def test_rows_and_weights_are_told_apart():
    random = np.random.default_rng(0)
    p = random.random(200)
    y = random.random(200) < p
    assert (
        ": 200 rows with a total weight of 1 show no fault" in answer(audit(y, p, sample_weight=np.full(200, 0.005)))[0]
    )
    assert "weight" not in answer(audit(y, p))[0]
    assert "rescale them to a mean of 1" in answer(audit(y, p, sample_weight=np.full(200, 0.005)))[0]
    assert "rescale" not in answer(audit(y, p, sample_weight=np.full(200, 0.5)))[0]
