"""Many launches as one: what a function does on a device, recorded once and played back as a CUDA graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

Tensor = Any  # annotations do not ask for torch's types, which are not there where types are checked


class Recorded:
    """A function of one tensor that does the same for all tensors of a shape and never asks the device for a number.

    It is called as it is for the first tensor of a shape, which compiles what it needs, and recorded at the second one in
    a row. One recording is kept, with the memory that it works in.
    """

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        self._function = function
        self._shape: tuple | None = None
        self._graph: Any = None

    def __call__(self, V: Tensor) -> Tensor:
        shape = (tuple(V.shape), V.dtype)
        if not V.is_cuda or shape != self._shape:
            self._shape, self._graph = shape, None
            return self._function(V)
        if self._graph is None:
            self._record(V)
        self._given.copy_(V)
        self._graph.replay()
        return self._result.clone()

    def _record(self, V: Tensor) -> None:
        self._given, graph = V.clone(), torch.cuda.CUDAGraph()
        torch.cuda.synchronize(V.device)
        with torch.cuda.device(V.device), torch.cuda.graph(graph):
            self._result = self._function(self._given)
        self._graph = graph
