"""The parts of the audit: neighbours are neighbours, answers become tables, exact laws give exact losses."""

import json
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx
from uptack.audit.battery import exact_cases
from uptack.audit.fault_detection import Trace
from uptack.audit.full_audit import Audit, CheckSummary

import uptack as ut
from uptack import audit
from uptack.audit import (
    Case,
    ExactCase,
    Finding,
    Report,
    cases,
    controls,
    family,
    hostile,
    least_epsilon,
    released,
    run,
)
from uptack.audit.answer_events import LEAST, ZERO_BIT, Event, Score, candidates, counted, tables
from uptack.audit.exact_audit import chosen, inverse, passed, shifted, together
from uptack.audit.neighbours import changed, lines, two_values
from uptack.audit.planted_faults import FAULTS
from uptack.exact import ball
from uptack.mechanisms import laplace
from uptack.mechanisms.inverse_sensitivity import boxes, decay
from uptack.noise import IntegerGaussian, IntegerLaplace, MachineNumbers, SeededEntropy
from uptack.privacy import ADD_REMOVE, SUBSTITUTE, Privacy
from uptack.reach import LStatistic

# --------------------------------------------------------------------------------------------------------- neighbours

RELATIONS = [SUBSTITUTE, SUBSTITUTE.per_person(2), ADD_REMOVE, ADD_REMOVE.per_person(3)]


def steps_apart(d, e):
    """Rows of d that are not in e, and of e that are not in d. Signed zeros are told apart."""
    one, other = (Counter(np.asarray(x, np.float64).view(np.int64).tolist()) for x in (d, e))
    return (one - other).total(), (other - one).total()


@pytest.mark.parametrize("relation", RELATIONS, ids=str)
def test_hostile_columns_are_neighbours(relation):
    g = relation.rows_per_person
    for name, (d, e) in hostile(40, 20, relation).items():
        expected = (g, g) if relation.size_is_public else (g, 0)
        assert steps_apart(d, e) == expected, name
    (x, y), (x_prime, y_prime) = lines(30, relation)["a point of leverage"]
    assert len(x) == len(y) == 30
    assert len(x_prime) == len(y_prime) == (30 if relation.size_is_public else 30 - g)


def test_an_order_statistic_jumps_where_it_is_aimed_at():
    for name in ("ties at the rank", "a gap", "extreme magnitudes", "subnormals", "edges of the granularity"):
        d, e = hostile(40, 13)[name]
        assert np.sort(d)[12] < np.sort(e)[12], name


def test_neighbours_refuse_what_a_person_does_not_own():
    with pytest.raises(ut.InvalidArgument, match="rows must be at most 1"):
        changed(np.zeros(5), slice(0, 2), 1.0)
    with pytest.raises(ut.InvalidArgument, match="lower"):
        two_values(5, 1, SUBSTITUTE.per_person(2))


# ------------------------------------------------------------------------------------------------------------- answers


def test_answers_of_every_kind_become_tables():
    refusal = ut.NoReply(Privacy(0), "test", None, ut.Advice(n=1))
    d, e = tables([refusal, 6], [0.0, -0.0])
    assert d[0].tolist()[0] == 0
    assert np.isnan(d[0, 1:]).all()
    assert d[1].tolist() == [1, 6, 1]
    assert e[:, 1].tolist() == [0.0, -LEAST]
    assert e[:, 2].tolist() == [ZERO_BIT, ZERO_BIT]
    vectors, _ = tables([{"a": 1, "b": 0.5}, None], [[2, 3]])
    assert vectors[0].tolist() == [1, 1, 0.5, 0, -1]
    names, others = tables(["b", None], ["a", frozenset()])
    assert len({names[0, 1], others[0, 1], others[1, 1]}) == 3
    assert tables([None], [None])[0][0, 0] == 0
    assert tables([math.inf, -math.inf], [5e-324, 1e300])[1][0, 2] == -1074


def test_answers_of_several_lengths_are_refused():
    with pytest.raises(ut.InvalidArgument, match="answers"):
        tables([[1, 2]], [[1]])


def test_all_events_are_counted_as_one_by_one():
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.integers(0, 4, 300), rng.normal(size=300)])
    table[::7, 1] = math.nan
    events = [*candidates(table), Event(1, 0.0, 0.1)]
    assert counted(events, table).tolist() == [event.hits(table) for event in events]


def test_the_score_sees_what_no_single_column_shows():
    """A shift of two coordinates at once: the sum of the two logarithms."""
    rng = np.random.default_rng(1)
    near, far = (np.rint(8 * (rng.laplace(size=(6000, 2)) + c)) / 8 for c in (0.0, 1.0))
    one, other = tables(near, far)
    score = Score.learned(one[::2], other[::2])
    mine, theirs = (score.extend(t[1::2])[:, -1] for t in (one, other))
    assert mine.mean() > 0.5 > -0.5 > theirs.mean()
    both = audit.epsilon_lower_bound(near, far, 0, 0.999)
    assert 1.05 < both <= 2  # one coordinate alone can't show more than 1
    assert audit.epsilon_lower_bound(near[:, 0], far[:, 0], 0, 0.999) <= 1


# ---------------------------------------------------------------------------------------------------------- exact laws


@pytest.mark.parametrize(("scale", "shift"), [(1, 1), (2, 1), (4, 3)])
def test_the_least_epsilon_of_laplace_noise(scale, shift):
    assert least_epsilon(lambda: shifted(IntegerLaplace(scale), shift)) == pytest.approx(shift / scale, rel=1e-12)


def test_delta_buys_epsilon():
    """Randomised response: h(ε) = p - e^ε·(1 - p)."""
    cells = [(ball(Fraction(3, 4)), ball(Fraction(1, 4))), (ball(Fraction(1, 4)), ball(Fraction(3, 4)))]
    assert least_epsilon(lambda: cells) == pytest.approx(math.log(3))
    assert least_epsilon(lambda: cells, Fraction(1, 4)) == pytest.approx(math.log(2))
    assert least_epsilon(lambda: cells, Fraction(1, 2)) == 0
    apart = [(arb(0.1), arb(0)), (arb(0.9), arb(1))]
    assert least_epsilon(lambda: apart, Fraction(1, 20)) == math.inf
    assert least_epsilon(lambda: apart, Fraction(1, 5)) == 0


def test_the_gaussian_law_is_where_its_multiplier_puts_it():
    variance = ut.privacy.gaussian_noise_multiplier(1, Fraction(1, 100)) ** 2 * 400

    def cells():
        return shifted(IntegerGaussian(variance), 20, 500)

    assert least_epsilon(cells, Fraction(1, 100)) == pytest.approx(1, abs=1e-3)


def test_independent_answers_add_up():
    each = [lambda s=s: shifted(IntegerLaplace(s), 1, 10) for s in (1, 2)]
    assert least_epsilon(lambda: together(*each)) == pytest.approx(1.5)


def test_the_law_of_the_inverse_engine_is_that_of_its_scores():
    """Against brute force over every candidate of a small lattice."""
    lattice, steps, rho = MachineNumbers(3, 2), 2, decay(Fraction(1))
    pair = [np.array(t) for t in ((-3.0, 0.0, 0.5, 1.0, 4.0), (-3.0, 0.5, 0.5, 1.0, 4.0))]
    shells = [boxes([LStatistic.quantile(x, 2, steps)], steps, lattice) for x in pair]

    def law(one):
        def score(y):
            return next(k for k in range(steps + 2) if one.ends(k)[0][0] <= y <= one.ends(k)[0][1])

        weights = [rho ** score(y) for y in range(-lattice.top, lattice.top + 1)]
        return [w / sum(weights) for w in weights]

    d, e = map(law, shells)
    worst = max(max(p / q, q / p) for p, q in zip(d, e, strict=True))
    with ctx.workprec(128):
        cells = inverse(*shells, rho)
        assert float(sum(p for p, _ in cells)) == pytest.approx(1)
        assert float(sum(q for _, q in cells)) == pytest.approx(1)
    assert least_epsilon(lambda: inverse(*shells, rho)) == pytest.approx(math.log(worst))


def test_choices_have_their_laws():
    p, q = zip(*chosen([2, 1], [1, 1], Fraction(1), flips=False), strict=True)
    assert [float(v) for v in p] == pytest.approx([1 / (1 + math.exp(-1)), 1 / (1 + math.exp(1))])
    assert [float(v) for v in q] == pytest.approx([0.5, 0.5])
    p, _ = zip(*chosen([2, 1], [1, 1], Fraction(1), flips=True), strict=True)
    assert float(p[1]) == pytest.approx(math.exp(-1) / 2)


def test_every_exact_law_keeps_its_promise_and_some_are_tight():
    report = run(exact_cases.cases())
    assert report.ok, report.failures
    assert sum(f.epsilon > 0.999 * f.claimed.epsilon for f in report.findings) >= 8
    assert all(f.draws is None for f in report.findings)


def test_another_value_that_passes_too_often_is_found():
    cells = [lambda p=p: passed(ball(p), ball(p), same=False) for p in (Fraction(1, 10), Fraction(1, 30))]
    assert [least_epsilon(c, Fraction(1, 20)) for c in cells] == [math.inf, 0]


# -------------------------------------------------------------------------------------------------- cases and reports


def one_row(value, entropy):
    return laplace(value, sensitivity=1, epsilon=1, granularity=1, entropy=entropy)


def test_a_report_depends_on_its_seed_alone():
    pairs = {"one row": (0, 1), "two rows": (0, 2)}
    made = family("sum", one_row, pairs, Privacy(1), only=("one row",)) + family("sum", one_row, pairs, Privacy(2))[1:]
    first = run(made, draws=300, seed=3)
    assert first.to_dict() == run(made, draws=300, seed=3, workers=2).to_dict()
    assert first.to_dict() == run(made[::-1], draws=300, seed=3).to_dict() | {"findings": first.to_dict()["findings"]}
    assert first.to_dict() != run(made, draws=300, seed=4).to_dict()


def test_the_draws_of_a_case_do_not_depend_on_the_others():
    made = [Case(name, one_row, (0, 1), Privacy(1)) for name in ("a", "b")]
    both, alone = run(made, draws=500), run(made[1:], draws=500, confidence=0.9995)
    assert both.findings[1].epsilon == alone.findings[0].epsilon > 0


def test_slow_cases_get_their_share():
    made = [Case("slow", one_row, (0, 1), Privacy(1), share=0.25)]
    assert run(made, draws=400).findings[0].draws == 100


def finding(claimed, found, broken=False, draws=100):
    return Finding("test", Privacy(claimed), found, 0.0, draws, broken)


def test_verdicts():
    kept, lost = finding(1, 0.5), finding(1, 1.5)
    caught, missed = finding(1, 1.5, broken=True), finding(1, 0.5, broken=True)
    verdicts = [f.verdict for f in (kept, lost, caught, missed)]
    assert verdicts == ["kept", "BROKEN", "caught", "MISSED"]
    assert Report((kept, caught)).ok
    assert Report((kept, lost)).failures == (lost,)
    assert not Report((kept, missed)).ok
    assert finding(1, 1 + 1e-12, draws=None).ok
    assert not finding(1, 1 + 1e-12).ok


def test_a_report_in_every_form():
    report = Report((finding(1, 0.5), finding(1, math.inf, broken=True, draws=None)))
    assert "Broken on purpose" in report.table()
    assert "∞" in report.table()
    assert report.to_markdown().count("\n| test |") == 2
    assert json.loads(json.dumps(report.to_dict()))["findings"][1]["found_epsilon"] is None
    assert report.summary() == "1 of 1 promises kept, 1 of 1 broken mechanisms caught"


@pytest.mark.parametrize(
    ("argument", "call"),
    [
        ("draws", lambda: run([], draws=1)),
        ("seed", lambda: run([], seed=-1)),
        ("workers", lambda: run([], workers=0)),
        ("confidence", lambda: run([], confidence=1)),
        ("cases", lambda: run([Case("a", one_row, (0, 1), Privacy(1))] * 2)),
        ("cases", lambda: run([Case("a", lambda x, e: x, (0, 1), Privacy(1))], draws=20, workers=2)),
    ],
)
def test_bad_arguments(argument, call):
    with pytest.raises(ut.InvalidArgument) as caught:
        call()
    assert caught.value.name == argument


def test_the_command(tmp_path, capsys):
    plain, table = tmp_path / "audit.json", tmp_path / "audit.md"
    chosen_ones = ["--only", "count: ", "--draws", "100"]
    assert audit.main([*chosen_ones, "--json", str(plain), "--markdown", str(table)]) == 0
    assert "promises kept" in capsys.readouterr().out
    assert json.loads(plain.read_text())["ok"]
    assert "| count: 5 and 6 |" in table.read_text()
    assert audit.main(["--only", "R_H, its printed noise", "--draws", "16"]) == 1  # far too few draws to catch it
    assert "MISSED" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        audit.main(["--only", "no such case"])


def test_the_command_plants_faults_and_replays(tmp_path, capsys):
    plain, table = tmp_path / "audit.json", tmp_path / "audit.md"
    assert audit.main(["--only", "Hampel: n", "--draws", "16", "--json", str(plain), "--markdown", str(table)]) == 0
    shown = capsys.readouterr().out
    assert "Hampel: no test" in shown
    assert "2 of 2 planted faults found" in shown
    found = json.loads(plain.read_text())
    assert [one["found"] for one in found["planted"]] == [True, True]
    assert "| Hampel: noise ÷ 1000 | inner |" in table.read_text()
    assert audit.main(["--only", "uptack.median(epsilon=20): 2^53", "--draws", "16"]) == 0
    assert "Replays on hostile neighbours: 1 of 1 show nothing" in capsys.readouterr().out


def test_a_whole_audit_fails_where_any_part_does():
    good, fault = Report((finding(1, 0.5),)), FAULTS[0]
    fine = Audit(good, (CheckSummary("replays", 2, ()),), (Trace(fault, ("a sign",)),), 9, ())
    assert fine.ok
    assert fine.summary().endswith("1 of 1 planted faults found, 9 of 9 release functions covered")
    broken = CheckSummary("replays", 2, (("a case", ("a warning",)),))
    for part in ({"report": Report((finding(1, 2),))}, {"looks": (broken,)}, {"traces": (Trace(fault, ()),)}):
        assert not replace(fine, **part).ok
    uncovered = replace(fine, missing=("uptack.mode",))
    assert not uncovered.ok
    assert "NOT COVERED uptack.mode" in str(uncovered)
    assert "BROKEN a case: a warning" in str(replace(fine, looks=(broken,)))
    assert "MISSED" in str(replace(fine, traces=(Trace(fault, ()),)))


def test_names_differ_and_every_public_mechanism_is_there():
    every = [*cases(), *controls()]
    names = [(type(case), case.name) for case in every]
    assert len(set(names)) == len(names)
    families = {case.name.split(":")[0] for case in every}
    for name in (
        *("median", "quantile 1/4", "interquartile range", "interquantile range", "trimmed mean", "Winsorized mean"),
        *("mean", "median, ptr", "median, dwork-lei", "median, add/remove", "median, 2 rows per person", "count"),
        *("histogram", "sparse histogram, printed", "margins, direct", "optimal count", "minimax count"),
        *("Laplace noise", "Gaussian noise", "Gamma noise", "K-norm noise", "exponential mechanism"),
        *("report noisy max", "release if stable", "median of blocks", "stable value", "short-cut regression"),
        *("S", "M", "TM", "Scale", "A_dist", "A_samp", "R_S", "R_H", "vector median of blocks", "standard errors"),
        *("function", "spectral function", "binomial proportion", "random sparse histogram"),
        *("median in a session", "groups in a session"),
    ):
        assert name in families


def test_what_results_say_they_cost_is_what_is_claimed():
    """One answer of every case: its own statement, and no other neighbours than those it is about."""
    for case in cases():
        if isinstance(case, ExactCase):
            continue
        for data in case.pair:
            result = case.mechanism(data, SeededEntropy(5))
            if isinstance(result, ut.Release | ut.NoReply):
                assert result.privacy.adjacency == case.claimed.adjacency, case.name
                assert result.privacy <= case.claimed, case.name


def test_released_passes_everything_on():
    mechanism = released(laplace, sensitivity=1, epsilon=2)
    assert mechanism(3, SeededEntropy(1)).privacy == Privacy(2)
