//! What the queues of a file mean, and what is wrong with some.

use anabranch_link::{
    AdaptiveRed, Colour, DscpSet, Measure, QueueConfig, RedConfig, Victim, VirtualMode, VirtualQuirks, Weight,
};

use anabranch_base::{Dscp, Duration};

use super::{GOOD, edited, read};
use crate::scenario::Scenario;

fn queue_of(text: &str) -> QueueConfig {
    match read(&edited("kind = \"droptail\", packets = 20", text)) {
        Ok(scenario) => scenario.links[0].queue.clone(),
        Err(error) => panic!("{error}"),
    }
}

#[track_caller]
fn wrong(text: &str, message: &str) {
    let error = read(&edited("kind = \"droptail\", packets = 20", text)).expect_err("wrong").to_string();
    let (_, said) = error.split_once(": ").expect("a place");
    assert_eq!(said, message);
}

#[test]
fn red_with_everything_and_with_nothing() {
    assert_eq!(queue_of("kind = \"red\""), QueueConfig::Red(RedConfig::default()));
    let full = "kind = \"red\", packets = 100, bytes = \"64 KiB\", min = 25, max = 75.5, max_p = 0.05, weight = 0.002, \
        measure = \"bytes\", by_size = true, mean_packet = \"1000 B\", gentle = false, wait = false, drop = \"front\", \
        ecn = true, mark_p = 0.2, adaptive = { alpha = 0.02, beta = 0.8, interval = \"1 s\", top = 0.4, bottom = 0.1 }, \
        target_delay = \"8 ms\"";
    let adaptive =
        AdaptiveRed { alpha: 0.02, beta: 0.8, interval: Duration::from_secs(1), top: 0.4, bottom: Some(0.1) };
    let expected = RedConfig {
        packets: Some(100),
        bytes: Some(65_536),
        min: Some(25.0),
        max: Some(75.5),
        max_p: 0.05,
        weight: Weight::Fixed(0.002),
        measure: Measure::Bytes,
        by_size: true,
        mean_packet: 1000,
        gentle: false,
        wait: false,
        victim: Victim::Oldest,
        ecn: true,
        mark_p: 0.2,
        adaptive: Some(adaptive),
        target_delay: Duration::from_millis(8),
    };
    assert_eq!(queue_of(full), QueueConfig::Red(expected));
    let weight = |text: &str| match queue_of(&format!("kind = \"red\", weight = {text}, adaptive = true")) {
        QueueConfig::Red(config) => (config.weight, config.adaptive),
        other => panic!("{other:?}"),
    };
    let usual = Some(AdaptiveRed::default());
    assert_eq!(weight("\"auto\""), (Weight::Auto, usual));
    assert_eq!(weight("\"100 ms\""), (Weight::Memory(Duration::from_millis(100)), usual));
}

#[test]
fn virtual_queues() {
    let text = "kind = \"rio-d\", packets = 40, quirks = [\"overrun\"], classes = [ \
        { name = \"be\", dscp = \"BE\", share = 0.5, min = 0.2, max = 0.8, max_p = 0.05 }, \
        { dscp = [\"AF11\", 1], colour = \"red\", min = 5, max = 15 } ]";
    let QueueConfig::VirtualRed(config) = queue_of(text) else { panic!("another kind") };
    assert_eq!(
        (config.mode, config.packets, config.weight),
        (VirtualMode::Decoupled, Some(40), Weight::Fixed(0.002))
    );
    assert_eq!(config.quirks, VirtualQuirks { overrun: true, idle_twice: false });
    let [be, other] = config.classes.as_slice() else { panic!("{:?}", config.classes) };
    assert_eq!((be.name.as_str(), be.min, be.max, be.max_p), ("be", 4.0, 16.0, 0.05));
    assert_eq!((other.name.as_str(), other.min, other.max, other.max_p), ("2", 5.0, 15.0, 0.1));
    assert_eq!(other.colour, Some(Colour::Red));
    let points = |points: &[u8]| points.iter().filter_map(|&dscp| Dscp::new(dscp)).collect::<DscpSet>();
    assert_eq!((be.dscp, other.dscp), (points(&[0]), points(&[10, 1])));
    for (kind, mode) in [("rio-c", VirtualMode::Coupled), ("wred", VirtualMode::Whole)] {
        let text = format!("kind = \"{kind}\", classes = [{{ min = 5, max = 15 }}]");
        assert!(matches!(queue_of(&text), QueueConfig::VirtualRed(config) if config.mode == mode));
    }
}

#[test]
fn values_within_a_list_are_reached_by_name_or_place() {
    let text = edited(
        "kind = \"droptail\", packets = 20",
        "kind = \"wred\", packets = 10, classes = [{ name = \"be\", share = 0.5, min = 0.2, max = 1 }, { min = 1, max = 2 }]",
    );
    let with = |path: &str, value: &str| {
        Scenario::from_toml(&text, "f.toml", &[(path.to_owned(), value.to_owned())])
            .map(|scenario| scenario.links[0].queue.clone())
            .map_err(|error| error.to_string())
    };
    let thresholds = |path, value| match with(path, value) {
        Ok(QueueConfig::VirtualRed(config)) => {
            config.classes.iter().map(|c| (c.min, c.max)).collect::<Vec<_>>()
        }
        other => panic!("{other:?}"),
    };
    assert_eq!(thresholds("link.wire.queue.classes.be.share", "0.1"), [(0.2, 1.0), (1.0, 2.0)]);
    assert_eq!(thresholds("link.wire.queue.classes.2.max", "9"), [(1.0, 5.0), (1.0, 9.0)]);
    assert_eq!(thresholds("link.wire.queue.classes.*.min", "0"), [(0.0, 5.0), (0.0, 2.0)]);
    let expected = "--set link.wire.queue.classes.ef.min: which value in classes? write classes.NAME.KEY=VALUE; there are: be, 2";
    assert_eq!(with("link.wire.queue.classes.ef.min", "1"), Err(expected.to_owned()));
}

#[test]
fn what_is_wrong_with_a_queue() {
    wrong("kind = \"red\", min = 5, max = 4", "max: max 4 is below min 5");
    wrong("kind = \"red\", max = 4", "max: max needs min beside it; without both they are automatic");
    wrong("kind = \"red\", min = -1", "min: -1 is out of range; allowed: 0 to 1000000000");
    wrong(
        "kind = \"red\", weight = 0",
        "weight: with a weight of 0 the average never moves; allowed: more than 0 to 1, \"auto\", or a time",
    );
    wrong(
        "kind = \"red\", weight = \"fast\"",
        "weight: \"fast\" is not a time; write a number and a unit: ns, us, ms, s, min, h; or a number of 0 to 1, or \"auto\"",
    );
    wrong("kind = \"wred\", classes = []", "classes: 0 classes; allowed: 1 to 64");
    wrong("kind = \"wred\", classes = [{ min = 5 }]", "a virtual queue needs max, for example max = 15");
    wrong(
        "kind = \"wred\", classes = [{ share = 0.5, min = 0.2, max = 0.8 }]",
        "share: a share needs packets in the queue: a share of what?",
    );
    wrong(
        "kind = \"wred\", classes = [{ dscp = [], min = 5, max = 15 }]",
        "dscp: an empty list selects nothing; leave dscp out for all code points",
    );
    wrong(
        "kind = \"wred\", classes = [{ name = \"a\", min = 5, max = 15 }, { name = \"a\", min = 5, max = 15 }]",
        "classes: two classes are called \"a\"",
    );
}

/// The queues written out in `docs/scenario.md` can be read.
#[test]
fn the_examples_of_the_documentation() {
    let text = include_str!("../../../../../docs/scenario.md");
    let blocks = text.split("```\n").filter(|block| block.starts_with("queue = "));
    let mut count = 0;
    for block in blocks {
        let file = GOOD.replace("queue = { kind = \"droptail\", packets = 20 }\n", block);
        if let Err(error) = read(&file) {
            panic!("{block}: {error}");
        }
        count += 1;
    }
    assert!(count >= 2, "{count}");
}
