"""Programs with dimensions and tensors: what a launch of one calls of the driver."""

from __future__ import annotations

from ctypes import byref, c_void_p
from dataclasses import dataclass
from typing import Any

from .copies import Copies, CopyLanes
from .gpu import Gpu, LaunchConfig


@dataclass(frozen=True)
class KernelCall:
    """One kernel with its arguments, which the driver copies at each launch."""

    function: c_void_p
    config: LaunchConfig
    arguments: Any
    held: list[Any]

    def enqueue(self, gpu: Gpu, stream: int) -> None:
        self.config.stream = stream
        gpu.call("cuLaunchKernelEx", byref(self.config), self.function, self.arguments, None)


@dataclass(frozen=True)
class Prepared:
    """A program with dimensions and tensors, for as long as it stays loaded and they stay where they are."""

    gpu: Gpu
    calls: tuple[KernelCall | Copies, ...]
    lanes: CopyLanes

    def launch(self, stream: int) -> None:
        """Enqueues it on a CUstream."""
        try:
            for call in self.calls:
                if isinstance(call, Copies):
                    self.lanes.enqueue(call, stream)
                else:
                    call.enqueue(self.gpu, stream)
        finally:
            self.lanes.join(stream)
