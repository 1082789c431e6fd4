"""The models with a scenario as input, and the engines that they know."""

import pytest

import anabranch
from anabranch import model
from anabranch_lab import cli
from anabranch_lab.plan import folders

EXAMPLES = folders.root() / "examples"

LITERAL = {
    "ns2-2.28": model.renewal.Rules(),
    "rfc2960": model.renewal.Rules(sack_every=2),
    "ns2-2.35": model.renewal.Rules(reports=3, floor=4.0, recovery_point=True),
    "rfc9260": model.renewal.Rules(reports=3, floor=4.0, recovery_point=True, sack_every=2),
}


def lossy(**keys):
    net = anabranch.Scenario(duration="100 s")
    net.link(
        "far", "r", "b", rate="1 Gbit/s", delay="100 ms", both=True, loss={"kind": "bernoulli", "p": 0.001}
    )
    net.link("near", "a", "r", rate="1 Gbit/s", delay="25 ms", both=True)
    traffic = {"kind": "greedy", "message": "1452 B"}
    return net.flow("up", "a", "b", **{"protocol": "sctp", "engine": "linux-6.1", "traffic": traffic, **keys})


@pytest.mark.parametrize("engine", LITERAL)
def test_rules_are_read_off_the_options(engine):
    assert model.rules(engine) == LITERAL[engine]


def test_the_engines_that_a_model_can_know():
    known = model.engines()
    assert {"linux-6.1", "webrtc", *LITERAL} <= set(known)
    assert "rfc9260-rack" not in known
    with pytest.raises(ValueError, match=r"rfc9260-rack.*does not know loss_detection = rack"):
        model.rules("rfc9260-rack")


def test_a_way_over_two_links():
    net = model.network(lossy())
    assert net.rtt == pytest.approx((0.25,))
    assert (net.loss, net.rate, net.packet, net.engine) == ((0.001,), None, 1500, "linux-6.1")
    assert {answer.model for answer in model.answers(net)} == {"study", "study + timeouts", "renewal"}


def test_what_is_set_counts():
    net = model.network(lossy(), set={"link.far.loss.p": 0.01, "flow.up.engine": "rfc9260"})
    assert (net.loss, net.engine) == ((0.01,), "rfc9260")


def test_a_bottleneck():
    net = model.network(EXAMPLES / "bottleneck.toml")
    assert (net.rate, net.queue) == (1.25e6, 100)
    assert {answer.model for answer in model.answers(net)} == {"bottleneck"}
    four = model.network(EXAMPLES / "one-router.toml")
    assert (four.n, four.phi) == (4, "n^2")


@pytest.mark.parametrize(
    ("net", "message"),
    [
        (lossy(protocol="tcp", engine="rfc", traffic={"kind": "greedy", "message": "1 kB"}), "no SCTP flow"),
        (lossy(count=2), "has a `count`"),
        (lossy(coupling="lia", subflows=2), "coupling `lia`"),
        (lossy(engine="kame-2006-bugs"), "quirk_burst_before_sack"),
        (
            lossy().flow("x", "a", "b", protocol="cbr", traffic={"rate": "1 Mbit/s", "packet": "500 B"}),
            "name it",
        ),
    ],
)
def test_what_the_models_have_no_word_for(net, message):
    with pytest.raises(ValueError, match=message):
        model.network(net)


def test_the_command_takes_a_scenario(capsys, tmp_path):
    assert cli.main(["model", str(EXAMPLES / "bottleneck.toml")]) == 0
    assert "engine ns2-2.35" in capsys.readouterr().out
    assert cli.main(["model", str(EXAMPLES / "bottleneck.toml"), "--loss", "0.1"]) == 2
    assert "--loss: with a scenario the network comes from it" in capsys.readouterr().err
    assert cli.main(["model", str(EXAMPLES / "fairness.toml")]) == 2
    assert "name it (sf, single)" in capsys.readouterr().err
    assert cli.main(["model", str(EXAMPLES / "fairness.toml"), "--flow", "sf"]) == 0
