"""The peers' libraries, as far as they are there."""

import importlib
import os
import platform
import subprocess


class Libraries:
    """`torch`, `nvmath`, `triton`, `cupy` as attributes, None where one can't be imported; `missing` says why."""

    NAMES = {"torch": "torch", "nvmath": "nvmath.linalg.advanced", "triton": "triton", "cupy": "cupy"}

    def __init__(self, wanted=None):
        self.missing, self.versions = {}, {}
        for name, module in self.NAMES.items():
            setattr(self, name, None)
            if wanted is not None and name not in wanted:
                self.missing[name] = "not asked for"
                continue
            try:
                importlib.import_module(module)
                library = importlib.import_module(name)
                setattr(self, name, library)
                self.versions[name] = getattr(library, "__version__", "?")
            except Exception as error:
                self.missing[name] = f"{type(error).__name__}: {error}"
        if self.torch and not self.torch.cuda.is_available():
            self.missing["torch"], self.torch = "it finds no GPU", None

    def dtype(self, name):
        return {"f32": self.torch.float32, "f16": self.torch.float16, "bf16": self.torch.bfloat16}[name]

    def machine(self):
        """Lines that say where the figures are from."""
        lines = [f"{platform.platform()}, {os.cpu_count()} processors, Python {platform.python_version()}"]
        query = ["nvidia-smi", "--query-gpu=name,driver_version,power.limit,clocks.max.sm", "--format=csv,noheader"]
        try:
            lines.append("GPU " + subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()[0])
        except (OSError, IndexError, subprocess.CalledProcessError):
            lines.append("GPU unknown: no nvidia-smi")
        if self.torch:
            lines.append(f"CUDA {self.torch.version.cuda} of torch")
        if self.nvmath:
            from nvmath.bindings import cublasLt

            lines.append(f"cuBLASLt {cublasLt.get_version()} of nvmath")
        lines.append(", ".join(f"{name} {version}" for name, version in self.versions.items()) or "no peers")
        lines += [f"MISSING {name}: {why}" for name, why in self.missing.items()]
        return lines
