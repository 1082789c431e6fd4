//! Every test of this folder in one program, which is compiled and linked once. A new file is a line here.
//! `cargo test -p anabranch-wire --test all NAME::` runs one file.

#[path = "captures.rs"]
mod captures;
#[path = "hostile.rs"]
mod hostile;
#[path = "round_trip.rs"]
mod round_trip;
#[path = "subflows.rs"]
mod subflows;
#[path = "wireshark.rs"]
mod wireshark;
