"""
What `collc.inductor` does to an FX graph: whether a step's tensors are the graph's, where they lie, and operators in the place of what
the steps carry out.
"""

from __future__ import annotations

import operator
from typing import Any, Iterator, Mapping, Sequence

from . import fx
from .regions import Region, Step

import torch
from torch._inductor.pattern_matcher import stable_topological_sort

_PRODUCTS = ("aten.mm.default", "aten.addmm.default")


def problem_of(step: Step, nodes: Mapping[str, Any]) -> str:
    """Why the graph has no such tensors; empty where it has."""
    for binding in (*step.inputs, *step.outputs):
        node = nodes.get(binding.node)
        value = None if node is None else node.meta.get("val")
        if not isinstance(value, torch.Tensor) or value.dtype != binding.dtype:
            return f"the graph has no tensor {binding.node} of {binding.dtype}"
        shape = tuple(value.shape)
        if shape != binding.shape and _as_it_lies(node, binding.shape) is None:
            return f"{binding.node} has the shape {list(shape)}, and {list(binding.shape)} is needed"
    return ""


def _as_it_lies(node: Any, shape: tuple[int, ...]) -> list[int] | None:
    """The permutation that makes a tensor contiguous, if it has the shape then."""
    value = node.meta["val"]
    order = fx.memory_order(tuple(value.shape), tuple(value.stride()))
    return order if tuple(value.shape[d] for d in order) == shape else None


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
    """Nodes that have the value: the collective and what waits for it."""
    return [node, *(user for user in node.users if "wait_tensor" in fx.target_of(user))]


def _stays(node: Any) -> bool:
    return not any(_escapes(each) for each in _values(node))


def _is_product(node: Any) -> bool:
    if node.op != "call_function" or fx.target_of(node) not in _PRODUCTS or node.kwargs:
        return False
    value = node.meta["val"]
    return tuple(value.stride()) == fx.row_major(value.shape) and _stays(node)


def copied(step: Step, nodes: Mapping[str, Any], taken: Sequence[Step]) -> Iterator[int]:
    """Bytes of each tensor that is copied into symmetric memory, or out of it. `taken`: the steps before it."""
    made = {b.node for other in taken for b in other.outputs if b.symmetric and _stays(nodes[b.node])}
    for binding in step.inputs:
        if binding.symmetric and binding.node not in made and not _is_product(nodes[binding.node]):
            yield binding.bytes
    for binding in step.outputs:
        if binding.symmetric and not _stays(nodes[binding.node]):
            yield binding.bytes


def replace(graph: Any, region: Region, key: str, steps: Sequence[Step]) -> None:
    """Puts operators in the place of what the steps carry out, and gives tensors their places in symmetric memory."""
    nodes = {node.name: node for node in graph.nodes}
    now = dict(nodes)
    made: set[str] = set()
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
                if _is_product(producer):
                    _into_slot(graph, region, key, binding, producer, now)
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
                if tuple(node.meta["val"].shape) != binding.shape:
                    order = _as_it_lies(node, binding.shape)
                    before = node
                    with graph.inserting_before(last):
                        node = graph.call_function(torch.ops.aten.permute.default, (before, order))
                    node.meta["val"] = before.meta["val"].permute(order)
                arguments.append(node)
            call = graph.call_function(torch.ops.collc.region.default, (arguments, key, step.index))
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


def _into_slot(graph: Any, region: Region, key: str, binding: Any, product: Any, now: dict[str, Any]) -> None:
    """Lets a product be stored where peers reach it, in the place of a copy."""
    own = region.own_slot(binding)
    args = product.args if fx.target_of(product) == "aten.addmm.default" else (None, *product.args)
    with graph.inserting_after(product):
        call = graph.call_function(torch.ops.collc.product_into.default, (*args, key, region.slots.index(own)))
    call.meta["val"] = product.meta["val"]
    product.replace_all_uses_with(call)
    graph.erase_node(product)
    now[binding.node] = call


def _like(node: Any, binding: Any) -> Any:
    return node.meta["val"].new_empty(binding.shape, dtype=binding.dtype)
