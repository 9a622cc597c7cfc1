"""Matrix products with everything that follows them in one kernel. In PyTorch's words: y = f(x · wᵀ + b), all row-major, m samples, n features,
k summed over. nvmath computes the transposes, because its bias belongs to column-major results."""

from dataclasses import dataclass

from rows import Bar, Contender, Row

SHAPES = [
    (1024, 1024, 1024),
    (2048, 2048, 2048),
    (4096, 4096, 4096),
    (8192, 8192, 8192),
    (16384, 8192, 4096),
    (4096, 11008, 4096),
    (4096, 4096, 11008),
    (8192, 1024, 8192),
    (65536, 512, 512),
    (256, 4096, 4096),
    (64, 8192, 8192),
    (1000, 1000, 1000),
    (4096, 10, 4096),
]
BATCH = (512, 512, 512, 64)
LARGE = [(8192, 8192, 8192), (16384, 8192, 4096), (4096, 11008, 4096)]

# Warpsmith's name: PyTorch's function of (torch.nn.functional, z).
ACTIVATIONS = {
    "relu": lambda F, z: F.relu(z),
    "leaky_relu": lambda F, z: F.leaky_relu(z),
    "gelu_erf": lambda F, z: F.gelu(z),
    "gelu_tanh": lambda F, z: F.gelu(z, approximate="tanh"),
    "silu": lambda F, z: F.silu(z),
    "sigmoid": lambda F, z: z.sigmoid(),
    "tanh": lambda F, z: z.tanh(),
    "mish": lambda F, z: F.mish(z),
    "softplus": lambda F, z: F.softplus(z),
    "squared_relu": lambda F, z: F.relu(z).square(),
}


@dataclass(frozen=True)
class Shape:
    m: int
    n: int
    k: int
    batch: int = 1

    @property
    def name(self):
        return f"{self.m}x{self.n}x{self.k}" + (f" batch {self.batch}" if self.batch > 1 else "")

    @property
    def flop(self):
        return 2.0 * self.m * self.n * self.k * self.batch

    def request(self, kind, dtype, kernel="auto"):
        return f"product {kind} {dtype} {self.m} {self.n} {self.k} {self.batch} {kernel}"


def compiled(torch, function):
    return torch.compile(function, mode="max-autotune-no-cudagraphs", dynamic=False)


def expect_near(torch, want, got, dtype):
    """ValueError unless they agree up to a few roundings to `dtype` of numbers of size 1."""
    off = (got.double() - want).abs().max().item()
    bound = {torch.float32: 1e-4, torch.float16: 0.02, torch.bfloat16: 0.12}[dtype]
    if not off <= bound:
        raise ValueError(f"WRONG: off by {off}")


class Forward:
    """Operands of y = f(x · wᵀ + b), and the peers' ways to compute it."""

    def __init__(self, libraries, shape, dtype, activation):
        torch = self.torch = libraries.torch
        self.libraries, self.shape, self.activation = libraries, shape, activation
        batch = (shape.batch,) if shape.batch > 1 else ()
        make = lambda *extents: torch.randn(*extents, dtype=torch.float32, device="cuda")
        self.dtype = libraries.dtype(dtype)
        self.x = make(*batch, shape.m, shape.k).to(self.dtype)
        self.w = (make(*batch, shape.n, shape.k) * shape.k**-0.5).to(self.dtype)
        self.b = make(shape.n).to(self.dtype)
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.set_float32_matmul_precision("highest")

    def apply(self, z):
        return ACTIVATIONS[self.activation](self.torch.nn.functional, z)

    def check(self, y):
        """32 rows and columns against f64."""
        rows = self.torch.randint(self.shape.m, (32,), device="cuda")
        columns = self.torch.randint(self.shape.n, (32,), device="cuda")
        x, w = self.x[..., rows, :].double(), self.w[..., columns, :].double()
        want = self.apply(x @ w.mT + self.b[columns].double())
        expect_near(self.torch, want, y[..., rows, :][..., columns], self.dtype)

    def fused(self):
        """cuBLASLt's epilogue as PyTorch has it: relu and, as gelu, the tanh form."""
        if self.activation not in ("relu", "gelu_tanh") or self.shape.batch > 1:
            raise LookupError("PyTorch has no such fused call")
        gelu = self.activation == "gelu_tanh"
        return lambda: self.torch._addmm_activation(self.b, self.x, self.w.t(), use_gelu=gelu), self.check

    def two_calls(self):
        if self.shape.batch > 1:
            return lambda: self.apply(self.torch.baddbmm(self.b, self.x, self.w.mT)), self.check
        return lambda: self.apply(self.torch.nn.functional.linear(self.x, self.w, self.b)), self.check

    def alone(self):
        """The product without bias and activation."""
        return lambda: self.torch.matmul(self.x, self.w.mT)

    def compile(self):
        linear, apply = self.torch.nn.functional.linear, self.apply
        if self.shape.batch > 1:
            function = compiled(self.torch, lambda x, w, b: apply(self.torch.baddbmm(b, x, w.mT)))
        else:
            function = compiled(self.torch, lambda x, w, b: apply(linear(x, w, b)))
        return lambda: function(self.x, self.w, self.b), self.check

    def nvmath(self):
        epilogs = {"relu": "RELU_BIAS", "gelu_tanh": "GELU_BIAS"}
        if self.activation not in epilogs:
            raise LookupError("nvmath has no such epilog")
        execute = planned(self.libraries, self.w, self.x.mT, epilogs[self.activation], {"bias": self.b.unsqueeze(-1)})
        return lambda: execute().mT, self.check


def planned(libraries, a, b, epilog, inputs):
    """A planned and autotuned product of nvmath."""
    advanced = libraries.nvmath.linalg.advanced
    product = advanced.Matmul(a, b)
    preferences = advanced.MatmulPlanPreferences(limit=16)
    product.plan(epilog=getattr(advanced.MatmulEpilog, epilog), epilog_inputs=inputs, preferences=preferences)
    product.autotune(iterations=5)
    return product.execute


class Gradient:
    """dz = (dy · w) ⊙ f'(z), db = the sum of dz over the samples."""

    def __init__(self, libraries, shape, dtype, activation):
        torch = self.torch = libraries.torch
        self.libraries, self.shape, self.activation, self.dtype = libraries, shape, activation, libraries.dtype(dtype)
        make = lambda *extents: torch.randn(*extents, dtype=torch.float32, device="cuda").to(self.dtype)
        self.dy, self.z = make(shape.m, shape.k), make(shape.m, shape.n)
        self.w = (torch.randn(shape.k, shape.n, device="cuda") * shape.k**-0.5).to(self.dtype)

    def through(self, dx, z):
        aten = self.torch.ops.aten
        if self.activation == "relu":
            return aten.threshold_backward(dx, z, 0)
        if self.activation == "silu":
            return aten.silu_backward(dx, z)
        return aten.gelu_backward(dx, z, approximate="tanh" if self.activation == "gelu_tanh" else "none")

    def check(self, results):
        rows = self.torch.randint(self.shape.m, (32,), device="cuda")
        want = self.through(self.dy[rows].double() @ self.w.double(), self.z[rows].double())
        expect_near(self.torch, want, results[0][rows], self.dtype)

    def sequence(self):
        def call():
            dz = self.through(self.dy @ self.w, self.z)
            return dz, dz.sum(0)

        return call, self.check

    def compile(self):
        def function(dy, w, z):
            dz = self.through(dy @ w, z)
            return dz, dz.sum(0)

        function = compiled(self.torch, function)
        return lambda: function(self.dy, self.w, self.z), self.check

    def nvmath(self):
        """With an aux of its own, which a forward pass makes; so the values are others, and not compared."""
        if self.activation not in ("relu", "gelu_tanh"):
            raise LookupError("nvmath has no such epilog")
        name = "RELU" if self.activation == "relu" else "GELU"
        advanced = self.libraries.nvmath.linalg.advanced
        epilog = getattr(advanced.MatmulEpilog, f"{name}_AUX")
        _, aux = advanced.matmul(self.w.mT, self.dy.mT, epilog=epilog)
        execute = planned(self.libraries, self.w.mT, self.dy.mT, f"D{name}_BGRAD", aux)
        return execute


class Weights:
    """dw = dyᵀ · x, m x n, summed over k samples."""

    def __init__(self, libraries, shape, dtype):
        torch = self.torch = libraries.torch
        self.libraries, self.shape, self.dtype = libraries, shape, libraries.dtype(dtype)
        self.dy = torch.randn(shape.k, shape.m, device="cuda").to(self.dtype)
        self.x = (torch.randn(shape.k, shape.n, device="cuda") * shape.k**-0.5).to(self.dtype)

    def check(self, dw):
        rows = self.torch.randint(self.shape.m, (32,), device="cuda")
        expect_near(self.torch, self.dy[:, rows].double().mT @ self.x.double(), dw[rows], self.dtype)

    def alone(self):
        return lambda: self.dy.mT @ self.x, self.check

    def compile(self):
        function = compiled(self.torch, lambda dy, x: dy.mT @ x)
        return lambda: function(self.dy, self.x), self.check

    def nvmath(self):
        return planned(self.libraries, self.dy.mT, self.x, "DEFAULT", None), self.check


def peer(name, way, operands, *arguments, needs=None, slow=False):
    """A contender: a method of the operands, which are made when it is asked for."""
    return Contender(name, make=lambda libraries: getattr(operands(libraries, *arguments), way)(), needs=needs, slow=slow)


FUSED = ("nvmath", "torch fused", "linear + act", "torch.compile")
DEVICE = ("burst", "sustained")


def forward_row(shape, dtype, activation, modes, quick):
    operands = (Forward, shape, dtype, activation)
    return Row(
        "matmul", f"bias+{activation}", shape.name, dtype, shape.flop, "TFLOP/s", modes,
        [
            Contender("ours", shape.request(f"bias+{activation}", dtype)),
            peer("nvmath", "nvmath", *operands, needs="nvmath"),
            peer("torch fused", "fused", *operands),
            peer("linear + act", "two_calls", *operands),
            peer("mm alone", "alone", *operands),
            peer("torch.compile", "compile", *operands, slow=True),
        ],
        1.0, quick,
    )


ROWS = []
for dtype in ("bf16", "f16"):
    for activation in ("relu", "gelu_tanh"):
        # The host's part doesn't depend on the activation.
        modes = DEVICE + ("queue",) if activation == "relu" else DEVICE
        ROWS += [forward_row(Shape(*sizes), dtype, activation, modes, dtype == "bf16") for sizes in SHAPES + [BATCH]]

for sizes in [SHAPES[2], *LARGE]:
    shape = Shape(*sizes)
    for activation in ("relu", "gelu_tanh", "silu"):
        operands = (Gradient, shape, "bf16", activation)
        contenders = [
            Contender("ours", shape.request(f"derivative+{activation}", "bf16")),
            peer("nvmath", "nvmath", *operands, needs="nvmath"),
            peer("torch sequence", "sequence", *operands),
            peer("torch.compile", "compile", *operands, slow=True),
        ]
        name, quick = f"{activation} {shape.name}", activation != "silu"
        ROWS.append(Row("matmul", "dx, act', db", name, "bf16", shape.flop, "TFLOP/s", DEVICE, contenders, 1.0, quick))
    contenders = [
        Contender("ours", shape.request("weights", "bf16")),
        peer("nvmath", "nvmath", Weights, shape, "bf16", needs="nvmath"),
        peer("mm alone", "alone", Weights, shape, "bf16"),
        peer("torch.compile", "compile", Weights, shape, "bf16", slow=True),
    ]
    ROWS.append(Row("matmul", "dw", shape.name, "bf16", shape.flop, "TFLOP/s", DEVICE, contenders, 1.0, True))

for size in (1024, 4096, 8192):
    row = forward_row(Shape(size, size, size), "f32", "relu", DEVICE, True)
    row.group = "bias+relu, true f32"
    ROWS.append(row)

for size in (4096, 8192):
    shape = Shape(size, size, size)
    relu = Contender("relu", shape.request("bias+relu", "bf16"))
    mma = [
        Contender("ours", shape.request("bias+relu", "bf16", "mma")),
        Contender("wgmma", relu.request),
        peer("torch fused", "fused", Forward, shape, "bf16", "relu"),
    ]
    ROWS.append(Row("matmul", "mma", shape.name, "bf16", shape.flop, "TFLOP/s", DEVICE, mma, 1.0, True))
    for activation in ("none", *list(ACTIVATIONS)[1:]):
        kind = "bias" if activation == "none" else f"bias+{activation}"
        contenders = [Contender("ours", shape.request(kind, "bf16")), relu]
        name = f"{activation} {size}"
        ROWS.append(Row("matmul", "activation", name, "bf16", shape.flop, "TFLOP/s", DEVICE, contenders, 1.0, True))

BARS = [
    *(Bar(f"bias+{activation}", FUSED, mean=1.06, least=0.98) for activation in ("relu", "gelu_tanh")),
    *(Bar(f"bias+{a}", ("mm alone",), least=1.04, only=tuple(Shape(*s).name for s in LARGE)) for a in ("relu", "gelu_tanh")),
    Bar("activation", ("relu",), least=0.95),
    Bar("dx, act', db", ("nvmath", "torch sequence", "torch.compile"), mean=1.05),
    Bar("dw", ("nvmath", "mm alone", "torch.compile"), mean=1.05),
    Bar("bias+relu, true f32", FUSED + ("mm alone",), least=0.95),
    Bar("mma", ("wgmma",), least=0.55),
]
