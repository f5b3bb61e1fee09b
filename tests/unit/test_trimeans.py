"""The trimean. What every declared statistic must do is tested in batteries that read the registry."""

import numpy as np

import uptack as ut
from uptack.cli import main


def test_it_is_close_to_the_trimean_of_the_rows():
    x = np.random.default_rng(1).lognormal(size=20_000)
    quartiles = np.quantile(x, [0.25, 0.5, 0.75], method="inverted_cdf")
    made = ut.trimean(x, epsilon=1, entropy=ut.SeededEntropy(1))
    assert abs(made.value - quartiles @ [0.25, 0.5, 0.25]) < 0.02
    assert made.privacy == ut.Privacy(1)


def test_one_row_can_not_carry_it_away():
    x = np.r_[np.arange(5_000.0), 1e300]
    assert abs(ut.trimean(x, epsilon=1, entropy=ut.SeededEntropy(1)).value - 2_500) < 100


def test_it_is_in_sessions_by_group_and_on_the_command_line(tmp_path, capsys):
    age, ward = np.arange(8_000) % 80, np.repeat(["a", "b"], 4_000)
    session = ut.open({"age": age, "ward": ward}, entropy=ut.SeededEntropy(1))
    assert abs(session["age"].trimean(epsilon=1).value - 40) < 2
    groups = session["age"].trimean(epsilon=1, by="ward", groups=["a", "b"]).value
    assert all(abs(reply.value - 40) < 3 for reply in groups.values())
    (tmp_path / "t.csv").write_text("age\n" + "\n".join(map(str, age)))
    words = ["trimean", str(tmp_path / "t.csv"), "age", "--type", "age=integer", "-e", "1", "--seed", "1"]
    assert main(words) == 0
    assert "trimean by inverse sensitivity" in capsys.readouterr().out
