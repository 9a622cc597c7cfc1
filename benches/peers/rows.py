"""What is measured: rows, and who takes part in each."""

import importlib.util
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, Optional

HERE = Path(__file__).resolve().parent


@dataclass
class Contender:
    """One way to do a row's work."""

    name: str
    # What the Rust program is asked to prepare; or, for a peer, None.
    request: Optional[str] = None
    # (libraries) -> a call without arguments; or (call, check), where check(result) raises ValueError if the result is wrong.
    make: Optional[Callable] = None
    # What it needs besides PyTorch: nvmath, triton or cupy.
    needs: Optional[str] = None
    # Bytes or operations of a call, if not the row's.
    work: Optional[float] = None
    # Whether it takes so long to prepare that --quick leaves it out.
    slow: bool = False


@dataclass
class Row:
    """Work that all contenders do, the first of them Warpsmith's."""

    suite: str
    group: str  # rows of one group are summed up together
    name: str
    dtype: str  # f32, f16, bf16
    work: float  # bytes or operations of a call
    unit: str  # GB/s or TFLOP/s
    modes: tuple  # see timing.py
    contenders: list = field(default_factory=list)
    error: float = 4.0  # the largest that is allowed, in the Rust program's units
    quick: bool = False  # whether --quick measures it

    @property
    def label(self):
        return f"{self.group} {self.dtype} {self.name}"


@dataclass
class Bar:
    """What a group is expected to reach: its speed over that of the fastest of some peers."""

    group: str
    against: tuple
    mean: Optional[float] = None
    least: Optional[float] = None
    only: Optional[tuple] = None  # names of rows


def suites():
    return [file.stem for file in sorted((HERE / "suites").glob("*.py"))]


def load(names):
    """The rows and bars of these suites, or of all."""
    rows, bars = [], []
    for name in names:
        if name not in suites():
            sys.exit(f"error: no suite `{name}`; there are {', '.join(suites())}")
    for name in names or suites():
        spec = importlib.util.spec_from_file_location(name, HERE / "suites" / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        rows += module.ROWS
        bars += getattr(module, "BARS", [])
    return rows, bars
