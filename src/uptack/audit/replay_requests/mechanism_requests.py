"""Mechanisms, functions of blocks, and the papers' own algorithms."""

from __future__ import annotations

from typing import Any

from uptack.audit import callers
from uptack.audit.replay_request import Ask
from uptack.audit.replay_requests.request_options import DELTA, LABELS, LOUD, MAY_REFUSE, SECRET, TESTED
from uptack.noise import LInfBall
from uptack.privacy import ADD_REMOVE


def mechanisms() -> list[Ask]:
    """Noise, choices, stable values."""
    sized, body = {**LOUD, "sensitivity": 1}, LInfBall(2)
    asks = [
        Ask(f"uptack.mechanisms.{name}", data, {**sized, **more}, basic=True)
        for name, data, more in (
            ("laplace", "number", {}),
            ("laplace", "vector", {"granularity": 1, "adjacency": ADD_REMOVE}),
            ("gaussian", "number", {"delta": DELTA}),
            ("gaussian", "vector", {"delta": DELTA, "granularity": 1, "adjacency": ADD_REMOVE}),
            ("gamma", "vector", {"adjacency": ADD_REMOVE}),
            ("gamma", "vector", {"covariance": [[2.0, 1.0], [1.0, 2.0]]}),
            ("k_norm", "vector", {"body": body, "adjacency": ADD_REMOVE}),
            ("matrix_laplace", "square", {"adjacency": ADD_REMOVE}),
        )
    ]
    for asked in asks:
        object.__setattr__(asked, "make", callers.value)
    for name in ("exponential", "report_noisy_max"):
        more = {"monotone": True, "adjacency": ADD_REMOVE}
        asks += [Ask(f"uptack.mechanisms.{name}", "scores", {**sized, **m}, callers.chosen) for m in ({}, more)]
    stable = {**TESTED, "sensitivity": 2, "adjacency": ADD_REMOVE}
    asks += [Ask("uptack.release_if_stable", "distance", o, callers.two, MAY_REFUSE) for o in (TESTED, stable)]
    return asks


def blocks() -> list[Ask]:
    """Functions of blocks."""
    path, stable = "uptack.subsample_aggregate", "uptack.stable_value"
    here = {"trusted": True}  # a process for every block takes long; those without are a few
    first: dict[str, Any] = {**LOUD, "f": callers.number}
    vote = {**LOUD, **here, "f": callers.outcome, "aggregate": "mode", "fallback": None}
    several = {**first, **here, "blocks": 60, "aggregate": "vector_median", "fallback": [0.0, 0.0], "f": callers.pair}
    mode = {**TESTED, "f": callers.outcome}
    types = MAY_REFUSE | LABELS
    return [
        Ask(path, "blocks", {**first, **here, "blocks": 60, "times": 2}, callers.blocks, basic=True),
        Ask(path, "blocks", {**first, "blocks": 40, "rows_per_person": 2, "progress": False}, callers.blocks),
        Ask(path, "blocks", {**SECRET, **here, "f": callers.number, "blocks": 60}, callers.blocks),
        Ask(path, "blocks", several, callers.blocks),
        Ask(path, "blocks", {**vote, "blocks": 30, "candidates": [1, "a"]}, callers.blocks, types),
        Ask(path, "blocks", {**vote, "blocks": 30, "delta": DELTA}, callers.blocks, types),
        Ask(stable, "blocks", {**mode, **here, "blocks": 20, "fallback": "none"}, callers.blocks, types, basic=True),
        Ask(stable, "blocks", {**mode, "rows_per_person": 2, "progress": False}, callers.blocks, types),
        Ask(stable, "blocks", {**mode, **SECRET, **here, "timeout": 60}, callers.blocks, types),
        Ask(stable, "numbers", {**mode, "blocks": 4, "workers": 2}, callers.blocks, types),
        Ask(path, "numbers", {**first, "blocks": 40, "workers": 2, "timeout": 60}, callers.blocks, types),
    ]


def papers() -> list[Ask]:
    """The papers' own algorithms, and random differential privacy."""
    printed: dict[str, Any] = {"eps": 5, "delta": DELTA}
    mean = {"alpha": 0.2, "kappa": 0.3}
    sized, may = callers.sized, MAY_REFUSE
    labels = may | LABELS
    mode = {"g": "mode", **printed}
    far = {"g": callers.number, "distance": callers.distance, **printed}
    samp = {"f": callers.outcome, "eps": 300, "delta": 0.1}
    half = {"epsilon": 2, "gamma": 0.3}
    return [
        *(Ask(f"uptack.papers.{name}", "numbers", printed, sized, may, basic=True) for name in ("S", "M")),
        Ask("uptack.papers.M", "any numbers", {**printed, "s": 1}, sized, may),
        Ask("uptack.papers.TM", "any numbers", {**printed, **mean}, sized, may, basic=True),
        Ask("uptack.papers.Scale", "any numbers", printed, free=may, basic=True),
        *(Ask(f"uptack.papers.{name}", "table", printed, callers.two, may, basic=True) for name in ("R_S", "R_H")),
        Ask("uptack.papers.A_dist", "labels", mode, callers.blocks, labels, basic=True),
        Ask("uptack.papers.A_dist", "numbers", {**printed, "g": "median"}, callers.blocks, labels),
        Ask("uptack.papers.A_dist", "numbers", far, callers.blocks, labels),
        Ask("uptack.papers.A_samp", "labels", {**samp, "limit": None, "fallback": "none"}, callers.blocks, labels),
        Ask("uptack.papers.A_samp", "labels", {**samp, "dry_run": True, "progress": False}, callers.blocks, labels),
        Ask(
            "uptack.papers.A_samp",
            "numbers",
            {**samp, "limit": 10, "workers": 2, "trusted": True, "timeout": 60},
            callers.blocks,
            labels,
        ),
        Ask("uptack.random_dp.binomial_proportion", "proportion", half),
        *(
            Ask("uptack.random_dp.random_sparse_histogram", "integers", {**half, "version": v}, callers.tally)
            for v in ("rare", "empty")
        ),
        Ask("uptack.random_dp.sensitivity_analysis", "function", {**half, "fallback": 1.0}, callers.analysed, may),
    ]
