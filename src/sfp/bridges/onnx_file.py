"""Graphs as ONNX, checked against onnxruntime before they are written."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfp.bridges.graph import Graph, Node
from sfp.errors import SfpError, reason

OPSET, IR = 17, 8
"""Old enough for runtimes of 2022."""

TOLERANCE = 1e-5
"""Largest difference to NumPy, as a share of an action's range."""

SAME = {
    "linear": "MatMul",
    "add": "Add",
    "subtract": "Sub",
    "multiply": "Mul",
    "divide": "Div",
    "minimum": "Min",
    "less": "Less",
    "where": "Where",
    "relu": "Relu",
    "tanh": "Tanh",
    "exp": "Exp",
    "log": "Log",
    "sqrt": "Sqrt",
    "round": "Round",
    "sigmoid": "Sigmoid",
}
"""Operations that ONNX has under another name."""


def packages() -> tuple[Any, Any]:
    """The packages `onnx` and `onnxruntime`; one line if they are missing."""
    try:
        import onnx  # pyright: ignore[reportMissingImports]
        import onnxruntime  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise SfpError(
            f"ONNX needs the packages onnx and onnxruntime ({reason(error)}): pip "
            "install 'state-free-priors[onnx]', or export without --onnx."
        ) from None
    return onnx, onnxruntime


def to_onnx(graph: Graph, notes: dict[str, str]) -> bytes:
    """The content of an .onnx file; every input and output has a batch axis."""
    onnx, _ = packages()
    helper, numpy = onnx.helper, onnx.numpy_helper
    tensors = dict(graph.constants)
    nodes = [made for node in graph.nodes for made in _nodes(helper, node, tensors)]
    nodes += [
        helper.make_node("Identity", [ref.name], [name])
        for name, ref in graph.outputs.items()
    ]
    real = onnx.TensorProto.FLOAT
    model = helper.make_model(
        helper.make_graph(
            nodes,
            "sfp",
            [
                helper.make_tensor_value_info(name, real, ["batch", width])
                for name, width in graph.inputs.items()
            ],
            [
                helper.make_tensor_value_info(name, real, ["batch", ref.width])
                for name, ref in graph.outputs.items()
            ],
            [numpy.from_array(array, name) for name, array in tensors.items()],
        ),
        opset_imports=[helper.make_opsetid("", OPSET)],
        producer_name="sfp",
        ir_version=IR,
    )
    helper.set_model_props(model, notes)
    onnx.checker.check_model(model)
    return model.SerializeToString()


def check_onnx(content: bytes, inputs: Any, expected: Any, half: np.ndarray) -> float:
    """The largest difference of an action to the one expected; refuse a large one."""
    _, runtime = packages()
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = runtime.InferenceSession(
        content, options, providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    made = dict(zip(names, session.run(names, inputs), strict=True))
    worst = float((np.abs(made["action"] - expected["action"]) / half).max())
    if not worst <= TOLERANCE:
        raise SfpError(
            f"onnxruntime differs from NumPy by {worst:.2g} of the action range, "
            f"expected at most {TOLERANCE:g}: export without --onnx, and report this."
        )
    return worst


def _nodes(helper: Any, node: Node, tensors: dict[str, np.ndarray]) -> list[Any]:
    """One operation as nodes of ONNX; integers it needs are added to `tensors`."""

    def whole(key: str, *values: int) -> str:
        name = f"{node.made}.{key}"
        tensors[name] = np.array(values, np.int64)
        return name

    def make(kind: str, taken: Any, made: str = node.made, **options: Any) -> Any:
        return helper.make_node(kind, list(taken), [made], **options)

    taken, kind = node.taken, node.operation
    if kind in SAME:
        return [make(SAME[kind], taken)]
    if kind == "clip":  # ONNX has one for scalar bounds only
        value, low, high = taken
        above = f"{node.made}.above"
        return [make("Max", [value, low], above), make("Min", [above, high])]
    if kind == "concat":
        return [make("Concat", taken, axis=-1)]
    if kind == "softmax":
        return [make("Softmax", taken, axis=-1)]
    if kind == "slice":
        start, stop = node.options["start"], node.options["stop"]
        return [make("Slice", _range(taken, whole, start, stop, 1))]
    if kind == "reverse":
        return [make("Slice", _range(taken, whole, -1, -(2**62), -1))]
    if kind == "spread":
        return [make("Unsqueeze", [*taken, whole("axes", -2)])]
    if kind == "sum":
        return [make("ReduceSum", [*taken, whole("axes", -1)], keepdims=0)]
    if kind == "cumsum":
        tensors[f"{node.made}.axis"] = np.array(-1, np.int64)
        return [make("CumSum", [*taken, f"{node.made}.axis"])]
    if kind == "count":
        middle = f"{node.made}.whole"
        return [
            make("Cast", taken, middle, to=7),  # int64
            make("ReduceSum", [middle, whole("axes", -1)], keepdims=0),
        ]
    if kind == "take":
        table, index = taken
        last, inside = whole("last", len(tensors[table]) - 1), f"{node.made}.inside"
        return [make("Min", [index, last], inside), make("Gather", [table, inside])]
    raise AssertionError(f"no ONNX for {kind}")


def _range(taken: Any, whole: Any, start: int, stop: int, step: int) -> list[str]:
    ends = whole("start", start), whole("stop", stop)
    return [*taken, *ends, whole("axes", -1), whole("step", step)]
