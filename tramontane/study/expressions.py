"""Evaluates the small expressions of an experiment (`exclude`, `derive`) without giving them access to Python."""

import ast
import math
from collections.abc import Mapping
from typing import Any

from simpleeval import EvalWithCompoundTypes, InvalidExpression

from tramontane.errors import InputError, closest, show
from tramontane.study.layers import Origin

FUNCTIONS: dict[str, Any] = {
    "abs": abs,
    "ceil": math.ceil,
    "floor": math.floor,
    "int": int,
    "len": len,
    "log": math.log,
    "log2": math.log2,
    "max": max,
    "min": min,
    "round": round,
    "sqrt": math.sqrt,
    "str": str,
    "sum": sum,
}
"""What an expression may call."""


def names_in(expression: str) -> set[str]:
    """Return the names an expression uses, without those of functions and of its own loops."""
    tree = ast.parse(expression.strip(), mode="eval")
    bound = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    return used - bound - set(FUNCTIONS)


def check_syntax(expression: object, origin: Origin) -> None:
    """Refuse what is not an expression at all."""
    allowed = "an expression such as \"series == 'burst' and ranks > 20000\""
    if isinstance(expression, bool | int | float):
        return
    if not isinstance(expression, str):
        raise InputError(origin.source, origin.key, expression, allowed)
    try:
        names_in(expression)
    except (SyntaxError, ValueError) as error:
        problem = f"found {show(expression)}, which cannot be read ({getattr(error, 'msg', error)})"
        raise InputError(origin.source, origin.key, expression, allowed, problem=problem) from None


def evaluate(expression: object, names: Mapping[str, Any], origin: Origin, where: str) -> Any:
    """Return the value of an expression.

    Parameters
    ----------
    expression : str
        The text; anything else is its own value.
    names : mapping
        Values it may use.
    origin : Origin
        Where it is written, for the error line.
    where : str
        The point it is evaluated for, for the error line.

    Raises
    ------
    InputError
        If it uses an unknown name or function or cannot be evaluated.
    """
    if not isinstance(expression, str):
        return expression
    for name in sorted(names_in(expression) - set(names) - {"True", "False", "None"}):
        raise InputError(
            origin.source,
            origin.key,
            expression,
            ", ".join(sorted(names)),
            problem=f"unknown name '{name}' in {show(expression)}",
            hint=closest(name, names),
            where=where,
        )
    evaluator = EvalWithCompoundTypes(names=dict(names), functions=FUNCTIONS)
    try:
        return evaluator.eval(expression.strip())
    except (InvalidExpression, ArithmeticError, TypeError, ValueError, LookupError, AttributeError) as error:
        raise InputError(
            origin.source,
            origin.key,
            expression,
            f"an expression of the names {', '.join(sorted(names))} and the functions {', '.join(FUNCTIONS)}",
            problem=f"{show(expression)} cannot be evaluated ({error})",
            where=where,
        ) from None
