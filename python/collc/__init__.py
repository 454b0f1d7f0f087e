"""Loads and launches GPU collectives that collc has compiled ahead of time. `collc.pytorch` is for PyTorch, and not imported here."""

from .artifacts import Artifacts, Program, open
from .errors import CollcError, DeviceError, DriverError, FileError, RequirementError, WaitTimeout
from .exchange import Exchange
from .gpu import Gpu, SymmetricMemory
from .launch import LoadedProgram, connect

__all__ = [
    "Artifacts",
    "CollcError",
    "DeviceError",
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
    "open",
]
