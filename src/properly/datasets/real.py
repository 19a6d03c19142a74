"""Real data sets with a binary label, read from a folder of the user's: none of them is part of the package."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from properly.inputs.optional import require
from properly.inputs.options import choose

if TYPE_CHECKING:
    import pandas

FOLDER_VARIABLE = "PROPERLY_DATA"


@dataclass(frozen=True)
class BenchmarkSet:
    """Where a data set is found, how it is recognised, and which rows of it are positive."""

    file: str  # within the folder; a CSV file has a header and the label last
    sha256: str  # of that file
    origin: str  # where the public has the data from
    positive: str  # the rule, as pandas evaluates it; the column it names first is the label
    dropped: tuple[str, ...] = ()  # columns that are no features
    categories: tuple[str, ...] = ()  # columns whose numbers are codes

    @property
    def label(self) -> str:
        return self.positive.partition(" ")[0]


# Several of these sets have no clear licence for redistribution; that is why only their checksums are here.
BENCHMARK_SETS: dict[str, BenchmarkSet] = {
    "abalone": BenchmarkSet(
        "abalone/abalone.csv.gz",
        "64b9fcf171abaee6cedf938c037ad1a886ea6705230002342e64d3aa7338496e",
        "GitHub jbrownlee/Datasets@d20fcb64:abalone.csv",
        "target == 19",
    ),
    "adult": BenchmarkSet(
        "adult/adult.csv.gz",
        "5368afa0edede45e501282978cb6059f4d36d9d2884cefbea5ba5b24f6cffbad",
        "GitHub jbrownlee/Datasets@d20fcb64:adult-train.csv + adult-test.csv",
        "target == '>50K'",
        dropped=("split",),
    ),
    "car": BenchmarkSet(
        "car/car.csv.gz",
        "5c51103b727a71ccb2bd469c1310b12581efdc78968f8353f6f934669a046407",
        "GitHub renatopp/arff-datasets@c59f1728:classification/car.arff",
        "target == 'vgood'",
    ),
    "cmc": BenchmarkSet(
        "cmc/cmc.csv.gz",
        "3c713e4b4c01960cc3f734385e549fb8ece2fe8f81710e768148a21a08b0fbf4",
        "GitHub renatopp/arff-datasets@c59f1728:classification/cmc.arff",
        "target == 2",
        categories=("Husbands_occupation",),
    ),
    "covtype": BenchmarkSet(
        "covtype/covtype.parquet",
        "8e534c55ad6f37697f7c0f0072742d0d8f7acdb2841f6f79651769fe21c242c2",
        "PyPI scikit-multiflow 0.4.1 sdist: src/skmultiflow/data/datasets/covtype.csv",
        "target == 4",
        categories=("Wilderness_Area", "Soil_Type"),
    ),
    "ecoli": BenchmarkSet(
        "ecoli/ecoli.csv.gz",
        "07b6f2635f4fdcdd6af7c011c26af48b13b178332ea9015eb4b37e9d7bd3933e",
        "GitHub jbrownlee/Datasets@d20fcb64:ecoli.csv",
        "target == 'om'",
    ),
    "flights_3m": BenchmarkSet(
        "flights_3m/flights-3m.parquet",
        "dbeb920c90f59b6ccaff823dcc3d08f25a97fa1ce128d93f40be4e931f5900b0",
        "npm vega-datasets 3.2.1: data/flights-3m.parquet",
        "delay >= 180",
    ),
    "german_credit": BenchmarkSet(
        "german_credit/german_credit.csv.gz",
        "40c3573c7fd198ce2b9198b05f4063374593843b2114adfdf65fa99a4dc070b6",
        "GitHub jbrownlee/Datasets@d20fcb64:german.csv",
        "target == 2",
    ),
    "glass": BenchmarkSet(
        "glass/glass.csv.gz",
        "9df721649c6d946d1435035a4dc65cd88f1fa8f03af9188416629a48402be90b",
        "GitHub jbrownlee/Datasets@d20fcb64:glass.csv",
        "target == 6",
    ),
    "haberman": BenchmarkSet(
        "haberman/haberman.csv.gz",
        "e796426ed0ac48e0cdf34e4f23d02cbdb505872ee1954927f5e4d87c73587e8c",
        "GitHub jbrownlee/Datasets@d20fcb64:haberman.csv",
        "target == 2",
    ),
    "letter": BenchmarkSet(
        "letter/letter.csv.gz",
        "d7b048fc30942eb2bb92188d8dc24e482e41f26b19cd95fdf20c280055397d5a",
        "GitHub renatopp/arff-datasets@c59f1728:classification/letter.arff",
        "target == 'Z'",
    ),
    "mammography": BenchmarkSet(
        "mammography/mammography.csv.gz",
        "077c19c3cc53a17d4b5d8fe01f0adf1dc46cb7d20b7448764fa3acf1c08eb0c3",
        "GitHub jbrownlee/Datasets@d20fcb64:mammography.csv",
        "target == 1",
    ),
    "nursery": BenchmarkSet(
        "nursery/nursery.csv.gz",
        "26677e71695f5a1e264a80c584a07f2c5e525490d276a32ef9c5f50226aebcd0",
        "GitHub renatopp/arff-datasets@c59f1728:classification/nursery.arff",
        "target == 'very_recom'",
    ),
    "page_blocks": BenchmarkSet(
        "page_blocks/page_blocks.csv.gz",
        "6797dd982ae21206a6df3777c15514723af91437d00b38f64f00938a79533c48",
        "GitHub renatopp/arff-datasets@c59f1728:classification/page.blocks.arff",
        "target == 3",
    ),
    "phoneme": BenchmarkSet(
        "phoneme/phoneme.csv.gz",
        "7b9c9bb66beb27aea43015a6456e4bf32dbf43791c36648bbb467508a7ccbd45",
        "GitHub jbrownlee/Datasets@d20fcb64:phoneme.csv",
        "target == 1",
    ),
    "pima": BenchmarkSet(
        "pima/pima.csv.gz",
        "f1ade9f3c20f99e063587506db1ffca0232898cc5d9ee6b92834b69c74c86a9c",
        "GitHub jbrownlee/Datasets@d20fcb64:pima-indians-diabetes.csv",
        "target == 1",
    ),
    "satimage": BenchmarkSet(
        "satimage/satimage.csv.gz",
        "b9459a33851a4197938dc96d9471ea89b90391f06a1b85e372f33aa0cee5975d",
        "Debian r-cran-mlbench 2.1-3-1: data Satellite",
        "target == 'damp grey soil'",
    ),
    "spambase": BenchmarkSet(
        "spambase/spambase.csv.gz",
        "9740e7acb6dd84de27a00142d96e924d8e524ac83e6808148407bff5e6f974c2",
        "GitHub renatopp/arff-datasets@c59f1728:classification/spambase.arff",
        "target == 1",
    ),
    "transfusion": BenchmarkSet(
        "transfusion/transfusion.csv.gz",
        "c2928f3ea141b112c25eedbb7305206741421f8c89ba40421dbda4c15695100d",
        "GitHub miguelmorin/PolyaGamma@b9557046:transfusion.data",
        "target == 1",
    ),
    "vehicle": BenchmarkSet(
        "vehicle/vehicle.csv.gz",
        "60bdab839f95df12bba5210435a34169fc280d39155a6b9af9f3033e1e458688",
        "GitHub renatopp/arff-datasets@c59f1728:classification/vehicle.arff",
        "target == 'van'",
    ),
    "winequality_red": BenchmarkSet(
        "winequality_red/winequality_red.csv.gz",
        "cb8c6221239907882fc0b7fd6ed920c21678b724e67e0afeddef6508696833fd",
        "GitHub jbrownlee/Datasets@d20fcb64:winequality-red.csv",
        "target <= 4",
    ),
    "yeast": BenchmarkSet(
        "yeast/yeast.csv.gz",
        "49a7831104bd99882fc25e114f26f92cfe5e4bd68773c62dd22437e765766db2",
        "GitHub bellasaid/CMSE202@407f072f:yeast.data",
        "target == 'ME2'",
    ),
}


def load_benchmark(name: str) -> tuple[pandas.DataFrame, NDArray[np.int64]]:
    """Load a real data set with a binary label: the features as a data frame, and the label as 0 and 1.

    The files are not part of the package. They are looked for in the folder that the environment variable
    ``PROPERLY_DATA`` names, and recognised by their SHA-256, so that results can be compared between machines; a
    missing file is reported with the public origin of the data. Needs pandas, and pyarrow for Parquet.

    Parameters
    ----------
    name : str
        A key of `BENCHMARK_SETS`, whose entries give file, checksum, origin and the rule for the positive class.

    Returns
    -------
    X : pandas.DataFrame
        Features as the file has them: numbers, texts, NaN for empty cells. Numbers that are codes of categories
        have pandas' ``category`` type.
    y : ndarray of 0 and 1
        1 where the rule holds, e.g. ``"target == 19"`` for abalone (19 rings), 0.8 % of the rows.

    Examples
    --------
    >>> from properly.datasets import BENCHMARK_SETS, load_benchmark
    >>> BENCHMARK_SETS["mammography"].positive
    'target == 1'
    >>> X, y = load_benchmark("mammography")  # doctest: +SKIP
    """
    entry = choose(name, BENCHMARK_SETS, "name")
    pandas = require("pandas", "frames")
    path = _verified(name, entry)
    frame = pandas.read_parquet(path) if path.suffix == ".parquet" else pandas.read_csv(path)
    y = frame.eval(entry.positive, engine="python").to_numpy().astype(np.int64)
    X = frame.drop(columns=[entry.label, *entry.dropped])
    return X.astype(dict.fromkeys(entry.categories, "category")), y


def _verified(name: str, entry: BenchmarkSet) -> Path:
    """The path of the file, which exists and has the checksum expected."""
    folder = os.environ.get(FOLDER_VARIABLE)
    remedy = (
        f"get the data from {entry.origin}, store them as {entry.file} (sha256 {entry.sha256}) in a folder of your "
        f"choice, and name this folder in the environment variable {FOLDER_VARIABLE}."
    )
    if not folder:
        raise FileNotFoundError(
            f"the data set {name!r} is not part of properly, and {FOLDER_VARIABLE} is not set; {remedy}"
        )
    path = Path(folder) / entry.file
    if not path.is_file():
        raise FileNotFoundError(f"the data set {name!r} was expected at {path}, where no file is; {remedy}")
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != entry.sha256:
        raise ValueError(
            f"the file {path} has sha256 {found}, but the data set {name!r} must have {entry.sha256}: it is another "
            f"version or damaged; {remedy}"
        )
    return path
