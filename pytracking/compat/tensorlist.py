"""A list of tensors with elementwise arithmetic and tensor methods."""
from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable
from typing import Any

import torch

BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")
COMPARISONS = ("lt", "le", "gt", "ge")


class TensorList(list):
    """``TensorList([a, b]) + 1`` is ``TensorList([a + 1, b + 1])``; a list as operand is used element by element."""

    def __init__(self, tensors: Iterable[Any] | None = None) -> None:
        super().__init__(tensors or ())

    def __getitem__(self, item: Any) -> Any:
        if isinstance(item, (tuple, list)):
            return TensorList([super(TensorList, self).__getitem__(index) for index in item])
        found = super().__getitem__(item)
        return TensorList(found) if isinstance(item, slice) else found

    def __neg__(self) -> TensorList:
        return self.apply(operator.neg)

    def __pos__(self) -> TensorList:
        return self.apply(operator.pos)

    def concat(self, other: Iterable[Any]) -> TensorList:
        """Returns the elements of both lists."""
        return TensorList([*self, *other])

    def copy(self) -> TensorList:
        return TensorList(self)

    def unroll(self) -> TensorList:
        """Flattens nested lists."""
        flat = TensorList()
        for element in self:
            flat.extend(element.unroll() if isinstance(element, TensorList) else [element])
        return flat

    def list(self) -> list:
        """Returns a plain list."""
        return [*self]

    def attribute(self, name: str, *default: Any) -> TensorList:
        """Returns an attribute of each element."""
        return TensorList([getattr(element, name, *default) for element in self])

    def apply(self, function: Callable[[Any], Any]) -> TensorList:
        """Applies a function to each element."""
        return TensorList([function(element) for element in self])

    def __getattr__(self, name: str) -> Callable[..., TensorList]:
        if name.startswith("__") or not hasattr(torch.Tensor, name):
            raise AttributeError(f"neither lists nor tensors have an attribute {name!r}")

        def of_each(*args: Any, **options: Any) -> TensorList:
            return TensorList([getattr(element, name)(*args, **options) for element in self])

        return of_each


def _elementwise(function: Callable[[Any, Any], Any], swapped: bool = False) -> Callable[..., TensorList]:
    def method(self: TensorList, other: Any) -> TensorList:
        others = other if isinstance(other, list) else [other] * len(self)
        pairs = zip(self, others, strict=True)
        return TensorList([function(b, a) if swapped else function(a, b) for a, b in pairs])

    return method


def _in_place(function: Callable[[Any, Any], Any]) -> Callable[..., TensorList]:
    def method(self: TensorList, other: Any) -> TensorList:
        others = other if isinstance(other, list) else [other] * len(self)
        self[:] = [function(a, b) for a, b in zip(self, others, strict=True)]
        return self

    return method


for _name in BINARY:
    setattr(TensorList, f"__{_name}__", _elementwise(getattr(operator, _name)))
    setattr(TensorList, f"__r{_name}__", _elementwise(getattr(operator, _name), swapped=True))
    setattr(TensorList, f"__i{_name}__", _in_place(getattr(operator, f"i{_name}")))
for _name in COMPARISONS:
    setattr(TensorList, f"__{_name}__", _elementwise(getattr(operator, _name)))


def tensor_operation(function: Callable[..., Any]) -> Callable[..., Any]:
    """Lets a function of tensors accept a :class:`TensorList` for any positional argument and then return one."""

    @functools.wraps(function)
    def wrapped(*args: Any, **options: Any) -> Any:
        lengths = {len(arg) for arg in args if isinstance(arg, TensorList)}
        if not lengths:
            return function(*args, **options)
        (count,) = lengths
        columns = [arg if isinstance(arg, TensorList) else [arg] * count for arg in args]
        return TensorList([function(*row, **options) for row in zip(*columns, strict=True)])

    return wrapped
