"""Every activation, forward and backward, at 2^28; and what a launch costs at small sizes."""

import elementwise
from elementwise import cupy, row, triton
from rows import Bar

# Warpsmith's name: PyTorch's function of (torch.nn.functional, x), or None where PyTorch has none.
FUNCTIONS = {
    "identity": None,
    "threshold": lambda F, x: F.threshold(x, 0.0, 0.0),
    "relu": lambda F, x: F.relu(x),
    "relu6": lambda F, x: F.relu6(x),
    "leaky_relu": lambda F, x: F.leaky_relu(x),
    "prelu": None,
    "rrelu": lambda F, x: F.rrelu(x, training=False),
    "squared_relu": lambda F, x: F.relu(x).square(),
    "hardtanh": lambda F, x: F.hardtanh(x),
    "hardsigmoid": lambda F, x: F.hardsigmoid(x),
    "hardswish": lambda F, x: F.hardswish(x),
    "hardshrink": lambda F, x: F.hardshrink(x),
    "softshrink": lambda F, x: F.softshrink(x),
    "tanhshrink": lambda F, x: F.tanhshrink(x),
    "sigmoid": lambda F, x: x.sigmoid(),
    "log_sigmoid": lambda F, x: F.logsigmoid(x),
    "tanh": lambda F, x: x.tanh(),
    "softsign": lambda F, x: F.softsign(x),
    "silu": lambda F, x: F.silu(x),
    "mish": lambda F, x: F.mish(x),
    "swish": lambda F, x: F.silu(x),
    "gelu_erf": lambda F, x: F.gelu(x),
    "gelu_tanh": lambda F, x: F.gelu(x, approximate="tanh"),
    "quick_gelu": lambda F, x: x * (1.702 * x).sigmoid(),
    "elu": lambda F, x: F.elu(x),
    "celu": lambda F, x: F.celu(x),
    "selu": lambda F, x: F.selu(x),
    "exponential": lambda F, x: x.exp(),
    "gaussian": lambda F, x: (-x * x).exp(),
    "softplus": lambda F, x: F.softplus(x),
    "squareplus": lambda F, x: (x + (x * x + 4).sqrt()) / 2,
    "sine": lambda F, x: (30 * x).sin(),
    "snake": lambda F, x: x + x.sin().square(),
}


def forward(function):
    def peer(torch, dtype, n):
        x = torch.empty(n, dtype=dtype, device="cuda").normal_()
        return lambda: function(torch.nn.functional, x)

    return peer


def backward(function):
    def peer(torch, dtype, n):
        x = torch.empty(n, dtype=dtype, device="cuda").normal_().requires_grad_()
        dy = torch.empty_like(x).normal_()
        y = function(torch.nn.functional, x)

        def call():
            return torch.autograd.grad(y, x, dy, retain_graph=True)

        def compiled():
            # A graph that may be walked again.
            torch._functorch.config.donated_buffer = False
            y = torch.compile(lambda x: function(torch.nn.functional, x))(x)
            return lambda: torch.autograd.grad(y, x, dy, retain_graph=True)

        call.compiled = compiled
        return call

    return peer


# Compiled for f16 too.
IN_F16 = ("identity", "relu", "leaky_relu", "sigmoid", "tanh", "silu", "mish", "gelu_erf", "gelu_tanh")
QUICK = ("relu", "silu", "gelu_erf", "gelu_tanh", "mish", "tanh")
IN_TRITON = ("relu", "silu", "gelu_erf", "gelu_tanh", "sigmoid", "tanh", "mish")


def others(name, dtype, n):
    contenders = [triton(name, dtype, n)] if name in IN_TRITON else []
    return contenders + ([cupy(name, dtype, n)] if name in elementwise.CUPY and dtype != "bf16" else [])


LARGE = 1 << 28
ROWS = []
for dtype in ("f32", "bf16", "f16"):
    for name, function in FUNCTIONS.items():
        if dtype == "f16" and name not in IN_F16:
            continue
        request, quick = f"{name} {{dtype}} {{n}}", name in QUICK and dtype != "f16"
        # A product of rounded numbers, times a derivative with roots: the bound is generous, the accuracy table is exact.
        forward_ulp, backward_ulp = (3.0, 8.0) if dtype == "f32" else (1.1, 6.0)
        if name in ("sine", "snake", "tanhshrink"):
            forward_ulp, backward_ulp = 3.0, 64.0
        peers = (function and forward(function), function and backward(function))
        more = others(name, dtype, LARGE)
        add = lambda *arguments, **named: ROWS.append(row("activations", *arguments, **named))
        add("forward", name, "forward " + request, dtype, LARGE, 2, peers[0], forward_ulp, others=more, quick=quick)
        add("backward", name, "backward " + request, dtype, LARGE, 3, peers[1], backward_ulp, quick=quick)
    add("in place", "silu", "in_place silu {dtype} {n}", dtype, LARGE, 2, None, 3.0)
    for log2 in range(10, 26, 2):
        for name in ("relu", "gelu_erf"):
            n, peer, request = 1 << log2, forward(FUNCTIONS[name]), f"forward {name} {{dtype}} {{n}}"
            add("small", name, request, dtype, n, 2, peer, 3.0, modes=("queue",), others=others(name, dtype, n))

PEERS = ("torch eager", "torch.compile", "Triton", "CuPy")
BARS = [
    *(Bar(group, ("copy",), least=0.97) for group in ("forward", "backward")),
    *(Bar(group, PEERS, least=1.0) for group in ("forward", "backward")),
    Bar("small", ("torch eager",), mean=2.0),
]
