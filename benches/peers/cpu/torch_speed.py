#!/usr/bin/env python3
"""PyTorch's activations on the CPU, beside what Criterion measured of Warpsmith's on the same machine.

    cargo bench -p warpsmith-benches --bench map -- map/cpu
    python3 benches/peers/cpu/torch_speed.py [--criterion target/criterion] [--threads N]

Both in GB/s of what is read and written, 2^20 elements, into memory that is there already where PyTorch can; the median of 50 rounds.
"""

import argparse
import json
import os
import platform
import statistics
import time
from pathlib import Path

import torch

N = 1 << 20
F = torch.nn.functional
FUNCTIONS = {
    "relu": F.relu,
    "tanh": torch.tanh,
    "silu": F.silu,
    "mish": F.mish,
    "gelu_erf": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
}


def seconds(call):
    for _ in range(5):
        call()
    times = []
    for _ in range(50):
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def ours(folder, dtype, what, name):
    """Criterion's median in seconds, if it has one."""
    file = folder / f"map_cpu_{dtype}_2^20" / what / name / "new" / "estimates.json"
    return json.loads(file.read_text())["median"]["point_estimate"] * 1e-9 if file.exists() else None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--criterion", type=Path, default=Path(os.environ.get("CARGO_TARGET_DIR", "target")) / "criterion")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    print(f"{platform.platform()}, {arguments.threads} threads, torch {torch.__version__}")
    print(f"{'':30} {'torch GB/s':>10} {'ours GB/s':>10} {'ours / torch':>12}")
    for dtype, kind in (("f32", torch.float32), ("bf16", torch.bfloat16)):
        size = torch.empty(0, dtype=kind).element_size()
        for name, function in FUNCTIONS.items():
            x = torch.randn(N).to(kind).requires_grad_()
            dy = torch.randn(N).to(kind)
            y = function(x)
            with torch.no_grad():
                forward = seconds(lambda: function(x))
            backward = seconds(lambda: torch.autograd.grad(y, x, dy, retain_graph=True))
            for what, theirs, streams in (("forward", forward, 2), ("backward", backward, 3)):
                speed = lambda seconds: streams * N * size / seconds / 1e9
                mine = ours(arguments.criterion, dtype, what, name)
                shown = f"{speed(mine):10.1f} {theirs / mine:12.2f}" if mine else f"{'-':>10} {'-':>12}"
                print(f"{dtype + ' ' + name + ' ' + what:30} {speed(theirs):10.1f} {shown}")


if __name__ == "__main__":
    main()
