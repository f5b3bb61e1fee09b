"""The parts of the audit: neighbours are neighbours, answers become tables, known laws give exact losses."""

import json
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

import uptack as ut
from uptack import audit
from uptack.audit import audit_run, hostile, least_epsilon
from uptack.audit.audit_run import Audit, Finding, examine, main, run, tasks
from uptack.audit.privacy_bounds import LEAST, ZERO_BIT, Event, Score, candidates, count_hits, tables
from uptack.audit.scenario import Scenario, change_rows, person_pairs, removals, two_values
from uptack.exact import ball
from uptack.noise import IntegerGaussian, IntegerLaplace
from uptack.privacy import ADD_REMOVE, SUBSTITUTE, Privacy

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


# ---------------------------------------------------------------------------------------------------------- known laws


@pytest.mark.parametrize(("scale", "shift"), [(1, 1), (2, 1), (4, 3)])
def test_the_least_epsilon_of_laplace_noise(scale, shift):
    """Both sides of a cut: beyond it the ratio of the probabilities is constant."""
    tail = IntegerLaplace(scale).exact_tail

    def cells():
        p, q = tail(shift).expression(), tail(0).expression()
        return [(p, q), (1 - p, 1 - q)]

    assert least_epsilon(cells) == pytest.approx(shift / scale, rel=1e-12)


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
    law = IntegerGaussian(ut.privacy.gaussian_noise_multiplier(1, Fraction(1, 100)) ** 2 * 400)

    def cells():
        return [tuple(law.exact_pmf(k - shift).expression() for shift in (0, 20)) for k in range(-500, 501)]

    assert least_epsilon(cells, Fraction(1, 100)) == pytest.approx(1, abs=1e-3)


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
FAULT = Finding("fault", "a fault", (("price", "a pair", "a sign"),))
FINE = Audit((GOOD, FAULT), 9)


def test_an_audit_fails_where_any_part_does():
    assert FINE.ok
    assert "1 of 1 planted faults found (1 by price)" in FINE.summary()
    broken = replace(GOOD, problems=(("replay", "a pair", "a warning"),))
    missed = replace(FAULT, problems=())
    for findings in ((broken, FAULT), (GOOD, missed)):
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


def untimed(audit):
    return [replace(one, seconds=0) for one in audit.findings]


def test_processes_make_no_difference():
    alone, several = (run("fault ptr: ", workers=n, progress=False) for n in (1, 2))
    assert untimed(alone) == untimed(several)
    assert alone.ok


def test_a_run_goes_on_where_it_was_stopped(tmp_path, monkeypatch):
    state, performed = tmp_path / "state", []
    whole = run("fault ptr: ", workers=1, state=state, progress=False)
    lines = state.read_text().splitlines(keepends=True)
    other = lines[0].replace(audit_run._digest(), "other code")
    state.write_text("".join([other, *lines[1:-1], lines[-1][:40]]))
    perform = audit_run.perform
    monkeypatch.setattr(audit_run, "perform", lambda task: (performed.append(task), perform(task))[1])
    resumed = run("fault ptr: ", workers=1, state=state, progress=False)
    assert performed == [tasks("fault ptr: ")[0], tasks("fault ptr: ")[-1]]
    assert [one.name for one in resumed.findings] == [one.name for one in whole.findings]
    assert resumed.ok


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
        run("fault ptr: ", workers=workers)
