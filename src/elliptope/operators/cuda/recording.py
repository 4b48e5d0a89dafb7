"""Many launches as one: what a function does on a device, recorded once and played back as a CUDA graph."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import torch

Tensor = Any  # annotations do not ask for torch's types, which are not there where types are checked


class Recording:
    """Of a function of one tensor that does the same for all tensors of a shape and never asks the device for a number.

    The function is called as it is for the first tensor of a shape, which compiles what it needs, and recorded at the second
    one in a row. One recording is kept, with the memory that it works in. It reads the same memory at every call: start
    another when what the function uses is replaced.
    """

    def __init__(self) -> None:
        self._forget()

    def _forget(self) -> None:
        self._key: Hashable = None
        self._graph: Any = None
        self._given: Any = None
        self._result: Any = None

    def play(self, function: Callable[[Tensor], Tensor], V: Tensor, name: Hashable) -> Tensor:
        """``function(V)``; functions with the same ``name`` are the same."""
        key = (name, tuple(V.shape), V.dtype)
        if not V.is_cuda or key != self._key:
            self._forget()
            self._key = key
            return function(V)
        if self._graph is None:
            self._record(function, V)
        self._given.copy_(V)
        self._graph.replay()
        return self._result.clone()

    def _record(self, function: Callable[[Tensor], Tensor], V: Tensor) -> None:
        graph, self._given = torch.cuda.CUDAGraph(), V.clone()
        torch.cuda.synchronize(V.device)
        # Other threads, such as those of a progress bar, may go on using the device meanwhile.
        with torch.cuda.device(V.device), torch.cuda.graph(graph, capture_error_mode="thread_local"):
            self._result = function(self._given)
        self._graph = graph
