//! Where the captures of runs go.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anabranch_sim::scenario::{Record, Scenario};
use anabranch_sim::{CaptureFile, CaptureFormat};

use crate::failure::Failure;
use crate::files::{self, Part};

/// What to write, and where.
#[derive(Clone, Debug)]
pub(crate) struct CapturePlan {
    path: PathBuf,
    format: CaptureFormat,
    several: bool,
}

impl CapturePlan {
    /// The captures of a scenario go to `path`; pcap if its name says so.
    pub(crate) fn new(path: &Path, scenario: &Scenario) -> Self {
        let format = match path.extension() {
            Some(end) if end.eq_ignore_ascii_case("pcap") => CaptureFormat::Pcap,
            _ => CaptureFormat::Pcapng,
        };
        Self { path: path.to_owned(), format, several: scenario.seeds.len() > 1 }
    }

    /// What to say about it before the runs.
    pub(crate) fn note(&self, scenario: &Scenario, record: &Record) -> Option<String> {
        let links = (0..scenario.links.len()).filter(|link| record.pcap.contains(link)).count();
        (self.format == CaptureFormat::Pcap && links > 1).then(|| {
            format!(
                "{}: pcap does not say at which link a packet was seen: packets of {links} links stand in one list, each once \
                 for every link that it enters; --pcap-link chooses, .pcapng names them",
                self.path.display()
            )
        })
    }

    /// The file of a seed.
    pub(crate) fn path(&self, seed: u64) -> PathBuf {
        files::for_seed(&self.path, "capture", self.format.extension(), seed, self.several)
    }

    /// Begins the file of a seed; standard output needs no name in the end.
    pub(crate) fn begin(&self, seed: u64) -> Result<(Option<Part>, CaptureFile), Failure> {
        let path = self.path(seed);
        let (part, out): (_, Box<dyn Write + Send>) = if files::is_standard(&path) {
            (None, Box::new(std::io::stdout()))
        } else {
            let (part, file) = Part::create(&path)?;
            (Some(part), Box::new(file))
        };
        let out = Box::new(BufWriter::with_capacity(1 << 16, out));
        Ok((part, CaptureFile { format: self.format, out }))
    }
}
