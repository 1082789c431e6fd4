//! The scenario with every default written out means the same.

use super::{EXAMPLES, GOOD, Scenario, edited, read};
use crate::scenario::Engine;

/// All but the options of the engines, which the resolved text writes out.
fn without_options(text: &str) -> Scenario {
    let mut scenario = read(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    for flow in &mut scenario.flows {
        for engine in [&mut flow.sender, &mut flow.receiver] {
            *engine = Engine { options: Vec::new(), ..engine.clone() };
        }
    }
    scenario
}

fn resolved(text: &str) -> String {
    let none = |_: &str| Err("no files".to_owned());
    Scenario::resolved(text, "f.toml", &[], &none).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn every_default_is_the_one_that_the_reader_takes() {
    let queue = |text: &str| edited("kind = \"droptail\", packets = 20", text);
    let link = |text: &str| edited("both = true", &format!("both = true\n{text}"));
    let traffic = |text: &str| edited("kind = \"greedy\", message = \"1000 B\"", text);
    let source = |protocol: &str, text: &str| {
        format!(
            "{GOOD}[[flow]]\nname = \"two\"\nfrom = \"a\"\nto = \"b\"\nprotocol = \"{protocol}\"\ntraffic = {{ rate = \"1 Mbit/s\", packet = \"100 B\"{text} }}\n"
        )
    };
    let mut texts: Vec<String> = EXAMPLES.iter().map(|(_, text)| (*text).to_owned()).collect();
    texts.extend([
        GOOD.to_owned(),
        queue("kind = \"red\""),
        queue("kind = \"red\", adaptive = true, packets = 9"),
        queue("kind = \"codel\""),
        queue("kind = \"fq-codel\""),
        queue("kind = \"rio-c\", classes = [{ min = 5, max = 15 }, { dscp = [\"EF\"], min = 5.5, max = 15 }]"),
        queue("kind = \"classes\", scheduler = \"drr\", classes = [{ queue = { kind = \"red\" } }, { }]"),
        queue("kind = \"classes\", scheduler = \"priority\", classes = [{ dscp = \"EF\" }]"),
        edited("kind = \"bernoulli\", p = 0.5", "kind = \"gilbert-elliott\", p = 0.1, r = 0.2"),
        link("back = { queue = { kind = \"red\" }, loss = { kind = \"bit-errors\", ber = 1e-6 } }"),
        link("condition = { kind = \"tsw\", cir = \"1 Mbit/s\", yellow = \"AF12\" }"),
        link("condition = [{ kind = \"srtcm\", cir = \"1 Mbit/s\", cbs = \"9 kB\", ebs = \"9 kB\" }]"),
        link("pattern = { text = \"anabranch-pattern 1\\nkind loss\\n3\\n\" }"),
        edited("engine = \"rfc9260\"", "engine = \"rfc9260\"\nsubflows = [{ dscp = \"EF\", streams = [0, 3] }, {}]\ncoupling = \"lia\""),
        edited("engine = \"rfc9260\"", "engine = \"rfc9260\"\ncount = 3\nreceiver = { engine = \"linux-6.1\" }"),
        edited("engine = \"rfc9260\"", "engine = \"rfc9260\"\noptions = { rto_min = \"90 s\" }").replace("rto_min = \"90 s\"", "rto_max = \"100 s\", rto_min = \"90 s\""),
        traffic("kind = \"objects\", bytes = \"9 kB\", objects = 4, message = \"1 kB\", request = \"99 B\", open = { burst = 2 }"),
        traffic("kind = \"messages\", sources = [{ name = \"calls\", message = \"200 B\", every = \"20 ms\" }]"),
        source("cbr", ""),
        source("square", ", on = \"1 s\", off = \"2 s\""),
        source("on-off", ", on = \"1 s\", off = \"2 s\", distribution = \"pareto\""),
        format!("{GOOD}[record]\nsample = \"1 s\"\n"),
    ]);
    for text in texts {
        let whole = resolved(&text);
        assert!(without_options(&text) == without_options(&whole), "not the same:\n{text}\n{whole}");
        assert_eq!(resolved(&whole), whole, "something was left to add");
    }
}
