"""
collc in torch.compile: a pass over Inductor's graphs that gives what `collc lower` finds worth it to collc's programs.

    collc.enable()
    compiled = torch.compile(model)      # conversions between ranks, and what fuses with them
    print(collc.report())

Each graph with collectives of `_c10d_functional` is dumped, compiled once (by rank 0 of the group, on other hosts by their ranks; the result is kept on disk), and replaced
in part. The ranks of a process group agree on it before any of them uses it; where anything is missing, or a rank sees another graph, the
graph stays as it was, and the report says why.
"""

from __future__ import annotations

import itertools
import threading
import time
import weakref
from contextlib import ExitStack
from types import TracebackType
from typing import Any, Sequence

from .torch_memory import TorchMemory  # first: it says what is missing where there is no PyTorch

from . import fx
from .agreement import Agreement, Left
from .artifacts import evaluate
from .compiler import Compiler, is_whole
from .errors import CollcError
from .partition import Partition, Step
from .regions import Region, regions, replicated_op
from .report import GraphReport, Report, StepReport
from .surgery import copied, problem_of, replace, size_sources

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch._inductor import config, ir  # noqa: E402
from torch._inductor.custom_graph_pass import CustomGraphPass  # noqa: E402
from torch._inductor.lowering import register_lowering  # noqa: E402
from torch._inductor.virtualized import V  # noqa: E402


#: By group, for as long as the process lives: what ranks count together must not begin anew.
_agreements: dict[dist.ProcessGroup, Agreement] = {}
_memories: dict[dist.ProcessGroup, TorchMemory] = {}
#: Of regions; none comes twice, for graphs that were compiled name them.
_keys = itertools.count()


class Pass(CustomGraphPass):
    """See the module. Made by `enable`."""

    def __init__(
        self, compiler: Compiler, *, machine: str | None, take: str, measure: bool, memory: str, timeout: float, most_bytes: int | None, before: Any
    ) -> None:
        self._compiler, self._machine, self._most_bytes = compiler, machine, most_bytes
        self._take, self._measure, self._kind, self._timeout, self._before = take, measure, memory, timeout, before
        #: By compilation, whose backward graph comes later, from another thread.
        self._replicated: weakref.WeakKeyDictionary[Any, set[str]] = weakref.WeakKeyDictionary()
        self._lock = threading.Lock()
        self.reports: list[GraphReport] = []

    def uuid(self) -> Any | None:
        """None: a graph is of this process' groups and memory, so Inductor must not keep it."""
        return None

    def __call__(self, graph: Any) -> None:
        if self._before is not None:
            self._before(graph)
        same = self._marked(graph)
        names = list(dict.fromkeys(filter(None, map(fx.group_of, fx.collectives(graph)))))
        # Backward graphs come from a thread of their own; collectives of ours must not cross.
        with self._lock, ExitStack() as stack:
            stack.enter_context(torch.utils._python_dispatch._disable_current_modes())
            stack.enter_context(torch.no_grad())
            for name in names:
                group = _group_named(name)
                if dist.get_world_size(group) > 1:
                    self._one_group(graph, name, group, same)

    def _marked(self, graph: Any) -> set[str]:
        """Takes out `collc::replicated`. Returns names of placeholders that every rank has, those of the forward graph included."""
        context = torch._guards.CompileContext.try_get()
        same: set[str] = set() if context is None else self._replicated.setdefault(context, set())
        for node in list(graph.nodes):
            if node.op == "call_function" and node.target is torch.ops.collc.replicated.default:
                (x,) = node.args
                # Autograd may save one or the other.
                same.update((node.name, x.name))
                node.replace_all_uses_with(x)
                graph.erase_node(node)
        return same

    def _one_group(self, graph: Any, name: str, group: dist.ProcessGroup, same: set[str]) -> None:
        began = time.monotonic()
        found = [node for node in fx.collectives(graph) if fx.group_of(node) == name]
        about = GraphReport(f"graph {len(self.reports)}", name, dist.get_world_size(group), len(found))
        self.reports.append(about)
        region: Region | None = None
        try:
            region, steps = self._region(graph, found, group, name, same, about)
            key = f"{next(_keys)}"
            regions[key] = region
            sizes = fx.Sizes(graph)
            replace(graph, region, key, steps, sizes, size_sources(graph, sizes, region.names))
            region.attach()
            about.symmetric_bytes = region.symmetric_bytes
            about.refused = region.left
        except Left as left:
            about.left = str(left)
        about.seconds = time.monotonic() - began

    def _region(
        self, graph: Any, found: list[Any], group: dist.ProcessGroup, name: str, same: set[str], about: GraphReport
    ) -> tuple[Region, list[Step]]:
        """The programs for a graph, loaded on every rank, or Left on every rank."""
        agreement = _agreements.setdefault(group, Agreement(group, self._timeout))
        dumped: dict[str, Any] = {}
        problem: str | None = None
        try:
            dumped = fx.dump(graph, {name: about.ranks}, name="region", replicated=same)
            about.dumped = dumped
        except fx.Unsupported as error:
            problem = str(error)
        if config.benchmark_fusion or config.max_autotune or config.max_autotune_gemm:
            # Operators of ours are not in the chain that Inductor keeps its collectives in.
            problem = "Inductor chooses by times (max_autotune, benchmark_fusion), so ranks could come to their collectives in other orders"
        ranks, arch, gpu = about.ranks, _arch(), torch.cuda.get_device_name()

        def same_graph(all_of_them: list[Any]) -> bool:
            """Whether collectives are to be measured."""
            for rank, (digest, arch_there, why) in enumerate(all_of_them):
                if why is not None:
                    raise Left(why)
                if digest != all_of_them[0][0]:
                    raise Left(f"rank {rank} has another graph than rank 0")
                if arch_there != arch:
                    raise Left(f"rank {rank} has an {arch_there}, and rank 0 an {arch}")
            try:
                folder = self._compiler.folder_of(dumped, ranks=ranks, arch=arch, machine=self._machine, gpu=gpu)
            except CollcError as error:
                raise Left(str(error)) from None
            return self._measure and not is_whole(folder)

        measuring = agreement.decide([fx.digest(dumped), arch, problem], same_graph)
        memory: TorchMemory | None = None
        why: str | None = None
        try:
            # Where its memory is collc's, ranks exchange it here: all of them, or none.
            memory = _memories.get(group) or _memories.setdefault(group, TorchMemory(group, kind=self._kind))
        except CollcError as error:
            why = str(error)
        measured = {}
        if measuring:
            # Each rank's own time; the slowest rank's counts.
            mine = _measure(found, fx.Sizes(graph))
            measured = agreement.decide(mine, lambda all_of_them: {n: max(each[n] for each in all_of_them) for n in mine})

        partition: Partition | None = None

        def lowered(measured: dict[str, float]) -> Partition:
            try:
                return Partition(self._compiler.lower(dumped, ranks=ranks, arch=arch, machine=self._machine, gpu=gpu, measured=measured))
            except CollcError as error:
                raise Left(str(error)) from None

        def first(_: list[Any]) -> list[Any]:
            nonlocal partition
            partition = lowered(measured)
            return [partition.digest, partition.measured]

        # A partition that rank 0 had already keeps the times that it was made with; ranks of other hosts make theirs with the same.
        digest, measured = agreement.decide(None, first)
        region = None
        steps: list[Step] = []
        try:
            if memory is None:
                raise Left(why or "there is no symmetric memory")
            # Of rank 0 it is in the cache by now, also for other ranks of its host.
            partition = partition or lowered(measured)
            if partition.digest != digest:
                raise Left(f"rank {agreement.rank} has another partition of the graph in {partition.folder}: remove it")
            about.partition = partition.report
            about.measured = partition.measured
            steps = self._chosen(graph, partition, about)
            region = Region(partition, steps, memory, timeout=600.0, most_bytes=self._most_bytes)
        except (CollcError, Left) as error:
            why = str(error)

        def all_ready(all_of_them: list[Any]) -> bool:
            for rank, (fingerprint, chosen, reason) in enumerate(all_of_them):
                if reason is not None:
                    raise Left(reason)
                if (fingerprint, chosen) != tuple(all_of_them[0][:2]):
                    raise Left(f"rank {rank} would run other programs than rank 0")
            return True

        try:
            agreement.decide([region and region.fingerprint, [step.index for step in steps], why], all_ready)
        except Left:
            if region is not None:
                region.close()
            raise
        assert region is not None
        return region, steps

    def _chosen(self, graph: Any, partition: Partition, about: GraphReport) -> list[Step]:
        """Steps whose tensors are the graph's, and that are faster with the copies that they need. Raises Left where there are none."""
        if not partition.steps:
            raise Left("the compiler finds no program that is faster; partition says why")
        nodes = {node.name: node for node in graph.nodes}
        sizes, at = fx.Sizes(graph), partition.at
        chosen: list[Step] = []
        for step in partition.steps:
            problem = problem_of(step, nodes, sizes, at)
            copies = [] if problem else list(copied(step, nodes, chosen, sizes, at))
            seconds = sum(map(partition.copy_seconds, copies))
            if not problem and self._take == "faster" and step.seconds + seconds >= step.baseline:
                problem = "with its copies it is not faster"
            about.steps.append(StepReport(step.nodes, not problem, problem, step.seconds, seconds, sum(copies), step.baseline))
            if not problem:
                chosen.append(step)
        if not chosen:
            raise Left("; ".join(f"{' + '.join(step.nodes)}: {step.why}" for step in about.steps))
        return chosen


# -- Inductor's own graph ----------------------------------------------------------------------------------------------------------------


def _lower_operators() -> None:
    """Operators stay calls; what they return in symmetric memory is the region's, and no memory for Inductor's own tensors."""

    def keep(made: Any) -> Any:
        V.graph.never_reuse_buffers.add(made.get_name())
        return ir.TensorBox.create(made)

    def lower_region(inputs: Any, sizes: Any, key: str, step: int) -> Any:
        inputs = [ir.ExternKernel.require_contiguous(x) for x in inputs]
        made: Any = ir.FallbackKernel.create(torch.ops.collc.region.default, inputs, sizes, key, step)
        return [keep(each) for each in made]

    def lower_product(bias: Any, a: Any, b: Any, sizes: Any, key: str, slot: int) -> Any:
        return keep(ir.FallbackKernel.create(torch.ops.collc.product_into.default, bias, a, b, sizes, key, slot))

    register_lowering(torch.ops.collc.region.default, type_promotion_kind=None)(lower_region)
    register_lowering(torch.ops.collc.product_into.default, type_promotion_kind=None)(lower_product)


# -- this GPU ----------------------------------------------------------------------------------------------------------------------------


def _group_named(name: Any) -> dist.ProcessGroup:
    found: dist.ProcessGroup = torch._C._distributed_c10d._resolve_process_group(name)
    return found


def _arch() -> str:
    major, minor = torch.cuda.get_device_capability()
    return f"sm_{major}{minor}" + ("a" if major >= 9 else "")


def _measure(found: Sequence[Any], sizes: fx.Sizes, calls: int = 8, rounds: int = 5) -> dict[str, float]:
    """
    Seconds of each collective as it is, on this rank's GPU: `calls` of them in a CUDA graph, the median of `rounds` replays. Of sizes
    that only a launch knows: at the hints.
    """
    hints = {name: about["hint"] for name, about in sizes.ranges().items() if "hint" in about}
    seconds: dict[str, float] = {}
    known: dict[str, float] = {}
    for node in found:
        if not fx.is_node(node.args[0]) or any(map(fx.is_node, (*node.args[1:], *node.kwargs.values()))):
            continue  # Of several tensors, or into one that is given: the model's time has to do.
        value = node.args[0].meta["val"]
        try:
            shape = tuple(evaluate(extent, hints) for extent in sizes.extents(value.shape))
        except (KeyError, fx.Unsupported):
            continue  # Nobody knows how long.
        kind = f"{fx.target_of(node)} {shape} {value.dtype} {node.args[1:]} {node.kwargs}"
        if kind not in known:
            x = torch.zeros(shape, dtype=value.dtype, device="cuda")

            def call() -> None:
                torch.ops._c10d_functional.wait_tensor(node.target(x, *node.args[1:], **node.kwargs))  # noqa: B023 - called here

            call()
            torch.cuda.synchronize()
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, capture_error_mode="thread_local"):
                for _ in range(calls):
                    call()
            times = []
            for _ in range(rounds + 1):
                begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))  # type: ignore[no-untyped-call]
                begin.record()
                graph.replay()
                end.record()
                torch.cuda.synchronize()
                times.append(begin.elapsed_time(end) / 1e3 / calls)
            known[kind] = sorted(times[1:])[rounds // 2]
        seconds[node.name] = known[kind]
    return seconds


# -- switches ----------------------------------------------------------------------------------------------------------------------------

_active: Pass | None = None
_last: Pass | None = None
_is_lowered = False


class Enabled:
    """What `enable` returns: ends it as a context manager, or by `disable`."""

    def __init__(self, before: Any) -> None:
        self._before = before

    def disable(self) -> None:
        """Graphs that are compiled from now on are Inductor's alone. Those that are there stay."""
        global _active
        if _active is not None:
            config.post_grad_custom_post_pass = self._before
            _active = None

    def __enter__(self) -> Enabled:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.disable()


def enable(
    *,
    command: Sequence[str] | None = None,
    cache: str | None = None,
    machine: str | None = None,
    take: str = "faster",
    measure: bool = True,
    memory: str = "torch",
    timeout: float = 300.0,
    most_bytes: int | None = None,
) -> Enabled:
    """
    Turns the pass on for graphs that torch.compile compiles from now on, in this process; every rank calls it.

    `command`: the compiler's, default what `collc.compiler.find` finds. `cache`: a folder, in whose `regions` lies what it has made. `machine`: what times are
    predicted for, default that of the GPUs here; of collectives by themselves `collc tune` may have measured them. `take`: "faster" for programs that are predicted to be, with the copies that
    they need; "all" for every one that the compiler proposes. `measure`: times a graph's collectives as they are, so that predictions
    are held against what NCCL takes here. `memory`: as for `Collectives`. `timeout`: seconds that ranks wait for each other while compiling.
    `most_bytes`: symmetric memory that a graph may take on each rank; for sizes that need more, it runs as without collc.
    """
    global _active, _last, _is_lowered
    if take not in ("faster", "all"):
        raise ValueError(f"take is 'faster' or 'all', not {take!r}")
    if _active is not None:
        raise CollcError("collc is enabled already: disable it first")
    if not _is_lowered:
        _lower_operators()
        _is_lowered = True
    before = config.post_grad_custom_post_pass
    compiler = Compiler(command, cache, timeout)
    _active = _last = Pass(compiler, machine=machine, take=take, measure=measure, memory=memory, timeout=timeout, most_bytes=most_bytes, before=before)
    config.post_grad_custom_post_pass = _active
    return Enabled(before)


def report() -> Report:
    """What has become of graphs since the last `enable`."""
    return Report(tuple(_last.reports) if _last is not None else ())


def check() -> None:
    """Raises WaitTimeout if a wait in a program has run out. Synchronise first."""
    for region in regions.values():
        region.check()


def release() -> None:
    """
    Frees what graphs hold: programs and symmetric memory. Called on every rank, when no graph that collc has a part in will run again, as
    after `torch.compiler.reset()`.
    """
    torch.cuda.synchronize()
    for memory in _memories.values():
        memory.meet()
    for region in regions.values():
        region.close()
    regions.clear()
    for memory in _memories.values():
        memory.close()
    _memories.clear()


def replicated(x: torch.Tensor) -> torch.Tensor:
    """
    x, of which the caller says that every rank has the same, as of the weight of a norm: then the norm can be computed where its rows are
    cut among ranks. It says so where collc is enabled and the caller is being compiled, and costs nothing.
    """
    return replicated_op(x) if _active is not None and torch.compiler.is_compiling() else x
