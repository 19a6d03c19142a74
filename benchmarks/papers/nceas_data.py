"""The NCEAS data: 226 species of six regions, presence records to learn from and planned surveys to be judged by.

The files are read in place from the folder named by the environment variable PROPERLY_DATA, one region at a time, and
never copied.

- J. Elith et al., "Presence-only and presence-absence data for comparing species distribution modeling methods",
  Biodiversity Informatics 15:69–80, 2020: the data.
- S. J. Phillips, M. Dudík, J. Elith et al., "Sample selection bias and presence-only distribution models: implications
  for background and pseudo-absence data", Ecological Applications 19:181–197, 2009: the target groups.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from study import read_verified

FOLDER = "nceas"
ORIGIN = """\
The NCEAS data (Elith et al. 2020, Biodiversity Informatics 15:69–80) are published as the R package disdat, at
https://github.com/rspatial/disdat (inst/extdata/*.rds; here commit d0bbc328) and at https://osf.io/kwc4v. Here each
table is expected as nceas/REGION_train_po.csv.gz (presence records: siteid, spid, x, y, occ, group, environment),
nceas/REGION_train_bg.csv.gz (10,000 random background points: the same without group) and nceas/REGION_test*.csv.gz
(surveys: group, siteid, x, y, environment, then 0 or 1 for every species)."""

SHA256 = {
    "AWT_test_bird": "c428118bf85808d5d9ece1e663c462e0b27b7d23493b4236288bb1129ff69319",
    "AWT_test_plant": "79be945f070cbea2849212cdda224531d6dd94f54c3cf09a386a0eab3e66717c",
    "AWT_train_bg": "a55c2adece2dedd961ef3f195a1893e7ba96ebf94afae8f7bc0d4103bc78e679",
    "AWT_train_po": "63591810218b4554467a04ec765f0bf87c584fcc1ea24eb489da1656e51ef72b",
    "CAN_test": "49a46d2a6dffef24820fa338bd0d79d61c67f112df6150d079441d6f9218aa2a",
    "CAN_train_bg": "d3df28d72a0a4c7620449fadfbd8a6c4aabd97b3921bc6435713fc8e63e2cc6a",
    "CAN_train_po": "d650e81e05f43261571fbb160ccc0a4d30fdc21e77875dc50285ddf418e38fa2",
    "NSW_test_ba": "f69ae7bb43c69ad619f897e682451c1384fa0d799c0e8ecb9741985a38ff15ba",
    "NSW_test_db": "d592abedb2b27d45a33f1950699be51eb6025cc974810a573d536b56a0372280",
    "NSW_test_nb": "4e8a2b245ebd160999d6d8bdad3a916c47d386f9103a7cf43daafe8b3be753f9",
    "NSW_test_ot": "d5334c120950073ad4417bb2c182f9a948eb91add5f3a761bdaae1391c925fd4",
    "NSW_test_ou": "961dc46188d03f9e1b6c3f24074c15f2787720c8ff93a66db9a7e2e2d61fbcad",
    "NSW_test_rt": "1d0c3917f431fe8ab254d762e6ebb0907149eecaf4bdc6038451091bb33fc31a",
    "NSW_test_ru": "e1347de3003d1a446b806c46027f21343ca28ef1e46a8b3e6c0fa2ba4642ddc9",
    "NSW_test_sr": "f38a56a05e71e62f46f85707434ece7576e56777d2d282b198f66770a77def01",
    "NSW_train_bg": "108f43e0cf78649456a256cdd9655b4f71250f5552ef1d1556c2179f4d68a91b",
    "NSW_train_po": "58b611d6c1dda3a38853a56d48af8dae46f8ab570f384b2d69ded587329fb9e0",
    "NZ_test": "49ed2d4216e173b3f72f75a32616351a3be764b7f1a8623d9620807bba3a42b1",
    "NZ_train_bg": "c9476ceb08d9e02298cd0a2eddb50143fc1e36021bd1479fa096a9ea095449f1",
    "NZ_train_po": "761d1c62d6311bf76ed6489168c13f493f2b14518fdf588169b1ce6893f00455",
    "SA_test": "ea49b77824a76e8689f45a4d80c620906f6402e859126db4b6db690a7894bc37",
    "SA_train_bg": "0084297ab19ddaee85dc7a1e9859f79be9b735e7b3601fbd365737dc6a7c1f75",
    "SA_train_po": "0c77dcb2b11f1e2a4d5a1b5baea19139a51e7eaec87a9cfa70bd01f6e05253a5",
    "SWI_test": "7e644c87173ec9ea928bc9afb2f12b9e2a40efcfd6fcefaa6f679d1518fb9316",
    "SWI_train_bg": "0f260821c0ffa1aad92732852e0ba26c91121b48e2fb8bd49c1ea3aff49ad03e",
    "SWI_train_po": "46cdb396ea84fe30f9a0363833d2697fe11c0749ce202c3817a174e6487f1a94",
}
REGIONS = ("AWT", "CAN", "NSW", "NZ", "SA", "SWI")
N_SPECIES = 226
QUICK_REGIONS = ("CAN",)  # twenty species
# Records of these groups come from collectors of the same kind, so each serves the others as background.
TARGET_GROUPS = {"ba": "bat", "db": "bird", "nb": "bird", "sr": "reptile"} | dict.fromkeys(
    ("ot", "ou", "rt", "ru"), "plant"
)
# Columns whose numbers are codes. Disturbance and soil fertility of NSW are codes too, but ordered ones.
CATEGORIES = ("ontveg", "vegsys", "age", "toxicats", "calc")
NOT_ENVIRONMENT = ("siteid", "spid", "x", "y", "occ", "group")

Presence = NDArray[np.bool_]


@dataclass(frozen=True)
class Survey:
    """A planned survey: the environment of its sites, and which of its species (columns) were found there."""

    environment: pd.DataFrame
    species: list[str]
    present: Presence


@dataclass(frozen=True)
class TargetGroup:
    """The places where any species of a biological group was recorded, and the surveys that judge its species.

    A place is a distinct environment within the group: records that no model can tell apart, mostly of one map
    cell, count once for a species, as in the Maxent program.
    """

    region: str
    name: str
    environment: pd.DataFrame
    species: list[str]
    present: Presence  # (places, species)
    surveys: list[Survey]


@dataclass(frozen=True)
class Region:
    """The target groups of a region, and random points of its map."""

    name: str
    groups: list[TargetGroup]
    random_points: pd.DataFrame


def read_regions(names: tuple[str, ...] = REGIONS) -> Iterator[Region]:
    """The regions one after the other, so that memory holds one of them."""
    for name in names:
        yield read_region(name)


def read_region(name: str) -> Region:
    records = _read(f"{name}_train_po")
    records["group"] = records["group"].replace(TARGET_GROUPS)
    variables = [column for column in records if column not in NOT_ENVIRONMENT]
    random_points = _read(f"{name}_train_bg")[variables]
    tests = [_read(file) for file in SHA256 if file.startswith(f"{name}_test")]
    codes = {
        column: pd.CategoricalDtype(sorted(set(pd.concat(table[column] for table in (records, random_points, *tests)))))
        for column in variables
        if column in CATEGORIES
    }
    groups = []
    for group, rows in records.groupby("group", sort=True):
        places = rows.groupby(variables, sort=False)
        environment = rows[variables].drop_duplicates().reset_index(drop=True)
        species = sorted(rows["spid"].unique())
        present = np.zeros((len(environment), len(species)), dtype=bool)
        present[places.ngroup(), np.searchsorted(species, rows["spid"])] = True
        surveys = []
        for test in tests:
            surveyed = [column for column in test if column in species]
            if surveyed:
                surveys.append(Survey(test[variables].astype(codes), surveyed, test[surveyed].to_numpy() == 1))
        groups.append(TargetGroup(name, str(group), environment.astype(codes), species, present, surveys))
    return Region(name, groups, random_points.astype(codes))


def _read(file: str) -> pd.DataFrame:
    """One table, if it is the expected version."""
    content = read_verified(Path(FOLDER) / f"{file}.csv.gz", SHA256[file], ORIGIN)
    return pd.read_csv(io.BytesIO(content), compression="gzip")
