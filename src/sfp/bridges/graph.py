"""Arithmetic as data: one description for NumPy and for ONNX."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from sfp.bridges.plain import OPERATIONS

Constant: TypeAlias = np.ndarray


@dataclass(frozen=True)
class Ref:
    """A value that is known when the graph runs; `width` is its last axis."""

    name: str
    width: int


Value: TypeAlias = Ref | Constant


class Node(NamedTuple):
    operation: str
    taken: tuple[str, ...]
    made: str
    options: dict[str, int]


@dataclass
class Graph:
    """Operations in order, over the last axis; what is constant is computed at once.

    Attributes:
        inputs: the width of every input.
        outputs: the value that each output is.
        constants: weights, float32.
        nodes: the operations.
    """

    inputs: dict[str, int] = field(default_factory=dict)
    outputs: dict[str, Ref] = field(default_factory=dict)
    constants: dict[str, Constant] = field(default_factory=dict)
    nodes: list[Node] = field(default_factory=list)

    def input(self, name: str, width: int) -> Ref:
        self.inputs[name] = width
        return Ref(name, width)

    def do(
        self, operation: str, *taken: Value, width: int | None = None, **options: int
    ) -> Value:
        """The result of an operation; its width is by default the widest input's."""
        if not any(isinstance(value, Ref) for value in taken):
            arrays: Sequence[Any] = taken
            made = OPERATIONS[operation](*arrays, **options)
            return np.asarray(made, getattr(made, "dtype", np.float32))
        widths = [v.width if isinstance(v, Ref) else _width(v) for v in taken]
        ref = Ref(f"v{len(self.nodes)}", max(widths) if width is None else width)
        names = tuple(self._named(value) for value in taken)
        self.nodes.append(Node(operation, names, ref.name, options))
        return ref

    def linear(
        self, parts: Sequence[Value], weight: np.ndarray, bias: np.ndarray
    ) -> Value:
        """Parts @ weight + bias, as if the parts stood behind each other."""
        stops = np.cumsum([width_of(part) for part in parts])[:-1]
        total: Value = np.asarray(bias, np.float32)
        for part, rows in zip(parts, np.split(np.asarray(weight), stops), strict=True):
            if len(rows):
                made = self.do("linear", part, rows, width=rows.shape[1])
                total = self.do("add", made, total)
        return total

    def slice(self, value: Value, start: int, stop: int) -> Value:
        return self.do("slice", value, width=stop - start, start=start, stop=stop)

    def concat(self, *parts: Value) -> Value:
        held = [part for part in parts if width_of(part)]
        if len(held) == 1:
            return held[0]
        return self.do("concat", *held, width=sum(map(width_of, held)))

    def _named(self, value: Value) -> str:
        if isinstance(value, Ref):
            return value.name
        name = f"c{len(self.constants)}"
        self.constants[name] = np.ascontiguousarray(value, np.float32)
        return name


def width_of(value: Value) -> int:
    return value.width if isinstance(value, Ref) else _width(value)


def _width(value: Constant) -> int:
    return value.shape[-1] if value.ndim else 1
