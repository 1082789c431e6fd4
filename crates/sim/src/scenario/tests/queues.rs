//! Queues of a file: those that correct files are read as, and the errors of others.

use anabranch_link::{
    Action, AdaptiveRed, BurstParameters, CoDelConfig, Colour, ConditionerConfig, Conditioning, DscpSet,
    FqCoDelConfig, Measure, MeterConfig, QueueConfig, RedConfig, Scheduler, Victim, VirtualMode,
    VirtualQuirks, Weight,
};

use anabranch_base::{Dscp, Duration};

use super::{GOOD, edited, read};
use crate::scenario::{Applies, Loss, Scenario};

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

fn points(points: &[u8]) -> DscpSet {
    points.iter().filter_map(|&dscp| Dscp::new(dscp)).collect()
}

#[test]
fn controlled_delay() {
    assert_eq!(queue_of("kind = \"codel\""), QueueConfig::CoDel(CoDelConfig::default()));
    assert_eq!(queue_of("kind = \"fq-codel\""), QueueConfig::FqCoDel(FqCoDelConfig::default()));
    let codel = CoDelConfig {
        packets: Some(10),
        bytes: Some(9_000),
        target: Duration::from_millis(1),
        interval: Duration::from_millis(20),
        ecn: true,
    };
    let keys = "packets = 10, bytes = \"9 kB\", target = \"1 ms\", interval = \"20 ms\", ecn = true";
    assert_eq!(queue_of(&format!("kind = \"codel\", {keys}")), QueueConfig::CoDel(codel));
    let text = format!("kind = \"fq-codel\", {keys}, flows = 7, quantum = \"300 B\", by_dscp = true");
    let expected = FqCoDelConfig { codel, flows: 7, quantum: 300, by_dscp: true };
    assert_eq!(queue_of(&text), QueueConfig::FqCoDel(expected));
}

#[test]
fn class_queues() {
    let text = "kind = \"classes\", scheduler = \"drr\", quantum = \"500 B\", classes = [ \
        { name = \"ef\", dscp = \"EF\", weight = 3, queue = { kind = \"droptail\", packets = 5 } }, { colour = \"red\" } ]";
    let QueueConfig::Classes(config) = queue_of(text) else { panic!("another kind") };
    assert_eq!(config.scheduler, Scheduler::Drr { quantum: 500 });
    let [ef, rest] = config.classes.as_slice() else { panic!("{:?}", config.classes) };
    assert_eq!((ef.name.as_str(), ef.weight, ef.dscp, ef.colour), ("ef", 3, points(&[46]), None));
    assert_eq!(ef.queue, QueueConfig::DropTail { packets: Some(5), bytes: None });
    assert_eq!((rest.name.as_str(), rest.weight, rest.dscp), ("2", 1, DscpSet::ALL));
    assert_eq!((rest.colour, &rest.queue), (Some(Colour::Red), &QueueConfig::default()));
    let with = |scheduler: &str| match queue_of(&format!(
        "kind = \"classes\", scheduler = \"{scheduler}\", classes = [{{}}]"
    )) {
        QueueConfig::Classes(config) => config.scheduler,
        other => panic!("{other:?}"),
    };
    assert_eq!((with("priority"), with("wrr")), (Scheduler::Priority, Scheduler::Wrr));
    assert_eq!(with("drr"), Scheduler::Drr { quantum: 1500 });
    wrong(
        "kind = \"classes\", scheduler = \"wrr\", quantum = \"1 B\", classes = [{}]",
        "quantum: only the scheduler \"drr\" has a quantum",
    );
    wrong(
        "kind = \"classes\", scheduler = \"priority\", classes = [{ weight = 2 }]",
        "weight: with the scheduler \"priority\" a class has no weight",
    );
}

#[test]
fn losses_by_code_point_in_bursts_and_by_bits() {
    let loss_of = |text: &str| match read(&edited("kind = \"bernoulli\", p = 0.5", text)) {
        Ok(scenario) => [0, 1].map(|link| (scenario.links[link].loss.clone(), scenario.loss_stream(link))),
        Err(error) => panic!("{error}"),
    };
    let [(there, stream), (back, back_stream)] = loss_of(
        "kind = \"gilbert-elliott\", p = 0.01, r = 0.2, good = 0.001, dscp = [0, \"EF\"], stream = \"s\"",
    );
    let parameters = BurstParameters { to_bad: 0.01, to_good: 0.2, good: 0.001, bad: 1.0 };
    let expected = |stream: &str| Loss::GilbertElliott {
        parameters,
        applies: Applies::All,
        dscp: points(&[0, 46]),
        stream: Some(stream.to_owned()),
    };
    assert_eq!((there, back), (expected("s"), expected("s-back")));
    assert_eq!((stream.as_deref(), back_stream.as_deref()), (Some("stream:s"), Some("stream:s-back")));
    let [(bits, stream), _] = loss_of("kind = \"bit-errors\", ber = 1e-6, applies = \"data\"");
    let expected = Loss::BitErrors { rate: 1e-6, applies: Applies::Data, dscp: DscpSet::ALL, stream: None };
    assert_eq!((bits, stream.as_deref()), (expected, Some("link:wire")));
    let [(positions, stream), _] = loss_of("kind = \"positions\", drop = [2], dscp = 1");
    let expected = Loss::Positions { drop: vec![2], applies: Applies::All, dscp: points(&[1]), flow: None };
    assert_eq!((positions, stream), (expected, None));
}

#[test]
fn conditions() {
    let of = |text: &str| match read(&edited("both = true", &format!("both = true\ncondition = {text}"))) {
        Ok(scenario) => scenario.links[0].conditions.clone(),
        Err(error) => panic!("{error}"),
    };
    let dscp = |value| Dscp::new(value).unwrap();
    assert_eq!(
        of(
            "[{ kind = \"bleach\", dscp = \"EF\" }, { kind = \"rewrite\", rules = [{ dscp = [0, 1], to = \"LE\" }] }]"
        ),
        [
            ConditionerConfig {
                dscp: points(&[46]),
                what: Conditioning::Rewrite(vec![(DscpSet::ALL, Dscp::DEFAULT)]),
            },
            ConditionerConfig {
                dscp: DscpSet::ALL,
                what: Conditioning::Rewrite(vec![(points(&[0, 1]), dscp(1))]),
            },
        ]
    );
    let metered = |text: &str| match of(text).pop() {
        Some(ConditionerConfig { what: Conditioning::Meter { meter, actions }, .. }) => (meter, actions),
        other => panic!("{other:?}"),
    };
    let pass = Action::Pass;
    assert_eq!(
        metered("{ kind = \"token-bucket\", rate = \"1 Mbit/s\", burst = \"15 kB\", red = \"drop\" }"),
        (MeterConfig::TokenBucket { rate: 1_000_000, burst: 15_000 }, [pass, pass, Action::Drop])
    );
    let (cir, cbs) = (1_000_000, 10_000);
    let common = "cir = \"1 Mbit/s\", cbs = \"10 kB\"";
    assert_eq!(
        metered(&format!("{{ kind = \"srtcm\", {common}, ebs = \"20 kB\", yellow = \"AF12\", green = 10 }}")),
        (
            MeterConfig::SrTcm { cir, cbs, ebs: 20_000, aware: false },
            [Action::Mark(dscp(10)), Action::Mark(dscp(12)), pass]
        )
    );
    let text = format!("{{ kind = \"trtcm\", {common}, pir = \"2 Mbit/s\", pbs = \"9 kB\", aware = true }}");
    let expected = MeterConfig::TrTcm { cir, cbs, pir: 2_000_000, pbs: 9_000, aware: true };
    assert_eq!(metered(&text), (expected, [pass; 3]));
    let window = Duration::from_secs(1);
    assert_eq!(
        metered("{ kind = \"tsw\", cir = \"1 Mbit/s\", red = \"pass\" }").0,
        MeterConfig::TimeSlidingWindow { cir, pir: cir, window }
    );
    let wrong = |text: &str, message: &str| {
        let file = edited("both = true", &format!("both = true\ncondition = {text}"));
        let error = read(&file).expect_err("wrong").to_string();
        assert!(error.ends_with(message), "{error}");
    };
    wrong(
        "{ kind = \"tsw\", cir = \"1 Mbit/s\", pir = \"900 kbit/s\" }",
        "pir: 900000 bit/s is below cir, 1000000 bit/s",
    );
    wrong("{ kind = \"tsw\", cir = \"infinite\" }", "cir: a meter needs a rate that is not infinite");
    wrong("{ kind = \"srtcm\" }", "a condition of kind \"srtcm\" needs cir, for example cir = \"1 Mbit/s\"");
}

/// The queues and conditions written out in `docs/reference/scenario.md` can be read.
#[test]
fn the_examples_of_the_documentation() {
    let text = include_str!("../../../../../docs/reference/scenario.md");
    let mut count = 0;
    for block in
        text.split("```\n").filter(|block| block.starts_with("queue = ") || block.starts_with("condition = "))
    {
        // Several alternatives in a block begin on lines of their own.
        let key = if block.starts_with("queue") { "queue = " } else { "condition = " };
        for value in format!("\n{block}").split(&format!("\n{key}")).skip(1) {
            let kept = GOOD.replace("queue = { kind = \"droptail\", packets = 20 }\n", "");
            let file = kept.replace("both = true\n", &format!("both = true\n{key}{value}\n"));
            if let Err(error) = read(&file) {
                panic!("{key}{value}: {error}");
            }
            count += 1;
        }
    }
    assert!(count >= 7, "{count}");
}
