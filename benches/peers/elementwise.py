"""Contenders of memory-bound rows: a device copy of the row's own, PyTorch eager and compiled, Triton and CuPy."""

from rows import Contender, Row

SIZES = {"f32": 4, "f16": 2, "bf16": 2}


def copy(dtype, n):
    """What the memory can do, in the same minute."""

    def make(libraries):
        torch = libraries.torch
        a = torch.empty(n, dtype=libraries.dtype(dtype), device="cuda").normal_()
        b = torch.empty_like(a)
        return lambda: b.copy_(a)

    return Contender("copy", make=make, work=2.0 * n * SIZES[dtype])


def eager(peer, dtype, n):
    return Contender("torch eager", make=lambda libraries: peer(libraries.torch, libraries.dtype(dtype), n))


def compiled(peer, dtype, n):
    """Inductor: it writes a fused Triton kernel."""

    def make(libraries):
        call = peer(libraries.torch, libraries.dtype(dtype), n)
        return call.compiled() if hasattr(call, "compiled") else libraries.torch.compile(call)

    return Contender("torch.compile", make=make, slow=True)


def triton(activation, dtype, n, columns=None):
    """A kernel by hand; with `columns` a bias is added first."""

    def make(libraries):
        import triton_pointwise

        torch = libraries.torch
        x = torch.empty(n, dtype=libraries.dtype(dtype), device="cuda").normal_()
        y, bias = torch.empty_like(x), torch.empty(columns or 1, dtype=x.dtype, device="cuda").normal_()
        return lambda: triton_pointwise.launch(activation, x, bias if columns else None, y)

    return Contender("Triton", make=make, needs="triton")


# CuPy compiles the C++ expression; half precision is computed in float.
CUPY = {
    "relu": "x > 0 ? x : T(0)",
    "sigmoid": "1 / (1 + exp(-float(x)))",
    "tanh": "tanh(float(x))",
    "silu": "float(x) / (1 + exp(-float(x)))",
    "gelu_erf": "0.5f * float(x) * (1 + erf(0.70710678f * float(x)))",
    "gelu_tanh": "0.5f * float(x) * (1 + tanh(0.79788456f * (float(x) + 0.044715f * float(x) * float(x) * float(x))))",
    "mish": "float(x) * tanh(log1p(exp(float(x))))",
}


def cupy(activation, dtype, n):
    def make(libraries):
        library = libraries.cupy
        x = library.random.standard_normal(n, dtype=library.float32).astype({"f32": "float32", "f16": "float16"}[dtype])
        y = library.empty_like(x)
        kernel = library.ElementwiseKernel("T x", "T y", f"y = T({CUPY[activation]})", f"peer_{activation}")
        return lambda: kernel(x, y)

    return Contender("CuPy", make=make, needs="cupy")


def row(suite, group, name, request, dtype, n, streams, peer, error, modes=("single",), others=(), quick=False):
    """`streams` tensors of n elements are read or written."""
    contenders = [Contender("ours", request.format(dtype=dtype, n=n)), copy(dtype, n)]
    if peer:
        contenders += [eager(peer, dtype, n), compiled(peer, dtype, n)]
    size = f"{name} 2^{n.bit_length() - 1}"
    work = float(streams * n * SIZES[dtype])
    return Row(suite, group, size, dtype, work, "GB/s", modes, contenders + list(others), error, quick)
