#!/usr/bin/env python3
"""Where PyTorch's activations on the CPU are wrong in f32, and by how much: beside mpmath with 40 digits.

    python3 benches/peers/cpu/values.py     # needs torch and mpmath

Prints the values that are more than 2 units in the last place off, and what minus infinity gives.
"""

import math

import mpmath as mp
import torch
from torch.nn import functional as F

mp.mp.dps = 40
CUBE = mp.mpf("0.044715")


def softplus(x):
    return mp.log1p(mp.exp(x))


# PyTorch's function, and the exact one.
CASES = {
    "gelu_erf": (F.gelu, lambda x: x * mp.erfc(-x / mp.sqrt(2)) / 2),
    "gelu_tanh": (
        lambda x: F.gelu(x, approximate="tanh"),
        lambda x: x / (1 + mp.exp(-2 * mp.sqrt(2 / mp.pi) * (x + CUBE * x**3))),
    ),
    "softplus": (F.softplus, softplus),
    "silu": (F.silu, lambda x: x / (1 + mp.exp(-x))),
    "mish": (F.mish, lambda x: x * mp.tanh(softplus(x))),
    "log_sigmoid": (F.logsigmoid, lambda x: -softplus(-x)),
    "elu": (F.elu, lambda x: mp.expm1(x) if x < 0 else x),
}
INPUTS = (-90.0, -12.0, -10.0, -8.0, -6.0, -5.0, -3.0, -1e-4, 15.0, 20.0, 20.5, 25.0)
# More than a vector, so that the vectorised path is taken.
LENGTH = 17


def ulps(got, want):
    exponent = max(int(mp.floor(mp.log(abs(want), 2))) if want else -126, -126)
    return float(abs(mp.mpf(got) - want) / mp.mpf(2) ** (exponent - 23))


def main():
    print(f"torch {torch.__version__}, {torch.backends.cpu.get_cpu_capability()}")
    for name, (function, exact) in CASES.items():
        value = lambda x: function(torch.full((LENGTH,), x, dtype=torch.float32))[0].item()
        print(f"{name:12} of -inf: {value(-math.inf)}")
        for x in INPUTS:
            # The argument that PyTorch sees.
            want = exact(mp.mpf(torch.tensor(x, dtype=torch.float32).item()))
            if (error := ulps(value(x), want)) > 2:
                print(f"{name:12} of {x:6}: {value(x):.9g} instead of {float(want):.9g}, {error:.3g} ulp")


if __name__ == "__main__":
    main()
