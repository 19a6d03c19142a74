"""Reading CSV: this package's reader (Arrow, every cell a text, then typed) against DuckDB's.

Each reading is a process of its own; printed are seconds and the largest memory it held. The odd files show what each
reader makes of mistakes.

    python benchmarks/bench_reading.py --rows 10000000 > benchmarks/results/reading.md
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

QUIET = "import duckdb\nduckdb.sql('SET enable_progress_bar = false')\n"
READERS = {
    "properly, whole table, typed": "import properly\nproperly.tables.TableFile({path!r}).read()",
    "properly, in batches of texts": "import properly\nfor _ in properly.tables.TableFile({path!r}).batches(): pass",
    "DuckDB, whole table, typed": QUIET + 'duckdb.sql("from read_csv({path!r})").to_arrow_table()',
    "DuckDB, in batches of texts": (
        QUIET + 'reader = duckdb.sql("from read_csv({path!r}, all_varchar=true)").to_arrow_reader(65536)\n'
        "for _ in reader: pass"
    ),
}
ODD = {
    "a row with a cell too few": "id,x\n1,2\n3\n4,5\n",
    "a quotation mark that is not closed": 'id,x\n1,"abc\n3,4\n5,6\n',
    "decimal commas": "id;x\n1;2,5\n2;3,25\n",
    "NA with and without quotation marks": 'id,x\n1,NA\n2,"NA"\n',
    "codes with leading zeros": "id,x\n1,007\n2,008\n",
    "the smallest number": "id,x\n1,5e-324\n2,0.30000000000000004\n",
}
MEASURED = """
import resource, time
start = time.perf_counter()
{code}
print(f"{{time.perf_counter() - start:.1f}} {{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.2f}}")
"""


def write(path: Path, n_rows: int) -> None:
    random = np.random.default_rng(0)
    with path.open("w") as file:
        file.write("id,amount,town,score\n")
        for start in range(0, n_rows, 100_000):
            rows = range(start, min(start + 100_000, n_rows))
            amount, score = random.lognormal(3.0, 1.0, len(rows)), random.random(len(rows))
            town = random.integers(0, 50, len(rows))
            file.writelines(
                f"{i},{a!r},town {t},{s!r}\n"
                for i, a, t, s in zip(rows, amount.tolist(), town, score.tolist(), strict=True)
            )


def outcome(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    return done.stdout.strip() if not done.returncode else "error: " + done.stderr.strip().splitlines()[-1][:160]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=1_000_000)
    n_rows = parser.parse_args().rows
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.csv")
        write(path, n_rows)
        print(f"# Reading CSV\n\n{n_rows:,} rows of 4 columns, {path.stat().st_size / 2**20:,.0f} MiB.\n")
        print("| reader | seconds | peak memory, GiB |\n|---|---|---|")
        for name, code in READERS.items():
            print(
                f"| {name} | {' | '.join(outcome(MEASURED.format(code=code.format(path=str(path)))).split())} |",
                flush=True,
            )
        print("\n| file | properly | DuckDB |\n|---|---|---|")
        for name, text in ODD.items():
            odd = Path(folder, "odd.csv")
            odd.write_text(text)
            ours = f"import properly; print(properly.tables.read_table({str(odd)!r}).to_pylist())"
            theirs = f'import duckdb; print(duckdb.sql("from read_csv({str(odd)!r})").to_arrow_table().to_pylist())'
            cells = [outcome(code).replace(folder + "/", "").replace("|", "¦") for code in (ours, theirs)]
            print(f"| {name} | {cells[0]} | {cells[1]} |")


if __name__ == "__main__":
    main()
