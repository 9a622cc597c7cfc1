"""Triton's element-wise kernels, written as its tutorials do: one block of elements for each program."""

import triton
import triton.language as tl
from triton.language.extra import libdevice

ACTIVATIONS = ("relu", "silu", "gelu_erf", "gelu_tanh", "sigmoid", "tanh", "mish")


@triton.autotune(
    configs=[triton.Config({"BLOCK": block}, num_warps=warps) for block in (1024, 2048, 4096) for warps in (4, 8)],
    key=["n", "ACTIVATION", "COLUMNS"],
)
@triton.jit
def pointwise(x_pointer, bias_pointer, y_pointer, n, ACTIVATION: tl.constexpr, COLUMNS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    x = tl.load(x_pointer + at, inside).to(tl.float32)
    if COLUMNS:
        x += tl.load(bias_pointer + at % COLUMNS, inside).to(tl.float32)
    if ACTIVATION == "relu":
        y = tl.maximum(x, 0.0)
    elif ACTIVATION == "silu":
        y = x * tl.sigmoid(x)
    elif ACTIVATION == "gelu_erf":
        y = 0.5 * x * (1 + tl.erf(x * 0.7071067811865476))
    elif ACTIVATION == "gelu_tanh":
        y = x * tl.sigmoid(1.5957691216057308 * (x + 0.044715 * x * x * x))
    elif ACTIVATION == "sigmoid":
        y = tl.sigmoid(x)
    elif ACTIVATION == "tanh":
        y = libdevice.tanh(x)
    else:
        y = x * libdevice.tanh(libdevice.log1p(tl.exp(x)))
    tl.store(y_pointer + at, y.to(y_pointer.dtype.element_ty), inside)


def launch(activation, x, bias, y):
    grid = lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)
    pointwise[grid](x, x if bias is None else bias, y, x.numel(), activation, 0 if bias is None else bias.numel())
