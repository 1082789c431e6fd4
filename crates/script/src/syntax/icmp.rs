//! The words of ICMP messages, as packetdrill has them for IPv4 (RFC 792).

/// Words, and the numbers that they stand for.
type Words = &'static [(&'static str, u8)];

/// Type 3, and the words for its codes.
const UNREACHABLE: (&str, u8, Words) = (
    "unreachable",
    3,
    &[
        ("net_unreachable", 0),
        ("host_unreachable", 1),
        ("protocol_unreachable", 2),
        ("port_unreachable", 3),
        ("frag_needed", 4),
        ("source_route_failed", 5),
        ("net_unknown", 6),
        ("host_unknown", 7),
        ("source_host_isolated", 8),
        ("net_prohibited", 9),
        ("host_prohibited", 10),
        ("net_unreachable_for_tos", 11),
        ("host_unreachable_for_tos", 12),
        ("packet_filtered", 13),
        ("precedence_violation", 14),
        ("precedence_cutoff", 15),
    ],
);

/// Other types, and the words for their codes.
const OTHERS: &[(&str, u8, Words)] = &[
    ("echo_reply", 0, &[]),
    ("source_quench", 4, &[]),
    ("redirect", 5, &[]),
    ("echo_request", 8, &[]),
    ("time_exceeded", 11, &[("ttl_exceeded_in_transit", 0), ("frag_reass_exceeded", 1)]),
    ("parameter_problem", 12, &[]),
];

/// A type by its word, with its codes; `type_3` is any.
pub(super) fn kind(word: &str) -> Result<(u8, Words), String> {
    if let Some(number) = word.strip_prefix("type_").and_then(|number| number.parse().ok()) {
        return Ok((number, &[]));
    }
    let all = || std::iter::once(&UNREACHABLE).chain(OTHERS);
    all().find(|(name, ..)| *name == word).map(|(_, number, codes)| (*number, *codes)).ok_or_else(|| {
        let known: Vec<&str> = all().map(|(name, ..)| *name).collect();
        format!("unknown ICMP type `{word}`; allowed: {}, type_N", known.join(", "))
    })
}

/// A code by its word; `code_4` is any.
pub(super) fn code(word: &str, codes: &[(&str, u8)]) -> Result<u8, String> {
    if let Some(number) = word.strip_prefix("code_").and_then(|number| number.parse().ok()) {
        return Ok(number);
    }
    codes.iter().find(|(name, _)| *name == word).map(|(_, number)| *number).ok_or_else(|| {
        let known: String = codes.iter().map(|(name, _)| format!("{name}, ")).collect();
        format!("unknown ICMP code `{word}`; allowed: {known}code_N")
    })
}
