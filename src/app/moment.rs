//! A moment as people type it.

use crate::record::time::Seconds;

/// `2025-12-31T04:25:37Z`, `2025-12-31` (its first second, UTC), or an age: `90s`, `15m`, `2h`,
/// `3d`, `1w`.
pub fn when(flag: &str, text: &str, now: Seconds) -> Result<Seconds, String> {
    let wrong = || {
        format!(
            "{flag} takes 2025-12-31T04:25:37Z, 2025-12-31, or an age like 2h or 3d; not '{text}'"
        )
    };
    if let Ok(time) = text.parse() {
        return Ok(time);
    }
    if let Ok(day) = format!("{text}T00:00:00Z").parse() {
        return Ok(day);
    }
    let unit = match text.chars().last() {
        Some('s') => 1,
        Some('m') => 60,
        Some('h') => 3600,
        Some('d') => 86_400,
        Some('w') => 604_800,
        _ => return Err(wrong()),
    };
    let digits = text
        .get(..text.len() - 1)
        .filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()));
    let count: u64 = digits
        .and_then(|digits| digits.parse().ok())
        .ok_or_else(wrong)?;
    let age = count.checked_mul(unit).ok_or_else(wrong)?;
    Seconds::new(now.get().saturating_sub(age)).map_err(|_| wrong())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn since_is_a_time_a_day_or_an_age() {
        let now: Seconds = "2026-11-22T02:00:00Z".parse().unwrap();
        for (text, expected) in [
            ("2025-12-31T04:25:37Z", Some("2025-12-31T04:25:37Z")),
            ("2025-12-31", Some("2025-12-31T00:00:00Z")),
            ("90s", Some("2026-11-22T01:58:30Z")),
            ("15m", Some("2026-11-22T01:45:00Z")),
            ("2h", Some("2026-11-22T00:00:00Z")),
            ("3d", Some("2026-11-19T02:00:00Z")),
            ("1w", Some("2026-11-15T02:00:00Z")),
            ("99999w", Some("1970-01-01T00:00:00Z")),
            ("", None),
            ("h", None),
            ("2", None),
            ("-2h", None),
            ("+2h", None),
            ("2 h", None),
            ("2y", None),
            ("2é", None),
            ("2025-13-01", None),
            ("99999999999999999999d", None),
            ("9999999999999999999w", None),
            ("2025-12-31 04:25:37", None),
        ] {
            assert_eq!(
                when("--since", text, now)
                    .ok()
                    .map(|t| t.to_string())
                    .as_deref(),
                expected,
                "{text}"
            );
        }
    }
}
