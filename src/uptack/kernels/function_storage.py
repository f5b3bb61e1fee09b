"""The file of a released function: public numbers only, and at most once the right to answer new points."""

from __future__ import annotations

import json
import os
import uuid
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from uptack.errors import UptackError
from uptack.kernels.covariance_factor import LIVES, PANEL, CovarianceFactor
from uptack.kernels.kernel import Floats, Kernel, ScaledKernel, SumKernel, TensorKernel
from uptack.kernels.stationary_kernels import ExponentialKernel, GaussianKernel, Matern32, Matern52


@dataclass(frozen=True)
class FunctionState:
    """All that a release is, but for the function: points asked, coordinates released, parameters.

    `rows` is the factor L, kept only where the release may be taken up again: new coordinates must go with the very
    factor that the old ones were made with.
    """

    kernel: Kernel
    jitter: float
    step: Fraction
    variance: Fraction
    bound: float
    most_points: int
    lives: int
    points: Floats
    coordinates: Floats
    rows: Floats | None
    window: Floats | None
    private: bool = True


def write(path: Path, state: FunctionState) -> None:
    """Write it at once or not at all."""
    os.replace(prepared(path, state), path)


def prepared(path: Path, state: FunctionState) -> Path:
    """A new file beside this one with all that it is to hold, ready to take its place."""
    meta: dict[str, Any] = {
        "uptack": "function",
        "kernel": state.kernel.to_dict(),
        "jitter": state.jitter,
        "step": str(state.step),
        "variance": str(state.variance),
        "bound": state.bound,
        "most_points": state.most_points,
        "lives": state.lives,
        "private": state.private,
        "window": None if state.window is None else state.window.tolist(),
    }
    arrays: dict[str, Any] = {"points": state.points, "coordinates": state.coordinates}
    if state.rows is not None:
        arrays["rows"] = state.rows
    new = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
    with new.open("wb") as file:
        np.savez(file, meta=np.array(json.dumps(meta)), **arrays)
    return new


def read(path: Path) -> FunctionState:
    """What a file holds."""
    try:
        with np.load(path, allow_pickle=False) as content:
            meta = json.loads(str(content["meta"]))
            rows = content.get("rows")
            points, coordinates = content["points"], content["coordinates"]
        if meta["uptack"] != "function":
            raise ValueError
    except (ValueError, KeyError, OSError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise UptackError(f"{path} is not the file of a released function") from error
    return FunctionState(
        kernel_of(meta["kernel"]),
        meta["jitter"],
        Fraction(meta["step"]),
        Fraction(meta["variance"]),
        meta["bound"],
        meta["most_points"],
        meta["lives"],
        points,
        coordinates,
        rows,
        None if meta["window"] is None else np.array(meta["window"]),
        meta["private"],
    )


def take(path: Path) -> FunctionState:
    """Take the right to answer new points out of the file, which stays behind as one for readers.

    Renaming is what only one of two processes can do. It acts on names, so a file with several of them is refused.
    """
    path = path.resolve(strict=True)
    if path.stat().st_nlink != 1:
        raise UptackError(f"{path} has several names; keep one, since the right to answer exists once")
    _check_right(path, read(path))
    claimed = path.with_name(f"{path.name}.{uuid.uuid4().hex}")
    os.rename(path, claimed)
    state = read(claimed)
    write(path, replace(state, rows=None))
    os.remove(claimed)
    _check_right(path, state)  # what was read first may have been taken in between
    return state


def _check_right(path: Path, state: FunctionState) -> None:
    if state.rows is None or state.lives >= LIVES:
        why = "is for readers, or was taken up already" if state.rows is None else f"was taken up {LIVES - 1} times"
        raise UptackError(f"{path} {why}: load it without f, or make a new release")


def refill(factor: CovarianceFactor, state: FunctionState) -> None:
    """The factor as it was, or for a reader one that is as good."""
    if state.rows is None:
        factor.extend(state.points)
        return
    for start in range(0, len(state.points), PANEL):
        end = min(start + PANEL, len(state.points))
        factor.restore(state.points[start:end], state.rows[start:end, :end])


_LEAVES = (GaussianKernel, ExponentialKernel, Matern32, Matern52)


def kernel_of(content: dict[str, Any]) -> Kernel:
    """The kernel that `to_dict` wrote down."""
    for leaf in _LEAVES:
        if content["kernel"] == leaf.__name__:
            return leaf(content["scale"], content["dimension"])
    parts = [kernel_of(part) for part in content["parts"]]
    if content["kernel"] == "ScaledKernel":
        return ScaledKernel(parts[0], content["factor"])
    return {"TensorKernel": TensorKernel, "SumKernel": SumKernel}[content["kernel"]](*parts)
