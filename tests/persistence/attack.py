"""Attacks on model files: random changes inside valid archives of every kind of model, and hand-made ones.

    python tests/persistence/attack.py [--mutations 2000] [--seed 0] [--output FILE]

Each change is tried twice: with the checksums as they were, and with new ones, as a forger would write them. A file is
loaded and asked for predictions in a child process, which a signal ends after 5 s of processor time for one file. The
child notes every file before it loads it, so that a crash is known by its file; then the next child goes on.
"""

import argparse
import hashlib
import io
import json
import os
import pickle
import platform
import re
import signal
import subprocess
import sys
import tempfile
import time
import warnings
import zipfile
from collections import Counter
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
import handmade
from kinds import kinds

SECONDS, MEGABYTES = 5.0, 500
_WALL = 120  # seconds for one file, however busy the machine: for what waits without working
_EXTREMES = [0, -1, 1, 2, 3, 10**6, -(10**6), 2**31 - 1, -(2**31), 2**63 - 1, 1e308, -1e308, 1e-308]


# --- models --------------------------------------------------------------------------


def prepare(folder):
    """A file and its rows for every kind; returns their names."""
    import properly

    names = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, (name, model, rows) in enumerate(kinds()):
            properly.save(model, folder / f"{number}.skops", metadata={"kind": name})
            (folder / f"{number}.rows").write_bytes(pickle.dumps(rows))
            names.append(name)
    return names


# --- random changes ------------------------------------------------------------------


def read_members(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(members, renewed):
    """The archive; with new checksums if they are to be renewed."""
    if renewed:
        header = members["properly.json"]
        others = {name: content for name, content in members.items() if name not in ("properly.json", "properly.sum")}
        checksums = {name: hashlib.sha256(content).hexdigest() for name, content in others.items()}
        with suppress(ValueError, TypeError):  # the change was in the header, which now is none
            header = json.dumps({**json.loads(header), "checksums": checksums}).encode()
        members = {"properly.json": header, "properly.sum": hashlib.sha256(header).hexdigest().encode(), **others}
    result = io.BytesIO()
    with zipfile.ZipFile(result, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return result.getvalue()


def mutated(members, random):
    """One to three changes of random kinds in random places."""
    original, members, label = members, dict(members), []
    while members == original:
        label = [*_change(members, random)]
    return members, "; ".join(label)


def _change(members, random):
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        change = random.choice(
            [_change_array, _change_array, _change_schema, _change_schema, _change_text, _change_bytes]
        )
        with suppress(Exception):  # an earlier change may have left nothing that this one could read
            yield change(members, random)


def _change_array(members, random):
    arrays = [name for name in members if name.endswith(".npy")]
    if not arrays:
        return _change_schema(members, random)
    name = random.choice(arrays)
    array = np.load(io.BytesIO(members[name]))
    what = random.choice(["value", "value", "value", "shape", "kind", "header", "length"])
    if what == "value" and array.size:
        array = _with_other_value(array.copy(), random)
    elif what == "shape":
        array = random.choice([array.ravel(), array[None], np.tile(array, 2), array[:0] if array.ndim else array])
    elif what == "kind" and array.dtype.kind in "iufb":
        with np.errstate(all="ignore"):
            array = array.astype(
                random.choice(["float64", "int64", "int8", "uint64", "bool", "complex128", "U5", "S3"])
            )
    file = io.BytesIO()
    np.save(file, array)
    content = file.getvalue()
    if what == "header":
        shape = str(array.shape).encode()
        other = random.choice([b"(9,)", b"(999999999999,)", b"(-1,)", b"()", b"(0, 7)"])
        content = content.replace(shape, other.ljust(len(shape)), 1)
    elif what == "length":
        content = random.choice([content[: len(content) // 2], content + content[-64:], content[:-1], b""])
    members[name] = content
    return f"{what} of {name}"


def _with_other_value(array, random):
    if array.dtype.names:
        field = random.choice(array.dtype.names)
        array[field] = _with_other_value(array[field].copy(), random)
        return array
    flat = array.reshape(-1)
    place = int(random.integers(flat.size))
    value = random.choice([*_EXTREMES, float("nan"), float("inf"), -float("inf")])
    with np.errstate(all="ignore"):
        if array.dtype.kind in "iu":
            limits = np.iinfo(array.dtype)
            flat[place] = random.choice([limits.min, limits.max, 0, int(flat[place]) ^ 1, random.choice([2, 3, 7])])
        elif array.dtype.kind in "fc":
            flat[place] = value
        elif array.dtype.kind == "b":
            flat[place] = not flat[place]
        elif array.dtype.kind in "US":
            flat[place] = "?"
    return array


def _change_schema(members, random):
    from properly.persistence.schema import nodes_of

    try:
        schema = json.loads(members["schema.json"])
        nodes = list(nodes_of(schema))
    except ValueError:
        return "schema already broken"
    node, other = random.choice(nodes), random.choice(nodes)
    plain = [each for each in nodes if each["__loader__"] == "JsonNode"]
    what = random.choice(["plain", "plain", "plain", "class", "loader", "file", "id", "swap", "drop", "key", "repeat"])
    if what == "plain" and plain:
        values = [*_EXTREMES, float("nan"), float("inf"), None, True, "", "x" * 50, [], [1, 2], {}, 10**30, "log", -5]
        random.choice(plain)["content"] = json.dumps(random.choice(values))
    elif what == "class":
        node["__class__"], node["__module__"] = other["__class__"], other["__module__"]
    elif what == "loader":
        node["__loader__"] = other["__loader__"]
    elif what == "file":
        files = [each for each in nodes if "file" in each]
        if files:
            random.choice(files)["file"] = random.choice([*members, "none.npy"])
    elif what == "id":
        node["__id__"] = other.get("__id__")
    elif what == "swap":
        node["content"], other["content"] = other.get("content"), node.get("content")
    elif what == "drop":
        node.pop(random.choice(list(node)))
    elif what == "key" and isinstance(node.get("content"), dict) and node["content"]:
        key = random.choice(list(node["content"]))
        node["content"][random.choice(["x", key + "_", ""])] = node["content"].pop(key)
    elif what == "repeat" and isinstance(node.get("content"), list):
        node["content"] = node["content"] * random.choice([0, 2, 50])
    try:
        members["schema.json"] = json.dumps(schema).encode()
    except (ValueError, RecursionError):  # a node was put into itself
        return f"{what} that leads in a circle"
    return f"{what} in the schema"


def _change_text(members, random):
    """A number in LightGBM's text, or any number in the schema."""
    text = members["schema.json"].decode(errors="replace")
    start = max(text.find("Tree="), 0)
    places = [k for k in range(start, len(text)) if text[k].isdigit() or text[k] == "-"]
    if not places:
        return "no number"
    place = random.choice(places)
    new = random.choice(["-", "9", "0", "1", "99999", " ", "", "e", "nan", "\\\\n"])
    members["schema.json"] = (text[:place] + new + text[place + 1 :]).encode()
    return f"{new!r} at character {place} of the schema"


def _change_bytes(members, random):
    name = random.choice(list(members))
    content = bytearray(members[name])
    for _ in range(random.choice([1, 2, 8])):
        if content:
            content[int(random.integers(len(content)))] = int(random.integers(256))
    members[name] = bytes(content)
    return f"bytes of {name}"


class Random:
    """NumPy's generator, with a choice that keeps the type of what it chooses."""

    def __init__(self, *seed):
        self.numbers = np.random.default_rng(seed)

    def integers(self, n):
        return self.numbers.integers(n)

    def choice(self, options):
        return options[int(self.numbers.integers(len(options)))]


# --- children ------------------------------------------------------------------------


def attacked(path, rows, usual):
    """What happens: "refused" by `load`, an "error" of a method, "other" predictions, or the "same"."""
    import properly

    with suppress(properly.persistence.ModelFileError):
        properly.load_metadata(path)
    try:
        model = properly.load(path)
    except properly.persistence.ModelFileError as error:
        return "refused" if "\n" not in str(error) else "error message of two lines"
    found = predictions(model, rows)
    if found is None:
        return "error"
    return "same" if usual is None or _equal(found, usual) else "other"


def predictions(model, rows):
    """What a model says of rows; None if that is an error."""
    found = []
    for method in ("predict_proba", "predict", "decision_function", "predict_output"):
        try:
            if hasattr(model, method):
                found.append(np.asarray(getattr(model, method)(*rows)))
        except Exception:  # an altered model may fail in any way but crash, hang or eat the machine
            return None
    return found or None


def _equal(one, other):
    """Altered classes may be of a type that NumPy cannot compare."""
    return len(one) == len(other) and all(
        a.dtype.kind == b.dtype.kind and np.array_equal(a, b) for a, b in zip(one, other, strict=True)
    )


def peak_memory():
    """The most memory in use so far, in MB; getrusage would count what the parent had used."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) // 1024


def child(folder, start):
    """Attack with one file after the other, from number `start` on."""
    import properly

    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    usual, before = {}, 0
    files = sorted(folder.glob("*.attack"))
    with open(folder / "log", "a") as log:
        for number in range(start, len(files)):
            kind, data = pickle.loads(files[number].read_bytes())
            path, rows = folder / "attacked.skops", pickle.loads((folder / f"{kind}.rows").read_bytes())
            if kind not in usual:
                usual[kind] = predictions(properly.load(folder / f"{kind}.skops"), rows)
            before = before or peak_memory()
            path.write_bytes(data)
            log.write(f"{number} begins\n")
            log.flush()
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            signal.alarm(_WALL)
            began = time.process_time()
            outcome = attacked(path, rows, usual[kind])
            seconds = time.process_time() - began
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.alarm(0)
            log.write(f"{number} {outcome} after {seconds:.2f} s, {peak_memory() - before} MB\n")
            log.flush()


def run(folder, attacks):
    """Outcome, seconds and megabytes of attacks, given as (kind, bytes of the file), in as many children as die."""
    for old in (*folder.glob("*.attack"), *folder.glob("log")):
        old.unlink()
    for number, attack in enumerate(attacks):
        (folder / f"{number:06d}.attack").write_bytes(pickle.dumps(attack))
    outcomes, log = [], folder / "log"
    while len(outcomes) < len(attacks):
        done = subprocess.run([sys.executable, __file__, "--child", folder, str(len(outcomes))], capture_output=True)
        for line in log.read_text().splitlines() if log.exists() else ():
            number, _, rest = line.partition(" ")
            if rest != "begins" and int(number) == len(outcomes):
                outcome, _, cost = rest.rpartition(" after ")
                seconds, _, megabytes = cost.partition(" s, ")
                outcomes.append((outcome, float(seconds), int(megabytes.removesuffix(" MB"))))
        if len(outcomes) < len(attacks):
            if done.returncode >= 0:
                raise RuntimeError(f"the child ended with {done.returncode}: {done.stderr.decode()[-2000:]}")
            hung = -done.returncode in (signal.SIGPROF, signal.SIGALRM)
            outcomes.append(("hang" if hung else f"crash ({signal.Signals(-done.returncode).name})", SECONDS, 0))
    return outcomes


def random_attacks(folder, names, number, seed):
    """Random changes, the kinds in turn: their names, and each file as it is and with new checksums."""
    described, attacks = [], []
    for k in range(number):
        kind = k % len(names)
        random = Random(seed, k)
        members, label = mutated(read_members(folder / f"{kind}.skops"), random)
        for renewed in (False, True):
            described.append((names[kind], label, renewed))
            attacks.append((kind, packed(members, renewed)))
    return described, attacks


def handmade_attacks(folder, names):
    """The same for files made by hand."""
    described, attacks = [], []
    for label, (name, change) in handmade.ATTACKS.items():
        kind = names.index(name)
        members = change(read_members(folder / f"{kind}.skops"))
        for renewed in (False, True):
            described.append((name, label, renewed))
            attacks.append((kind, packed(members, renewed)))
    for renewed in (False, True):
        described.append(("support vectors", "support vectors that there are not", renewed))
        attacks.append((0, packed(handmade.support_vectors(folder), renewed)))
    for label, data in handmade.bombs(read_members(folder / "0.skops")):
        described.append((names[0], label, False))
        attacks.append((0, data))
    return described, attacks


def failures(described, outcomes):
    """The attacks that succeeded, in words."""
    found = []
    for (kind, label, renewed), (outcome, seconds, megabytes) in zip(described, outcomes, strict=True):
        allowed = {"refused", "error", "other", "same"} if renewed else {"refused"}
        if outcome not in allowed or seconds > SECONDS or megabytes > MEGABYTES:
            how = "new checksums" if renewed else "as it is"
            found.append(f"{kind}, {how}: {label}: {outcome}, {seconds:.1f} s, {megabytes} MB")
    return found


# --- report --------------------------------------------------------------------------

_COLUMNS = ["checksums", "files", "refused", "error", "other", "same", "crash or hang", "most seconds", "most memory"]


def report(parts, seed):
    """The results as a page in Markdown; `parts` has a title and the described attacks with their outcomes."""
    lines = [
        "# Hostile model files",
        "",
        f"Python {platform.python_version()}, scikit-learn {version('scikit-learn')}, LightGBM {version('lightgbm')}, "
        f"skops {version('skops')}; seed {seed}. Written by `benchmarks/bench_hostile_files.py`.",
        "",
        "Each file is loaded, and asked for predictions, in a child process: once with the checksums as they were, "
        "once with new ones, as a forger would write them. Refused: `load` raises `ModelFileError`. Error: a method of "
        "the loaded model raises an exception. Other, same: its predictions. Seconds of processor time for one file; "
        "memory above that of a process that has loaded a model.",
    ]
    for title, described, outcomes in parts:
        lines += ["", f"## {title}", "", f"| {' | '.join(_COLUMNS)} |", "|---" * len(_COLUMNS) + "|"]
        for renewed in (False, True):
            chosen = [each for (*_, new), each in zip(described, outcomes, strict=True) if new == renewed]
            count = Counter(outcome for outcome, *_ in chosen)
            known = [count[outcome] for outcome in ("refused", "error", "other", "same")]
            costs = f"{max(each[1] for each in chosen):.1f} | {max(each[2] for each in chosen)} MB"
            numbers = " | ".join(map(str, [len(chosen), *known, len(chosen) - sum(known)]))
            lines.append(f"| {'new' if renewed else 'as they were'} | {numbers} | {costs} |")
        found = failures(described, outcomes)
        lines += ["", "Failures:" if found else "No failures.", *(f"- {each}" for each in found)]
    return "\n".join([*lines, ""])


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--mutations", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--child", nargs=2, metavar=("FOLDER", "START"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        child(Path(options.child[0]), int(options.child[1]))
        return
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    parts = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        names = prepare(folder)
        described, attacks = handmade_attacks(folder, names)
        parts.append((f"{len(handmade.ATTACKS)} changes made by hand, and bombs", described, run(folder, attacks)))
        described, attacks = random_attacks(folder, names, options.mutations, options.seed)
        title = f"{options.mutations:,} random changes inside files of {len(names)} kinds of models"
        parts.append((title, described, run(folder, attacks)))
    page = report(parts, options.seed)
    print(page)
    if options.output:
        options.output.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
