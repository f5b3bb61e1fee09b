"""The parts of the audit: neighbours are neighbours, answers become tables, exact laws give exact losses."""

import json
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx

import uptack as ut
from uptack import audit
from uptack.audit import hostile, least_epsilon
from uptack.audit.audit_run import Audit, Finding, digest, examine, main, run, tasks
from uptack.audit.exact_laws import (
    broken_laws,
    choice_cells,
    exact_laws,
    inverse_cells,
    joint_cells,
    noise_cells,
    reply_cells,
)
from uptack.audit.neighbours import change_rows, person_pairs, removals, two_values
from uptack.audit.privacy_bounds import LEAST, ZERO_BIT, Event, Score, candidates, count_hits, tables
from uptack.audit.scenario import Scenario
from uptack.exact import ball
from uptack.mechanisms.inverse_sensitivity import boxes, decay
from uptack.noise import IntegerGaussian, IntegerLaplace, MachineNumbers
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


def test_pairs_that_differ_in_their_last_row_become_other_pairs():
    d, e = {"x": np.arange(5), "y": [0, 1, 2, 3, 4]}, {"x": np.append(np.arange(4), 9), "y": [0, 1, 2, 3, 9]}
    there, gone = removals({"": (d, e)})[""]
    assert there is e
    assert (gone["x"].tolist(), gone["y"]) == ([0, 1, 2, 3], [0, 1, 2, 3])
    (many, ids), (once, others) = person_pairs({"": (d, e)})[""]
    assert (many["y"], once["x"].tolist()) == ([0, 1, 2, 3, 4, 4, 4, 4], [0, 1, 2, 3, 9])
    assert (ids.tolist(), others.tolist()) == ([0, 0, 1, 1, 5, 5, 5, 5], [0, 0, 1, 1, 5])
    (_, here), (_, rest) = person_pairs({"": (d, e)}, secret=True)[""]
    assert (len(here), len(rest)) == (8, 4)


def test_an_order_statistic_jumps_where_it_is_aimed_at():
    for name in ("ties at the rank", "a gap", "extreme magnitudes", "subnormals", "edges of the granularity"):
        d, e = hostile(40, 13)[name]
        assert np.sort(d)[12] < np.sort(e)[12], name


def test_neighbours_refuse_what_a_person_does_not_own():
    with pytest.raises(ut.InvalidArgument, match="rows must be at most 1"):
        change_rows(np.zeros(5), slice(0, 2), 1.0)
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


def test_answers_of_several_lengths_are_told_apart_by_them():
    one, other = tables([([1], None), None], [([2], [3]), None])
    assert one[0, :4].tolist() == [1, 1, 1, 0]
    assert other[0, :4].tolist() == [1, 2, 2, 3]
    assert one[1, 0] == other[1, 0] == 0
    assert np.array_equal(*(tables(answers, [])[0] for answers in ([np.arange(2)], [[0.0, 1.0]])))


def test_all_events_are_counted_as_one_by_one():
    rng = np.random.default_rng(0)
    table = np.column_stack([rng.integers(0, 4, 300), rng.normal(size=300)])
    table[::7, 1] = math.nan
    events = [*candidates(table), Event(1, 0.0, 0.1)]
    hits = [np.count_nonzero((low <= table[:, j]) & (table[:, j] <= high)) for j, low, high in events]
    assert count_hits(events, table).tolist() == hits


def test_the_score_sees_what_no_single_column_shows():
    """A shift of two coordinates at once: the sum of the two logarithms."""
    rng = np.random.default_rng(1)
    near, far = (np.rint(8 * (rng.laplace(size=(6000, 2)) + c)) / 8 for c in (0.0, 1.0))
    one, other = tables(near, far)
    score = Score.fit(one[::2], other[::2])
    mine, theirs = (score.extend(t[1::2])[:, -1] for t in (one, other))
    assert mine.mean() > 0.5 > -0.5 > theirs.mean()
    both = audit.epsilon_lower_bound(near, far, 0, 0.999)
    assert 1.05 < both <= 2  # one coordinate alone can't show more than 1
    assert audit.epsilon_lower_bound(near[:, 0], far[:, 0], 0, 0.999) <= 1


# ---------------------------------------------------------------------------------------------------------- exact laws


@pytest.mark.parametrize(("scale", "shift"), [(1, 1), (2, 1), (4, 3)])
def test_the_least_epsilon_of_laplace_noise(scale, shift):
    assert least_epsilon(lambda: noise_cells(IntegerLaplace(scale), shift)) == pytest.approx(shift / scale, rel=1e-12)


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
        return noise_cells(IntegerGaussian(variance), 20, 500)

    assert least_epsilon(cells, Fraction(1, 100)) == pytest.approx(1, abs=1e-3)


def test_independent_answers_add_up():
    each = [lambda s=s: noise_cells(IntegerLaplace(s), 1, 10) for s in (1, 2)]
    assert least_epsilon(lambda: joint_cells(*each)) == pytest.approx(1.5)


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
        cells = inverse_cells(*shells, rho)
        assert float(sum(p for p, _ in cells)) == pytest.approx(1)
        assert float(sum(q for _, q in cells)) == pytest.approx(1)
    assert least_epsilon(lambda: inverse_cells(*shells, rho)) == pytest.approx(math.log(worst))


def test_choices_have_their_laws():
    p, q = zip(*choice_cells([2, 1], [1, 1], Fraction(1), flips=False), strict=True)
    assert [float(v) for v in p] == pytest.approx([1 / (1 + math.exp(-1)), 1 / (1 + math.exp(1))])
    assert [float(v) for v in q] == pytest.approx([0.5, 0.5])
    p, _ = zip(*choice_cells([2, 1], [1, 1], Fraction(1), flips=True), strict=True)
    assert float(p[1]) == pytest.approx(math.exp(-1) / 2)


def test_every_exact_law_keeps_its_promise_and_some_are_tight():
    laws = exact_laws()
    assert [law.name for law in laws if law.problems] == []
    assert sum(law.epsilon > 0.999 * law.claimed.epsilon for law in laws) >= 8


@pytest.mark.parametrize("law", broken_laws(), ids=lambda law: law.name)
def test_printed_constants_that_are_wrong_are_found(law):
    assert law.problems


def test_another_value_that_passes_too_often_is_found():
    cells = [lambda p=p: reply_cells(ball(p), ball(p), same=False) for p in (Fraction(1, 10), Fraction(1, 30))]
    assert [least_epsilon(c, Fraction(1, 20)) for c in cells] == [math.inf, 0]


# ------------------------------------------------------------------------------------------------- runs and reports


def test_all_checks_of_a_scenario():
    pairs = {"one row": (5, 6), "two rows": (5, 7)}

    def count(n, entropy):
        return ut.count(n, epsilon=1, entropy=entropy)

    found = examine(Scenario("count", count, lambda: pairs, function="uptack.count", draws=200))
    assert (found.pairs, found.reached) == (2, 2.0)
    assert {(check, pair) for check, pair, _ in found.problems} == {("price", "two rows")}
    assert [(name, price, draws) for name, price, _, draws in found.samples] == [
        ("GridMechanism", 1.0, 200), ("GridMechanism", 2.0, 200),
    ]  # fmt: skip


def test_a_scenario_that_is_always_refused_audits_nothing():
    def refused(n, entropy):
        return ut.count(n, epsilon=-1, entropy=entropy)

    ((_, _, text),) = examine(Scenario("count", refused, lambda: {"one row": (5, 6)})).problems
    assert "all are refused: InvalidArgument: epsilon must be" in text


GOOD = Finding("scenario", "a median", (), "uptack.median", 2, 1.0, (("InverseDraw", 1.0, 0.5, 100),), seconds=3.0)
LAW, FAULT = Finding("law", "a law"), Finding("fault", "a fault", (("price", "a pair", "a sign"),))
FINE = Audit((GOOD, LAW, FAULT), 9)


def test_an_audit_fails_where_any_part_does():
    assert FINE.ok
    assert "1 of 1 planted faults found (1 by price)" in FINE.summary()
    broken = replace(GOOD, problems=(("replay", "a pair", "a warning"),))
    wrong, missed = replace(LAW, problems=(("exact", "both", "has ε = 2 of 1"),)), replace(FAULT, problems=())
    for findings in ((broken, LAW, FAULT), (GOOD, wrong, FAULT), (GOOD, LAW, missed)):
        assert not Audit(findings, 9).ok
    assert not replace(FINE, missing=("uptack.mode",)).ok
    assert "NOT COVERED uptack.mode" in str(replace(FINE, missing=("uptack.mode",)))
    assert "BROKEN a median: a pair: replay: a warning" in str(replace(FINE, findings=(broken,)))
    assert "MISSED" in str(replace(FINE, findings=(missed,)))


def test_an_audit_in_every_form():
    assert "uptack.median  1          2      100%" in str(FINE)
    assert "scenario  1      3" in str(FINE)
    assert "| a fault | price | a sign |" in FINE.to_markdown()
    assert json.loads(json.dumps(FINE.to_dict()))["ok"]


def test_a_run_goes_on_where_another_one_stopped(tmp_path):
    state = tmp_path / "state.json"
    first = run("law count", workers=1, state=state, progress=False)
    assert first.ok
    assert len(first.of("law")) == 2
    held = [json.loads(line) for line in state.read_text().splitlines()]
    assert {line["code"] for line in held} == {digest()}
    held[0]["reached"] = 7.0
    state.write_text(json.dumps(held[0]) + '\n{"code": "cut o')  # as where it was killed
    assert 7.0 in [law.reached for law in run("law count", workers=1, state=state, progress=False).findings]
    state.write_text(json.dumps({**held[0], "code": "of other code"}))
    assert untimed(run("law count", workers=1, state=state, progress=False)) == untimed(first)


def untimed(audit):
    return [replace(one, seconds=0) for one in audit.findings]


def test_processes_make_no_difference():
    alone, several = (run("law count", workers=n, progress=False) for n in (1, 2))
    assert untimed(alone) == untimed(several)
    assert alone.ok


def test_the_command(tmp_path, capsys):
    plain, table = tmp_path / "audit.json", tmp_path / "audit.md"
    assert main(["--only", "Hampel: n", "--workers", "1", "--json", str(plain), "--markdown", str(table)]) == 0
    assert "2 of 2 planted faults found (2 by price)" in capsys.readouterr().out
    assert json.loads(plain.read_text())["ok"]
    assert "| Hampel: noise ÷ 1000 | price |" in table.read_text()
    with pytest.raises(SystemExit):
        main(["--only", "no such case"])


def test_tasks_have_names_of_their_own():
    assert len(set(tasks())) == len(tasks()) > 2000
    assert "fault a note" in tasks("fault a no")


@pytest.mark.parametrize("workers", [0, -1])
def test_a_run_needs_a_process(workers):
    with pytest.raises(ut.InvalidArgument, match="workers"):
        run("law count", workers=workers)
