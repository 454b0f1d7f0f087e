"""
Loads and launches GPU collectives that collc has compiled ahead of time.

`collc.pytorch` has operators for PyTorch; `enable`, `report`, `check`, `release` and `replicated` are of `collc.inductor`, the pass for torch.compile.
Neither is imported before it is asked for.
"""

from typing import Any

from .artifacts import Artifacts, Program, open
from .dlpack import DeviceTensor, from_dlpack
from .errors import CollcError, DeviceError, DriverError, FileError, RequirementError, WaitTimeout
from .exchange import Exchange, connect
from .gpu import Gpu, SymmetricMemory
from .launch import LoadedProgram

__all__ = [
    "Artifacts",
    "CollcError",
    "DeviceError",
    "DeviceTensor",
    "DriverError",
    "Exchange",
    "FileError",
    "Gpu",
    "LoadedProgram",
    "Program",
    "RequirementError",
    "SymmetricMemory",
    "WaitTimeout",
    "connect",
    "from_dlpack",
    "open",
]

_OF_INDUCTOR = ("check", "enable", "release", "replicated", "report")


def __getattr__(name: str) -> Any:
    if name not in _OF_INDUCTOR:
        raise AttributeError(f"module 'collc' has no attribute {name!r}")
    from . import inductor

    # All of them, as attributes: torch.compile traces those.
    globals().update({each: getattr(inductor, each) for each in _OF_INDUCTOR})
    return globals()[name]
