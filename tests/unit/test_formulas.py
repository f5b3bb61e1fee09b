"""Formulas: what is parsed, what is refused, and that a row becomes what it is by itself."""

import hashlib
import pickle
from fractions import Fraction

import formulaic
import numpy as np
import pandas as pd
import polars as pl
import pytest
from formulaic import model_matrix
from formulaic.parser import DefaultFormulaParser

import uptack as ut
from tests.helpers import designed
from uptack.cli import main
from uptack.noise import SeededEntropy
from uptack.regression.formulas import draft_formula, elementary, read
from uptack.regression.formulas.category_levels import CategoryLevels
from uptack.regression.formulas.formula_designs import margins
from uptack.regression.formulas.grammar import count_terms
from uptack.table.engine import design

CUTS = ["Fair", "Good", "Ideal"]


def diamonds(n=20_000, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"carat": rng.lognormal(size=n), "cut": rng.choice(CUTS, size=n), "x": rng.normal(size=n)})
    frame["z"], frame["flag"] = rng.normal(size=n), rng.random(n) < 0.3
    worth = frame.cut.map(dict(zip(CUTS, (0.0, 1.0, -1.0), strict=True)))
    frame["price"] = 2 + 3 * np.log(frame.carat) + worth + 0.5 * frame.x * frame.z + rng.normal(size=n)
    return frame


TABLE = diamonds()
LEVELS = {"cut": CUTS}


def test_a_regression_by_formula():
    told = {"formula": "price ~ log(carat) + C(cut) + x:z", "levels": LEVELS, "epsilon": 2}
    found = ut.linear_regression(TABLE, **told, entropy=SeededEntropy(1))
    assert np.abs(found.value - [2, 3, 1, -1, 0.5]).max() < 0.15
    names = [line.split()[0] for line in found.summary().splitlines()[1:6]]
    assert names == ["intercept", "log(carat)", "cut[Good]", "cut[Ideal]", "x:z"]
    session = ut.open(TABLE, types={"cut": "text"}, entropy=SeededEntropy(1))
    assert "cut[Good]" in session.regression(**told).summary()
    enum = pl.DataFrame(TABLE.to_dict("list")).with_columns(pl.col("cut").cast(pl.Enum(CUTS)))
    del told["levels"]
    assert (ut.linear_regression(enum, **told, entropy=SeededEntropy(1)).value == found.value).all()
    people = ut.linear_regression(TABLE, **told, levels=LEVELS, person=np.arange(20_000) // 2, entropy=SeededEntropy(1))
    assert np.abs(people.value - [2, 3, 1, -1, 0.5]).max() < 0.3


def test_other_losses_by_formula():
    frame = TABLE.assign(dear=np.where(TABLE.price > 2 + np.random.default_rng(1).logistic(size=20_000), "yes", "no"))
    told = {"levels": LEVELS, "epsilon": 2, "entropy": SeededEntropy(1)}
    found = ut.logistic_regression(frame, formula="dear ~ price + flag", classes=("no", "yes"), **told)
    assert np.abs(found.value[:2] - [-2, 1]).max() < 0.3
    assert ut.quantile_regression(frame, formula="price ~ log(carat) - 1", **told).value.shape == (1,)


@pytest.mark.parametrize(
    "text",
    ["price ~ cut*x", "price ~ cut", "price ~ cut - 1", "price ~ cut:x", "price ~ x + cut:x", "price ~ cut:town",
     "price ~ cut + cut:town", "price ~ cut*town - 1", "price ~ log(carat)*x + I(x ** 2)"],
)  # fmt: skip
def test_designs_span_those_of_formulaic(text):
    frame = diamonds(60).assign(town=np.random.default_rng(1).choice(["a", "b"], size=60))
    ours, y, public = designed(text, frame, {**LEVELS, "town": ["a", "b"]})
    theirs = np.asarray(model_matrix(text, frame).rhs, float)
    ours = np.column_stack([np.ones(60)] * public.intercept + [ours])
    assert ours.shape == theirs.shape
    assert np.linalg.matrix_rank(np.column_stack([ours, theirs])) == np.linalg.matrix_rank(ours) == ours.shape[1]
    assert (y == frame.price).all()


def test_dummies_and_flags_are_declared_0_or_1():
    public = designed("price ~ C(cut) + flag + x + flag:cut + x:cut", diamonds(20), LEVELS)[2]
    assert public.names[:4] == ("cut[Good]", "cut[Ideal]", "flag", "x")
    assert public.binary == (0, 1, 2, 4, 5)


@pytest.mark.parametrize("made", ["poly(x, 2)", "center(x)", "scale(x)", "bs(x, df=4)", "cr(x, df=4)", "x.mean()",
                                  "np.mean(x)", "lag(x)", "np.sum(x)", "x - x.max()", "hashed(cut)", "[1, 2][0]",
                                  "C(cut, contr.sum)", "log(x, x)"])  # fmt: skip
def test_what_learns_from_rows_is_refused(made):
    with pytest.raises(ut.InvalidArgument, match=r"^formula must be"):
        ut.linear_regression(TABLE, formula=f"price ~ {{{made}}}", epsilon=1, levels=LEVELS)


@pytest.mark.parametrize("text", ["x + z", "price ~", "price + x ~ z", "price ~ .", "price ~ 1", 3, "price ~ nope",
                                  "C(cut) ~ x", "price ~ x | z", "~ x"])  # fmt: skip
def test_what_is_no_formula(text):
    with pytest.raises(ut.InvalidArgument, match=r"^formula must be"):
        ut.linear_regression(TABLE, formula=text, epsilon=1, levels=LEVELS)


EIGHT = "(a + b + c + d + e + f + g + h)"


@pytest.mark.parametrize(
    "text",
    ["(x + z)**60", "(x + z)^60", "x**999999999999", "(x + z)**6_0", "x**2**60", "(x + z)**(2 + 60)",
     "((((x + z)**4)**16)**16)**16", ":".join([EIGHT] * 5), "*".join([EIGHT] * 5), f"{EIGHT}**6",
     "*".join(f"x{i}" for i in range(60)), "+".join(f"x{i}" for i in range(5000)), f"({EIGHT}**3):({EIGHT}**3) - x"],
)  # fmt: skip
def test_a_formula_with_too_many_terms_is_not_worked_out(text, monkeypatch):
    """It took for ever, or all memory. What the syntax says is enough: formulaic is never asked for terms."""
    monkeypatch.setattr("formulaic.Formula", None)
    with pytest.raises(ut.InvalidArgument, match=r"^formula must be of at most 4,096 terms.*as in a \+ b \+ a:b"):
        ut.linear_regression(TABLE, formula=f"price ~ {text}", epsilon=1)


@pytest.mark.parametrize(
    ("text", "terms"),
    [("(x + z)**9", 3), (f"{EIGHT}**3", 92), ("*".join("abcdefgh"), 255), (f"{EIGHT}:{EIGHT}", 36), ("a/b/c - a", 2),
     ("+".join(f"x{i}" for i in range(900)), 900), ("b %in% a", 2), ("(a + b)**1", 2), ("0 + a", 1)],
)  # fmt: skip
def test_terms_are_counted_from_above(text, terms):
    found = read(f"y ~ {text}")
    most, _ = count_terms(DefaultFormulaParser().get_ast(f"y ~ {text}"))
    assert terms == len(found.terms) <= most <= 4096


def test_a_power_is_no_higher_than_its_terms(monkeypatch):
    """(a + b)**16 took four seconds, and (a + b + c + d + e)**7 was refused though it has 31 terms."""
    asked, made = [], formulaic.Formula
    monkeypatch.setattr("formulaic.Formula", lambda text: asked.append(text) or made(text))
    for text, same in (
        ("y ~ (a + b)**16", "y ~ (a + b)**2"),
        ("y ~ (a + b + c + d + e)**7 - c", "y ~ (a + b + c + d + e)**5 - c"),
        ("y ~ ((a + b):c)^ 3 + (d*e) **12", "y ~ ((a + b):c)^ 2 + (d*e) **3"),
        ("y ~ (log(a) + I(b**3))**9", "y ~ (log(a) + I(b**3))**2"),
        ("y ~ (`a**9` + b)**9 + b**4", "y ~ (`a**9` + b)**2 + b**1"),
    ):
        assert read(text) == read(same)
        assert asked == [same.replace("`a**9`", "__named__612a2a39")] * 2
        asked.clear()
    for text in ("(a + b)**{}", "(a + b - 1)**{}", "(a:b + c)**{}", "(a/b)**{}", "(a + b + c - a)**{}"):
        low, high = (formulaic.Formula(f"y ~ {text.format(power)}").rhs for power in (counted_terms(text), 5))
        assert [str(term) for term in low] == [str(term) for term in high]


def counted_terms(text):
    return int(count_terms(DefaultFormulaParser().get_ast(text.removesuffix("**{}")))[0])


def test_products_of_categories_are_bounded_before_they_are_made():
    names = [f"c{i}" for i in range(13)]
    levels = {name: ["u", "v"] for name in names}
    frame = pd.DataFrame({**levels, "y": [0.0, 1.0]})
    widest = designed("y ~ " + ":".join(names[:12]), frame, levels)[2]
    assert len(widest.names) == 4095
    many = {"c0": range(100), "c1": range(50)}
    for text, levels in ((":".join(names), {}), ("c0:c1", {name: list(map(str, some)) for name, some in many.items()})):
        with pytest.raises(ut.InvalidArgument, match=r"^formula must be one whose terms have at most 4,096 columns"):
            ut.linear_regression(frame, formula=f"y ~ {text}", levels=levels, epsilon=1, delta=0 if levels else 1e-6)
    with pytest.raises(ut.InvalidArgument, match=r"^formula must be nested at most 100 levels deep"):
        read("y ~ {" + "-" * 200 + "x}")


FOUND = {"formula": "price ~ log(carat) + C(cut)", "epsilon": 2, "delta": 1e-6}


def with_others(rows):
    """So many rows have a cut that nobody else has."""
    return TABLE.assign(cut=[f"odd {i}" if i < rows else cut for i, cut in enumerate(TABLE.cut)])


@pytest.mark.parametrize("told", [{}, {"adjacency": ut.ADD_REMOVE}, {"person": np.arange(20_000) // 2}])
def test_levels_are_found_for_a_tenth_of_epsilon(told):
    few = ut.linear_regression(with_others(3), **FOUND, **told, entropy=SeededEntropy(1))
    assert few.labels == ("intercept", "log(carat)", "cut[Good]", "cut[Ideal]")
    assert np.abs(few.value - [2, 3, 1, -1]).max() < 0.2
    assert (few.privacy.exact_epsilon, few.privacy.delta) == (2, 1e-6)
    said = "the levels of cut (Fair, Good, Ideal) were found with ε = 0.2, δ = 1e-06 of the budget"
    said += "; other values count as Fair"
    assert few.notes[0] == said
    assert said in few.summary()
    listing, count, *fit = few.loss.parts
    assert listing == ut.privacy.loss.Approximate(Fraction(4, 25), Fraction(1, 10**6))
    assert count == ut.privacy.loss.Pure(Fraction(1, 25))
    assert ut.privacy.cost(ut.privacy.loss.Composed(tuple(fit)), few.privacy.adjacency).exact_epsilon <= Fraction(9, 5)
    many = ut.linear_regression(with_others(4000), **FOUND, **told, entropy=SeededEntropy(1))
    assert many.labels[-3:] == ("cut[Good]", "cut[Ideal]", "cut[(others)]")
    assert np.isfinite(many.interval()[1]).all()


def test_levels_are_found_alike_wherever_the_rows_are(tmp_path):
    table = with_others(4000).assign(id=np.arange(20_000) // 2)
    table.to_parquet(tmp_path / "d.parquet")
    for whose in ({}, {"person": "id"}):
        made = [ut.open(data, **whose, entropy=SeededEntropy(1)) for data in (table, str(tmp_path / "d.parquet"))]
        first, second = (one.where(x=(">", 0)).regression(**FOUND) for one in made)
        assert first.labels == second.labels == (*first.labels[:-1], "cut[(others)]")
        assert (first.value == second.value).all()
        assert [one.spent.exact_epsilon for one in made] == [2, 2]
    by = made[0].regression(**{**FOUND, "delta": 0}, levels=LEVELS, by="flag", groups=[True, False])
    assert np.abs(by.value[False].value - [2, 3, 1, -1]).max() < 0.2


@pytest.mark.parametrize(
    ("others", "told"),
    [(4000, {"levels": LEVELS}), (4000, {"delta": 1e-6}),
     (3, {"formula": "price ~ C(size) + flag + cut - 1", "delta": 1e-6}),
     (3, {"formula": "price ~ C(flag) + C(half)", "levels": {"flag": [0, 1], "half": [0.5, 1]}})],
)  # fmt: skip
def test_an_engine_makes_columns_and_dummies_itself(tmp_path, monkeypatch, others, told):
    size = np.where(np.arange(20_000) % 5 == 4, np.nan, np.arange(20_000) % 3)
    table = with_others(others).assign(size=pd.array(size).astype("Int64"), half=np.arange(20_000) % 4 / 2)
    table.loc[7:9, "cut"] = None
    table.to_parquet(tmp_path / "d.parquet")
    told = {"formula": "price ~ carat + cut + x + flag", "epsilon": 4, **told}
    kinds = table.astype({"cut": "string"})
    here = ut.open(kinds, entropy=SeededEntropy(1)).where(z=("<", 1)).regression(**told)
    monkeypatch.setattr(design, "_compute_batch", None)  # which would make them of all rows here
    there = ut.open(str(tmp_path / "d.parquet"), entropy=SeededEntropy(1)).where(z=("<", 1)).regression(**told)
    assert here
    assert (here.labels, here.notes) == (there.labels, there.notes)
    assert (here.value == there.value).all()


def test_what_levels_are_not_found_for():
    for by in ({"by": TABLE.flag, "groups": [True, False]}, {"by": TABLE.flag}):
        with pytest.raises(ut.InvalidArgument, match="with by="):
            ut.linear_regression(TABLE, **FOUND, **by)
    for told in ({"formula": "price ~ x"}, {"formula": "price ~ cut", "levels": LEVELS}):
        assert ut.linear_regression(TABLE, **told, epsilon=1, delta=1e-6).privacy.delta == 0  # few columns: not used
    with pytest.raises(ut.InvalidArgument, match="'cut' of type text"):
        ut.linear_regression(TABLE, formula="price ~ log(cut)", epsilon=1, delta=1e-6)
    public = ut.linear_regression(TABLE[:200], **FOUND)
    assert not public
    assert public.privacy.exact_epsilon == 0
    alone = ut.linear_regression(TABLE.assign(cut=np.arange(20_000)), formula="price ~ C(cut)", epsilon=1, delta=1e-6)
    assert alone.privacy.delta == 1e-6  # one level at most, that of the others
    assert not alone


def test_rows_of_found_levels_are_what_they_are_by_themselves():
    rows = ["b", "a", None, "c", "b", np.nan]
    cases = {
        "first": [[0, 1, None, 1, 0, None], [1, 0, None, 0, 1, None]],
        "missing": [[0, 1, None, None, 0, None], [1, 0, None, None, 1, None]],
        "own": [[0, 1, None, 0, 0, None], [1, 0, None, 0, 1, None], [0, 0, None, 1, 0, None]],
    }
    for others, wanted in cases.items():
        draft = draft_formula("y ~ x - 1", {"y": np.zeros(6), "x": np.array(rows, object)}, {"x": ["a", "b"]})
        x, _, _ = draft.build({"x": CategoryLevels(("a", "b"), others)})
        made = [column.table.field(column.name).floats() for column in x]
        assert np.array_equal(made, np.array(wanted, float), equal_nan=True)
    assert CategoryLevels(("(others)", "a"), "own").labels == ("(others)", "a", "((others))")


def test_levels_are_declared_and_never_read():
    told = {"formula": "price ~ cut", "epsilon": 1}
    for frame in (TABLE, TABLE.astype({"cut": "category"})):
        with pytest.raises(ut.InvalidArgument, match="not read off the rows"):
            ut.linear_regression(frame, **told)
    for wrong in (["Fair"], ["Fair", "Fair"], "Fair", ["Fair", None], 3, [1, 2], ["Fair", 1]):
        with pytest.raises(ut.InvalidArgument, match=r"^levels must be"):
            ut.linear_regression(TABLE, **told, levels={"cut": wrong})
    with pytest.raises(ut.InvalidArgument, match="without a formula"):
        ut.linear_regression(TABLE[["x"]], TABLE.price, epsilon=1, levels=LEVELS)
    x, _, public = designed("price ~ cut", diamonds(50), {"cut": ["Fair", "Good"]})
    assert public.names == ("cut[Good]",)
    assert (np.isnan(x[:, 0]) == (diamonds(50).cut == "Ideal")).all()


def test_a_row_becomes_what_it_is_by_itself():
    text = "price ~ log(x) + sqrt(z)*exp(carat ** 9) + x/z + C(cut) - abs(-x)"
    frame = diamonds(40).astype(object)
    frame.iloc[3, 0], frame.iloc[4, 2], frame.iloc[5, 1], frame.iloc[6, 3] = 1e300, -1e308, None, 0.0
    columns = {name: frame[name].tolist() for name in frame}
    with np.errstate(all="raise"):
        whole = designed(text, columns, LEVELS)
    for i in range(40):
        alone = designed(text, {name: rows[i : i + 1] for name, rows in columns.items()}, LEVELS)
        assert np.array_equal(alone[0][0], whole[0][i], equal_nan=True)
        assert np.array_equal(alone[1][0], whole[1][i], equal_nan=True)
        assert alone[2] == whole[2]


ODD = [np.nan, np.inf, -np.inf, 0.0, -0.0, -1.0, 1.0, 5e-324, -5e-324, 1e308, -1e308, 1.7976931348623157e308]


def test_functions_are_close_to_those_of_mathematics_and_the_same_on_every_machine():
    """The sum of their bits was computed once: another one means that some row becomes something else somewhere."""
    rng = np.random.default_rng(7)
    some = np.append(np.ldexp(rng.random(4000) - 0.4, rng.integers(-40, 10, 4000)), np.arange(-9.0, 70))
    bits = hashlib.sha256()
    with np.errstate(all="ignore"):
        for name in ("log", "log1p", "log2", "log10", "exp", "expm1"):
            ours, theirs = getattr(elementary, name), getattr(np, name)
            assert np.allclose(ours(some), theirs(some), rtol=1e-15, atol=0, equal_nan=True)
            assert np.allclose(ours(ODD), theirs(ODD), rtol=1e-15, atol=0, equal_nan=True)
            bits.update(ours(some)[np.isfinite(ours(some))].tobytes())
        for power in (-3.0, -0.5, 0.0, 0.5, 1 / 3, 2.0, 3.0, 64.0, 65.0, 2.5):
            ours, theirs = elementary.power(some, power), np.power(some, power)
            assert np.allclose(ours, theirs, rtol=1e-12, atol=1e-300, equal_nan=True)
            bits.update(ours[np.isfinite(ours)].tobytes())
    assert (elementary.log2([8.0, 1024.0, 2.0**-1074]) == [3, 10, -1074]).all()
    assert elementary.power(np.float64(3), [2.0, 5.0]).tolist() == [9, 243]
    assert float(elementary.exp(1.0)) == elementary.exp(np.ones(20_001))[20_000]
    assert bits.hexdigest() == "f0cb2a394e823f1546b3e9a9f07feca0e93689bd0bef49d91d1b4fd48325e746"


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_batches_of_rows_become_what_all_rows_become(size):
    """Also those with logarithms of -1, products of 1e308, gaps and infinities, and through another process."""
    rng, n = np.random.default_rng(3), 1500 if size > 1 else 150
    kept = {name: np.where(rng.random(n) < 0.2, rng.choice(ODD, n), rng.normal(size=n)) for name in "abc"}
    kept |= {"flag": rng.random(n) < 0.5, "y": rng.normal(size=n), "kind": rng.choice(["u", "v", "w"], n)}
    text, levels = "I(y + a) ~ log(a)*kind + a:b:c + a**3 + I(b**c) + exp(a/b):flag + log1p(flag)", {"kind": ["u", "v"]}
    draft = draft_formula(text, kept, levels)
    plan = draft.to_design(draft.levels, len(draft.columns({}).names))
    lines = [kept[name].astype(float) for name in plan.reads if isinstance(name, str)]
    lines.append(np.where(kept["kind"] == "w", np.nan, kept["kind"] == "v"))
    x, y, public = designed(text, kept, levels)
    recipe = pickle.loads(pickle.dumps(plan.make))
    with np.errstate(all="raise"):
        parts = [recipe([line[i : i + size] for line in lines]) for i in range(0, n, size)]
    made = np.concatenate(parts, axis=1)
    assert (len(made), plan.width, plan.select) == (len(public.names) + 1, len(public.names), None)
    assert np.array_equal(made, np.column_stack([x, y]).T, equal_nan=True)


def test_what_is_seen_of_a_computed_formula_does_not_hang_on_a_row(tmp_path, recwarn):
    """One row of it is ordinary, missing, or as odd as can be: the same names, notes, costs, warnings and types."""
    seen = set()
    for i, odd in enumerate([0.5, None, np.inf, -1e308]):
        frame = TABLE[:3000].copy()
        frame.loc[17, ["carat", "x", "price"]] = odd
        frame.to_parquet(tmp_path / f"{i}.parquet")
        session = ut.open(str(tmp_path / f"{i}.parquet"), entropy=SeededEntropy(1))
        found = session.regression(formula="price ~ log(carat) + I(x**3):z + exp(x)", epsilon=30)
        seen.add((found.labels, found.notes, found.value.dtype, str(found.privacy), str(found.loss)))
    assert len(seen) == 1
    assert not [one for one in recwarn if one.category is not DeprecationWarning]


def test_terms_share_no_columns():
    found = margins(read("y ~ a*b"), frozenset({"a", "b"}))
    assert [(len(plain), list(several.values())) for plain, several in found] == [
        (0, [False]), (0, [False]), (0, [False, False])]  # fmt: skip


def test_a_session_and_a_command(tmp_path, capsys):
    TABLE.to_parquet(tmp_path / "d.parquet")
    session = ut.open(str(tmp_path / "d.parquet"), entropy=SeededEntropy(1))
    found = session.regression(formula="price ~ log(carat) + x*z", epsilon=2)
    assert np.abs(found.value - [2, 3, 0, 0, 0.5]).max() < 0.15
    spent = session.spent.epsilon
    for told in ({"formula": "price ~ cut"}, {"formula": "price ~ C(cut)", "by": "flag", "groups": [True]}):
        with pytest.raises(ut.InvalidArgument, match=r"levels=\{'cut'"):
            session.regression(**told, epsilon=2)
    with pytest.raises(ut.InvalidArgument, match="poly"):
        session.regression(formula="price ~ poly(x, 2)", epsilon=2)
    assert session.spent.epsilon == spent
    told = ["regression", str(tmp_path / "d.parquet"), "--formula", "price ~ log(carat)", "--epsilon", "2"]
    assert main(told) == 0
    assert "linear regression" in capsys.readouterr().out
