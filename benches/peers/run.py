#!/usr/bin/env python3
"""Measures Warpsmith beside its peers on one GPU, in one run and in turn.

    python3 run.py [SUITE ...] [--quick] [--chunk I/N] [--only TEXT] [--dtypes f32,bf16] [--minutes M] [--out FOLDER]
    python3 run.py --list [SUITE ...]

A suite is a file in suites/ with a list ROWS; no suites means all. The Rust program and this one use the GPU alternately: in each round
of a row one contender is timed after the other, so that a drift of the clocks meets all of them, and the median over the rounds counts.
Every result is compared with f64 before anything is timed; a wrong one is reported and has no time. A peer that isn't installed is named
as missing. Prints a table, and the geometric mean and the least of each group; writes rows.csv and, of memory-bound rows, roofline.svg.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path

import report
import rows
from libraries import Libraries
from ours import Ours, Slot
from timing import Timed


def prepare(row, contender, ours, libraries, quick):
    """Something with `time(mode)`; raises where it can't be had."""
    if contender.request:
        return Slot(ours, contender.name, contender.request, row.error)
    needs = contender.needs or "torch"
    if not libraries.torch or not getattr(libraries, needs):
        raise LookupError(f"{needs} is missing")
    if quick and contender.slow:
        raise LookupError("left out by --quick")
    made = contender.make(libraries)
    call, check = made if isinstance(made, tuple) else (made, None)
    if check:
        check(call())
    return Timed(libraries.torch, call)


def measure(row, ours, libraries, arguments):
    """The results of a row, one for each mode."""
    prepared, notes = {}, {}
    for contender in row.contenders:
        try:
            prepared[contender.name] = prepare(row, contender, ours, libraries, arguments.quick)
        except Exception as error:
            notes[contender.name] = str(error) if isinstance(error, LookupError) else f"{type(error).__name__}: {error}"
    results = []
    for mode in row.modes:
        if arguments.modes and mode not in arguments.modes.split(","):
            continue
        mode = f"sustained {arguments.sustained}" if mode == "sustained" else mode
        times = {name: [] for name in prepared}
        for _ in range(arguments.rounds):
            for name, timed in prepared.items():
                try:
                    times[name].append(timed.time(mode))
                except Exception as error:
                    notes[name] = f"{mode}: {type(error).__name__}: {error}"
        seconds = {name: statistics.median(of) for name, of in times.items() if of}
        notes |= {name: timed.note for name, timed in prepared.items() if timed.note and name not in notes}
        results.append(report.Result(row, mode, seconds, dict(notes)))
    ours.ask("free")
    if libraries.torch:
        prepared.clear()
        if "torch._dynamo" in sys.modules:
            libraries.torch._dynamo.reset()
        libraries.torch.cuda.empty_cache()
    return results


def chosen(arguments):
    all_rows, bars = rows.load(arguments.suites)
    part, parts = map(int, arguments.chunk.split("/"))
    dtypes = arguments.dtypes.split(",")
    picked = [row for row in all_rows if row.dtype in dtypes and arguments.only in row.label and (row.quick or not arguments.quick)]
    return picked[part - 1 :: parts], bars


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suites", nargs="*", help=", ".join(rows.suites()))
    parser.add_argument("--quick", action="store_true", help="a selection of rows, without what is slow to prepare: about 5 minutes a suite")
    parser.add_argument("--chunk", default="1/1", help="the I-th of N parts, so that each fits into its time")
    parser.add_argument("--only", default="", help="rows whose label contains this text")
    parser.add_argument("--dtypes", default="f32,bf16,f16")
    parser.add_argument("--modes", default="", help="of a row's modes only these, such as burst,sustained")
    parser.add_argument("--minutes", type=float, default=9, help="begin no row after this time")
    parser.add_argument("--rounds", type=int, default=0, help="default 3, with --quick 2")
    parser.add_argument("--sustained", type=float, default=0, help="seconds; default 0.3, with --quick 0.1")
    parser.add_argument("--peers", help="only these libraries: " + ",".join(Libraries.NAMES))
    parser.add_argument("--on-cpu", action="store_true", help="the Rust program without a GPU, to try all this")
    parser.add_argument("--out", default="peers-results", type=Path)
    parser.add_argument("--list", action="store_true", help="name the rows and measure nothing")
    arguments = parser.parse_args()
    arguments.rounds = arguments.rounds or (2 if arguments.quick else 3)
    arguments.sustained = arguments.sustained or (0.1 if arguments.quick else 0.3)
    picked, bars = chosen(arguments)
    if arguments.list:
        for row in picked:
            print(f"{row.label:42} {', '.join(row.modes)}: {', '.join(c.name for c in row.contenders)}")
        print(f"{len(picked)} rows")
        return

    ours = Ours(arguments.on_cpu)
    libraries = Libraries(arguments.peers.split(",") if arguments.peers else None)
    machine = [ours.device.removeprefix("ready "), *libraries.machine()]
    print("\n".join([*machine, "", report.HEADER]), flush=True)
    begin, results, said = time.time(), [], set()
    for number, row in enumerate(picked):
        if time.time() - begin > arguments.minutes * 60:
            print(f"stopped after {arguments.minutes} minutes; {len(picked) - number} rows are left: use --chunk")
            break
        for result in measure(row, ours, libraries, arguments):
            results.append(result)
            print(result.line(), flush=True)
            for name, note in result.notes.items():
                if (row.label, name, note) not in said and (name, note) not in said:
                    # What is missing is missing in every row.
                    said.add((name, note) if note.endswith(("missing", "--quick")) else (row.label, name, note))
                    print(f"    {name}: {note[:300]}")
    print(f"\n{len(results)} results in {time.time() - begin:.0f} s")
    print("\n".join(report.summary(results, bars)))
    without = [f"{r.row.label} {r.mode}" for r in results if not r.seconds.get(r.row.contenders[0].name)]
    if without:
        print(f"{len(without)} without a time of Warpsmith: {', '.join(without)}")
    arguments.out.mkdir(parents=True, exist_ok=True)
    report.write_csv(results, machine, arguments.out / "rows.csv")
    report.roofline(results, arguments.out / "roofline.svg")
    print(f"in {arguments.out}: rows.csv" + (", roofline.svg" if (arguments.out / "roofline.svg").exists() else ""))
    sys.exit(1 if without else 0)


if __name__ == "__main__":
    main()
