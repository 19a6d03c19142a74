"""Atomic files: complete or not there, whatever happens."""

import errno
import gzip
import os
import stat
import subprocess
import sys

import pytest

from properly.engines.cache import PartCache
from properly.files import atomic_folder, atomic_path, check_output, files_in, remove_unfinished


def test_replaces_the_old_file_only_at_the_end(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with atomic_path(path) as temporary:
        assert temporary.parent == tmp_path
        temporary.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("failure", [ValueError("x"), KeyboardInterrupt(), SystemExit(3), GeneratorExit()])
def test_nothing_is_left_after_an_exception(tmp_path, failure):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(type(failure)), atomic_path(path) as temporary:  # noqa: PT012
        temporary.write_text("half")
        raise failure
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_interrupt_from_outside_leaves_nothing(tmp_path):
    script = (
        "import signal, time, sys\nfrom properly.files import atomic_path, check_output\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"with atomic_path({str(tmp_path / 'a.txt')!r}) as temporary:\n"
        "    temporary.write_text('half'); print('ready', flush=True); time.sleep(60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        process.send_signal(2)
        assert process.wait(30) != 0
    assert os.listdir(tmp_path) == []


def test_full_disk_is_named_and_nothing_is_lost(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text("old")
    for code, words in ((errno.ENOSPC, "disk is full"), (errno.EDQUOT, "quota")):
        with pytest.raises(OSError, match=words) as caught, atomic_path(path):
            raise OSError(code, os.strerror(code))
        assert str(path) in str(caught.value)
    monkeypatch.setattr(os, "fsync", lambda handle: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))
    with pytest.raises(OSError, match="disk is full"), atomic_path(path) as temporary:
        temporary.write_text("new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs Linux's device that is always full")
def test_device_is_written_directly():
    with (
        pytest.raises(OSError, match="/dev/full cannot be written: the disk is full"),
        atomic_path("/dev/full") as same,
    ):
        same.write_text("x")
    with atomic_path(os.devnull) as same:
        same.write_text("x")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_outputs_are_checked_before_the_work(tmp_path):
    table, model = tmp_path / "table.csv", tmp_path / "model.skops"
    table.touch()
    check_output(model, inputs=[table])
    assert not model.exists()
    check_output(os.devnull, inputs=[os.devnull])  # a device takes everything
    with pytest.raises(ValueError, match=r"table\.csv is an input; give the output another name"):
        check_output(tmp_path / "." / "table.csv", inputs=[table])
    with pytest.raises(ValueError, match=r"model\.skops is another output"):
        check_output(model, inputs=[table], outputs=[model])
    for place, words in ((tmp_path, "is a folder"), (tmp_path / "gone" / "a", "there is no folder")):
        with pytest.raises(OSError, match=words) as checked:
            check_output(place)
        with pytest.raises(OSError, match=words) as written, atomic_path(place):
            pass
        assert str(checked.value) == str(written.value)


def test_wrong_places_are_named(tmp_path):
    with (
        pytest.raises(FileNotFoundError, match=r"there is no folder .*nowhere"),
        atomic_path(tmp_path / "nowhere" / "a"),
    ):
        pass
    with pytest.raises(IsADirectoryError, match="is a folder"), atomic_path(tmp_path):
        pass
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(FileNotFoundError, match="there is no folder"), atomic_path(file / "a"):
        pass


@pytest.mark.skipif(os.name != "posix", reason="permissions are POSIX's")
def test_permissions(tmp_path):
    path = tmp_path / "a.txt"
    with atomic_path(path) as temporary:
        temporary.write_text("1")
    plain = tmp_path / "b.txt"
    plain.write_text("1")
    assert path.stat().st_mode == plain.stat().st_mode  # that of any new file, not that of a temporary one
    path.chmod(0o640)
    with atomic_path(path) as temporary:
        temporary.write_text("2")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_no_permission_is_named(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o440)
    with pytest.raises(PermissionError, match="read-only"), atomic_path(path):
        pass
    tmp_path.chmod(0o550)
    with pytest.raises(PermissionError, match="no permission to write"), atomic_path(tmp_path / "b.txt"):
        pass
    tmp_path.chmod(0o750)


def test_a_symbolic_link_that_leads_in_a_circle_is_an_error_of_files(tmp_path):
    loop = tmp_path / "loop.csv"
    loop.symlink_to(loop)
    with pytest.raises(OSError, match="leads in a circle"):
        check_output(loop)
    check_output(tmp_path / "out.csv", inputs=[loop])


def test_symbolic_link_and_suffixes_are_kept(tmp_path):
    (tmp_path / "real").mkdir()
    target = tmp_path / "real" / "a.csv.gz"
    target.touch()
    link = tmp_path / "link.csv.gz"
    link.symlink_to(target)
    with atomic_path(link) as temporary:
        assert temporary.name.endswith(".csv.gz")
        with gzip.open(temporary, "wt") as file:
            file.write("1,2")
    assert link.is_symlink()
    with gzip.open(target, "rt") as file:
        assert file.read() == "1,2"


def test_a_folder_takes_its_name_when_it_is_whole(tmp_path):
    with atomic_folder(tmp_path / "parts") as temporary:
        (temporary / "a.txt").write_text("1")
        assert os.listdir(tmp_path) == [temporary.name]
    assert (tmp_path / "parts" / "a.txt").read_text() == "1"
    assert os.listdir(tmp_path) == ["parts"]


@pytest.mark.parametrize("failure", [ValueError("x"), KeyboardInterrupt()])
def test_no_unfinished_folder_is_left(tmp_path, failure):
    with pytest.raises(type(failure)), atomic_folder(tmp_path / "parts") as temporary:  # noqa: PT012
        (temporary / "deeper").mkdir()
        (temporary / "deeper" / "a.txt").write_text("1")
        raise failure
    assert os.listdir(tmp_path) == []


def test_a_process_that_ends_at_once_leaves_no_folder(tmp_path):
    """Whatever else still writes to it."""
    script = (
        "import os, threading\nfrom properly.engines.cache import PartCache\n"
        "from properly.files import atomic_folder, atomic_path, remove_unfinished\n"
        "import numpy as np\nfrom properly.engines.description import Part\n"
        "def write(folder):\n"
        "    k = 0\n"
        "    while True:\n"
        "        k += 1\n"
        "        open(folder / str(k), 'w').close()\n"
        f"with atomic_folder({str(tmp_path / 'parts')!r}) as one, atomic_path({str(tmp_path / 'a.txt')!r}):\n"
        f"    cache = PartCache({str(tmp_path)!r})\n"
        "    cache.keeping(lambda part, number: None)(Part(np.ones((5, 2))), 0)\n"
        "    threading.Thread(target=write, args=(one,), daemon=True).start()\n"
        f"    while len(os.listdir(one)) < 9: pass\n"
        f"    assert len(os.listdir({str(tmp_path)!r})) == 3\n"
        "    remove_unfinished()\n"
        "    os._exit(7)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], stderr=subprocess.PIPE, text=True, timeout=60)
    assert done.returncode == 7, done.stderr
    assert os.listdir(tmp_path) == []


def test_a_cache_that_is_closed_is_forgotten(tmp_path):
    cache = PartCache(str(tmp_path))
    (folder,) = tmp_path.iterdir()
    cache.close()
    folder.mkdir()
    remove_unfinished()
    assert folder.exists()


def test_outputs_are_not_among_what_is_read(tmp_path):
    (tmp_path / "rows" / "deeper").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "rows")
    check_output(tmp_path / "rows.html", inputs=[tmp_path / "rows"])
    for folder in ("rows", "rows/deeper", "link"):
        with pytest.raises(ValueError, match=r"lies in .*rows, which is read; give a place outside of it"):
            check_output(tmp_path / folder / "page.html", inputs=[tmp_path / "rows"])


class TestFilesOfAFolder:
    @pytest.fixture
    def folder(self, tmp_path):
        for name in ("rows/b/2", "rows/1", "rows/_SUCCESS", "rows/.x/3", "rows/b/_y/3", "other/4"):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).touch()
        return tmp_path / "rows"

    def test_they_are_in_order(self, folder):
        assert files_in(folder) == [folder / "1", folder / "b" / "2"]

    def test_links_are_followed(self, folder, tmp_path):
        (folder / "a").symlink_to(tmp_path / "other")
        (folder / "0").symlink_to("_SUCCESS")
        (tmp_path / "link").symlink_to(folder)
        assert files_in(folder) == [folder / "0", folder / "1", folder / "a" / "4", folder / "b" / "2"]
        assert len(files_in(tmp_path / "link")) == 4

    @pytest.mark.parametrize("target", ["nowhere", "c"])
    def test_a_link_to_nothing_is_refused(self, folder, target):
        (folder / "b" / "c").symlink_to(target)
        with pytest.raises(FileNotFoundError, match=r"rows/b/c is a link to what does not exist; remove it"):
            files_in(folder)

    @pytest.mark.parametrize("target", ["..", ".", "../1", "../../rows", "../../other/d"])
    def test_nothing_is_read_twice(self, folder, tmp_path, target):
        (folder / "b" / "c").symlink_to(target)
        (tmp_path / "other" / "d").symlink_to(folder / "b")
        with pytest.raises(ValueError, match=r"is read twice, by a link, and its rows would count twice; remove"):
            files_in(folder)

    def test_folders_that_may_not_be_read(self, folder, monkeypatch):
        scandir = os.scandir

        def refused(path):
            if str(path).endswith("b"):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
            return scandir(path)

        monkeypatch.setattr(os, "scandir", refused)
        with pytest.raises(PermissionError):
            files_in(folder)
