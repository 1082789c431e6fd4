//! The records that the verbs on the network write beside their work: captures, qlog, counters for Prometheus, events.

use std::io::Write;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use anabranch_live::{
    Capture, CaptureFormat, CaptureOptions, Endpoint, EndpointConfig, Qlog, Recorded, Vantage,
};
use clap::{Args, ValueEnum};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::failure::Failure;
use crate::files;

/// A request for counters is one line and a few fields.
const LONGEST_REQUEST: usize = 8 << 10;

/// The records to write, and their places.
#[derive(Args, Debug, Clone, Default)]
pub(crate) struct RecordingOptions {
    /// Capture what is sent and received: pcapng, or pcap if the name ends with .pcap
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// Bytes of each IP packet that the capture keeps [default: all]
    #[arg(long, value_name = "BYTES", requires = "pcap", value_parser = clap::value_parser!(u32).range(1..=262_144))]
    snaplen: Option<u32>,
    /// Write what associations do as qlog (JSON-SEQ)
    #[arg(long, value_name = "FILE")]
    qlog: Option<PathBuf>,
    /// Show counters to Prometheus: http://ADDRESS:PORT/metrics
    #[arg(long, value_name = "ADDRESS:PORT")]
    metrics: Option<SocketAddr>,
    /// Write events of this level and above to standard error
    #[arg(long, value_name = "LEVEL", value_enum)]
    log: Option<Level>,
    /// Made by [`RecordingOptions::begin`]; clones have the same.
    #[arg(skip)]
    begun: Arc<OnceLock<Begun>>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Level {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

#[derive(Debug, Default)]
struct Begun {
    capture: Option<Capture>,
    qlog: Option<Qlog>,
    endpoints: Mutex<Vec<Endpoint>>,
}

impl RecordingOptions {
    /// Opens the files and the page; within the runtime.
    pub(crate) async fn begin(&self, vantage: Vantage) -> Result<(), Failure> {
        if let Some(level) = self.log {
            let level = match level {
                Level::Error => tracing_subscriber::filter::LevelFilter::ERROR,
                Level::Warn => tracing_subscriber::filter::LevelFilter::WARN,
                Level::Info => tracing_subscriber::filter::LevelFilter::INFO,
                Level::Debug => tracing_subscriber::filter::LevelFilter::DEBUG,
                Level::Trace => tracing_subscriber::filter::LevelFilter::TRACE,
            };
            tracing_subscriber::fmt().with_max_level(level).with_writer(std::io::stderr).init();
        }
        let mut begun = Begun::default();
        if let Some(path) = &self.pcap {
            let format = match path.extension() {
                Some(end) if end.eq_ignore_ascii_case("pcap") => CaptureFormat::Pcap,
                _ => CaptureFormat::Pcapng,
            };
            let options = CaptureOptions { format, snaplen: self.snaplen };
            let capture = Capture::to(files::begin(path)?, options).map_err(Failure::failed)?;
            let (watched, path) = (capture.clone(), path.clone());
            tokio::spawn(async move { tell_end(&path, "capture", &watched.failed().await) });
            begun.capture = Some(capture);
        }
        if let Some(path) = &self.qlog {
            let title = path.file_stem().unwrap_or_default().to_string_lossy();
            let qlog = Qlog::to(files::begin(path)?, &title, vantage).map_err(Failure::failed)?;
            let (watched, path) = (qlog.clone(), path.clone());
            tokio::spawn(async move { tell_end(&path, "qlog", &watched.failed().await) });
            begun.qlog = Some(qlog);
        }
        let _ = self.begun.set(begun);
        if let Some(address) = self.metrics {
            let recorder = PrometheusBuilder::new()
                .install_recorder()
                .map_err(|error| Failure::failed(format!("--metrics: {error}")))?;
            let listener = TcpListener::bind(address)
                .await
                .map_err(|error| Failure::failed(format!("--metrics {address}: {error}")))?;
            let at = listener.local_addr().map_or(address, |at| at);
            let _ = writeln!(std::io::stderr().lock(), "anabranch: counters at http://{at}/metrics");
            tokio::spawn(serve(listener, recorder, self.clone()));
        }
        Ok(())
    }

    /// Adds the observers that the records need to the configuration of an endpoint.
    pub(crate) fn configure(&self, config: EndpointConfig) -> EndpointConfig {
        let begun = self.begun.get();
        EndpointConfig {
            capture: begun.and_then(|begun| begun.capture.clone()),
            qlog: begun.and_then(|begun| begun.qlog.clone()),
            metrics: self.metrics.is_some(),
            ..config
        }
    }

    /// An endpoint whose counters are shown.
    pub(crate) fn show(&self, endpoint: &Endpoint) {
        if let (Some(begun), true) = (self.begun.get(), self.metrics.is_some()) {
            begun.endpoints.lock().unwrap_or_else(PoisonError::into_inner).push(endpoint.clone());
        }
    }

    /// Ends the files: they are whole then.
    pub(crate) fn finish(&self) -> Result<(), Failure> {
        let Some(begun) = self.begun.get() else { return Ok(()) };
        let capture = begun.capture.as_ref().map(Capture::close);
        let qlog = begun.qlog.as_ref().map(Qlog::close);
        let mut failed = Vec::new();
        for (path, what, done) in [(&self.pcap, "packets", capture), (&self.qlog, "events", qlog)] {
            let (Some(path), Some(done)) = (path, done) else { continue };
            match done {
                Ok(Recorded { dropped: 0, .. }) => {}
                Ok(Recorded { seen, dropped }) => {
                    let _ = writeln!(
                        std::io::stderr().lock(),
                        "anabranch: {}: {dropped} of {seen} {what} are not in it: the disk was too slow",
                        path.display()
                    );
                }
                Err(error) => failed.push(format!("{}: cannot write: {error}", path.display())),
            }
        }
        if failed.is_empty() { Ok(()) } else { Err(Failure::failed(failed.join("; "))) }
    }
}

fn tell_end(path: &Path, what: &str, why: &str) {
    let _ = writeln!(
        std::io::stderr().lock(),
        "anabranch: {}: the {what} ends here, and nothing else does: {why}",
        path.display()
    );
}

/// Answers each request with the counters of the moment.
async fn serve(listener: TcpListener, recorder: PrometheusHandle, options: RecordingOptions) {
    loop {
        // No file descriptor is left: tries again after a while.
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            continue;
        };
        let (recorder, options) = (recorder.clone(), options.clone());
        let answered = async move { answer(stream, &recorder, &options).await };
        // A slow client of the metrics server does not hold up other clients, and is dropped after 10 s.
        tokio::spawn(tokio::time::timeout(std::time::Duration::from_secs(10), answered));
    }
}

async fn answer(
    mut stream: TcpStream,
    recorder: &PrometheusHandle,
    options: &RecordingOptions,
) -> std::io::Result<()> {
    let mut request = Vec::new();
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        if request.len() > LONGEST_REQUEST || stream.read_buf(&mut request).await? == 0 {
            return Ok(());
        }
    }
    let line = request.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let (status, kind, body) = if line.starts_with(b"GET /metrics ") {
        if let Some(begun) = options.begun.get() {
            let endpoints = begun.endpoints.lock().unwrap_or_else(PoisonError::into_inner).clone();
            endpoints.iter().for_each(Endpoint::publish_metrics);
        }
        ("200 OK", "text/plain; version=0.0.4; charset=utf-8", recorder.render())
    } else {
        ("404 Not Found", "text/plain; charset=utf-8", "counters are at /metrics\n".to_owned())
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    stream.shutdown().await
}
