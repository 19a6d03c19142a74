"""Attacks on the commands: hostile tables, arguments, model files and places to write to.

    python tests/cli/attack.py [--attacks 1000] [--seed 0] [--only NUMBER]

Each attack is a command in a folder of its own, in a child process. It must end within a minute of processor time, with
an exit code that is documented, without traceback or control characters in what it prints, and leave its inputs as they
were; if it fails, it says why in one line, and every other file, old outputs among them, is as it was before as well.
"""

import argparse
import os
import pickle
import re
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))
from hostile_tables import damaged_file, odd_table, usual_table

SECONDS = 60
_NUMBER = ["", " ", "nan", "inf", "-1", "0", "1", "2", "1e400", "1e-320", "0x10", "1_000", "١", "-0.0", "4294967296"]
_TEXT = ["\x1b[31mred", "a\nb", "a" * 5000, "../..", "é\u202e", "'", '"', "%s", "{}", "$(x)", "no such", "y", "p", "-"]
_OUTPUTS = [
    "none/out{}",
    "folder",
    "out",
    ".",
    "{}",
    "/dev/full",
    "/dev/null",
    "x" * 300 + "{}",
    "\x1b[31m{}",
    "link{}",
    "loop{}",
    "old{}",
    "table.csv",
    "out{}.gz",
    " ",
    "a\nb{}",
]
_OLD = b"what was here before"

_NOTATION = "separator decimal"
# Of every command: what makes it work, and the options that take a value.
COMMANDS = {
    "audit": (
        "audit table.csv --target y --probability p",
        f"positive group costs weight cluster against tolerance detect report {_NOTATION}",
    ),
    "calibrate": (
        "calibrate table.csv --target y --score p",
        f"method input positive weight seed output report key-file {_NOTATION}",
    ),
    "fit": (
        "fit table.csv --target y --method logistic --folds 2",
        "method calibration population-rate positive features ignore categories weight group time folds time-budget "
        f"seed output report key-file {_NOTATION}",
    ),
    "predict": ("predict model.skops table.csv", f"output prefix unseen key-file max-bytes {_NOTATION}"),
    "export": ("export model.skops", "output key-file max-bytes"),
    "maxent": (
        "maxent --presence table.csv --background region.csv --features x,z",
        "features ignore categories kinds regularization default-prevalence scale predict scored output key-file "
        f"{_NOTATION}",
    ),
}
_ENDING = {"report": ".html", "output": ".skops", "scored": ".csv"}


class Random:
    """NumPy's generator, with a choice that keeps the type of what it chooses."""

    def __init__(self, *seed):
        self.numbers = np.random.default_rng(seed)

    def integers(self, *limits):
        return int(self.numbers.integers(*limits))

    def choice(self, options):
        return options[self.integers(len(options))]


# --- attacks -------------------------------------------------------------------------


def prepare(folder):
    """Models and other files that attacks use, made once."""
    from sklearn.linear_model import LogisticRegression

    import properly

    folder.mkdir()
    for name in ("table.csv", "region.csv"):
        (folder / name).write_bytes(usual_table())
    here = os.getcwd()
    os.chdir(folder)
    try:
        for words in (
            "fit table.csv --target y --features x,z,town --method logistic --folds 2 -o model.skops --report m.html",
            "calibrate table.csv --target y --score p -o calibrator.skops",
            "maxent --presence table.csv --background region.csv --features x,z -o maxent.skops",
        ):
            if (code := run_main(words.split())) != 0:
                raise RuntimeError(f"{words}: {code}")
    finally:
        os.chdir(here)
    X = np.arange(8.0).reshape(-1, 1)
    properly.save(LogisticRegression().fit(X, X[:, 0] > 3), folder / "bare.skops")
    (folder / "pickle.skops").write_bytes(pickle.dumps({"a": 1}))
    (folder / "text.skops").write_text("no model")
    (folder / "empty.skops").write_bytes(b"")
    (folder / "half.skops").write_bytes((folder / "model.skops").read_bytes()[:1000])
    shutil.make_archive(str(folder / "zip"), "zip", folder, "table.csv")
    (folder / "zip.zip").rename(folder / "zip.skops")
    (folder / "m.html").unlink()
    (folder / "folder").mkdir()
    (folder / "folder.csv").mkdir()
    (folder / "dangling.csv").symlink_to("gone.csv")
    for ending in (".csv", ".html", ".skops", ".onnx"):
        for name in (f"old{ending}", f"target{ending}"):
            (folder / name).write_bytes(_OLD)
        (folder / f"link{ending}").symlink_to(f"target{ending}")
        (folder / f"loop{ending}").symlink_to(f"loop{ending}")


def _table(folder, words, random):
    """The table is damaged, or has odd content."""
    kind = random.choice(["damaged", "odd"])
    name, content = (damaged_file if kind == "damaged" else odd_table)(random)
    (folder / name).write_bytes(content)
    return [name if word == "table.csv" else word for word in words]


def _no_file(folder, words, random):
    """What is read is no plain file."""
    name = random.choice(["folder.csv", "loop.csv", "nothing.csv", "/dev/null", "", "none/table.csv", "dangling.csv"])
    read = [word for word in words if word.endswith((".csv", ".skops"))]
    target = random.choice(read)
    return [name if word == target else word for word in words]


def _model(folder, words, random):
    """Another kind of model file, or of table for it."""
    if "model.skops" not in words:
        return _table(folder, words, random)
    models = ["calibrator", "maxent", "bare", "pickle", "text", "empty", "half", "zip"]
    name = random.choice(models)
    if random.integers(3) == 0:
        content = bytearray((folder / "model.skops").read_bytes())
        content[random.integers(len(content))] ^= 1 << random.integers(8)
        (folder / "text.skops").write_bytes(content)
        name = "text"
    return [f"{name}.skops" if word == "model.skops" else word for word in words]


def _option(folder, words, random):
    """An option with a value that it may not understand, or may."""
    option = random.choice(COMMANDS[words[0]][1].split())
    values = _NUMBER + _TEXT + ["w", "town", "x", "g", "day", "constant", "empty", "x,z", "1:20", "0:1,1:0", "isotonic"]
    if option in ("output", "report", "scored", "predict"):
        return _output(folder, words, random)
    if option == "key-file":
        (folder / "key").write_bytes(random.choice([b"", b"short", b"\x00" * 40, b"a secret of some length"]))
        return [*words, "--key-file", random.choice(["key", "gone", "folder", "/dev/null"])]
    return [*words, f"--{option}={random.choice(values)}"]


def _output(folder, words, random):
    """A place that cannot be written to, or may not be, or may."""
    options = [each for each in ("output", "report", "scored") if each in COMMANDS[words[0]][1].split()]
    option = random.choice(options)
    ending = {"predict": ".csv", "export": ".onnx"}.get(words[0], _ENDING[option])
    if option == "scored":
        words = [*words, "--predict", "table.csv"]
    chosen = random.choice(_OUTPUTS).replace("{}", ending)
    if random.integers(3) == 0:  # and the work fails in the end
        words = _table(folder, words, random)
    return [*words, f"--{option}={chosen}"]


def _role(folder, words, random):
    """Other columns than those that suit."""
    columns = ["y", "p", "x", "z", "town", "w", "g", "day", "constant", "empty", "bad", "three", "gone", "", "Y"]
    places = [k for k, word in enumerate(words) if word.startswith("--") and k + 1 < len(words)]
    if not places:
        return _option(folder, words, random)
    words = list(words)
    words[random.choice(places) + 1] = random.choice(columns)
    return words


def _words(folder, words, random):
    """Words dropped, repeated, exchanged or added."""
    words = list(words)
    for _ in range(random.integers(1, 3)):
        place = random.integers(1, len(words))
        what = random.integers(4)
        if what == 0 and len(words) > 2:
            del words[place]
        elif what == 1:
            words.insert(place, random.choice(words[1:]))
        elif what == 2:
            words[place] = random.choice(_NUMBER + _TEXT)
        else:
            words.insert(place, random.choice(["--", "--json", "--help", "-x", "--target", "--check", "@table.csv"]))
    return words


_KINDS = [_table, _table, _table, _no_file, _model, _option, _option, _output, _role, _words]


def attack(folder, seed, number):
    """The words of an attack, whose files are in the folder."""
    random = Random(seed, number)
    command = list(COMMANDS)[number % len(COMMANDS)]
    words = random.choice(_KINDS)(folder, COMMANDS[command][0].split(), random)
    return [*words, "--json"] if random.integers(3) == 0 else words


# --- children ------------------------------------------------------------------------


def run_main(words):
    from properly.cli import main

    return main(list(words))


def in_child(words, folder, output):
    """Exit code (negative for a signal), standard output, standard error, and seconds."""
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        code = 99
        try:
            os.chdir(folder)
            for number, name in ((1, "out"), (2, "err")):
                os.dup2(os.open(output / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
            sys.stdout, sys.stderr = (os.fdopen(number, "w", encoding="utf-8", errors="replace") for number in (1, 2))
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            signal.setitimer(signal.ITIMER_PROF, SECONDS)  # of processor time, however busy the machine
            signal.alarm(10 * SECONDS)
            code = run_main(words)
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code if isinstance(code, int) else 98)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    out, err = ((output / name).read_bytes().decode(errors="replace") for name in ("out", "err"))
    return status, out, err, time.monotonic() - began


def snapshot(folder):
    """What is in a folder: names, and contents of plain files."""
    found = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if path.is_symlink():
            found[name] = f"-> {os.readlink(path)}"
        else:
            found[name] = path.read_bytes() if path.is_file() else None
    return found


def faults(words, code, out, err, before, after):
    """What an attack has done that it should not have been able to do."""
    if code < 0:
        yield "hang" if -code in (signal.SIGALRM, signal.SIGPROF) else f"crash ({signal.Signals(-code).name})"
    elif code not in (0, 1, 2, 3):
        yield f"exit code {code}"
    if "Traceback" in err or "a bug in properly" in err:
        yield "traceback, or called a bug"
    if re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", out + err):
        yield "control characters"
    lines = [line for line in err.splitlines() if not line.startswith("properly: warning: ")]
    if code == 1 and (len(lines) != 1 or not lines[0].startswith("properly: error: ")):
        yield "not one line of explanation"
    if code == 2 and not (lines and (lines[0].startswith(("usage: ", "properly: error: ")))):
        yield "wrong use without explanation"
    if code in (0, 3) and lines:
        yield "an error although it is done"
    changed = {name for name in before | after if before.get(name, 0) != after.get(name, 0)}
    told = re.search(r"error: (.*) (is|are) written, but", err)  # what was done before it failed
    if code in (1, 2) and (changed - set(told[1].split(", ")) if told else changed):
        yield f"files changed in spite of failure: {sorted(changed)}"
    read = {word for word in words if not word.startswith("-")}
    if overwritten := {name for name in changed & before.keys() & read if name.endswith((".csv", ".parquet"))}:
        yield f"inputs changed: {sorted(overwritten)}"
    if hidden := {name for name in changed if Path(name).name.startswith(".properly")}:
        yield f"temporary files left: {sorted(hidden)}"


def attacked(common, number, seed, work):
    """The words of one attack, its exit code, what it said, and its faults."""
    folder, output = work / "folder", work / "output"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(common, folder, symlinks=True)
    output.mkdir(exist_ok=True)
    words = attack(folder, seed, number)
    before = snapshot(folder)
    code, out, err, seconds = in_child(words, folder, output)
    return words, code, err, seconds, list(faults(words, code, out, err, before, snapshot(folder)))


def run(numbers, seed, folder, tell=None):
    """The attacks that succeeded, in words; `tell` is called with what every attack came to."""
    import skops.io  # noqa: F401  # what children would import one after the other

    common, found = folder / "common", []
    child = os.fork()  # so that this process never starts threads, which children would not have
    if child == 0:
        code = 1
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            prepare(common)
            code = 0
        finally:
            os._exit(code)
    if os.waitpid(child, 0)[1]:
        raise RuntimeError("the usual commands fail")
    for number in numbers:
        words, code, err, seconds, wrong = attacked(common, number, seed, folder)
        if tell:
            tell(number, words, code, err, seconds, wrong)
        found += [f"{number}: {words!r:.300}: {code}: {each}; {err[-300:]!r}" for each in wrong]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--attacks", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int)
    options = parser.parse_args()
    numbers = range(options.attacks) if options.only is None else [options.only]
    codes = {}

    def tell(number, words, code, err, seconds, wrong):
        codes[code] = codes.get(code, 0) + 1
        if options.only is not None or wrong or seconds > 20:
            print(
                f"{number}: {words!r:.400}\n    code {code}, {seconds:.1f} s, {wrong}\n    {err[-400:]!r}", flush=True
            )

    with tempfile.TemporaryDirectory() as name:
        found = run(numbers, options.seed, Path(name), tell)
    print(f"{len(numbers)} attacks, seed {options.seed}: exit codes {dict(sorted(codes.items()))}; {len(found)} faults")
    sys.exit(bool(found))


if __name__ == "__main__":
    main()
