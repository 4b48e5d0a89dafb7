"""Fitted estimators as a header and arrays. Only classes that have been registered are stored, and only they are loaded."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.utils.validation import check_is_fitted

from .._utils.arrays import Array
from .container import ModelFileError, shown
from .fields import Choice, Field, Names, Optional, Packing, Reading, take
from .parameters import ParameterKinds, pack_parameters, unpack_parameters


@dataclass(frozen=True)
class Table:
    """What a file keeps of the estimators of one class."""

    attributes: dict[str, Field]  # set by ``fit``
    parameters: ParameterKinds


# Filled by the package that defines the estimators: this one knows none of them.
TABLES: dict[type, Table] = {}

_NAMES = Optional(Names("p"))
_OUTPUT = Optional(Choice(("default", "pandas", "polars")))


def register(cls: type, table: Table) -> None:
    """Make estimators of a class storable. Derived classes are not: they may have attributes that the table lacks."""
    TABLES[cls] = table


def place_of(attribute: str) -> str:
    """The name of an attribute in a file, where no name begins or ends with an underscore."""
    return attribute.strip("_")


def pack(est: Any) -> tuple[dict[str, Any], dict[str, Array]]:
    """Header and arrays of a fitted estimator."""
    table = TABLES.get(type(est))
    if table is None:
        known = ", ".join(cls.__name__ for cls in TABLES)
        raise ModelFileError(f"files are made for {known}, and not for classes derived from them; use pickle or joblib")
    fields = table.attributes
    check_is_fitted(est, list(fields))
    packing = Packing()
    header = {
        "class": type(est).__name__,
        "parameters": pack_parameters(est, table.parameters, packing),
        "set_output": _OUTPUT.pack(getattr(est, "_sklearn_output_config", {}).get("transform"), "set_output", packing),
        "feature_names_in": _NAMES.pack(getattr(est, "feature_names_in_", None), "feature_names_in", packing),
        "fitted": {place_of(name): kind.pack(getattr(est, name), place_of(name), packing) for name, kind in fields.items()},
    }
    return header, packing.arrays


def unpack(header: dict[str, Any], reading: Reading) -> Any:
    """The estimator in an archive, made from its header and arrays."""
    classes = {cls.__name__: cls for cls in TABLES}
    name = header["class"]
    if not isinstance(name, str) or name not in classes:
        raise ModelFileError(f"its class must be one of {', '.join(classes)}, got {shown(name)}")
    cls = classes[name]
    table = TABLES[cls]
    est = cls(**unpack_parameters(cls, table.parameters, header["parameters"], reading))
    fitted = take(header["fitted"], tuple(map(place_of, table.attributes)), "fitted")
    for attribute, kind in table.attributes.items():
        place = place_of(attribute)
        setattr(est, attribute, kind.unpack(fitted[place], place, reading))
    names = _NAMES.unpack(header["feature_names_in"], "feature_names_in", reading)
    if names is not None:
        est.feature_names_in_ = names
    output = _OUTPUT.unpack(header["set_output"], "set_output", reading)
    if output is not None:
        est.set_output(transform=output)
    return est
