"""Tables that no program expects: files that are damaged, and values that are odd."""

import gzip
import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import ipc

_ROWS = 60
_TEXTS = [
    "",
    "nan",
    "inf",
    "-inf",
    "1e400",
    "-1e400",
    "1e308",
    "5e-324",
    "0x1F",
    "1,5",
    "TRUE",
    "NULL",
    "\x00",
    "\x1b[2J",
]
_TEXTS += ["\u202e", "é", "a" * 100_000, '"', "'", "=1+1", "2020-02-30", "1970-01-01", "9" * 20, "-0", " 1 ", "\u0661"]


def usual_columns(n=_ROWS):
    """Columns that all commands can use, and some that they cannot."""
    random = np.random.default_rng(0)
    x, z = random.normal(size=n), random.normal(size=n)
    y = (random.random(n) < 1 / (1 + np.exp(-x))).astype(int)
    return {
        "y": y.tolist(),
        "p": np.round(1 / (1 + np.exp(-x)), 6).tolist(),
        "x": x.round(6).tolist(),
        "z": z.round(6).tolist(),
        "town": np.array(["Bath", "Rome", "Ulm"])[random.integers(0, 3, n)].tolist(),
        "w": random.integers(0, 4, n).tolist(),
        "g": (np.arange(n) // 4).tolist(),
        "day": (np.datetime64("2024-01-01") + np.arange(n)).astype(str).tolist(),
        "three": random.integers(0, 3, n).tolist(),
        "constant": [1] * n,
        "empty": [""] * n,
        "bad": ["?"] * n,
    }


def _csv(columns, separator=",", end="\n"):
    rows = zip(*columns.values(), strict=True)
    return end.join([separator.join(columns), *(separator.join(map(str, row)) for row in rows)]) + end


def usual_table():
    return _csv(usual_columns()).encode()


def damaged_file(random):
    """A name and bytes: a file of any format, cut, mixed up or of another format than its name says."""
    plain = usual_table()
    table = pa.table(usual_columns())
    parquet, arrow = io.BytesIO(), io.BytesIO()
    pq.write_table(table, parquet)
    with ipc.new_file(arrow, table.schema) as writer:
        writer.write_table(table)
    lines = "\n".join(json.dumps(row) for row in table.to_pylist()).encode()
    formats = {"csv": plain, "parquet": parquet.getvalue(), "arrow": arrow.getvalue(), "jsonl": lines}
    formats["csv.gz"] = gzip.compress(plain)
    ending = random.choice(list(formats))
    return f"damaged.{random.choice([ending] * 6 + list(formats))}", _damaged(formats[ending], random)


def _damaged(content, random):
    what = random.integers(9)
    place = random.integers(len(content))
    if what == 0:
        return random.choice([b"", b"\n", b"\r", b"\x00", b"\xef\xbb\xbf", b",", b'"', b"y,p\n", b"{}", b"PAR1", b"[]"])
    if what == 1:
        return content[:place]
    if what == 2:
        return content[:place] + bytes(random.integers(256) for _ in range(20)) + content[place:]
    if what == 3:
        return (
            content[:place] + random.choice([b"\x00", b"\x1b", b'"', b"\xff", b",,,", b"\n\n", b"\r"]) + content[place:]
        )
    if what == 4:
        changed = bytearray(content)
        for _ in range(random.choice([1, 4, 64])):
            changed[random.integers(len(changed))] = random.integers(256)
        return bytes(changed)
    if what == 5:
        return content.decode("latin-1").encode(random.choice(["utf-16", "utf-32", "utf-8-sig", "utf-16-be"]))
    if what == 6:
        return content + content[place:]
    if what == 7:
        return content.replace(b"\n", random.choice([b"\r\n", b"\r", b"\n\n", b" \n", b",\n"]))
    return content[place:] + content[:place]


def odd_table(random):
    """A name and bytes: a readable table with odd names, values or types."""
    return random.choice([_odd_text, _odd_text, _odd_types])(random)


def _odd_text(random):
    columns, separator, end = usual_columns(), ",", "\n"
    for _ in range(random.integers(1, 3)):
        what, name = random.integers(9), random.choice(["y", "y", "p", "p", "x", "z", "town"])
        if what == 0:  # one odd value
            columns[name][random.integers(_ROWS)] = random.choice(_TEXTS)
        elif what == 1:  # nothing else
            columns[name] = [random.choice(_TEXTS)] * _ROWS
        elif what == 2:  # some of two odd values
            pair = [random.choice(_TEXTS), random.choice([0, 1, *_TEXTS])]
            columns[name] = [pair[k % 2] for k in range(_ROWS)]
        elif what == 3:  # odd names
            new = random.choice(["", "\x1b[31m", "p" * 5000, "y", " ", "x,z", '"q"', "1", "é\u0301"])
            columns = {(new if each == "bad" else each): values for each, values in columns.items()}
        elif what == 4:  # few rows
            n = random.integers(5)
            columns = {each: values[:n] for each, values in columns.items()}
            break
        elif what == 5:  # separated classes, or the other way round
            columns["p"] = [random.choice([0, 1, 1e-300, 0.5])] * _ROWS if random.integers(2) else usual_columns()["y"]
        elif what == 6:
            columns["p"] = [1 - value for value in usual_columns()["y"]]
        elif what == 7:
            separator, end = random.choice([";", "\t", "|", " "]), random.choice(["\n", "\r\n"])
        else:  # many columns, or one
            columns |= {f"c{k}": [k] * len(columns["y"]) for k in range(random.choice([1, 500]))}
    text = _csv(columns, separator, end)
    if random.integers(4) == 0:  # the same name twice, or rows that are too short or too long
        lines = text.split(end)
        place = random.integers(len(lines))
        lines[place] = random.choice(
            [lines[place] + separator + "1", lines[place].rpartition(separator)[0], lines[0], ""]
        )
        text = end.join(lines)
    return "odd.csv", text.encode("utf-8", "surrogatepass")


def _odd_types(random):
    table = pa.table(usual_columns())
    name = random.choice(["y", "y", "p", "x", "town"])
    n = _ROWS
    arrays = [
        pa.nulls(n),
        pa.array([[1, 2]] * n),
        pa.array([{"a": 1}] * n),
        pa.array([b"\xff\x00", b"a"] * (n // 2)),
        pa.array(["a", "b"] * (n // 2)).dictionary_encode(),
        pa.array(["a", None] * (n // 2)),
        pa.array([None, 1.0] * (n // 2)),
        pa.array([float("nan"), float("inf")] * (n // 2)),
        pa.array([2**63 - 1, -(2**63)] * (n // 2)),
        pa.array([2**64 - 1, 0] * (n // 2), pa.uint64()),
        pa.array([0, 1] * (n // 2), pa.float16()),
        pa.array([0, 1] * (n // 2), pa.timestamp("ns", "UTC")),
        pa.array([0, 1] * (n // 2), pa.duration("s")),
        pa.array([0, 1] * (n // 2), pa.time32("s")),
        pa.array([1, 2] * (n // 2), pa.decimal128(38, 10)),
        pa.array([True, False] * (n // 2)),
        pa.array(["\x1b[31m", "b"] * (n // 2)),
        pa.array([5e-324, -5e-324] * (n // 2)),
        pa.array([1e308, -1e308] * (n // 2)),
        pa.array([0.0, 1.0] * (n // 2)),
    ]
    table = table.set_column(table.column_names.index(name), name, random.choice(arrays))
    if random.integers(5) == 0:
        table = table.append_column(name, table.column(name))  # the same name twice
    if random.integers(5) == 0:
        table = table.slice(0, random.integers(3))
    file = io.BytesIO()
    if random.integers(2):
        pq.write_table(table, file)
        return "odd.parquet", file.getvalue()
    with ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    return "odd.arrow", file.getvalue()
