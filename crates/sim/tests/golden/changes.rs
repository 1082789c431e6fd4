//! Subflows that are added, removed, merged and whose streams move while data flows.

use crate::options::slug;
use crate::runs::{Run, network, run};

const CASES: [(&str, &str); 7] = [
    (
        "move-to-code-point",
        "{ at = \"200 ms\", stream = 0, dscp = \"AF21\" }, { at = \"600 ms\", stream = 0, dscp = \"EF\" }",
    ),
    (
        "move-to-number",
        "{ at = \"200 ms\", stream = 1, subflow = 0 }, { at = \"500 ms\", stream = 1, subflow = 1 }",
    ),
    ("add", "{ at = \"250 ms\", add = { dscp = \"AF31\", weight = 2, streams = [3] } }"),
    ("remove", "{ at = \"250 ms\", remove = 1, to = 0 }"),
    ("merge", "{ at = \"250 ms\", merge = 1, to = 0 }"),
    (
        "add-and-remove",
        "{ at = \"150 ms\", add = { dscp = \"AF31\", streams = [3] } }, { at = \"400 ms\", remove = 1 }, \
         { at = \"700 ms\", add = { dscp = \"AF41\", streams = [1] } }",
    ),
    (
        "everything",
        "{ at = \"0 s\", stream = 3, dscp = \"CS1\" }, { at = \"150 ms\", merge = 1, to = 0 }, \
         { at = \"300 ms\", add = { dscp = \"AF31\", streams = [1] } }, { at = \"450 ms\", stream = 2, subflow = 0 }, \
         { at = \"600 ms\", remove = 0, to = 2 }, { at = \"1500 ms\", stream = 0, dscp = \"EF\" }",
    ),
];

pub(crate) fn runs() -> Vec<Run> {
    let mut runs = Vec::new();
    for (name, engine, number) in
        [("level0", "rfc9260", "0"), ("level1", "rfc9260", "1"), ("rack-level1", "rfc9260-rack", "1")]
    {
        for coupling in ["independent", "shared", "fcc(n^2)", "adaptive"] {
            for (case, events) in CASES {
                for (net, message) in
                    [("bern1", "1100 B"), ("tight", "6 kB"), ("bern5", "400 B"), ("bern20", "1100 B")]
                {
                    let more = format!(
                        "level = {number}\nstreams = 4\ncoupling = \"{coupling}\"\nevents = [ {events} ]\n\
                         subflows = [ {{ dscp = \"EF\", streams = [0, 2] }}, {{ dscp = \"AF11\", streams = [1, 3] }} ]"
                    );
                    // With a short send buffer, or there would be nothing left to hand over when a change comes.
                    let flow = format!(
                        "protocol = \"sctp\"\nengine = \"{engine}\"\nstop = \"2500 ms\"\n{more}\n\
                         traffic = {{ kind = \"greedy\", message = \"{message}\" }}\noptions = {{ send_buffer = \"30 kB\" }}"
                    );
                    let title = format!("changes/{name}/{}/{case}/{net}", slug(coupling));
                    runs.push(run(title, "40 s", &network(net), flow));
                }
            }
        }
    }
    runs
}
