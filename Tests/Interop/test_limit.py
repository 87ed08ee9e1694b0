"""Links at the limit of what they can carry, in virtual time. Benchmarks/link_limit.py computes the limit from the trace of each host."""

import sys
from pathlib import Path

import pytest
from programs import ROOT, product

sys.path.insert(0, str(ROOT / "Benchmarks"))
import link_limit  # noqa: E402
import subrating  # noqa: E402

# On one link; and of several, the sum.
PLAIN, ENCRYPTED, SEVERAL = 0.99, 0.98, 0.97
INTERVALS = {("1m", False): 7500, ("1m", True): 7500, ("2m", False): 11_250, ("2m", True): 10_000}
CHANNELS = ("channel-from-central", "channel-from-peripheral")
VALUES = ("notifications", "writes")
RUNS = [
    *((load, 1) for load in (*VALUES, "both", *CHANNELS)),
    *((load, links) for load in VALUES for links in (4, 16)),
    *((load, 4) for load in CHANNELS),
]


def flows_of(tmp_path, phy, load, *details):
    """The flows of a run of link-limit."""
    name = "-".join([phy, load, *(str(detail) for detail in details if detail)])
    traces = link_limit.perform([*product("link-limit")], tmp_path, [name])[name]
    return link_limit.flows(traces)


@pytest.mark.optimized
@pytest.mark.parametrize("load", [*VALUES, *CHANNELS])
def test_a_slow_peer_takes_nothing_from_fast_ones(load, tmp_path):
    """One of 16 peers has LE 1M and packets of 27 octets: all links carry what their own parameters allow."""
    found = flows_of(tmp_path, "2m", load, 16, "slow")
    assert len(found) == 16
    slow = [flow for flow in found if flow.parameters.payload() == 27]
    assert len(slow) == 1 and slow[0].parameters.rx_phy == 1, [str(flow) for flow in found]
    for flow in found:
        assert PLAIN <= flow.share <= 1.001 and 0 not in flow.counts, str(flow)


@pytest.mark.optimized
@pytest.mark.parametrize("is_encrypted", [False, True], ids=["plain", "encrypted"])
@pytest.mark.parametrize("phy", ["1m", "2m"])
@pytest.mark.parametrize("load, links", RUNS)
def test_a_link_carries_what_its_parameters_allow(load, links, phy, is_encrypted, tmp_path):
    found = flows_of(tmp_path, phy, load, is_encrypted and "encrypted", links > 1 and links)
    assert len(found) == (2 if load == "both" else links), [str(flow) for flow in found]
    for flow in found:
        assert flow.parameters.payload() == 251 and flow.parameters.encrypted == is_encrypted
        assert flow.parameters.interval == INTERVALS[phy, is_encrypted], str(flow)
        assert 0 not in flow.counts, str(flow)
    if load == "both":
        share = link_limit.share_of_both(found)
    else:
        share = sum(flow.octets for flow in found) / sum(flow.limit for flow in found)
    assert share >= (SEVERAL if links > 1 else ENCRYPTED if is_encrypted else PLAIN), [str(flow) for flow in found]
    # The limit is one: more means that the script is wrong, or the radio.
    assert share <= 1.001, [str(flow) for flow in found]


def test_the_limit_follows_the_times_of_the_specification():
    """By hand: 8 µs an octet on LE 1M and 10 octets around the payload; 4 µs and 11 octets on LE 2M; 4 octets of MIC."""
    for phy, encrypted, interval, exchange, packets in [
        (1, False, 7500, 2088 + 150 + 80 + 150, 3),
        (1, True, 7500, 2120 + 150 + 80 + 150, 3),
        (2, False, 7500, 1048 + 150 + 44 + 150, 5),
        (2, False, 11_250, 1048 + 150 + 44 + 150, 8),
        (2, True, 10_000, 1064 + 150 + 44 + 150, 7),
    ]:
        parameters = link_limit.Parameters(interval, True, phy, phy, 251, 17_040, 251, 17_040, encrypted)
        assert parameters.exchange() == exchange and parameters.packets() == packets


def test_the_picture_has_a_row_for_each_event(tmp_path):
    trace = link_limit.perform([*product("link-limit")], tmp_path, ["2m-notifications"])["2m-notifications"][0]
    picture = link_limit.picture(trace)
    assert "88 connection events, 0 of them empty; 8 packets fit into each" in picture
    # The picture of the documentation is of this trace.
    assert picture == (Path(ROOT) / "Docs/Performance/limit.svg").read_text()


def test_subrating_takes_the_events_of_a_long_interval_and_almost_the_time_of_a_short_one():
    rows = subrating.perform(product("link-limit"))
    short, long, skipped, continued = [numbers for _, numbers in rows]
    assert (short[0], long[0], skipped[0], continued[0]) == (4000, 500, 500, 500), rows
    # A read after a pause waits for a used event at most; the reads after it are as fast as without subrating.
    assert continued[1] < skipped[1] and continued[3] < 1.5 * short[3] and long[3] > 5 * continued[3], rows
    assert subrating.picture(rows) == subrating.PICTURE.read_text(), "make bench-link draws it"
