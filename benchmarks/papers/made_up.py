"""Tiny made-up data in the form of the real ones: studies run on them in seconds, and their results mean nothing."""

from __future__ import annotations

import gzip
import hashlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from properly.datasets import BENCHMARK_SETS

TABLES = ("pima", "haberman", "transfusion")  # data sets of `load_benchmark`


def make_up(folder: Path) -> None:
    """Write all data that the studies read."""
    random = np.random.RandomState(0)
    (folder / "MADE_UP").touch()
    for name in TABLES:
        write_table(folder, name, random)
    write_reuters(folder / "reuters21578" / "reuters21578.jsonl.gz", random)
    for region in ("CAN",):
        write_region(folder / "nceas", region, random)
    for kind, classes in (("binary", 2), ("multiclass", 3)):
        write_task(folder / "tasks" / kind / "made_up-model.npz", classes, random)


def write_table(folder: Path, name: str, random: np.random.RandomState, rows: int = 120) -> None:
    """A table of two features whose label follows the first; its checksum becomes the expected one."""
    entry = BENCHMARK_SETS[name]
    path = folder / entry.file
    path.parent.mkdir(parents=True, exist_ok=True)
    frame = pd.DataFrame(random.gamma(9.0, 4.0, size=(rows, 2)), columns=["plas", "mass"])
    positive = frame["plas"] + 8.0 * random.standard_normal(rows) > 44.0
    value = entry.positive.rpartition(" ")[2]
    frame[entry.label] = np.where(positive, int(value), int(value) - 1)
    frame.to_csv(path, index=False)
    BENCHMARK_SETS[name] = replace(entry, sha256=hashlib.sha256(path.read_bytes()).hexdigest())


def write_reuters(path: Path, random: np.random.RandomState, documents: int = 240) -> None:
    """Documents of ten topics; each topic has words of its own among common ones."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = []
    for number in range(documents):
        topic = number % 10
        own = [f"own{topic}{letter}" for letter in random.choice(list("abcdef"), size=random.poisson(2) + 1)]
        common = [f"common{word}" for word in random.randint(0, 60, size=20)]
        lines.append(
            {
                "newid": number,
                "modapte": "train" if number < documents * 2 // 3 else "test",
                "topics": [f"topic{topic}"],
                "title": own[0],
                "body": " ".join(own + common),
            }
        )
    text = "\n".join(json.dumps(line) for line in lines)
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def write_region(folder: Path, name: str, random: np.random.RandomState) -> None:
    """Presence records, background points and a survey of three species along two variables and a code."""
    folder.mkdir(parents=True, exist_ok=True)

    def places(n: int) -> pd.DataFrame:
        here = pd.DataFrame({"siteid": range(n), "x": random.uniform(size=n), "y": random.uniform(size=n)})
        warm, wet = random.standard_normal((2, n))
        return here.assign(alt=warm, asp2=wet, ontveg=random.randint(1, 4, size=n))

    species = ["can01", "can02", "can03"]
    records = pd.concat([places(40).assign(spid=name) for name in species], ignore_index=True)
    records["alt"] += records["spid"].map(dict(zip(species, (-1.0, 0.0, 1.0), strict=True)))
    records.assign(occ=1, group="bird").to_csv(folder / f"{name}_train_po.csv.gz", index=False)
    places(100).assign(spid="pseudo1", occ=0).to_csv(folder / f"{name}_train_bg.csv.gz", index=False)
    survey = places(60).assign(group="bird")
    for shift, each in zip((-1.0, 0.0, 1.0), species, strict=True):
        rank = (survey["alt"] - shift + random.standard_normal(60)).abs().rank()
        survey[each] = (rank <= (2, 6, 40)[int(shift) + 1]).astype(int)
    survey.to_csv(folder / f"{name}_test.csv.gz", index=False)


def write_task(path: Path, classes: int, random: np.random.RandomState) -> None:
    """Scores that are twice as sure as they should be, and labels."""
    path.parent.mkdir(parents=True, exist_ok=True)
    parts = {}
    for part, rows in (("cal", 150), ("test", 150)):
        logits = random.standard_normal((rows, classes))
        y = (logits + random.gumbel(size=logits.shape)).argmax(axis=1)
        y[:classes] = np.arange(classes)
        parts[f"{part}_scores"] = 2.0 * (logits[:, 1] - logits[:, 0] if classes == 2 else logits)
        parts[f"{part}_y"] = y
    np.savez(path, **parts)
