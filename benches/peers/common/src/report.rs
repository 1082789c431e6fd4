//! The line that a driver prints at the end.

use serde::Serialize;

use crate::tally::Count;

/// The result of a run. Printed as one line of JSON.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// Which stack.
    pub stack: String,
    /// Why the case cannot be played, if it cannot; then the rest says nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cannot: Option<String>,
    /// Associations that came up.
    pub established: u64,
    /// Associations that ended by SHUTDOWN COMPLETE.
    pub graceful: u64,
    /// Associations that the other side aborted.
    pub aborted: u64,
    /// Associations that ended otherwise.
    pub lost: u64,
    /// Associations whose other side began anew.
    pub restarts: u64,
    /// Stream resets: own ones that were done, and the other side's.
    pub resets: u64,
    /// The driver gave up.
    pub deadline: bool,
    /// Sent data; of a restarted association only the data since the restart.
    pub sent: Count,
    /// Received data; of a restarted association only the data since the restart.
    pub received: Count,
    /// From the first association that came up to the last thing that happened, ns.
    pub elapsed_ns: u64,
    /// CPU time of the process, user and system, since its socket was open, ns.
    pub cpu_ns: u64,
    /// Most memory that it has had, KiB.
    pub max_rss_kib: i64,
    /// Other messages of the stack.
    pub notes: Vec<String>,
}

impl Report {
    /// Prints that the case cannot be played, and why.
    pub fn print_cannot(stack: &str, why: &str) {
        let report = Self { stack: stack.into(), cannot: Some(why.into()), ..Self::default() };
        report.print();
    }

    /// Prints the line.
    pub fn print(&self) {
        println!("{}", serde_json::to_string(self).expect("a report has no keys but texts"));
    }
}

/// CPU time of this process so far (ns), and the most memory it has had (KiB).
#[must_use]
pub fn usage() -> (u64, i64) {
    let usage = nix::sys::resource::getrusage(nix::sys::resource::UsageWho::RUSAGE_SELF)
        .expect("getrusage of the process itself cannot fail");
    let ns =
        |time: nix::sys::time::TimeVal| time.tv_sec() as u64 * 1_000_000_000 + time.tv_usec() as u64 * 1000;
    (ns(usage.user_time()) + ns(usage.system_time()), usage.max_rss())
}
