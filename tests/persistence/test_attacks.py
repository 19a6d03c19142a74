"""No model file crashes, hangs or eats the machine; see attack.py."""

import json
import sys
from importlib import import_module
from inspect import isabstract
from pathlib import Path

import pytest
from sklearn.base import BaseEstimator

from properly.links import Link
from properly.losses import Loss
from properly.persistence.trusted import PACKAGES

pytest.importorskip("skops.io", reason="saving needs the extra save")
pytest.importorskip("lightgbm", reason="needs the extra boosting")
pytest.importorskip("pyarrow", reason="needs the extra arrow")
if not Path("/proc/self/status").exists():
    pytest.skip("measures memory as Linux shows it", allow_module_level=True)

sys.path.insert(0, str(Path(__file__).parent))
import attack

from properly.persistence.schema import nodes_of

# As many threads as there are processors; a short list of lists; and the others take no more than is allowed.
HARMLESS = {"a million threads", "objects of objects"}
HARMLESS |= {f"{what} within the limit" for what in ("objects", "values", "an array")}


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    folder = tmp_path_factory.mktemp("attack")
    return folder, attack.prepare(folder)


def test_every_kind_of_model_is_attacked(prepared):
    folder, names = prepared
    saved = {
        node["__class__"]
        for number in range(len(names))
        for node in nodes_of(json.loads(attack.read_members(folder / f"{number}.skops")["schema.json"]))
    }
    packages = map(import_module, PACKAGES)
    public = [getattr(package, name) for package in packages for name in getattr(package, "__all__", ())]
    estimators = [each for each in public if isinstance(each, type) and issubclass(each, BaseEstimator)]
    assert len(estimators) > 20
    assert {each.__name__ for each in estimators if not isabstract(each)} <= saved
    # A loss without a gradient is no model's; those that hold functions cannot be saved.
    without = {"CostWeightedLoss", "Loss", "LossFromPartial", "LossFromWeight"}
    kinds = [each for each in public if isinstance(each, type) and issubclass(each, Loss | Link)]
    assert len(kinds) > 10
    assert {each.__name__ for each in kinds if not isabstract(each)} - without <= saved


def test_changes_in_random_places(prepared):
    folder, names = prepared
    described, attacks = attack.random_attacks(folder, names, 2 * len(names), seed=1)
    assert attack.failures(described, attack.run(folder, attacks)) == []


def test_changes_made_by_hand(prepared):
    described, attacks = attack.handmade_attacks(*prepared)
    outcomes = attack.run(prepared[0], attacks)
    assert attack.failures(described, outcomes) == []
    accepted = {label for (_, label, _), (outcome, *_) in zip(described, outcomes, strict=True) if outcome != "refused"}
    assert accepted == HARMLESS
