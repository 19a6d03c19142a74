"""The demo runs, and what it says follows from its numbers."""

import csv

import pytest

from properly import demo


@pytest.fixture(scope="module")
def small():
    patch = pytest.MonkeyPatch()
    patch.setattr(demo, "N_TRAIN", 3000)
    patch.setattr(demo, "N_TEST", 3000)
    yield
    patch.undo()


def test_it_leaves_a_table_and_a_figure(small, tmp_path, capsys):
    demo.main(["--output", str(tmp_path / "out")])
    shown = capsys.readouterr().out
    assert "RMSE to truth" in shown
    with (tmp_path / "out" / "rare_events.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["method"] for row in rows][1:4] == ["logistic", "probit", "cloglog"]
    assert float(rows[0]["rmse"]) == 0.0
    assert all(0.0 < float(row["rmse"]) < 0.1 for row in rows[1:])
    best = min(rows[1:], key=lambda row: float(row["rmse"]))
    assert f"Closest to the true probabilities is {best['method']}" in shown
    assert (tmp_path / "out" / "rare_events.png").read_bytes()[:4] == b"\x89PNG"
