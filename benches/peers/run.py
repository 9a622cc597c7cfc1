#!/usr/bin/env python3
"""Measures Warpsmith beside PyTorch (eager and torch.compile) on one GPU, in one run and in turn.

    python3 run.py [SUITE ...] [--out FOLDER] [--chunk I/N] [--dtypes f32,bf16] [--minutes M]

A suite is a file in suites/ with a list ROWS of Row; no suites means all. Rows are measured one after the other: a device copy, then
each contender, so that a drift of the clocks shows in the copy too. Each chunk fits ten minutes. Writes rows.csv and roofline.svg,
and prints a table of ratios: `of copy` is the bandwidth over that of the row's own copy, `/ eager` and `/ compile` are the peers'
time over ours. A row whose results are off by more than its bound is not timed but reported.
"""

import argparse
import csv
import importlib.util
import os
import platform
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Optional

HERE = Path(__file__).resolve().parent


@dataclass
class Row:
    """One thing to measure."""

    suite: str
    name: str  # what a reader sees
    request: str  # what the Rust program is asked; {dtype} and {n} are filled in
    dtype: str  # f32, f16, bf16
    n: int  # elements
    streams: int  # tensors of n elements that are read or written
    peer: Optional[Callable] = None  # (torch, dtype, n) -> a function of no arguments
    ulp: float = 4.0  # the largest error allowed


class Ours:
    """The Rust program, asked over its standard input."""

    def __init__(self):
        program = os.environ.get("WARPSMITH_PEERS", str(HERE.parent / "peers-serve"))
        if not os.access(program, os.X_OK):
            sys.exit(f"error: no program {program}; run this from a bundle, or set WARPSMITH_PEERS")
        self.process = subprocess.Popen([program, "--serve"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.device = self.process.stdout.readline().strip()
        if not self.device.startswith("ready"):
            sys.exit(f"error: {program} said `{self.device}`")

    def ask(self, request):
        self.process.stdin.write(request + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split(maxsplit=1)
        if answer and answer[0] == "ok":
            milliseconds, ulp = answer[1].split()
            return float(milliseconds) * 1e-3, float(ulp)
        return None, " ".join(answer)


def measure(torch, call, n):
    """Seconds of one call: the median, by events; small sizes in bursts by the host's clock."""
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    times = []
    for _ in range(9):
        if n >= 1 << 25:
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            call()
            end.record()
            end.synchronize()
            times.append(start.elapsed_time(end) * 1e-3)
        else:
            begin = time.perf_counter()
            for _ in range(100):
                call()
            torch.cuda.synchronize()
            times.append((time.perf_counter() - begin) / 100)
    return statistics.median(times)


def load(names):
    rows = []
    files = sorted((HERE / "suites").glob("*.py"))
    known = [f.stem for f in files]
    for name in names:
        if name not in known:
            sys.exit(f"error: no suite `{name}`; there are {', '.join(known)}")
    sys.modules.setdefault("run", sys.modules[__name__])
    for file in files:
        if names and file.stem not in names:
            continue
        spec = importlib.util.spec_from_file_location(file.stem, file)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        rows += module.ROWS
    return rows


def roofline(results, path):
    """Bandwidth over that of a copy, one dot for each row, one column for each suite."""
    width, height, left = 900, 420, 60
    big = [r for r in results if r["of_copy"] and r["n"] >= 1 << 25]
    top = max([1.05] + [r["of_copy"] for r in big])
    x = lambda i: left + (width - left - 20) * (i + 0.5) / max(len(big), 1)
    y = lambda v: height - 40 - (height - 70) * v / top
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="12">']
    parts.append(f'<rect width="{width}" height="{height}" fill="white"/>')
    for value in (0, 0.25, 0.5, 0.75, 0.97, 1):
        dash = ' stroke-dasharray="4 3"' if value == 0.97 else ""
        parts.append(f'<line x1="{left}" x2="{width-20}" y1="{y(value):.1f}" y2="{y(value):.1f}" stroke="#ccc"{dash}/>')
        parts.append(f'<text x="{left-8}" y="{y(value)+4:.1f}" text-anchor="end">{value}</text>')
    for i, r in enumerate(big):
        for key, color in (("of_copy", "#005faf"), ("eager_of_copy", "#c85a00")):
            if r.get(key):
                title = f"{r['suite']} {r['name']} {r['dtype']}: {r[key]:.3f}"
                parts.append(f'<circle cx="{x(i):.1f}" cy="{y(r[key]):.1f}" r="3" fill="{color}"><title>{title}</title></circle>')
    parts.append(f'<text x="{left}" y="18">bandwidth over a device copy: Warpsmith (blue), torch eager (orange)</text></svg>')
    path.write_text("\n".join(parts))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*")
    parser.add_argument("--out", type=Path, default=Path("."))
    parser.add_argument("--chunk", default="1/1", help="the I-th of N parts of the rows")
    parser.add_argument("--dtypes", default="f32,f16,bf16")
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    parser.add_argument("--minutes", type=float, default=9.0, help="stop before this, and say what is left")
    arguments = parser.parse_args()
    part, parts = map(int, arguments.chunk.split("/"))
    rows = [row for row in load(arguments.suites) if row.dtype in arguments.dtypes.split(",")][part - 1 :: parts]

    import torch

    dtypes = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
    ours = Ours()
    device = torch.cuda.get_device_properties(0)
    print(f"{device.name}, {device.multi_processor_count} multiprocessors, torch {torch.__version__}, {platform.platform()}")
    print(f"{'':44} {'copy GB/s':>9} {'ours ms':>9} {'of copy':>8} {'/ eager':>8} {'/ compile':>9} {'ulp':>6}")
    begin, results = time.time(), []
    torch._dynamo.config.cache_size_limit = 1000
    for number, row in enumerate(rows):
        if time.time() - begin > arguments.minutes * 60:
            print(f"stopped after {arguments.minutes} minutes; {len(rows) - number} rows are left: use --chunk")
            break
        dtype = dtypes[row.dtype]
        size = torch.tensor([], dtype=dtype).element_size()
        a = torch.empty(row.n, dtype=dtype, device="cuda").normal_()
        b = torch.empty_like(a)
        copied = measure(torch, lambda: b.copy_(a), row.n)
        del a, b
        base = 2 * row.n * size / copied
        seconds, ulp = ours.ask(row.request.format(dtype=row.dtype, n=row.n))
        result = {"suite": row.suite, "name": row.name, "dtype": row.dtype, "n": row.n, "copy_gbs": base / 1e9, "seconds": seconds}
        result |= {"ulp": ulp, "eager": None, "compile": None, "of_copy": None, "eager_of_copy": None}
        if seconds is not None and isinstance(ulp, float) and ulp > row.ulp:
            result["seconds"], seconds, ulp = None, None, f"WRONG: {ulp} ulp"
        if row.peer:
            try:
                peer = row.peer(torch, dtype, row.n)
                result["eager"] = measure(torch, peer, row.n)
                if not arguments.no_compile:
                    compiled = peer.compiled() if hasattr(peer, "compiled") else torch.compile(peer)
                    result["compile"] = measure(torch, compiled, row.n)
            except Exception as error:
                print(f"  peer of {row.name}: {type(error).__name__}: {str(error)[:100]}")
        moved = row.streams * row.n * size
        if seconds:
            result["of_copy"] = moved / seconds / base
        if result["eager"]:
            result["eager_of_copy"] = moved / result["eager"] / base
        ratio = lambda key: f"{result[key] / seconds:.2f}" if seconds and result[key] else "-"
        shown = f"{seconds * 1e3:.4f}" if seconds else "-"
        of_copy = f"{result['of_copy']:.3f}" if seconds else "-"
        label = f"{row.suite} {row.name} {row.dtype} 2^{row.n.bit_length() - 1}"
        print(f"{label:44} {base / 1e9:9.0f} {shown:>9} {of_copy:>8} {ratio('eager'):>8} {ratio('compile'):>9} {ulp}", flush=True)
        results.append(result)
        torch.cuda.empty_cache()
    if results:
        arguments.out.mkdir(parents=True, exist_ok=True)
        with open(arguments.out / "rows.csv", "w", newline="") as file:
            writer = csv.DictWriter(file, results[0].keys())
            writer.writeheader()
            writer.writerows(results)
        roofline(results, arguments.out / "roofline.svg")
    wrong = [r for r in results if r["seconds"] is None]
    print(f"{len(results)} rows, {len(wrong)} without a time: {', '.join(r['name'] + ' ' + r['dtype'] for r in wrong)}")


if __name__ == "__main__":
    main()
