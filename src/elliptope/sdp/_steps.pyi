from .._utils.arrays import Array

def measure(H: Array, P: Array, slack: Array, residual: Array, inverse: Array, /) -> tuple[float, float, float]: ...
def move(H: Array, D: Array, V: Array, t: float, /) -> float: ...
def direction(
    S: Array,
    Y: Array,
    inverse: Array,
    curvatures: Array,
    residual: Array,
    inverse_pulls: Array,
    H: Array,
    D: Array,
    used: int,
    last: int,
    /,
) -> float: ...
def remember(
    S: Array,
    Y: Array,
    inverse: Array,
    curvatures: Array,
    D: Array,
    old: Array,
    new: Array,
    H: Array,
    slot: int,
    used: int,
    t: float,
    least: float,
    /,
) -> bool: ...
