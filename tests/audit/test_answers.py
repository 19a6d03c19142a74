import numpy as np

from properly.audit import answer, audit


def test_rows_and_weights_are_told_apart():
    random = np.random.default_rng(0)
    p = random.random(200)
    y = random.random(200) < p
    assert (
        ": 200 rows, weighted to count as 400, show no fault" in answer(audit(y, p, sample_weight=np.full(200, 2.0)))[0]
    )
    unequal = answer(audit(y, p, sample_weight=np.repeat([0.01, 0.03], 100)))[0]
    assert ": 200 rows, weighted to count as 160, show no fault" in unequal  # (100 + 300)²/(100 + 900)
    assert "weighted" not in answer(audit(y, p))[0]
    assert answer(audit(y, p, sample_weight=np.full(200, 0.005))) == answer(audit(y, p))
