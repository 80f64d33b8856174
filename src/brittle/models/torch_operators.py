"""Which operators of torch a graph from a file may call: those that compute with tensors, numbers, texts and lists."""

from __future__ import annotations

from typing import NoReturn

from brittle._errors import BrittleError

DENIED = frozenset(
    {
        *("save", "from_file"),  # they write and read files
        *("to_here", "owner", "owner_name", "is_owner", "local_value", "confirmed_by_owner"),  # of other machines
        *("manual_seed", "seed", "initial_seed", "set_grad_enabled", "Generator"),  # they change torch as a whole
        *("backward", "grad", "get_gradients", "wait", "warn", "record_stream", "rename_", "set_", "set", "resize_"),
    }
)
"""Operators of the namespace aten that do more, or that let two tensors share memory they should not."""

INTERNAL = frozenset(
    {
        *("_convolution", "_softmax", "_log_softmax", "_to_copy", "_unsafe_view", "_unsafe_index", "_reshape_alias"),
        *("_native_batch_norm_legit", "_native_batch_norm_legit_no_training", "_batch_norm_no_update"),
        *("_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa"),
        *("_assert_tensor_metadata", "_assert_scalar", "_assert_async", "_functional_assert_async", "_shape_as_tensor"),
        *("_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_attention_math", "_safe_softmax"),
        *("_set_item", "_unwrap_optional", "_infer_size", "_list_to_tensor", "_size_if_not_equal", "_weight_norm"),
        *("_is_all_true", "_is_any_true", "_pad_circular", "_nnpack_available", "_get_tracing_state"),
    }
)
"""Internal operators of aten that ordinary classifiers call; the others check their arguments less, and are refused."""

PRIM = frozenset(
    {
        *("Constant", "GetAttr", "SetAttr", "If", "Loop", "Uninitialized", "RaiseException", "NumToTensor", "Print"),
        *("ListConstruct", "ListUnpack", "DictConstruct", "TupleConstruct", "TupleUnpack", "TupleIndex", "TupleSlice"),
        *("unchecked_cast", "unchecked_unwrap_optional", "isinstance", "EnumName", "EnumValue", "tolist", "rangelist"),
        *("ConstantChunk", "ModuleContainerIndex", "StringIndex", "min", "max", "abs", "data", "device", "dtype"),
        *("layout", "requires_grad", "type", "itemsize", "nbytes", "is_cpu", "is_cuda", "is_mps", "is_meta", "is_xla"),
        *("is_quantized", "is_sparse", "is_mkldnn", "is_nested", "is_mtia", "is_xpu", "is_vulkan", "is_maia"),
    }
)
"""The building blocks of TorchScript: constants, attributes, containers, branches and loops."""


def check_operator(kind: str, where: str) -> None:
    """Raise unless a graph may call an operator, such as aten::conv2d; `where` names the file in the error."""
    namespace, _, name = kind.partition("::")
    internal = name.startswith("_") and not (name.startswith("__") and name.endswith("__"))
    if namespace == "aten" and name not in DENIED and (not internal or name in INTERNAL or name in PYTHON):
        return
    if namespace == "prim" and name in PRIM:
        return
    refuse_operator(kind, where)


def refuse_operator(kind: str, where: str) -> NoReturn:
    """Raise, since a graph calls an operator that is not run."""
    raise BrittleError(
        f"{where} calls the operator {kind}, and only those are run that compute with tensors; if you trust the file, "
        "load it by a function of yours, FILE.py:FUNCTION"
    )


PYTHON = frozenset({"__derive_index", "__range_length", "__round_to_zero_floordiv", "__interpolate", "__upsample"})
"""Operators of TorchScript for ranges, division and resizing."""
