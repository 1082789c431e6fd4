//! Cause codes in words: the name that the RFC gives a cause, and a sentence on its meaning for the receiver.

use super::code;

/// The name of a cause: RFC 9260 section 3.3.10, RFC 5061 section 4.3, RFC 4895 section 4, draft-ietf-tsvwg-rfc6951-bis, and the extension SF.
#[must_use]
pub const fn name(cause: u16) -> Option<&'static str> {
    match words(cause) {
        Some((name, _)) => Some(name),
        None => None,
    }
}

/// The meaning of a cause in words, as the end of "its sender says that ...".
#[must_use]
pub const fn sentence(cause: u16) -> Option<&'static str> {
    match words(cause) {
        Some((_, sentence)) => Some(sentence),
        None => None,
    }
}

const fn words(cause: u16) -> Option<(&'static str, &'static str)> {
    Some(match cause {
        code::INVALID_STREAM => ("Invalid Stream Identifier", "data came on a stream that does not exist"),
        code::MISSING_PARAMETERS => {
            ("Missing Mandatory Parameter", "INIT or INIT ACK lacked a parameter that it must have")
        }
        code::STALE_COOKIE => ("Stale Cookie", "the State Cookie came back too late"),
        code::OUT_OF_RESOURCE => ("Out of Resource", "it has no resources left for the association"),
        code::UNRESOLVABLE_ADDRESS => {
            ("Unresolvable Address", "it cannot resolve an address of the handshake")
        }
        code::UNRECOGNIZED_CHUNK => ("Unrecognized Chunk Type", "it does not know a chunk that came"),
        code::INVALID_MANDATORY_PARAMETER => (
            "Invalid Mandatory Parameter",
            "a parameter that INIT or INIT ACK must have held an invalid value",
        ),
        code::UNRECOGNIZED_PARAMETERS => ("Unrecognized Parameters", "it does not know parameters that came"),
        code::NO_USER_DATA => ("No User Data", "a DATA chunk came without data"),
        code::COOKIE_WHILE_SHUTTING_DOWN => {
            ("Cookie Received While Shutting Down", "a new handshake came before the association had ended")
        }
        code::RESTART_WITH_NEW_ADDRESSES => (
            "Restart of an Association with New Addresses",
            "the association exists and does not have all addresses that the new handshake named",
        ),
        code::USER_INITIATED_ABORT => ("User-Initiated Abort", "its user ended the association"),
        code::PROTOCOL_VIOLATION => ("Protocol Violation", "something came that the protocol does not allow"),
        code::RESTART_WITH_NEW_PORT => (
            "Restart of an Association with New Encapsulation Port",
            "the association exists and is reached at another UDP port than the one that the new handshake came from",
        ),
        code::DELETE_LAST_ADDRESS => (
            "Request to Delete Last Remaining IP Address",
            "the address to be deleted is the last one of the association",
        ),
        code::RESOURCE_SHORTAGE => (
            "Operation Refused Due to Resource Shortage",
            "it has no resources left for the address to be added",
        ),
        code::DELETE_SOURCE_ADDRESS => (
            "Request to Delete Source IP Address",
            "the address to be deleted is the one that the request came from",
        ),
        code::ILLEGAL_ASCONF_ACK => (
            "Association Aborted Due to Illegal ASCONF-ACK",
            "an ASCONF-ACK came for a request that was never sent",
        ),
        code::NO_AUTHORIZATION => {
            ("Request Refused - No Authorization", "its policy does not allow the change of addresses")
        }
        code::UNSUPPORTED_HMAC => {
            ("Unsupported HMAC Identifier", "an AUTH chunk came with a hash that it does not know")
        }
        code::SF_VIOLATION => ("SF-Violation", "something came that the subflow extension does not allow"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_that_is_known_has_both() {
        let known: Vec<u16> = (0..=u16::MAX).filter(|&code| name(code).is_some()).collect();
        let all = [(1..=14).collect(), (0xA0..=0xA4).collect(), vec![0x105, code::SF_VIOLATION]];
        assert_eq!(known, all.concat());
        for code in known {
            let (name, sentence) = (name(code).unwrap(), sentence(code).unwrap());
            assert!(!name.is_empty() && sentence.len() > 20 && !sentence.ends_with('.'), "{code}");
        }
        assert_eq!(sentence(0xA5), None);
    }
}
