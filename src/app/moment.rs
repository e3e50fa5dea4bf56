//! A moment as people type it.

use crate::app::home::open::{self, OpenHomeError};
use crate::app::sentence::{FieldSentence, RequestField, sentence};
use crate::record::time::Seconds;
use crate::record::unseen::spelled_on_a_line;

/// Seconds of a day.
const DAY: u64 = 86_400;
/// More days were never asked for.
const MOST_DAYS: u64 = 36_500;

/// `2025-12-31T04:25:37Z`, `2025-12-31` (its first second, UTC), `today` and `yesterday` (the same), or
/// an age: `90s`, `15m`, `2h`, `3d`, `1w`.
pub fn when(field: RequestField, text: &str, now: Seconds) -> Result<Seconds, FieldSentence> {
    let wrong = || {
        let text = spelled_on_a_line(text);
        sentence![
            field,
            format!(
                " takes 2025-12-31T04:25:37Z, 2025-12-31, today, yesterday, or an age like 2h, 3d or 2w; not '{text}'"
            )
        ]
    };
    if let Ok(time) = text.parse() {
        return Ok(time);
    }
    if let Ok(day) = format!("{text}T00:00:00Z").parse() {
        return Ok(day);
    }
    let begun = now.get() - now.get() % DAY;
    let day = match text.to_ascii_lowercase().as_str() {
        "today" => Some(begun),
        "yesterday" => Some(begun.saturating_sub(DAY)),
        _ => None,
    };
    if let Some(day) = day {
        return Seconds::new(day).map_err(|_| wrong());
    }
    let unit = match text.chars().last() {
        Some('s') => 1,
        Some('m') => 60,
        Some('h') => 3600,
        Some('d') => DAY,
        Some('w') => 7 * DAY,
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

/// The same of a moment that has been: nothing is on record of what lies ahead.
pub fn past(field: RequestField, text: &str, now: Seconds) -> Result<Seconds, FieldSentence> {
    let time = when(field, text, now)?;
    if time > now {
        return Err(sentence![
            field,
            format!(" is {time}, which lies ahead: it is {now}. Name a time that has been")
        ]);
    }
    Ok(time)
}

/// Since when something is counted, by this machine's clock; none where nobody says.
pub fn since(text: Option<&str>) -> Result<Option<Seconds>, OpenHomeError> {
    let since = text.map(|text| past(RequestField::Since, text, open::clock_or_epoch()));
    since.transpose().map_err(OpenHomeError::Wanting)
}

/// The same where a number alone is one of days.
pub fn older_than(field: RequestField, text: &str, now: Seconds) -> Result<Seconds, FieldSentence> {
    let is_number = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !is_number {
        return when(field, text, now);
    }
    let days = text.parse::<u64>().ok().filter(|days| *days <= MOST_DAYS);
    let days = days.ok_or_else(|| {
        sentence![
            field,
            format!(" takes at most {MOST_DAYS} days, or a date like 2025-12-31; not {text}")
        ]
    })?;
    when(field, &format!("{days}d"), now)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_alone_is_one_of_days() {
        let now: Seconds = "2026-11-22T02:00:00Z".parse().unwrap();
        for (text, expected) in [
            ("0", Some("2026-11-22T02:00:00Z")),
            ("30", Some("2026-10-23T02:00:00Z")),
            ("2w", Some("2026-11-08T02:00:00Z")),
            ("yesterday", Some("2026-11-21T00:00:00Z")),
            ("2025-12-31", Some("2025-12-31T00:00:00Z")),
            ("36501", None),
            ("", None),
            ("-1", None),
            ("99999999999999999999", None),
        ] {
            let limit = older_than(RequestField::OlderThan, text, now).ok();
            assert_eq!(limit.map(|t| t.to_string()).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn what_lies_ahead_is_not_past() {
        let now: Seconds = "2026-11-22T02:00:00Z".parse().unwrap();
        let since = |text: &str| past(RequestField::Since, text, now);
        assert_eq!(since("2026-11-22T02:00:00Z"), Ok(now));
        let refused = since("2026-11-22T02:00:01Z").unwrap_err().to_string();
        assert!(refused.contains("lies ahead"), "{refused}");
        assert!(since("soon").is_err());
    }

    #[test]
    fn since_is_a_time_a_day_or_an_age() {
        let now: Seconds = "2026-11-22T02:00:00Z".parse().unwrap();
        for (text, expected) in [
            ("2025-12-31T04:25:37Z", Some("2025-12-31T04:25:37Z")),
            ("2025-12-31", Some("2025-12-31T00:00:00Z")),
            ("today", Some("2026-11-22T00:00:00Z")),
            ("Yesterday", Some("2026-11-21T00:00:00Z")),
            ("tomorrow", None),
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
                when(RequestField::Since, text, now)
                    .ok()
                    .map(|t| t.to_string())
                    .as_deref(),
                expected,
                "{text}"
            );
        }
    }
}
