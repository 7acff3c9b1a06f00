"""Evaluates the small expressions of an experiment (`exclude`, `derive`) without giving them access to Python.

An expression is bounded in length, depth, steps and in the size of what it computes; so it takes neither memory nor
time, whatever it says. Strings are compared and put together; no format fills them, nothing repeats them.
"""

import ast
import math
import operator
import warnings
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from typing import Any

from simpleeval import EvalWithCompoundTypes, InvalidExpression

from tramontane.errors import closest, show
from tramontane.study.reading.layers import Origin

MOST_CHARACTERS = 500
MOST_LEVELS = 20
MOST_STEPS = 5000
MOST_BITS = 256
MOST_DIGITS = 30
MOST_DIVIDED = 10**10
"""Bounds of an expression: its text, its nesting, what evaluating it takes, a whole number on the
way, what is rounded to, and what divisors are looked for of."""


def _rounded(value: float, digits: int = 0) -> float:
    """Return a rounded number; `round` of a whole number raises 10 to the power of the digits."""
    return round(value, max(-MOST_DIGITS, min(MOST_DIGITS, digits))) if digits else round(value)


def _divisor_near(number: int, wanted: float) -> int:
    """Return the divisor of a whole number that is nearest to another number, by their ratio; of two the smaller."""
    if not isinstance(number, int) or not 1 <= number <= MOST_DIVIDED or wanted <= 0:
        raise ValueError(f"a whole number from 1 to {MOST_DIVIDED} and one above 0 are needed")
    small = [each for each in range(1, math.isqrt(number) + 1) if number % each == 0]
    return min((*small, *(number // each for each in small)), key=lambda each: (abs(math.log(each / wanted)), each))


FUNCTIONS: dict[str, Any] = {
    "abs": abs,
    "ceil": math.ceil,
    "divisor_near": _divisor_near,
    "floor": math.floor,
    "int": int,
    "len": len,
    "log": math.log,
    "log2": math.log2,
    "max": max,
    "min": min,
    "round": _rounded,
    "sqrt": math.sqrt,
    "str": str,
    "sum": sum,
}
"""What an expression may call."""

METHODS = ("endswith", "startswith")
"""What of a text an expression may call."""

ALLOWED = "an expression such as \"series == 'burst' and ranks > 20000\""


class _TooMuchError(InvalidExpression):  # type: ignore[misc]
    """An expression asks for more than it may."""


def _bounded(value: Any) -> Any:
    """Return a number, unless it is longer than anybody needs."""
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        raise _TooMuchError(f"a number of more than {MOST_BITS} bits")
    return value


def _numbers(compute: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return an operator of numbers only: of texts and lists it would repeat or fill."""

    def apply(left: Any, right: Any) -> Any:
        if not isinstance(left, int | float) or not isinstance(right, int | float):
            raise TypeError("not a number")
        return _bounded(compute(left, right))

    return apply


def _power(base: Any, exponent: Any) -> Any:
    if isinstance(base, int) and isinstance(exponent, int) and abs(exponent) * max(1, base.bit_length()) > MOST_BITS:
        raise _TooMuchError(f"a power of more than {MOST_BITS} bits")
    return base**exponent


def _add(left: Any, right: Any) -> Any:
    return _bounded(left + right)


_OPERATORS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: _add,
    ast.Sub: _numbers(operator.sub),
    ast.Mult: _numbers(operator.mul),
    ast.Div: _numbers(operator.truediv),
    ast.FloorDiv: _numbers(operator.floordiv),
    ast.Mod: _numbers(operator.mod),
    ast.Pow: _numbers(_power),
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.In: lambda left, right: operator.contains(right, left),
    ast.NotIn: lambda left, right: not operator.contains(right, left),
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.Not: operator.not_,
    ast.UAdd: operator.pos,
    ast.USub: operator.neg,
}


_NODES = (
    *(ast.BoolOp, ast.boolop, ast.BinOp, ast.UnaryOp, ast.Compare, ast.IfExp, ast.Call, ast.Name, ast.Constant),
    *(ast.List, ast.Tuple, ast.Set, ast.Subscript, ast.Slice, ast.Attribute, ast.Load),
)
"""What an expression consists of, beside operators. Loops are not among it: lists of lists would grow by powers."""


class _Evaluator(EvalWithCompoundTypes):  # type: ignore[misc]
    """Evaluates within a number of steps."""

    def __init__(self) -> None:
        super().__init__(operators=_OPERATORS, functions=FUNCTIONS)
        self._steps = 0

    def value(self, expression: str, names: Mapping[str, Any]) -> Any:
        """Return the value of an expression of these names."""
        self.names, self._steps = dict(names), 0
        return self.eval(expression, _parse(expression))

    def _eval(self, node: ast.AST) -> Any:
        result = super()._eval(node)
        self._steps += 1 + (len(result) if isinstance(result, str | list | tuple | set) else 0)
        if self._steps > MOST_STEPS:
            raise _TooMuchError(f"more than {MOST_STEPS} steps")
        return result


_evaluator = cache(_Evaluator)
"""The one evaluator: to make one takes as long as to evaluate."""


@lru_cache(maxsize=512)  # each point of an experiment evaluates the same few
def _parse(expression: str) -> ast.expr:
    """Return the tree of an expression, which nobody may change.

    Raises
    ------
    SyntaxError
        If it is none, too long, too deep, or uses what would not be bounded.
    """
    if len(expression) > MOST_CHARACTERS:
        raise SyntaxError(f"{len(expression)} characters, at most {MOST_CHARACTERS} are allowed")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            root = ast.parse(expression.strip(), mode="eval").body
    except (RecursionError, MemoryError, ValueError) as error:
        raise SyntaxError(str(error) or "nested too deeply") from None
    level: list[ast.AST] = [root]
    for _ in range(MOST_LEVELS):
        for node in level:
            _check(node)
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return root
    raise SyntaxError(f"more than {MOST_LEVELS} levels")


def _check(node: ast.AST) -> None:
    """Refuse a part of an expression that would not be bounded."""
    if not isinstance(node, (*_NODES, *_OPERATORS)):
        raise SyntaxError(f"{type(node).__name__} is not allowed")
    if isinstance(node, ast.Attribute) and node.attr not in METHODS:
        raise SyntaxError(f"'.{node.attr}' is not allowed, of a text only {', '.join(METHODS)}")
    if isinstance(node, ast.Constant):
        if not isinstance(node.value, str | int | float | None):
            raise SyntaxError(f"{show(node.value)} is not allowed")
        if isinstance(node.value, int) and node.value.bit_length() > MOST_BITS:
            raise SyntaxError(f"a number of more than {MOST_BITS} bits is not allowed")


@lru_cache(maxsize=512)
def names_in(expression: str) -> frozenset[str]:
    """Return the names an expression uses, without those of functions (SyntaxError)."""
    used = {node.id for node in ast.walk(_parse(expression)) if isinstance(node, ast.Name)}
    return frozenset(used - set(FUNCTIONS))


def check_syntax(expression: object, origin: Origin) -> None:
    """Refuse what is not an expression at all, or is beyond the bounds of one."""
    if isinstance(expression, bool | int | float):
        return
    if not isinstance(expression, str):
        raise origin.mistake(expression, ALLOWED)
    try:
        names_in(expression)
    except SyntaxError as error:
        problem = f"found {show(expression)}, which cannot be read ({error.msg})"
        raise origin.mistake(expression, ALLOWED, problem=problem) from None


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
        If it uses an unknown name or function, is beyond the bounds, or cannot be evaluated.
    """
    if not isinstance(expression, str):
        return expression
    check_syntax(expression, origin)
    for name in sorted(names_in(expression) - set(names) - {"True", "False", "None"}):
        raise origin.mistake(
            expression,
            ", ".join(sorted(names)),
            problem=f"unknown name '{name}' in {show(expression)}",
            hint=closest(name, names),
            where=where,
        )
    try:
        return _evaluator().value(expression, names)
    except (InvalidExpression, ArithmeticError, TypeError, ValueError, LookupError, AttributeError) as error:
        known = [f"{name} = {show(names[name])}" for name in sorted(names_in(expression) & set(names))]
        raise origin.mistake(
            expression,
            f"an expression that has a value{' where ' if known else ''}{', '.join(known)}, of the functions "
            f"{', '.join(FUNCTIONS)}",
            problem=f"{show(expression)} cannot be evaluated ({error})",
            where=where,
        ) from None
