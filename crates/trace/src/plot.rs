//! Time-sequence plots as SVG, as tcptrace draws them for TCP, for SCTP too.
//!
//! Upright strokes are data from its first byte to its last; a stroke with a cross was sent again. One staircase is
//! the acknowledgement, above it the edge of the receiver's window; thin strokes are the blocks of SACK. SCTP's TSNs
//! are turned into bytes, so that both protocols have one unit, by the sizes of the chunks that were seen.

use std::fmt::Write as _;

use crate::space::{Reason, Space};

/// One numbering of one direction.
pub(crate) struct Panel<'s> {
    pub(crate) name: String,
    pub(crate) space: &'s Space,
    /// Numbers are bytes already.
    pub(crate) bytes: bool,
}

const WIDTH: f64 = 1100.0;
const HEIGHT: f64 = 520.0;
const LEFT: f64 = 84.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 64.0;
const BOTTOM: f64 = 52.0;

/// Colours that colour-blind people can tell apart (M. Okabe, K. Ito).
const DATA: &str = "#0072b2";
const ACK: &str = "#009e73";
const WINDOW: &str = "#56b4e9";
const SACK: &str = "#cc79a7";
const FAST: &str = "#d55e00";
const TIMEOUT: &str = "#000000";
const PROBE: &str = "#e69f00";
const OTHER: &str = "#882255";

fn group(reason: Reason) -> (usize, &'static str, &'static str) {
    match reason {
        Reason::FastRetransmit | Reason::Recovery | Reason::Early => (0, FAST, "fast retransmit, recovery"),
        Reason::Timeout | Reason::AfterTimeout => (1, TIMEOUT, "timeout"),
        Reason::TailProbe | Reason::WindowProbe | Reason::KeepAlive => (2, PROBE, "probe"),
        Reason::Unneeded => (3, OTHER, "unneeded"),
        Reason::OriginalNotSeen | Reason::EarlyNotExplained | Reason::Unknown => {
            (4, OTHER, "late or unknown")
        }
    }
}

fn reason_name(reason: Reason) -> &'static str {
    match reason {
        Reason::FastRetransmit => "fast retransmit",
        Reason::Recovery => "recovery",
        Reason::Early => "early retransmit",
        Reason::Timeout => "timeout",
        Reason::AfterTimeout => "after a timeout",
        Reason::TailProbe => "tail probe",
        Reason::WindowProbe => "window probe",
        Reason::KeepAlive => "keep-alive",
        Reason::Unneeded => "unneeded",
        Reason::OriginalNotSeen => "original not seen",
        Reason::EarlyNotExplained => "early, not explained",
        Reason::Unknown => "reason unknown",
    }
}

/// The picture. A panel below the other, each with its own axes.
pub(crate) fn svg(panels: &[Panel<'_>], zero_ns: i64) -> String {
    let height = HEIGHT * panels.len().max(1) as f64;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 {WIDTH} \
         {height}\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" \
         fill=\"#ffffff\"/>\n"
    );
    for (at, panel) in panels.iter().enumerate() {
        let _ = writeln!(out, "<g transform=\"translate(0 {})\">", HEIGHT * at as f64);
        Drawing::of(panel, zero_ns).draw(panel, at, &mut out);
        out.push_str("</g>\n");
    }
    out.push_str("</svg>\n");
    out
}

/// Scales of a panel.
struct Drawing {
    zero_ns: i64,
    offsets: Vec<(i64, u64)>,
    from_s: f64,
    to_s: f64,
    top_bytes: f64,
}

impl Drawing {
    fn of(panel: &Panel<'_>, zero_ns: i64) -> Self {
        let space = panel.space;
        let offsets = if panel.bytes { Vec::new() } else { space.offsets() };
        let mut drawing = Self { zero_ns, offsets, from_s: 0.0, to_s: 1.0, top_bytes: 1.0 };
        let times =
            space.sent.iter().map(|sent| sent.time_ns).chain(space.acked.iter().map(|ack| ack.time_ns));
        let (first, last) =
            times.fold((i64::MAX, i64::MIN), |(first, last), time| (first.min(time), last.max(time)));
        if first <= last {
            drawing.from_s = drawing.seconds(first);
            drawing.to_s = drawing.seconds(last).max(drawing.from_s + 1e-6);
        }
        let data = drawing.bytes(space.highest).max(1.0);
        let edge = space.acked.iter().map(|ack| drawing.edge(ack)).fold(0.0, f64::max);
        // A window that is far away leaves no room for the data.
        drawing.top_bytes = (data * 1.05).max(edge.min(data * 1.3));
        drawing
    }

    fn seconds(&self, time_ns: i64) -> f64 {
        time_ns.saturating_sub(self.zero_ns) as f64 / 1e9
    }

    /// User bytes in front of a number.
    fn bytes(&self, number: i64) -> f64 {
        if self.offsets.is_empty() {
            return number as f64;
        }
        let at = self.offsets.partition_point(|&(known, _)| known < number);
        self.offsets.get(at).or(self.offsets.last()).map_or(0.0, |&(_, bytes)| bytes as f64)
    }

    /// The edge of the receiver's window. Data covered by SACK blocks waits in the receiver's buffer: TCP counts it in
    /// the window; SCTP's a_rwnd is the rest.
    fn edge(&self, ack: &crate::space::Acked) -> f64 {
        let mut edge = self.bytes(ack.next) + ack.window as f64;
        if !self.offsets.is_empty() {
            edge += ack.blocks.iter().map(|&(start, end)| self.bytes(end) - self.bytes(start)).sum::<f64>();
        }
        edge
    }

    fn x(&self, seconds: f64) -> f64 {
        LEFT + (seconds - self.from_s) / (self.to_s - self.from_s) * (WIDTH - LEFT - RIGHT)
    }

    fn y(&self, bytes: f64) -> f64 {
        let share = (bytes / self.top_bytes).clamp(-1.0, 4.0);
        HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)
    }

    fn draw(&self, panel: &Panel<'_>, index: usize, out: &mut String) {
        let space = panel.space;
        self.axes(panel, index, out);
        let _ = writeln!(out, "<g clip-path=\"url(#panel{index})\" fill=\"none\">");
        let mut edge = Stairs::default();
        let mut stairs = Stairs::default();
        let mut blocks = Strokes::default();
        for ack in &space.acked {
            let x = self.x(self.seconds(ack.time_ns));
            edge.to(x, self.y(self.edge(ack)));
            stairs.to(x, self.y(self.bytes(ack.next)));
            for &(start, end) in &ack.blocks {
                blocks.stroke(x, self.y(self.bytes(start)), self.y(self.bytes(end)));
            }
        }
        let right = self.x(self.to_s);
        path(out, &edge.finish(right), WINDOW, 1.2, " stroke-dasharray=\"5 3\"");
        path(out, &blocks.0, SACK, 1.0, "");
        path(out, &stairs.finish(right), ACK, 1.3, "");
        let mut data = Strokes::default();
        for sent in space.sent.iter().filter(|sent| sent.again.is_none()) {
            let x = self.x(self.seconds(sent.time_ns));
            data.stroke(x, self.y(self.bytes(sent.start)), self.y(self.bytes(sent.end)));
        }
        path(out, &data.0, DATA, 1.6, "");
        let mut present = [None; 5];
        for sent in &space.sent {
            let Some(again) = sent.again.and_then(|again| space.again.get(again)) else { continue };
            let (slot, colour, name) = group(again.reason);
            if let Some(slot) = present.get_mut(slot) {
                *slot = Some((colour, name));
            }
            let x = self.x(self.seconds(sent.time_ns));
            let (low, high) = (self.y(self.bytes(sent.start)), self.y(self.bytes(sent.end)));
            let middle = (low + high) / 2.0;
            let _ = writeln!(
                out,
                "<path d=\"M{x:.1} {low:.1}V{high:.1}M{:.1} {:.1}l7 7m0 -7l-7 7\" stroke=\"{colour}\" \
                 stroke-width=\"1.6\"><title>{}{} at {:.6} s, frame {}, {} bytes</title></path>",
                x - 3.5,
                middle - 3.5,
                reason_name(again.reason),
                if again.spurious.is_some() { " (spurious)" } else { "" },
                self.seconds(sent.time_ns),
                again.frame,
                again.bytes
            );
        }
        out.push_str("</g>\n");
        let seen = space.acked.iter().any(|ack| self.edge(ack) <= self.top_bytes);
        let window = if seen { "receiver's window" } else { "receiver's window (above)" };
        let mut legend = vec![(DATA, "data", false), (ACK, "acknowledged", false), (WINDOW, window, false)];
        if !blocks.0.is_empty() {
            legend.push((SACK, "SACK blocks", false));
        }
        legend.extend(present.into_iter().flatten().map(|(colour, name)| (colour, name, true)));
        self.legend(&legend, out);
    }

    fn legend(&self, entries: &[(&str, &str, bool)], out: &mut String) {
        let mut x = LEFT;
        let y = TOP - 18.0;
        for &(colour, name, cross) in entries {
            let shape = if cross { "m3 -4l8 8m0 -8l-8 8" } else { "h14" };
            let _ = writeln!(
                out,
                "<path d=\"M{x:.0} {y:.0}{shape}\" stroke=\"{colour}\" stroke-width=\"2\" fill=\"none\"/><text \
                 x=\"{:.0}\" y=\"{:.0}\">{name}</text>",
                x + 19.0,
                y + 4.0
            );
            x += 38.0 + 6.6 * name.chars().count() as f64;
        }
    }

    fn axes(&self, panel: &Panel<'_>, index: usize, out: &mut String) {
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        let (width, height) = (right - LEFT, bottom - TOP);
        let _ = writeln!(
            out,
            "<clipPath id=\"panel{index}\"><rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{width}\" height=\"{height}\"/>\
             </clipPath>\n<text x=\"{LEFT}\" y=\"22\" font-size=\"14\" font-weight=\"bold\">{}</text>",
            escape(&panel.name)
        );
        let (unit, factor) = match self.top_bytes {
            top if top >= 2e6 => ("MB", 1e6),
            top if top >= 2e3 => ("kB", 1e3),
            _ => ("bytes", 1.0),
        };
        for value in ticks(0.0, self.top_bytes / factor) {
            let y = self.y(value * factor);
            let _ = writeln!(
                out,
                "<path d=\"M{LEFT} {y:.1}H{right}\" stroke=\"#e4e4e4\"/><text x=\"{}\" y=\"{:.1}\" \
                 text-anchor=\"end\">{}</text>",
                LEFT - 6.0,
                y + 4.0,
                number(value)
            );
        }
        for value in ticks(self.from_s, self.to_s) {
            let x = self.x(value);
            let _ = writeln!(
                out,
                "<path d=\"M{x:.1} {TOP}V{bottom}\" stroke=\"#e4e4e4\"/><text x=\"{x:.1}\" y=\"{}\" \
                 text-anchor=\"middle\">{}</text>",
                bottom + 16.0,
                number(value)
            );
        }
        let _ = writeln!(
            out,
            "<rect x=\"{LEFT}\" y=\"{TOP}\" width=\"{width}\" height=\"{height}\" fill=\"none\" \
             stroke=\"#444444\"/>\n<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">time since the first packet of the \
             capture (s)</text>\n<text transform=\"translate(20 {}) rotate(-90)\" text-anchor=\"middle\">user data \
             ({unit})</text>",
            LEFT + width / 2.0,
            HEIGHT - 12.0,
            TOP + height / 2.0
        );
    }
}

fn path(out: &mut String, d: &str, colour: &str, width: f64, more: &str) {
    if !d.is_empty() {
        let _ = writeln!(out, "<path d=\"{d}\" stroke=\"{colour}\" stroke-width=\"{width}\"{more}/>");
    }
}

/// Upright strokes, those that look the same once.
#[derive(Default)]
struct Strokes(String);

impl Strokes {
    fn stroke(&mut self, x: f64, low: f64, high: f64) {
        // A stroke shorter than a pixel is drawn as one.
        let high = high.min(low - 1.0);
        let _ = write!(self.0, "M{x:.1} {low:.1}V{high:.1}");
    }
}

/// A line that goes to the right first, then up or down.
#[derive(Default)]
struct Stairs {
    d: String,
    last: Option<f64>,
}

impl Stairs {
    fn to(&mut self, x: f64, y: f64) {
        match self.last {
            None => {
                let _ = write!(self.d, "M{x:.1} {y:.1}");
            }
            // A step below a tenth of a pixel is none.
            Some(last) if (last - y).abs() < 0.05 => return,
            Some(_) => {
                let _ = write!(self.d, "H{x:.1}V{y:.1}");
            }
        }
        self.last = Some(y);
    }

    fn finish(mut self, x: f64) -> String {
        if self.last.is_some() {
            let _ = write!(self.d, "H{x:.1}");
        }
        self.d
    }
}

/// Round numbers between two others: 1, 2 or 5 times a power of ten apart, five to eleven of them.
fn ticks(from: f64, to: f64) -> Vec<f64> {
    let span = to - from;
    if !(span > 0.0 && span.is_finite()) {
        return Vec::new();
    }
    let power = 10_f64.powf((span / 10.0).log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|step| step * power).find(|step| span / step <= 11.0);
    let step = step.unwrap_or(span);
    let first = (from / step).ceil();
    // Steps are counted, so that their sum has no error.
    (0..=11).map(|at| (first + f64::from(at)) * step).filter(|&value| value <= to + step * 1e-9).collect()
}

/// Up to nine digits without zeros at the end.
fn number(value: f64) -> String {
    let text = format!("{value:.9}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        let shown = |from, to| ticks(from, to).into_iter().map(number).collect::<Vec<_>>().join(" ");
        assert_eq!(shown(0.0, 10.0), "0 1 2 3 4 5 6 7 8 9 10");
        assert_eq!(shown(0.13, 0.31), "0.14 0.16 0.18 0.2 0.22 0.24 0.26 0.28 0.3");
        assert_eq!(shown(1.0, 1.0), "");
        assert_eq!(shown(0.0, f64::INFINITY), "");
    }
}
