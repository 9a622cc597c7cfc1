#!/usr/bin/env python3
"""Warpsmith's activations on the CPU beside PyTorch's, in one run and in turn.

    cargo bench -p warpsmith-benches --bench cpu-serve --no-run
    WARPSMITH_PEERS=target/release/deps/cpu_serve-... python3 benches/peers/cpu/run.py [--only TEXT] [--sizes 10,16] [--out FILE]

In each round of a row one contender is timed after the other, so that other load on the machine meets all of them; the median over the
rounds counts. Every result is compared with f64 before anything is timed. Both have the same number of threads.

`eager` is PyTorch as one writes it: no gradient is recorded for the forward pass, and autograd walks the graph for the backward pass. `out`
is the same function with its result written into memory that is there, where PyTorch has that; it needs no new pages, and no graph. The
ratio is PyTorch's time, the lesser of the two, over Warpsmith's: above 1 Warpsmith is faster.
"""

import argparse
import csv
import math
import os
import platform
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
threads = next((sys.argv[i + 1] for i, word in enumerate(sys.argv) if word == "--threads"), str(len(os.sched_getaffinity(0))))
for name in ("OMP_NUM_THREADS", "RAYON_NUM_THREADS"):
    os.environ[name] = threads

import torch
from ours import Ours, Slot

import pointwise

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16}
IN_BF16 = ("relu", "tanh", "sigmoid", "silu", "mish", "gelu_erf", "gelu_tanh", "elu")


def sample(call, seconds):
    """Seconds of one call; the same as `time` in benches/benches/cpu/main.rs."""
    begin, calls, batch = time.perf_counter(), 0, 1
    while True:
        for _ in range(batch):
            call()
        calls += batch
        elapsed = time.perf_counter() - begin
        if elapsed >= seconds:
            return elapsed / calls
        batch = int(min(max((seconds - elapsed) / (elapsed / calls), 1), 1000))


def spread(n, dtype):
    """As in benches/src/values.rs."""
    return (((torch.arange(n) * 2654435761) % 16000057).to(torch.float32) / 1e6 - 8.0).to(dtype)


def check(got, want, dtype, name):
    """PyTorch's tails are not held to more than this; NaN and gross errors are found."""
    tolerance = 1e-4 if dtype == "f32" else 2e-2
    if name == "sine":
        # 30 x, up to 240, is rounded to 2^-17 before its sine is taken; the gradient is 30 |dy| <= 240 times as much.
        tolerance = 240 * 2**-17
    torch.testing.assert_close(got.detach()[: 1 << 16].double(), want.detach(), rtol=tolerance, atol=tolerance)


def peers(operation, name, dtype, n):
    """PyTorch's calls by name, each checked."""
    function = pointwise.FUNCTIONS[name]
    x, dy = spread(n, DTYPES[dtype]), spread(n, DTYPES[dtype])
    exact = x[: 1 << 16].double().requires_grad_()
    exact_y = function(exact)
    if operation == "forward":
        want, calls = exact_y, {"eager": lambda: function(x)}
        if name in pointwise.OUT:
            y = torch.empty_like(x)
            calls["out"] = lambda: pointwise.OUT[name](x, y)
    else:
        (want,) = torch.autograd.grad(exact_y, exact, dy[: 1 << 16].double())
        x_recorded = x.clone().requires_grad_()
        recorded = function(x_recorded)
        calls = {"eager": lambda: torch.autograd.grad(recorded, x_recorded, dy, retain_graph=True)[0]}
        if name in pointwise.GRAD_INPUT:
            dx, y = torch.empty_like(x), recorded.detach()
            calls["out"] = lambda: pointwise.GRAD_INPUT[name](dy, x, y, dx)
    for label, call in calls.items():
        with torch.set_grad_enabled(operation == "backward" and label == "eager"):
            check(call(), want, dtype, name)
    return calls


def measure(ours, operation, name, dtype, n, arguments):
    slot = Slot(ours, "ours", f"{operation} {name} {dtype} {n}", 64.0 if operation == "backward" else 3.0)
    contenders = {"ours": slot.time}
    for label, call in peers(operation, name, dtype, n).items():
        contenders[label] = lambda seconds, call=call: sample(call, seconds)
    times = {label: [] for label in contenders}
    with torch.no_grad():
        for turn in range(arguments.rounds + 1):
            for label, timed in contenders.items():
                seconds = timed(arguments.seconds)
                if turn > 0:  # the first one warms up
                    times[label].append(seconds)
    ours.ask("free")
    return {label: statistics.median(of) for label, of in times.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="rows that contain this text")
    parser.add_argument("--sizes", default="10,16,22,24", help="binary logarithms of the number of elements")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--seconds", type=float, default=0.004, help="of one sample, at least one call")
    parser.add_argument("--threads", help="of each; default: the processors that this program may use")
    parser.add_argument("--out", type=Path, help="a CSV file")
    arguments = parser.parse_args()
    torch.set_num_threads(int(threads))
    ours = Ours()
    machine = [ours.device.removeprefix("ready "), f"{platform.platform()}, {threads} threads", f"torch {torch.__version__}"]
    machine += [f"instructions that torch uses: {torch.backends.cpu.get_cpu_capability()}", time.strftime("%Y-%m-%d", time.gmtime())]
    print("\n".join(machine) + f"\n{'':38}{'ours us':>11}{'eager us':>11}{'out us':>11}{'ratio':>8}", flush=True)
    rows = []
    for dtype in DTYPES:
        for log2 in map(int, arguments.sizes.split(",")):
            for operation in ("forward", "backward"):
                for name in pointwise.FUNCTIONS if dtype == "f32" else IN_BF16:
                    label = f"{operation} {name} {dtype} 2^{log2}"
                    if arguments.only not in label:
                        continue
                    times = measure(ours, operation, name, dtype, 1 << log2, arguments)
                    ratio = min(seconds for who, seconds in times.items() if who != "ours") / times["ours"]
                    rows.append((ratio, label, times))
                    shown = [f"{1e6 * times[who]:11.2f}" if who in times else f"{'-':>11}" for who in ("ours", "eager", "out")]
                    print(f"{label:38}{''.join(shown)}{ratio:8.2f}", flush=True)
    print("load at the end: " + " ".join(f"{load:.2f}" for load in os.getloadavg()))
    mean = math.exp(statistics.fmean(math.log(ratio) for ratio, *_ in rows))
    print(f"{len(rows)} rows: geometric mean {mean:.2f}; {sum(ratio < 1 for ratio, *_ in rows)} below 1; the least:")
    for ratio, label, _ in sorted(rows, key=lambda row: row[0])[:20]:
        print(f"    {label:38}{ratio:6.2f}")
    if arguments.out:
        with open(arguments.out, "w", newline="") as file:
            file.writelines(f"# {line}\n" for line in machine)
            writer = csv.writer(file)
            writer.writerow(["operation", "activation", "dtype", "elements", "ours_us", "eager_us", "out_us", "ratio"])
            for ratio, label, times in rows:
                shown = [f"{1e6 * times[who]:.3f}" if who in times else "" for who in ("ours", "eager", "out")]
                writer.writerow([*label.split(), *shown, f"{ratio:.3f}"])


if __name__ == "__main__":
    main()
