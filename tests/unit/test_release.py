import json
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

import uptack as ut
from uptack.errors import NoInterval
from uptack.mechanisms import exponential, gaussian, laplace
from uptack.privacy.loss import Pure


def test_a_release_is_a_value_with_its_price():
    r = laplace(100, sensitivity=1, epsilon=0.5, granularity=1)
    assert r
    assert r.unwrap() == r.value
    assert r.privacy == ut.Privacy(0.5)
    assert r.loss == Pure(0.5)
    assert r.private
    low, high = r.interval(0.95)
    assert low <= r.value <= high
    assert (low, high) == (r.value - 6, r.value + 6)
    told = json.loads(r.to_json())
    assert told["value"] == r.value
    assert told["privacy"]["epsilon"] == 0.5
    assert "ε = 0.5" in repr(r)
    with pytest.raises(FrozenInstanceError):
        r.value = 3


def test_arrays_are_frozen_and_stay_arrays():
    r = gaussian(np.zeros((3,)), sensitivity=1, epsilon=1, delta=1e-6)
    assert r.value.shape == (3,)
    with pytest.raises(ValueError, match="read-only"):
        r.value[0] = 1
    low, high = r.interval()
    assert len(low) == len(high) == 3
    json.loads(r.to_json())


def test_seeded_results_are_stamped():
    r = laplace(1, sensitivity=1, epsilon=1, entropy=ut.SeededEntropy(1))
    assert not r.private
    assert "NOT PRIVATE" in repr(r)
    assert json.loads(r.to_json())["private"] is False


def test_no_interval_where_no_law_is_known():
    r = exponential("ab", [1, 2], sensitivity=1, epsilon=1)
    with pytest.raises(NoInterval):
        r.interval()
    with pytest.raises(ut.InvalidArgument, match="confidence must be"):
        laplace(1, sensitivity=1, epsilon=1).interval(95)


def test_no_reply_is_a_value_too():
    refused = ut.NoReply(ut.Privacy(1, 1e-6), "median", None, ut.Advice(n=2000, epsilon=3.5))
    assert not refused
    assert refused.value is None
    with pytest.raises(ut.NoReplyError, match="at least 2,000 rows") as caught:
        refused.unwrap()
    assert caught.value.reply is refused
    with pytest.raises(ut.NoReplyError):
        refused.interval()
    told = json.loads(refused.to_json())
    assert told["reply"] is False
    assert told["advice"]["n"] == 2000
    assert repr(refused).startswith("⊥")


def test_advice_never_says_raise_epsilon_alone():
    with pytest.raises(ut.InvalidArgument, match="ε must not be the only advice"):
        ut.Advice(epsilon=3.0)
    assert "coarser" in str(ut.Advice(epsilon=3.0, other="a coarser question"))
