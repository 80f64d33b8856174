"""The code in a TorchScript archive: torch runs default arguments and values of classes while it reads them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from brittle._errors import BrittleError

MAX_CODE = 16 * 2**20
"""Bytes of code in an archive; that of a ResNet-152 has 0.2 MB."""

TEXT = re.compile(r""" "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*' """, re.VERBOSE)
"""A text on one line, as torch writes them."""

READ_DIFFERENTLY = re.compile(r"""[^\n -~] | ["'#;\\]""", re.VERBOSE)
"""What torch does not write outside texts, and what its reader and Python's may understand as different code."""

CONSTANT = re.compile(r"CONSTANTS\.c\d+|(__torch__|torch)(\.\w+)+|inf|nan")
"""Names as values: tensors and texts of constants.pkl, members of an enum, the floats that have no digits."""


def check_code(code: bytes, where: str) -> None:
    """Raise unless torch can read this code without running any of it; `where` names it in the error.

    Outside the bodies of functions there may be types, and values that are literals, constants of the archive or
    torch.device("cpu").
    """
    tree = _parsed(code, where)
    for value in _values(tree, where):
        if not _is_plain(value):
            _refuse(value, where)


def _parsed(code: bytes, where: str) -> ast.Module:
    try:
        text = code.decode("ascii")
        if not READ_DIFFERENTLY.search(TEXT.sub("_", text)) and "\r" not in text and "\0" not in text:
            return ast.parse(text)
        reason = "it has signs that torch does not write"
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = str(error)[:100]
    raise BrittleError(f"{where} is no code that torch.jit.save wrote, and it is not loaded: {reason}")


def _values(tree: ast.Module, where: str) -> Iterator[ast.expr]:
    """The values that torch computes while it loads, after all that stands beside them is known to be harmless."""
    for part in tree.body:
        if isinstance(part, ast.Assign) and ast.unparse(part.targets[0]) == "op_version_set":  # torch 1.3 and before
            yield part.value
        elif not isinstance(part, ast.ClassDef | ast.FunctionDef):
            _refuse(part, where)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            yield from node.args.defaults
            yield from (default for default in node.args.kw_defaults if default is not None)
            given = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg)
            types = [node.returns, *(argument.annotation for argument in given if argument is not None)]
            _check_types([*types, *node.decorator_list], where)
        elif isinstance(node, ast.Lambda | ast.AsyncFunctionDef):
            _refuse(node, where)
        elif isinstance(node, ast.ClassDef):
            _check_types([*node.bases, *(keyword.value for keyword in node.keywords), *node.decorator_list], where)
            for part in node.body:
                yield from _values_of_class(part, where)


def _values_of_class(part: ast.stmt, where: str) -> Iterator[ast.expr]:
    if isinstance(part, ast.AnnAssign):
        _check_types([part.target, part.annotation], where)
        if part.value is not None:
            yield part.value
    elif isinstance(part, ast.Assign):
        _check_types(part.targets, where)
        if isinstance(part.targets[0], ast.Subscript):  # __annotations__["0"] = a type
            _check_types([part.value], where)
        else:
            yield part.value
    elif not isinstance(part, ast.FunctionDef | ast.Pass):
        _refuse(part, where)


def _check_types(types: list[ast.expr | None] | list[ast.expr], where: str) -> None:
    """Raise unless these are types: names, and others in brackets behind them."""
    allowed = (ast.Name, ast.Attribute, ast.Subscript, ast.Tuple, ast.List, ast.Constant, ast.expr_context)
    for kind in types:
        for node in () if kind is None else ast.walk(kind):
            if not isinstance(node, allowed):
                _refuse(node, where)


def _is_plain(value: ast.expr) -> bool:
    if isinstance(value, ast.Constant):
        return True
    if isinstance(value, ast.Tuple | ast.List):
        return all(_is_plain(element) for element in value.elts)
    if isinstance(value, ast.UnaryOp):
        return isinstance(value.op, ast.USub) and _is_plain(value.operand)
    if isinstance(value, ast.BinOp):  # a complex number, 1.+2.j
        numbers = (value.left, value.right)
        return isinstance(value.op, ast.Add | ast.Sub) and all(
            isinstance(number, ast.Constant | ast.UnaryOp) and _is_plain(number) for number in numbers
        )
    if isinstance(value, ast.Call):
        is_device = ast.unparse(value.func) == "torch.device" and not value.keywords
        return is_device and all(isinstance(argument, ast.Constant) for argument in value.args)
    return isinstance(value, ast.Name | ast.Attribute) and CONSTANT.fullmatch(ast.unparse(value)) is not None


def _refuse(node: ast.AST, where: str) -> None:
    shown = " ".join(ast.unparse(node).split())[:80]
    raise BrittleError(
        f"{where} has {shown!r} where torch runs it while it loads; there are only literals in what is read. If you "
        "trust the file, load it by a function of yours, FILE.py:FUNCTION"
    )
