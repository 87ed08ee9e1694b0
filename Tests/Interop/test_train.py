"""A train of periodic advertising for an hour of virtual time, with faults throughout (Tests/Soak/TrainSoak.swift)."""

import subprocess

import pytest
from programs import product


def soak(minutes, *options):
    return subprocess.run([*product("soak"), "--train", str(minutes), *options], capture_output=True, text=True)


@pytest.mark.optimized
def test_an_hour_of_a_train():
    """1,650 octets every 10 ms: each report whole or marked, the train found again at once, and memory that does not grow."""
    ended = soak(60)
    assert ended.returncode == 0 and "60 minutes of a train" in ended.stdout, ended.stdout
    print(ended.stdout)


@pytest.mark.optimized
def test_a_train_that_is_not_found_again_is_noticed():
    ended = soak(2, "--planted")
    assert ended.returncode == 1 and "the train is not received again" in ended.stdout, ended.stdout
