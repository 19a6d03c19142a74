"""Keys and limits: what an altered or a too large file meets, before anything is built from it."""

import hashlib
import json
import zipfile

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from properly.persistence import ModelFileError, load, load_metadata, load_versions, save
from properly.persistence.archive import Limits, check_array

pytest.importorskip("skops.io", reason="saving needs the extra save")

KEY = "sixteen characters or more"
X, Y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0, 0, 1, 1])


@pytest.fixture
def path(tmp_path):
    save(LogisticRegression().fit(X, Y), tmp_path / "model.skops", metadata={"rows": 4}, key=KEY)
    return tmp_path / "model.skops"


def rewritten(path, change):
    """The file with other members, and the checksums that a forger without the key can make."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    seal = members["properly.sum"].split(b"\n")
    change(members)
    others = {name: content for name, content in members.items() if not name.startswith("properly.")}
    header = json.loads(members["properly.json"])
    header["checksums"] = {name: hashlib.sha256(content).hexdigest() for name, content in others.items()}
    members["properly.json"] = json.dumps(header).encode()
    members["properly.sum"] = b"\n".join([hashlib.sha256(members["properly.json"]).hexdigest().encode(), *seal[1:]])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def test_the_key_opens_what_it_closed(path):
    for key in (KEY, KEY.encode(), None):
        assert load(path, key=key).n_features_in_ == 1
        assert load_metadata(path, key=key) == {"rows": 4}
        assert load_versions(path, key=key)["properly"]
    for read in (load, load_metadata, load_versions):
        with pytest.raises(ModelFileError, match=r"model\.skops was altered, or saved with another key"):
            read(path, key="another key of some length")


def test_a_file_without_a_key_is_refused_where_one_is_asked_for(tmp_path):
    save(LogisticRegression(), tmp_path / "model.skops")
    for read in (load, load_metadata, load_versions):
        with pytest.raises(ModelFileError, match="was saved without a key"):
            read(tmp_path / "model.skops", key=KEY)


def other_notes(members):
    members["properly.json"] = members["properly.json"].replace(b'"rows": 4', b'"rows": 5')


def other_numbers(members):
    members["schema.json"] = members["schema.json"].replace(b'"content": "1.0"', b'"content": "2.0"')


def other_member(members):
    members["more.npy"] = b""


@pytest.mark.parametrize("change", [other_notes, other_numbers, other_member])
def test_only_the_key_shows_an_alteration_with_new_checksums(path, change):
    before = path.read_bytes()
    rewritten(path, change)
    assert path.read_bytes() != before
    load_metadata(path)
    for read in (load, load_metadata, load_versions):
        with pytest.raises(ModelFileError, match="was altered"):
            read(path, key=KEY)


def test_a_signature_is_for_one_file(path, tmp_path):
    """That of another file with the same key does not fit."""
    save(LogisticRegression(C=2.0), tmp_path / "other.skops", key=KEY)
    with zipfile.ZipFile(tmp_path / "other.skops") as archive:
        other = archive.read("properly.sum")
    rewritten(path, lambda members: members.update({"properly.sum": other}))
    with pytest.raises(ModelFileError, match="was altered"):
        load(path, key=KEY)


@pytest.mark.parametrize(
    ("key", "message"), [("short", "at least 16 characters, got 5"), (1, "must be a str or bytes, got int")]
)
def test_what_is_no_key(key, message, path):
    for call in (lambda: save(LogisticRegression(), path, key=key), lambda: load(path, key=key)):
        with pytest.raises(ValueError, match=message):
            call()


def test_notes_are_compared_with_their_checksum(path):
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    other_notes(members)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    for read in (load, load_metadata):
        with pytest.raises(ModelFileError, match=r"damaged: properly\.json does not have the checksum"):
            read(path)


def test_limits_can_be_raised(tmp_path):
    """Zeros compress a thousand times."""
    path = tmp_path / "zeros.skops"
    zeros = {"x": np.zeros(13_000_000)}
    with pytest.warns(UserWarning, match=r"zeros\.skops holds 104,0.* bytes .* load it with max_bytes=104"):
        save(zeros, path)
    with pytest.raises(ModelFileError, match=r"more than the 100,000,000 .* load it with max_bytes=(\d+)") as caught:
        load(path)
    needed = int(str(caught.value).rpartition("=")[2].rstrip("."))
    assert np.array_equal(load(path, max_bytes=needed)["x"], zeros["x"])
    with pytest.raises(ModelFileError, match=f"more than the {needed - 1:,}"):
        load(path, max_bytes=needed - 1)
    with pytest.raises(ModelFileError, match="more than the 1,000"):
        load_metadata(path, max_bytes=1000)


def test_many_objects_can_be_loaded_if_the_file_is_large(tmp_path):
    words = {f"{np.random.default_rng(k).integers(10**9)}": k for k in range(9_000)}
    save(words, tmp_path / "words.skops")
    assert load(tmp_path / "words.skops") == words
    assert Limits.of(10**6, None).objects == 100_000


@pytest.mark.parametrize(
    "array", [np.zeros(0), np.zeros((2, 0)), np.array("x"), np.arange(6).reshape(2, 3).T, np.array(["ü"]), np.bool_(1)]
)
def test_arrays_as_saved_are_accepted(array, tmp_path):
    np.save(tmp_path / "a.npy", array)
    content = (tmp_path / "a.npy").read_bytes()
    check_array(content)
    with pytest.raises(ValueError, match="an array of shape"):
        check_array(content + b"\0")


def test_support_vector_machines_need_trust(tmp_path):
    path = tmp_path / "model.skops"
    with pytest.warns(UserWarning, match=r"load it with trusted=\['sklearn\.svm\._classes\.SVC'\]"):
        save(SVC().fit(X, Y), path)
    with pytest.raises(ModelFileError, match=r"not trusted: sklearn\.svm\._classes\.SVC"):
        load(path)
    assert load(path, trusted=["sklearn.svm._classes.SVC"]).predict(X).tolist() == [0, 0, 1, 1]


def test_sparse_coefficients_come_back(tmp_path):
    model = LogisticRegression().fit(X, Y).sparsify()
    save(model, tmp_path / "model.skops")
    assert np.array_equal(load(tmp_path / "model.skops").predict_proba(X), model.predict_proba(X))


def test_names_in_a_file_reach_no_terminal(tmp_path):
    """Nor are they shown in full length."""
    for name in ("evil\x1b[2J\u202e.npy", "a" * 60_000):
        save(LogisticRegression().fit(X, Y), tmp_path / "model.skops")
        with zipfile.ZipFile(tmp_path / "model.skops", "a") as archive:
            archive.writestr(name, b"")
        with pytest.raises(ModelFileError) as caught:
            load(tmp_path / "model.skops")
        assert str(caught.value).isprintable()
        assert len(str(caught.value)) < 3000
