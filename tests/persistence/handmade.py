"""Model files made by hand to crash, hang or eat the machine: functions of the members of a valid file."""

import io
import json
import re
import struct
import warnings
import zipfile
import zlib

import numpy as np
from scipy.sparse import bsr_matrix, load_npz, save_npz

_PLAIN = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode"}
_LIST = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode"}
_ARRAY = {"__class__": "ndarray", "__module__": "numpy", "__loader__": "NdArrayNode", "type": "numpy"}


def _text(pattern, new):
    """Change LightGBM's text, where the pattern is first found."""

    def change(members):
        schema = members["schema.json"].decode()
        changed = re.sub(pattern, new, schema, count=1)
        assert changed != schema, pattern
        return members | {"schema.json": changed.encode()}

    return change


def _attribute(name, value):
    """Set a plain attribute, wherever it is first found."""
    return _text(rf'("{name}": {{[^}}]*"content": )"[^"\\]*(?:\\.[^"\\]*)*"', rf"\g<1>{json.dumps(json.dumps(value))}")


def _array(name, alter):
    """Change the array of an attribute, wherever it is first found."""

    def change(members):
        file = re.search(rf'"{name}": {{[^}}]*"file": "([^"]+)"', members["schema.json"].decode())[1]
        array = np.load(io.BytesIO(members[file]))
        return members | {file: _npy(alter(array.copy()))}

    return change


def _npy(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def _put(place, value):
    def alter(array):
        array[place] = value
        return array

    return alter


def _node(place, field, value):
    def alter(nodes):
        nodes[field][place] = value
        return nodes

    return alter


def _instead(content, files=None):
    """A list of these objects instead of the model."""

    def change(members):
        kept = {name: members[name] for name in ("properly.json", "properly.sum")}
        schema = {**_LIST, "content": content, "protocol": 2}
        return {**kept, "schema.json": json.dumps(schema).encode(), **(files() if files else {})}

    return change


def _laughs():
    """Lists of two lists of two lists ..., each of the second ones by its number only."""
    node = {**_PLAIN, "content": "1", "__id__": 1}
    for depth in range(2, 60):
        node = {**_LIST, "content": [node, {**_LIST, "content": [], "__id__": depth - 1}], "__id__": depth}
    return [node]


def _header_of(shape, descr="<f8"):
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text


def _sparse(members):
    """An index of the sparse coefficients that points far away."""
    name = next(name for name in members if name.endswith(".npz"))
    with np.load(io.BytesIO(members[name])) as parts:
        parts = dict(parts)
    parts["indices"][-1] = 10**8
    file = io.BytesIO()
    np.savez(file, **parts)
    return members | {name: file.getvalue()}


def _blocks(members):
    """Sparse coefficients in blocks, an index of which points far away, as if they were in rows."""
    name = next(name for name in members if name.endswith(".npz"))
    matrix = bsr_matrix(load_npz(io.BytesIO(members[name])))
    matrix.indices[-1] = 10**8
    file = io.BytesIO()
    save_npz(file, matrix)
    return members | {name: file.getvalue()}


def _call(module, name, loader="ConstructorFromReduceNode"):
    """What calls a function with an array while it is loaded."""
    array, numbers = {**_ARRAY, "file": "a.npy"}, {"a.npy": _npy(np.arange(10) % 2)}
    arguments = {**_LIST, "__class__": "tuple", "__loader__": "TupleNode", "content": [array, array]}
    content = array if loader == "NdArrayNode" else {"content": arguments, "__reduce__": {"args": arguments}}
    return _instead([{**content, "__class__": name, "__module__": module, "__loader__": loader}], lambda: numbers)


def _partial(members):
    """A function with arguments, called a link."""
    function = {"__class__": "add", "__module__": "numpy", "__loader__": "FunctionNode"}
    nothing = {**_PLAIN, "content": "null"}
    arguments = {**_LIST, "__class__": "tuple", "__loader__": "TupleNode", "content": [nothing]}
    words = {"__class__": "dict", "__module__": "builtins", "__loader__": "DictNode", "content": {}}
    words["key_types"] = {**_LIST, "content": []}
    content = {"func": function, "args": arguments, "kwds": words, "namespace": nothing}
    node = {"__class__": "Logit", "__module__": "properly.links", "__loader__": "PartialNode", "content": content}
    return _instead([node])(members)


def _notes(members):
    """Notes of many values."""
    header = json.loads(members["properly.json"])
    return members | {"properly.json": json.dumps({**header, "metadata": {"x": [[]] * 2_000_000}}).encode()}


# The kind of model, and what is changed.
ATTACKS = {
    "a feature that there is not": ("boosting", _text(r"(split_feature=)\d+", r"\g<1>99999999")),
    "a feature below 0": ("boosting", _text(r"(split_feature=)\d+", r"\g<1>-7")),
    "a child that is its own parent": ("boosting", _text(r"(left_child=)-?\d+", r"\g<1>0")),
    "a child that there is not": ("boosting", _text(r"(right_child=)-?\d+", r"\g<1>99999")),
    "a leaf that there is not": ("boosting", _text(r"(left_child=)-?\d+", r"\g<1>-99999")),
    "a leaf twice": ("boosting", _text(r"(leaf_child=|right_child=)(-?\d+ )-?\d+", r"\g<1>\g<2>-1")),
    "more leaves than there are": ("boosting", _text(r"num_leaves=\d", "num_leaves=9")),
    "a tree longer than stated": ("boosting", _text(r"(leaf_value=)", r"\g<1>0")),
    "other sizes of trees": ("boosting", _text(r"(tree_sizes=\d)", r"\g<1>1")),
    "no end of trees": ("boosting", _text(r"end of trees", "end of threes")),
    "more features": ("boosting", _text(r"max_feature_idx=\d", "max_feature_idx=9")),
    "several trees an iteration": ("boosting", _text(r"num_tree_per_iteration=1", "num_tree_per_iteration=4")),
    "a set of categories that there is not": ("boosting", _text(r"cat_boundaries=0 \d+", "cat_boundaries=0 999999")),
    "bits of categories missing": ("boosting", _text(r"cat_threshold=\d+", "cat_threshold=")),
    "linear leaves": ("boosting", _text(r"is_linear=0", "is_linear=1")),
    "a number that is none": ("boosting", _text(r"(leaf_weight=)\d", r"\g<1>x")),
    "an odd decision": ("boosting", _text(r"(decision_type=)\d+", r"\g<1>127")),
    "a million threads": ("boosting", _attribute("n_jobs", 10**6)),
    "stages for ever": ("boosting", _array("best_iteration_", _put(0, 10**15))),
    "a node that is its own child": ("tree", _array("left", _put(0, 0))),
    "a node before its parent": ("tree", _array("right", _put(-3, 0))),
    "a depth without end": ("tree", _array("depth", _put(-1, 10**15))),
    "a forest that goes in circles": ("calibrated forest", _array("nodes", _node(0, "left_child", 0))),
    "a forest that looks outside": ("calibrated forest", _array("nodes", _node(0, "feature", 10**8))),
    "boosted trees that look outside": ("gradient boosting", _array("nodes", _node(0, "right_child", 10**8))),
    "a tree whose nodes have no shape": ("calibrated forest", _array("nodes", lambda nodes: np.array(2))),
    "a tree with other values": ("calibrated forest", _array("values", lambda values: values[:1, 0])),
    "a tree of more nodes than it has": ("calibrated forest", _attribute("node_count", 10**6)),
    "a tree of many outputs": (
        "calibrated forest",
        _text(r'("__reduce__": .*?"content": "\d+".*?"content": )"1"', r'\g<1>"99999999"'),
    ),
    "a column that there is not": ("one-hot", _array("categories_", lambda values: values[::-1])),
    "codes in no order": ("bins", _text(r'(_n_features_outs": {[^}]*"content": )"\d+"', r'\g<1>"1"')),
    "a word in no column": ("words", _text(r'("ham": {[^}]*"content": )"\d+"', r'\g<1>"99999999"')),
    "words that take for ever": ("words", _attribute("token_pattern", r"(?:\w+\s?)+\d")),
    "a polynomial of high degree": ("polynomials", _attribute("_max_degree", 10**9)),
    "polynomials of many columns": ("polynomials", _attribute("_n_out_full", 10**9)),
    "a loss that is none": ("linear, Beta loss", _attribute("alpha", float("nan"))),
    "a loss of great concentration": ("linear, Beta loss", _attribute("beta", 1e300)),
    "sparse coefficients far away": ("sparse coefficients", _sparse),
    "sparse coefficients in blocks": ("sparse coefficients", _blocks),
    "words in groups of fewer than none": (
        "words",
        _text(r'("ngram_range": .*?"content": )"1"(.*?"content": )"1"', r'\g<1>"-1000000000"\g<2>"2"'),
    ),
    "a million classes in a bag": ("bagging", _attribute("n_classes_", 10**6)),
    "outputs without end": ("calibrated forest", _attribute("n_outputs_", 10**9)),
    "a metric that is called": ("linear", _call("sklearn.metrics._ranking", "roc_auc_score")),
    "a metric of ours that is called": ("linear", _call("properly.metrics", "brier_score")),
    "a metric called as an array": ("linear", _call("sklearn.metrics._ranking", "roc_auc_score", "NdArrayNode")),
    "a loss that calls a metric": ("linear", _call("sklearn.metrics._ranking", "roc_auc_score", "LossNode")),
    "a function that is called a link": ("linear", _partial),
    "a random state outside itself": ("gradient boosting", _attribute("pos", 10**8)),
    "objects of objects": ("linear", _instead(_laughs())),
    "many objects": ("linear", _instead([{**_PLAIN, "content": "1"}] * 10**5)),
    "many estimators": (
        "linear",
        _instead(
            [{"__class__": "GaussianNB", "__module__": "sklearn.naive_bayes", "__loader__": "ObjectNode"}] * 50_000
        ),
    ),
    "objects within the limit": (
        "linear",
        _instead(
            [{"__class__": "GaussianNB", "__module__": "sklearn.naive_bayes", "__loader__": "ObjectNode"}] * 24_900
        ),
    ),
    "values within the limit": ("linear", _instead([{**_PLAIN, "content": "[" + "[]," * 750_000 + "[]]"}])),
    "an array within the limit": (
        "linear",
        _instead([{**_ARRAY, "file": "a.npy"}], lambda: {"a.npy": _npy(np.zeros(12 * 10**6))}),
    ),
    "many values in one": ("linear", _instead([{**_PLAIN, "content": "[" + "[]," * 2_000_000 + "[]]"}])),
    "a list in a list in a list": ("linear", lambda members: members | {"schema.json": b"[" * 10**6}),
    "one array a thousand times": (
        "linear",
        _instead([{**_ARRAY, "file": "a.npy"}] * 1000, lambda: {"a.npy": _npy(np.zeros(10**6))}),
    ),
    "a large array": ("linear", _instead([{**_ARRAY, "file": "a.npy"}], lambda: {"a.npy": _npy(np.zeros(15 * 10**6))})),
    "an array shorter than its shape": (
        "linear",
        _instead([{**_ARRAY, "file": "a.npy"}], lambda: {"a.npy": _header_of("(999999999999,)")}),
    ),
    "an array of nothing": (
        "linear",
        _instead([{**_ARRAY, "file": "a.npy"}], lambda: {"a.npy": _header_of("(999999999999,)", "|V0")}),
    ),
    "an archive as an array": (
        "sparse coefficients",
        lambda members: _instead(
            [{**_ARRAY, "file": "a.npz"}], lambda: {"a.npz": next(v for n, v in members.items() if n.endswith(".npz"))}
        )(members),
    ),
    "notes of many values": ("linear", _notes),
}


def support_vectors(folder):
    """The members of a support vector machine with too many vectors in a class; they read as if they were there."""
    from sklearn.svm import SVC

    import properly

    model = SVC().fit([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0]], [0, 0, 1, 1])
    model._n_support = np.array([10**8, 10**8], dtype=np.int32)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that load will not trust it
        properly.save(model, folder / "support vectors")
    with zipfile.ZipFile(folder / "support vectors") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def bombs(members):
    """Archives whose stated sizes or names are wrong, by their descriptions, from the members of a valid file."""
    yield "a small stated size", _lying(members)
    zeros = {**members, "large.npy": bytes(15 * 10**7)}
    yield "150 MB of zeros", _zipped(zeros, zipfile.ZIP_DEFLATED)
    yield "notes of 150 MB", _zipped({**members, "properly.json": zeros["large.npy"]}, zipfile.ZIP_DEFLATED)
    yield "another method of compression", _zipped(members, zipfile.ZIP_LZMA)
    yield "many names for one part", _overlapping(60_000, 10**6)
    yield "a stated size of 2^62 bytes", _of_stated_size(2**62)


def _zipped(members, method):
    result = io.BytesIO()
    with zipfile.ZipFile(result, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return result.getvalue()


def _lying(members):
    """The header unpacks to 600 MB, but is stated to be short."""
    packer = zlib.compressobj(wbits=-15)
    chunk = bytes(10**6)
    stream = b"".join(packer.compress(chunk) for _ in range(600)) + packer.flush()
    data = _zipped({**members, "properly.json": stream}, zipfile.ZIP_STORED)
    for mark, method, sizes in ((b"PK\x03\x04", 8, 18), (b"PK\x01\x02", 10, 20)):
        start = next(
            place.start()
            for place in re.finditer(re.escape(mark), data)
            if b"properly.json" in data[place.start() : place.start() + 60]
        )
        data = data[: start + method] + struct.pack("<H", 8) + data[start + method + 2 :]
        data = data[: start + sizes + 4] + struct.pack("<I", 100) + data[start + sizes + 8 :]
    return data


def _overlapping(number, size):
    """Many entries of the directory that all lead to the same part."""
    packer = zlib.compressobj(wbits=-15)
    packed = packer.compress(bytes(size)) + packer.flush()
    sizes = struct.pack("<3I", zlib.crc32(bytes(size)), len(packed), size)
    part = b"PK\x03\x04" + struct.pack("<5H", 20, 0, 8, 0, 0) + sizes + struct.pack("<2H", 1, 0) + b"a" + packed
    names = [b"properly.json", *(b"%06d" % k for k in range(number - 1))]
    entry = b"PK\x01\x02" + struct.pack("<6H", 20, 20, 0, 8, 0, 0) + sizes
    directory = b"".join(entry + struct.pack("<5H2I", len(name), 0, 0, 0, 0, 0, 0) + name for name in names)
    return part + directory + _end(number, len(directory), len(part))


def _of_stated_size(size):
    """A part whose size needs the 64 bits of Zip64."""
    name, content = b"properly.json", b"{}"
    wide = struct.pack("<2H2Q", 1, 16, size, len(content))
    sizes = struct.pack("<3I", zlib.crc32(content), 2**32 - 1, 2**32 - 1) + struct.pack("<2H", len(name), len(wide))
    part = b"PK\x03\x04" + struct.pack("<5H", 45, 0, 0, 0, 0) + sizes + name + wide + content
    entry = b"PK\x01\x02" + struct.pack("<6H", 45, 45, 0, 0, 0, 0) + sizes + struct.pack("<3H2I", 0, 0, 0, 0, 0)
    directory = entry + name + wide
    return part + directory + _end(1, len(directory), len(part))


def _end(number, size, start):
    return b"PK\x05\x06" + struct.pack("<4H2IH", 0, 0, number, number, size, start, 0)
