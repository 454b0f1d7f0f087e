"""
What `collc.inductor` does to an FX graph: whether a step's tensors are the graph's, where they lie, and operators in the place of what
the steps carry out.
"""

from __future__ import annotations

import operator
from typing import Any, Callable, Iterable, Iterator, Mapping, Sequence

from . import fx
from .artifacts import Dims, evaluate
from .partition import Step
from .regions import Region

import torch
from torch._inductor.pattern_matcher import stable_topological_sort

_PRODUCTS = ("aten.mm.default", "aten.addmm.default")


def problem_of(step: Step, nodes: Mapping[str, Any], sizes: fx.Sizes, at: Dims) -> str:
    """
    Why the graph has no such tensors; empty where it has, and then the step's bindings have their shapes in it. `at`: sizes that tell
    shapes apart.
    """
    unknown = step.names - set(sizes.symbols)
    if unknown:
        return f"the graph has no size {', '.join(sorted(unknown))}"
    graph = next(iter(nodes.values())).graph
    missing = step.names - set(size_sources(graph, sizes, step.names))
    if missing:
        return f"no input of the graph is as long as {', '.join(str(sizes.symbols[name]) for name in sorted(missing))}"
    dims = step.dims_at(at)
    for binding in (*step.inputs, *step.outputs):
        node = nodes.get(binding.node)
        value = None if node is None else node.meta.get("val")
        if not isinstance(value, torch.Tensor) or value.dtype != binding.dtype:
            return f"the graph has no tensor {binding.node} of {binding.dtype}"
        lengths = sizes.extents(value.shape)
        order = binding.order or list(range(len(lengths)))
        if sorted(order) != list(range(len(lengths))):
            return f"{binding.node} has {len(lengths)} dimensions, and {len(order)} are needed"
        binding.shape = tuple(lengths[d] for d in order)
        shape, wanted = binding.shape_at(at), tuple(evaluate(extent, dims) for extent in binding.declared)
        # Folds leave a dimension of one element in the program's tensor, which the graph's may have without it: the memory is the same.
        if [n for n in shape if n != 1] != [n for n in wanted if n != 1]:
            return f"{binding.node} has the shape {list(shape)} in memory, and {list(wanted)} is needed"
    return ""


def size_sources(graph: Any, sizes: fx.Sizes, names: Iterable[str]) -> dict[str, Any]:
    """Of each size, the placeholder that it is, or one that is as long, and where; none of a size that no placeholder has."""
    found: dict[str, Any] = {}
    for name in names:
        for node in graph.nodes:
            value = node.meta.get("val")
            if node.op != "placeholder" or name in found:
                continue
            if fx.is_size(value) and sizes.extent(value) == name:
                found[name] = (node, None)
            elif isinstance(value, torch.Tensor) and name in sizes.extents(value.shape):
                found[name] = (node, sizes.extents(value.shape).index(name))
    return found


def _aliases(node: Any) -> bool:
    """Whether results may lie where arguments do."""
    target = node.target
    if target in (torch.ops.collc.region.default, torch.ops.collc.product_into.default):
        return False
    if not isinstance(target, torch._ops.OpOverload):
        return True
    if target is torch.ops.prims.convert_element_type.default:
        return bool(node.args[0].meta["val"].dtype == node.args[1])
    return any(result.alias_info is not None for result in target._schema.returns) or target.is_view


def _escapes(node: Any) -> bool:
    """Whether the memory of a node's value is needed when the graph has run: it is a result, or a view of it is."""
    seen, waiting = set(), [node]
    while waiting:
        for user in waiting.pop().users:
            if user in seen:
                continue
            seen.add(user)
            if user.op == "output":
                return True
            # A wait is taken out with its collective.
            if _aliases(user):
                waiting.append(user)
    return False


def _values(node: Any) -> list[Any]:
    """Nodes that have the value, or a tensor of it where it is a list: the collective, what takes that out, and what waits for it."""
    waits = [user for user in node.users if "wait_tensor" in fx.target_of(user)]
    return [node, *waits, *(each for user in node.users if user.target is operator.getitem for each in _values(user))]


def _stays(node: Any) -> bool:
    return not any(_escapes(each) for each in _values(node))


def _is_product(node: Any, sizes: fx.Sizes) -> bool:
    if node.op != "call_function" or fx.target_of(node) not in _PRODUCTS or node.kwargs:
        return False
    value = node.meta["val"]
    return sizes.extents(value.stride()) == fx.row_major(sizes.extents(value.shape)) and _stays(node)


def copied(step: Step, nodes: Mapping[str, Any], taken: Sequence[Step], sizes: fx.Sizes, at: Dims) -> Iterator[int]:
    """Bytes of each tensor that is copied into symmetric memory, or out of it, at some sizes. `taken`: the steps before it."""
    made = {b.node for other in taken for b in other.outputs if b.symmetric and _stays(nodes[b.node])}
    carried = {name for other in taken for name in other.nodes}
    for binding in step.inputs:
        is_stored = binding.node not in carried and _is_product(nodes[binding.node], sizes)
        if binding.symmetric and binding.node not in made and not is_stored:
            yield binding.bytes(at)
    for binding in step.outputs:
        if binding.symmetric and not _stays(nodes[binding.node]):
            yield binding.bytes(at)


def instead(step: Step, nodes: Mapping[str, Any], sizes: fx.Sizes) -> Callable[[Sequence[torch.Tensor], Dims], Sequence[torch.Tensor]]:
    """The nodes that a step carries out, of its inputs and of sizes, as a function."""
    graph = torch.fx.Graph()
    made: dict[Any, Any] = {}
    for place, binding in enumerate(step.inputs):
        # One node may be there twice.
        x = graph.placeholder(f"given_{place}")
        if binding.order is not None:
            order = [binding.order.index(d) for d in range(len(binding.order))]
            x = graph.call_function(torch.ops.aten.permute.default, (x, order))
        made[nodes[binding.node]] = x
    dims = graph.placeholder("sizes_of_a_launch")

    def value(node: Any) -> Any:
        if node in made:
            return made[node]
        about = node.meta.get("val")
        if fx.is_size(about):
            extent = sizes.extent(about)
            made[node] = extent if isinstance(extent, int) else graph.call_function(evaluate, (extent, dims))
        elif "wait_tensor" in fx.target_of(node):
            made[node] = value(node.args[0])
        else:
            made[node] = graph.node_copy(node, value)
            # Of a list, each tensor is waited for.
            is_of_list = node.target is operator.getitem and node.args[0] in exchanged
            if is_of_list or (node in exchanged and fx.is_tensor(about)):
                made[node] = graph.call_function(torch.ops._c10d_functional.wait_tensor.default, (made[node],))
        return made[node]

    exchanged = set(fx.collectives(next(iter(nodes.values())).graph))
    graph.output([value(nodes[binding.node]) for binding in step.outputs])
    module = torch.fx.GraphModule({}, graph)
    return lambda given, at: module(*given, dict(at))  # type: ignore[no-any-return]


def replace(graph: Any, region: Region, key: str, steps: Sequence[Step], sizes: fx.Sizes, sources: Mapping[str, Any]) -> None:
    """
    Puts operators in the place of what the steps carry out, and gives tensors their places in symmetric memory. `sources`: what
    `size_sources` has found.
    """
    nodes = {node.name: node for node in graph.nodes}
    for step in steps:
        step.instead = instead(step, nodes, sizes)
    lengths = [_length(graph, *sources[name]) for name in region.names]
    now = dict(nodes)
    made: set[str] = set()
    # A product that a program makes is none that can be stored elsewhere.
    carried = {name for step in steps for name in step.nodes}
    for step in steps:
        shared = []
        for binding in step.outputs:
            if not binding.symmetric:
                continue
            binding.stays = _stays(nodes[binding.node])
            if binding.stays:
                binding.slot = region.own_slot(binding)
                made.add(binding.node)
            else:
                shared.append(binding)
        for binding in step.inputs:
            if binding.symmetric and binding.node not in made:
                producer = now[binding.node]
                if binding.node not in carried and _is_product(producer, sizes):
                    _into_slot(graph, region, key, binding, producer, now, lengths)
                    made.add(binding.node)
                else:
                    shared.append(binding)
        region.share_slots(shared)
    for step in steps:
        last = max((nodes[name] for name in step.nodes), key=list(graph.nodes).index)
        with graph.inserting_after(last):
            arguments = []
            for binding in step.inputs:
                node = now[binding.node]
                order = binding.order
                if order is not None:
                    before = node
                    with graph.inserting_before(last):
                        node = graph.call_function(torch.ops.aten.permute.default, (before, order))
                    node.meta["val"] = before.meta["val"].permute(order)
                arguments.append(node)
            call = graph.call_function(torch.ops.collc.region.default, (arguments, lengths, key, step.index))
        call.meta["val"] = [_like(nodes[b.node], b) for b in step.outputs]
        with graph.inserting_after(call):
            for place, binding in enumerate(step.outputs):
                item = graph.call_function(operator.getitem, (call, place))
                item.meta["val"] = call.meta["val"][place]
                for old in _values(nodes[binding.node]):
                    old.replace_all_uses_with(item)
                now[binding.node] = item
    for step in steps:
        for name in reversed(step.nodes):
            for node in reversed(_values(nodes[name])):
                if not node.users and not node._erased:
                    graph.erase_node(node)
    stable_topological_sort(graph)
    graph.eliminate_dead_code()


def _length(graph: Any, node: Any, dim: int | None) -> Any:
    """The node of a size."""
    if dim is None:
        return node
    with graph.inserting_after(node):
        size = graph.call_function(torch.ops.aten.sym_size.int, (node, dim))
    size.meta["val"] = node.meta["val"].shape[dim]
    return size


def _into_slot(graph: Any, region: Region, key: str, binding: Any, product: Any, now: dict[str, Any], lengths: list[Any]) -> None:
    """Lets a product be stored where peers reach it, in the place of a copy."""
    own = region.own_slot(binding)
    args = product.args if fx.target_of(product) == "aten.addmm.default" else (None, *product.args)
    with graph.inserting_after(product):
        call = graph.call_function(torch.ops.collc.product_into.default, (*args, lengths, key, region.slots.index(own)))
    call.meta["val"] = product.meta["val"]
    product.replace_all_uses_with(call)
    graph.erase_node(product)
    now[binding.node] = call


def _like(node: Any, binding: Any) -> Any:
    return node.meta["val"].new_empty(node.meta["val"].shape, dtype=binding.dtype)
