"""A bias and an activation in one pass, softmax over lines of several lengths, and SwiGLU over halves."""

from elementwise import row, triton
from rows import Bar

BIASED = {
    "relu": lambda F, x: F.relu(x),
    "silu": lambda F, x: F.silu(x),
    "gelu_erf": lambda F, x: F.gelu(x),
    "gelu_tanh": lambda F, x: F.gelu(x, approximate="tanh"),
}


def biased(function):
    def peer(torch, dtype, n):
        x = torch.empty(n // 4096, 4096, dtype=dtype, device="cuda").normal_()
        bias = torch.empty(4096, dtype=dtype, device="cuda").normal_()
        return lambda: function(torch.nn.functional, x + bias)

    return peer


def softmax(rows):
    def peer(torch, dtype, n):
        x = torch.empty(n // rows, rows, dtype=dtype, device="cuda").normal_()
        return lambda: x.softmax(-1)

    return peer


def swiglu(rows):
    def peer(torch, dtype, n):
        x = torch.empty(n // rows, 2 * rows, dtype=dtype, device="cuda").normal_()

        def call():
            gate, value = x.chunk(2, -1)
            return torch.nn.functional.silu(gate) * value

        return call

    return peer


ROWS = []
for dtype in ("f32", "bf16"):
    add = lambda *arguments, **named: ROWS.append(row("fused", *arguments, **named))
    for name, function in BIASED.items():
        n, quick = 1 << 28, name == "gelu_erf"
        by_hand = [triton(name, dtype, n, columns=4096)]
        add("bias +", name, f"bias {name} {{dtype}} {{n}}", dtype, n, 2, biased(function), 4.0, others=by_hand, quick=quick)
    for rows in (64, 512, 4096, 32768):
        add("softmax", str(rows), f"softmax {rows} {{dtype}} {{n}}", dtype, 1 << 28, 2, softmax(rows), 16.0, quick=True)
    for rows in (1024, 14336):
        n = (1 << 27) // rows * rows
        add("swiglu", str(rows), f"swiglu {rows} {{dtype}} {{n}}", dtype, n, 3, swiglu(rows), 8.0, quick=True)

BARS = [
    *(Bar(group, ("copy",), least=0.97) for group in ("bias +", "softmax", "swiglu")),
    *(Bar(group, ("torch eager", "torch.compile", "Triton"), least=1.0) for group in ("bias +", "softmax", "swiglu")),
]
