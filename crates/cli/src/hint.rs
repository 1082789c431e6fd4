//! Suggestions for a name that does not exist: the similar names that do.

use anabranch_sctp::ConfigError;

/// ` (did you mean x?)` when one of the names is near, else nothing.
pub(crate) fn near<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    nearest(wrong, names).map_or(String::new(), |name| format!(" (did you mean {name}?)"))
}

fn nearest<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A name of more than 100 bytes is no misspelling of any.
    let wrong = Some(wrong).filter(|wrong| wrong.len() <= 100)?.to_ascii_lowercase();
    let names =
        names.into_iter().map(|name| (strsim::osa_distance(&wrong, &name.to_ascii_lowercase()), name));
    let near = names.filter(|(distance, name)| *distance <= (wrong.len().max(name.len()) / 3).max(1));
    near.filter(|(distance, name)| *distance < name.len())
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Why an option of SCTP was refused. There are too many to list them all.
pub(crate) fn refused(error: &ConfigError) -> String {
    match error {
        ConfigError::UnknownKey { key, allowed } => {
            let meant = near(key, allowed.split(", "));
            format!("there is no SCTP option {key}{meant}; `anabranch engines` lists them")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_is_found_and_a_strange_one_is_not() {
        assert_eq!(near("rto_mn", ["rto_max", "rto_min"]), " (did you mean rto_min?)");
        assert_eq!(near("RTO_MIN", ["rto_max", "rto_min"]), " (did you mean rto_min?)");
        assert_eq!(near("congestion", ["rto_max", "rto_min"]), "");
        assert_eq!(near(&"x".repeat(200), ["rto_max"]), "");
    }
}
