//! The files for captures of runs.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use anabranch_sim::scenario::{Record, Scenario};
use anabranch_sim::{CaptureFile, CaptureFormat};

use crate::failure::Failure;
use crate::files::{self, Part};

/// The captures to write: their path and format.
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

    /// A note about the captures for the user, before the runs.
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

    /// Begins the file of a seed.
    pub(crate) fn begin(&self, seed: u64) -> Result<(Begun, CaptureFile), Failure> {
        let path = self.path(seed);
        let (part, out): (_, Box<dyn Write + Send>) = if files::is_standard(&path) {
            (None, Box::new(std::io::stdout()))
        } else {
            let (part, file) = Part::create(&path)?;
            (Some(part), Box::new(file))
        };
        let fault = Arc::default();
        let out = Remembering { out, fault: Arc::clone(&fault) };
        let out = Box::new(BufWriter::with_capacity(1 << 16, out));
        Ok((Begun { path, part, fault }, CaptureFile { format: self.format, out }))
    }
}

/// A capture that is being written.
pub(crate) struct Begun {
    path: PathBuf,
    /// Standard output needs no name in the end.
    part: Option<Part>,
    fault: Arc<OnceLock<std::io::Error>>,
}

impl Begun {
    /// The capture is whole: its file gets its final name.
    pub(crate) fn keep(self) -> Result<(), Failure> {
        self.part.map_or(Ok(()), Part::keep)
    }

    /// Why it could not be written, if that is so.
    pub(crate) fn failure(&self) -> Option<Failure> {
        let error = self.fault.get()?;
        let standard = files::is_standard(&self.path);
        Some(if standard { Failure::printing(error) } else { Failure::writing(&self.path, error) })
    }
}

/// Keeps the first error of a writer, because the layers above turn it into text.
struct Remembering {
    out: Box<dyn Write + Send>,
    fault: Arc<OnceLock<std::io::Error>>,
}

impl Remembering {
    fn keep<T>(&self, done: std::io::Result<T>) -> std::io::Result<T> {
        done.inspect_err(|error| {
            let copy = error.raw_os_error().map_or(error.kind().into(), std::io::Error::from_raw_os_error);
            let _ = self.fault.set(copy);
        })
    }
}

impl Write for Remembering {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let done = self.out.write(bytes);
        self.keep(done)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        let done = self.out.flush();
        self.keep(done)
    }
}
