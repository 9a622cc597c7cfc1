"""The catalogue in PyTorch's terms, with the defaults that Warpsmith has. What PyTorch has no function for is composed, as one would."""

import torch
from torch.nn import functional as F

aten = torch.ops.aten
SLOPE = {}


def prelu(x):
    return F.prelu(x, SLOPE.setdefault(x.dtype, torch.full((1,), 0.25, dtype=x.dtype)))


FUNCTIONS = {
    "threshold": lambda x: F.threshold(x, 0.0, 0.0),
    "relu": F.relu,
    "relu6": F.relu6,
    "leaky_relu": F.leaky_relu,
    "prelu": prelu,
    "rrelu": lambda x: F.rrelu(x, training=False),
    "squared_relu": lambda x: F.relu(x).square(),
    "hardtanh": F.hardtanh,
    "hardsigmoid": F.hardsigmoid,
    "hardswish": F.hardswish,
    "hardshrink": F.hardshrink,
    "softshrink": F.softshrink,
    "tanhshrink": F.tanhshrink,
    "sigmoid": torch.sigmoid,
    "log_sigmoid": F.logsigmoid,
    "tanh": torch.tanh,
    "softsign": F.softsign,
    "silu": F.silu,
    "mish": F.mish,
    "swish": F.silu,
    "gelu_erf": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "quick_gelu": lambda x: x * torch.sigmoid(1.702 * x),
    "elu": F.elu,
    "celu": F.celu,
    "selu": F.selu,
    "exponential": torch.exp,
    "gaussian": lambda x: torch.exp(-x * x),
    "softplus": F.softplus,
    "squareplus": lambda x: (x + torch.sqrt(x * x + 4)) / 2,
    "sine": lambda x: torch.sin(30 * x),
    "snake": lambda x: x + torch.sin(x).square(),
}

# (x, y): writes y.
OUT = {
    "threshold": lambda x, y: aten.threshold.out(x, 0.0, 0.0, out=y),
    "relu": lambda x, y: aten.relu.out(x, out=y),
    "relu6": lambda x, y: aten.hardtanh.out(x, 0.0, 6.0, out=y),
    "leaky_relu": lambda x, y: aten.leaky_relu.out(x, 0.01, out=y),
    "rrelu": lambda x, y: aten.leaky_relu.out(x, (0.125 + 1 / 3) / 2, out=y),
    "hardtanh": lambda x, y: aten.hardtanh.out(x, out=y),
    "hardsigmoid": lambda x, y: aten.hardsigmoid.out(x, out=y),
    "hardswish": lambda x, y: aten.hardswish.out(x, out=y),
    "hardshrink": lambda x, y: aten.hardshrink.out(x, out=y),
    "softshrink": lambda x, y: aten.softshrink.out(x, out=y),
    "sigmoid": lambda x, y: torch.sigmoid(x, out=y),
    "log_sigmoid": lambda x, y: aten.log_sigmoid.out(x, out=y),
    "tanh": lambda x, y: torch.tanh(x, out=y),
    "silu": lambda x, y: aten.silu.out(x, out=y),
    "swish": lambda x, y: aten.silu.out(x, out=y),
    "mish": lambda x, y: aten.mish.out(x, out=y),
    "gelu_erf": lambda x, y: aten.gelu.out(x, out=y),
    "gelu_tanh": lambda x, y: aten.gelu.out(x, approximate="tanh", out=y),
    "elu": lambda x, y: aten.elu.out(x, out=y),
    "celu": lambda x, y: aten.elu.out(x, 1.0, out=y),
    "selu": lambda x, y: aten.elu.out(x, 1.6732632423543772, 1.0507009873554805, out=y),
    "exponential": lambda x, y: torch.exp(x, out=y),
    "softplus": lambda x, y: aten.softplus.out(x, out=y),
}

# (dy, x, y, dx): writes dx.
GRAD_INPUT = {
    "threshold": lambda dy, x, y, dx: aten.threshold_backward.grad_input(dy, x, 0.0, grad_input=dx),
    "relu": lambda dy, x, y, dx: aten.threshold_backward.grad_input(dy, x, 0.0, grad_input=dx),
    "relu6": lambda dy, x, y, dx: aten.hardtanh_backward.grad_input(dy, x, 0.0, 6.0, grad_input=dx),
    "leaky_relu": lambda dy, x, y, dx: aten.leaky_relu_backward.grad_input(dy, x, 0.01, False, grad_input=dx),
    "rrelu": lambda dy, x, y, dx: aten.leaky_relu_backward.grad_input(dy, x, (0.125 + 1 / 3) / 2, False, grad_input=dx),
    "hardtanh": lambda dy, x, y, dx: aten.hardtanh_backward.grad_input(dy, x, -1.0, 1.0, grad_input=dx),
    "hardsigmoid": lambda dy, x, y, dx: aten.hardsigmoid_backward.grad_input(dy, x, grad_input=dx),
    "hardswish": lambda dy, x, y, dx: aten.hardswish_backward.out(dy, x, out=dx),
    "hardshrink": lambda dy, x, y, dx: aten.hardshrink_backward.grad_input(dy, x, 0.5, grad_input=dx),
    "softshrink": lambda dy, x, y, dx: aten.softshrink_backward.grad_input(dy, x, 0.5, grad_input=dx),
    "sigmoid": lambda dy, x, y, dx: aten.sigmoid_backward.grad_input(dy, y, grad_input=dx),
    "tanh": lambda dy, x, y, dx: aten.tanh_backward.grad_input(dy, y, grad_input=dx),
    "silu": lambda dy, x, y, dx: aten.silu_backward.grad_input(dy, x, grad_input=dx),
    "swish": lambda dy, x, y, dx: aten.silu_backward.grad_input(dy, x, grad_input=dx),
    "gelu_erf": lambda dy, x, y, dx: aten.gelu_backward.grad_input(dy, x, grad_input=dx),
    "gelu_tanh": lambda dy, x, y, dx: aten.gelu_backward.grad_input(dy, x, approximate="tanh", grad_input=dx),
    "elu": lambda dy, x, y, dx: aten.elu_backward.grad_input(dy, 1.0, 1.0, 1.0, False, x, grad_input=dx),
    "celu": lambda dy, x, y, dx: aten.elu_backward.grad_input(dy, 1.0, 1.0, 1.0, False, x, grad_input=dx),
    "selu": lambda dy, x, y, dx: aten.elu_backward.grad_input(
        dy, 1.6732632423543772, 1.0507009873554805, 1.0, False, x, grad_input=dx
    ),
    "softplus": lambda dy, x, y, dx: aten.softplus_backward.grad_input(dy, x, 1.0, 20.0, grad_input=dx),
}
