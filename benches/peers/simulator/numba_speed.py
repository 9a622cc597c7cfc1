"""The kernels of `gpu/cuda_std/examples/simulator_speed.rs` in Numba's CUDA simulator.

    python3 -m venv /tmp/numba && /tmp/numba/bin/pip install numba-cuda==0.30.4 numba==0.68.1 numpy
    NUMBA_ENABLE_CUDASIM=1 /tmp/numba/bin/python benches/peers/simulator/numba_speed.py [fraction]

`fraction` (default 1) of the work is done: fewer blocks of the same size; the table gives the seconds that were measured and,
scaled by the blocks left out, those of the whole. The results are checked against numpy.
"""

import os
import sys
import time

os.environ.setdefault("NUMBA_ENABLE_CUDASIM", "1")

import numpy as np
from numba import cuda, float32

SIZE, TILE = 256, 16


@cuda.jit
def reduce_shared(x, partials):
    sums = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    sums[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    half = 128
    while half > 0:
        if t < half:
            sums[t] = sums[t] + sums[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        partials[cuda.blockIdx.x] = sums[0]


@cuda.jit
def matmul(a, b, c):
    a_tile = cuda.shared.array((TILE, TILE), float32)
    b_tile = cuda.shared.array((TILE, TILE), float32)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    row = cuda.blockIdx.y * TILE + y
    column = cuda.blockIdx.x * TILE + x
    total = float32(0.0)
    for tile in range(SIZE // TILE):
        a_tile[y, x] = a[row, tile * TILE + x]
        b_tile[y, x] = b[tile * TILE + y, column]
        cuda.syncthreads()
        for k in range(TILE):
            total += a_tile[y, k] * b_tile[k, x]
        cuda.syncthreads()
    c[row, column] = total


@cuda.jit
def relu(x, y):
    i = cuda.grid(1)
    if i < y.size:
        y[i] = max(x[i], float32(0.0))


def timed(name, blocks, whole, run):
    start = time.perf_counter()
    run()
    seconds = time.perf_counter() - start
    scaled = seconds * whole / blocks
    print(f"{name}: {blocks} of {whole} blocks in {seconds:.3f} s, all: {scaled:.1f} s", flush=True)


def main():
    fraction = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    part = lambda whole: max(1, round(whole * fraction))
    values = (np.arange(1 << 22) % 7 - 3).astype(np.float32)

    blocks = part(1 << 12)
    partials = np.zeros(1 << 12, np.float32)
    timed("256-thread block reduction of 2^20", blocks, 1 << 12, lambda: reduce_shared[blocks, 256](values[: 1 << 20], partials))
    assert np.array_equal(partials[:blocks], values[: 256 * blocks].reshape(-1, 256).sum(axis=1))

    a = values[: SIZE * SIZE].reshape(SIZE, SIZE)
    c = np.zeros((SIZE, SIZE), np.float32)
    rows = part(SIZE // TILE)
    timed("tiled matmul 256^3", rows * 16, 256, lambda: matmul[(SIZE // TILE, rows), (TILE, TILE)](a, a, c))
    assert np.array_equal(c[: rows * TILE], (a @ a)[: rows * TILE])

    blocks = part(1 << 14)
    y = np.zeros(1 << 22, np.float32)
    timed("map of 2^22", blocks, 1 << 14, lambda: relu[blocks, 256](values, y))
    assert np.array_equal(y[: 256 * blocks], np.maximum(values[: 256 * blocks], 0))


main()
