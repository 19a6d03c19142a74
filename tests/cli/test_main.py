"""The command itself: version, help, exit codes, and errors in one line."""

import errno
import json
import logging
import os
import signal
import subprocess
import sys
import time
import warnings

import pytest

import properly as package
from properly.cli import COMMANDS, main
from properly.cli.arguments import Misuse, names, path, seed, share, whole
from properly.cli.main import table_of

MODULE = [sys.executable, "-m", "properly"]


def started(code, *words, **options):
    """A fresh interpreter that runs some code, then the command."""
    program = f"import sys\nfrom properly.cli import main\n{code}\nsys.exit(main(sys.argv[1:]))"
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, words)], capture_output=True, text=True, timeout=120, **options
    )


def test_version(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"properly {package.__version__}\n"


def test_version_is_fast_and_imports_nothing_heavy():
    start = time.perf_counter()
    subprocess.run([*MODULE, "--version"], check=True, capture_output=True)
    assert time.perf_counter() - start < 1.5  # 0.1 s on an idle machine; the rest is for busy ones
    code = "import sys; from properly.cli import main; main(['--version']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert not loaded & {"numpy", "scipy", "sklearn", "pyarrow", "rich", "matplotlib", "lightgbm", "pandas", "skops"}


def test_the_module_is_the_command():
    done = subprocess.run([*MODULE, "nonsense"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "invalid choice: 'nonsense'" in done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command, capsys):
    assert main([command, "--help"]) == 0
    shown = capsys.readouterr().out
    assert f"example: properly {command}" in shown
    assert "--json" in shown


def test_help_names_all_commands_and_exit_codes(capsys):
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    assert all(command in shown for command in COMMANDS)
    assert "130" in shown


@pytest.mark.parametrize(
    "words",
    [[], ["fit"], ["fit", "a.csv"], ["fit", "a.csv", "--target", "y", "--folds", "x"], ["predict", "m.skops", "--x"]],
)
def test_wrong_arguments_are_misuse(words, capsys):
    assert main(words) == 2
    assert capsys.readouterr().err.startswith("usage: ")


def test_types_of_arguments():
    assert names("a, b") == ["a", "b"]
    assert share("0.25") == 0.25
    assert names(' a ,"b, c"," d ","say ""e""",""') == ["a", "b, c", " d ", 'say "e"', ""]
    assert whole(2)("2") == 2
    bad = [(names, text) for text in ("", "a,,b", "a,", '"a', 'a"b', '"a"b', "a,b,a")]
    bad += [(share, text) for text in ("1", "x", "nan")]
    bad += [(whole(2), "1"), (whole(2), "2.0"), (seed, "-1"), (seed, str(2**32)), (path, " ")]
    for convert, text in bad:
        with pytest.raises(ValueError, match=r"must be|names"):
            convert(text)


@pytest.fixture
def command(monkeypatch):
    """Replace what `properly predict` does."""

    def replace(run, show=None):
        monkeypatch.setattr("properly.cli.predict.run", run)
        if show:
            monkeypatch.setattr("properly.cli.predict.show", show)
        return ["predict", "model", "table", "--json"]

    return replace


def raising(error):
    def run(**options):
        raise error

    return run


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("two\n  lines"), "two lines"),
        (ImportError('This needs rich: pip install "properly[cli]".'), 'This needs rich: pip install "properly[cli]".'),
        (OSError(errno.ENOSPC, "No space left on device"), "the disk is full; no incomplete file was left."),
        (OSError(errno.ENOSPC, "No space left", "a.csv"), "the disk is full: a.csv; no incomplete file was left."),
        (FileNotFoundError(errno.ENOENT, "No such file or directory", "a.csv"), "a.csv: No such file or directory."),
        (FileNotFoundError("a.csv: there is no such file."), "a.csv: there is no such file."),
        (MemoryError(), "there is not enough memory for this."),
    ],
)
def test_errors_are_one_line(command, capsys, error, message):
    assert main(command(raising(error))) == 1
    assert capsys.readouterr().err == f"properly: error: {message}\n"


def test_arguments_that_do_not_go_together_are_misuse(command, capsys):
    assert main(command(raising(Misuse("they do not go together")))) == 2
    assert capsys.readouterr().err == "properly: error: they do not go together\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--folds", "1"], "argument --folds: must be a whole number of at least 2, got '1'"),
        (["--seed", "-1"], "argument --seed: must be a whole number from 0 to 4294967295, got '-1'"),
        (["--calibration", "magic"], "argument --calibration: must be one of 'auto', 'none', 'platt'"),
        (["--report", ""], "argument --report: must be the name of a file, got an empty text"),
        (["--features", "x,x"], "argument --features: names the column 'x' twice"),
        (["--report", "x.pdf"], "argument --report: must end with .html or .htm, got 'x.pdf'"),
        (["-o", "m.pkl"], "argument -o/--output: must end with .skops, got 'm.pkl'"),
        (["--decimal", ";"], "argument --decimal: must be one of '.', ',', got ';'"),
        (["--group", "a", "--time", "b"], "argument --time: not allowed with argument --group"),
    ],
)
def test_wrong_values_name_their_option(words, message, capsys):
    assert main(["fit", "a.csv", "--target", "y", *words]) == 2
    assert message in capsys.readouterr().err


def test_a_mistake_of_ours_is_called_so(command, capsys, monkeypatch):
    words = command(raising(KeyError("x")))
    monkeypatch.delenv("PROPERLY_DEBUG", raising=False)
    assert main(words) == 1
    shown = capsys.readouterr().err
    assert "this is a bug in properly: KeyError: 'x'" in shown
    assert shown.count("\n") == 1
    monkeypatch.setenv("PROPERLY_DEBUG", "1")
    with pytest.raises(KeyError):
        main(words)


def test_interruption(command, capsys):
    assert main(command(raising(KeyboardInterrupt()))) == 130
    assert capsys.readouterr().err == "properly: error: interrupted; no incomplete file was left.\n"


def test_what_others_log_is_not_shown(command, capsys, caplog):
    """Such as clients of Dask that are interrupted."""

    def run(**options):
        logging.getLogger("asyncio").error("Task exception was never retrieved")
        raise KeyboardInterrupt

    assert main(command(run)) == 130
    assert capsys.readouterr().err == "properly: error: interrupted; no incomplete file was left.\n"
    assert not caplog.records
    assert logging.root.manager.disable == logging.NOTSET


def test_a_signal_interrupts():
    code = (
        "import os, signal, time\nimport properly.cli.predict as command\n"
        "def run(**options):\n    os.kill(os.getpid(), signal.SIGINT)\n    time.sleep(60)\ncommand.run = run"
    )
    done = started(code, "predict", "model", "table")
    assert done.returncode == 130
    assert done.stderr == "properly: error: interrupted; no incomplete file was left.\n"
    assert signal.SIGINT == 2


@pytest.mark.skipif(sys.platform == "win32", reason="processes there end without being asked")
def test_being_told_to_end_leaves_nothing(tmp_path):
    code = (
        "import os, signal, time\nimport properly.cli.predict as command\nfrom properly.files import atomic_path\n"
        "def run(**options):\n    with atomic_path(options['output']) as temporary:\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n        time.sleep(60)\ncommand.run = run"
    )
    done = started(code, "predict", "model", "table", "-o", tmp_path / "scored.csv")
    assert done.returncode == 143
    assert done.stderr == "properly: error: terminated; no incomplete file was left.\n"
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(sys.platform == "win32", reason="processes there end without being asked")
@pytest.mark.parametrize(("by", "code", "word"), [("SIGINT", 130, "interrupted"), ("SIGTERM", 143, "terminated")])
def test_compiled_code_is_ended_in_time(by, code, word, tmp_path):
    """A product of matrices takes half a minute, and Python hears nothing before it is done."""
    program = f"""
import os, signal, threading, time
import numpy as np
import properly.cli.predict as command
from properly.files import atomic_path

def run(**options):
    with atomic_path("finished.csv"):
        pass
    with atomic_path("scored.csv") as temporary:
        matrix = np.ones((9000, 9000), dtype=np.float32)
        threading.Timer(0.2, os.kill, [os.getpid(), signal.{by}]).start()
        print(time.time(), flush=True)
        matrix @ matrix

command.run = run
"""
    one = os.environ | {"OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    done = started(program, "predict", "model", "table", cwd=tmp_path, env=one)
    assert time.time() - float(done.stdout) < 5.0  # 1.2 s on an idle machine
    assert done.returncode == code
    assert done.stderr == f"properly: error: {word}; finished.csv is already written, no incomplete file was left.\n"
    assert os.listdir(tmp_path) == ["finished.csv"]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no shell that closes streams")
@pytest.mark.parametrize("option", [[], ["--json"]])
def test_streams_may_be_closed(option):
    summary = {"rows": 1, "columns": [], "output": ""}
    code = f"import properly.cli.predict as command\ncommand.run = lambda **options: {summary}"
    program = f"import sys\nfrom properly.cli import main\n{code}\nsys.exit(main(sys.argv[1:]))"
    words = [sys.executable, "-c", program, "predict", "model", "table", *option]
    done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *words], stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("option", [[], ["--json"]])
@pytest.mark.parametrize(("check", "code"), [("failed", 3), ("passed", 0)])
def test_a_check_counts_even_if_nobody_reads_the_summary(option, check, code):
    """As in ``properly audit … --check | head -1``."""
    program = (
        f"import sys\nfrom properly.cli import main\nimport properly.cli.audit as command\n"
        f"command.run = lambda **options: {{'check': {check!r}}}\n"
        "command.show = lambda summary, console: [console.print('x' * 100) for _ in range(10_000)]\n"
        "sys.exit(main(sys.argv[1:]))"
    )
    words = [sys.executable, "-c", program, "audit", "t.csv", "--target", "y", "--probability", "p", *option]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(words, stdout=writer, stderr=subprocess.PIPE, text=True)
    os.close(writer)
    assert (done.returncode, done.stderr) == (code, "")


def test_streams_that_know_few_signs():
    summary = {"rows": 1, "columns": ["é"], "output": "∞"}
    code = f"import properly.cli.predict as command\ncommand.run = lambda **options: {summary}"
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    shown = started(code, "predict", "model", "table", env=environment)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "new columns ?." in shown.stdout
    for_machines = started(code, "predict", "model", "table", "--json", env=environment)
    assert json.loads(for_machines.stdout)["columns"] == ["é"]


def test_warnings_are_one_line(command, capsys):
    def run(**options):
        for _ in range(3):
            warnings.warn("two\nlines", UserWarning, stacklevel=1)
        for row in (5, 70_000):
            warnings.warn(f"column 'a', first in row {row}", UserWarning, stacklevel=1)
        warnings.warn("for programmers", DeprecationWarning, stacklevel=1)
        return {}

    words = command(run)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert main(words) == 0
    assert capsys.readouterr().err == ("properly: warning: two lines\nproperly: warning: column 'a', first in row 5\n")


def test_json_has_no_infinity(command, capsys):
    assert main(command(lambda **options: {"a": [float("inf"), 1.5], "b": (float("nan"),), "c": "∞"})) == 0
    assert json.loads(capsys.readouterr().out) == {"a": [None, 1.5], "b": [None], "c": "∞"}


def test_data_are_no_markup(command, capsys):
    words = command(lambda **options: {}, lambda summary, console: console.print("[bold]x[/bold] [/] :smile:"))
    assert main(words[:-1]) == 0
    assert capsys.readouterr().out == "[bold]x[/bold] [/] :smile:\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full here")
@pytest.mark.parametrize("option", [[], ["--json"]])
def test_the_output_goes_to_a_full_disk(option):
    summary = {"rows": 1, "columns": [], "output": ""}
    code = f"import properly.cli.predict as command\ncommand.run = lambda **options: {summary}"
    program = f"import sys\nfrom properly.cli import main\n{code}\nsys.exit(main(sys.argv[1:]))"
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-c", program, "predict", "model", "table", *option],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
        )
    assert done.returncode == 1
    why = "the summary could not be printed: No space left on device"
    assert done.stderr == f"properly: error: the work is done, but {why}.\n"


ESCAPED = r"\x1b[31m"


def test_no_name_reaches_the_terminal_raw(command, capsys, monkeypatch):
    name = "a\x1b[31m\x9b\u202e\x07\r.csv"
    assert main(["predict", name, "table.csv"]) == 1
    assert main(["predict", "model", "table", name]) == 2
    assert main([name]) == 2

    def run(**options):
        warnings.warn(f"of {name}", UserWarning, stacklevel=1)
        return {}

    def show(summary, console):
        console.print(name)
        console.print(table_of([name, "b"], [[name, name]]))

    words = command(run, show)
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert main(words[:-1]) == 0
    out, err = capsys.readouterr()
    assert out.count(ESCAPED) == 4
    assert err.count(ESCAPED) >= 4
    assert not set(out + err) & {"\x1b", "\x9b", "\u202e", "\x07", "\r"}


def test_the_reader_of_the_output_has_gone():
    code = "import properly.cli.predict as command\ncommand.run = lambda **options: {'a': 'x' * 1_000_000}"
    program = f"import sys\nfrom properly.cli import main\n{code}\nsys.exit(main(sys.argv[1:]))"
    process = subprocess.Popen(
        [sys.executable, "-c", program, "predict", "model", "table", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait() == 0


def test_a_missing_package_is_named_before_the_work(command, capsys, monkeypatch):
    done = []
    words = command(lambda **options: done.append(1) or {})
    monkeypatch.setitem(sys.modules, "rich", None)
    monkeypatch.setitem(sys.modules, "rich.console", None)
    assert main(words[:-1]) == 1
    assert 'pip install "properly[cli]"' in capsys.readouterr().err
    assert not done
