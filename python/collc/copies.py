"""Steps of programs that a GPU's copy engines carry out, side by side between kernels or one after the other beside them."""

from __future__ import annotations

from ctypes import byref, c_int, c_uint64, c_void_p
from dataclasses import dataclass
from typing import Any, Callable, Mapping, Sequence

from . import gpu as _gpu
from .artifacts import DTYPE_BYTES, Dims, Target, evaluate
from .gpu import Gpu, RowsCopy

#: Most copies of a step that go on at a time: one in own memory, and some to peers.
_LANES = 4

Step = Mapping[str, Any]


def lanes_of(copies: Sequence[Step], rank: int, world: int) -> list[list[Step]]:
    """What a rank copies in a step that is not `beside`: lanes go on side by side, and in one of them a copy after the other."""

    def far(copy: Step) -> int:
        owner: int = copy["from"]["rank"]
        return int(copy["to"]["rank"]) if owner == rank else owner

    # Each rank begins with the peer behind it, so that no port is everybody's first.
    ordered = sorted(copies, key=lambda copy: (far(copy) - rank) % world)
    peers = [peer for peer in dict.fromkeys(map(far, ordered)) if peer != rank]
    lanes: list[list[Step]] = [[] for _ in range(_LANES)]
    for copy in ordered:
        lanes[0 if far(copy) == rank else 1 + peers.index(far(copy)) % (_LANES - 1)].append(copy)
    return lanes


@dataclass(frozen=True)
class Call:
    """One call of the driver, in bytes."""

    target: int
    source: int
    target_pitch: int
    source_pitch: int
    width: int
    rows: int

    def enqueue(self, gpu: Gpu, stream: int) -> None:
        if self.rows == 1:
            return gpu.call("cuMemcpyDtoDAsync_v2", self.target, self.source, self.width, stream)
        rows = RowsCopy(
            source_type=_gpu.UNIFIED, source=self.source, source_pitch=self.source_pitch,
            target_type=_gpu.UNIFIED, target=self.target, target_pitch=self.target_pitch, width=self.width, height=self.rows,
        )  # fmt: skip
        gpu.call("cuMemcpy2DAsync_v2", byref(rows), stream)


def calls_of(copy: Step, size: int, place: Callable[[Step], int], dims: Dims, most_pitch: int) -> list[Call]:
    """
    As many calls as the driver needs for a copy of elements of so many bytes. Rows that are neighbours on both sides are one. `place`: where
    the tensor or memory of an end begins.
    """
    rows, width = evaluate(copy["rows"], dims), size * evaluate(copy["length"], dims)
    if rows <= 0 or width <= 0:
        return []
    (source, source_pitch), (target, target_pitch) = (
        (place(end) + size * evaluate(end["offset"], dims), size * evaluate(end["pitch"], dims)) for end in (copy["from"], copy["to"])
    )
    if source_pitch == width and target_pitch == width:
        rows, width = 1, rows * width
    if rows == 1 or max(source_pitch, target_pitch) <= most_pitch:
        return [Call(target, source, target_pitch, source_pitch, width, rows)]
    return [Call(target + row * target_pitch, source + row * source_pitch, 0, 0, width, 1) for row in range(rows)]


@dataclass(frozen=True)
class Copies:
    """A step with everything decided: its lanes that have calls."""

    lanes: Sequence[Sequence[Call]]
    beside: bool


def prepare_copies(
    step: Step, rank: int, world: int, dtypes: Mapping[str, str], place: Callable[[Step], int], dims: Dims, most_pitch: int
) -> Copies:
    """What a rank copies in a step. `dtypes`: of tensors and memory. `place`: where the tensor or memory of an end begins."""
    own, beside = step["copies"][rank], bool(step.get("beside"))
    lanes = [
        [call for copy in lane for call in calls_of(copy, DTYPE_BYTES[dtypes[copy["from"]["tensor"]]], place, dims, most_pitch)]
        for lane in ([own] if beside else lanes_of(own, rank, world))
    ]
    return Copies([lane for lane in lanes if lane], beside)


class CopyLanes:
    """Streams beside the one that a program is launched on, and events: of a program without such steps there are none."""

    def __init__(self, gpu: Gpu, target: Target, rank: int, world: int) -> None:
        """Raises DriverError where the driver refuses a stream or an event; nothing is left then."""
        self.gpu = gpu
        self._streams: list[c_void_p] = []
        self._events: list[c_void_p] = []
        self._is_beside = False
        steps = [step for choice in target.choices for step in choice["steps"] if step["kind"] == "copy"]
        self.most_pitch = gpu.attribute(_gpu.MAX_PITCH) if steps else 0
        counts = [sum(lane != [] for lane in lanes_of(step["copies"][rank], rank, world)) for step in steps if not step.get("beside")]
        try:
            if any(step.get("beside") for step in steps):
                self._beside_begin, self._beside_end, self._beside = self._event(), self._event(), self._stream()
            # With nothing beside it, a lane needs no other stream.
            if max(counts, default=0) > 1:
                self._begin = self._event()
                self._lanes = [(self._stream(), self._event()) for _ in range(max(counts))]
        except BaseException:
            self.close()
            raise

    def _stream(self) -> c_void_p:
        made = c_void_p()
        self.gpu.call("cuStreamCreate", byref(made), _gpu.NON_BLOCKING)
        self._streams.append(made)
        return made

    def _event(self) -> c_void_p:
        made = c_void_p()
        self.gpu.call("cuEventCreate", byref(made), _gpu.DISABLE_TIMING)
        self._events.append(made)
        return made

    def _is_free(self, lane: c_void_p, stream: int) -> bool:
        """A lane belongs to a capture until that ends. What runs meanwhile, or is captured by itself, copies on its own stream."""
        own = self._capture(lane)
        return own is None or self._capture(stream) == own

    def _capture(self, stream: int | c_void_p) -> int | None:
        status, number = c_int(), c_uint64()
        self.gpu.call("cuStreamGetCaptureInfo_v2", stream, byref(status), byref(number), None, None, None)
        return None if status.value == 0 else number.value

    def _fork(self, calls: Sequence[Call], lane: c_void_p, begin: c_void_p, end: c_void_p) -> None:
        self.gpu.call("cuStreamWaitEvent", lane, begin, 0)
        try:
            for call in calls:
                call.enqueue(self.gpu, lane.value or 0)
        finally:
            # What fails leaves that to be waited for, too.
            self.gpu.call("cuEventRecord", end, lane)

    def enqueue(self, copies: Copies, stream: int) -> None:
        """Enqueues a step: `stream` is in front of its copies, and behind them, or behind `join` where they go on beside kernels."""
        gpu, lanes = self.gpu, copies.lanes
        if copies.beside and self._is_free(self._beside, stream):
            gpu.call("cuEventRecord", self._beside_begin, stream)
            self._is_beside = True
            self._fork([call for lane in lanes for call in lane], self._beside, self._beside_begin, self._beside_end)
        elif copies.beside or len(lanes) < 2 or not self._is_free(self._lanes[0][0], stream):
            for lane in lanes:
                for call in lane:
                    call.enqueue(gpu, stream)
        else:
            gpu.call("cuEventRecord", self._begin, stream)
            for calls, (own, end) in zip(lanes, self._lanes):
                try:
                    self._fork(calls, own, self._begin, end)
                finally:
                    gpu.call("cuStreamWaitEvent", stream, end, 0)

    def join(self, stream: int) -> None:
        """What comes on the stream next comes after all copies of the launch."""
        if self._is_beside:
            self._is_beside = False
            self.gpu.call("cuStreamWaitEvent", stream, self._beside_end, 0)

    def close(self) -> None:
        """Gives back what was made. Nothing may be running."""
        while self._streams:
            self.gpu.call("cuStreamDestroy_v2", self._streams.pop())
        while self._events:
            self.gpu.call("cuEventDestroy_v2", self._events.pop())
