//! Secrets that only the name of their file tells of: `db_password.txt` with nothing but the
//! password in it, as containers are given theirs.

use super::{SecretFinding, redact};

/// No file of values is longer.
const MAX_BYTES: usize = 64 * 1024;

/// What is a secret in a text because the name of its file says so, by place.
///
/// Each line is looked at as the value of a setting of that name. This is done where there is one
/// line, or where no line has a blank in it: a text about passwords holds more than values.
pub fn found_by_file_name(name: &str, text: &str) -> Vec<SecretFinding> {
    let lines = lines_of(text);
    let is_only_values = lines.len() == 1
        || lines
            .iter()
            .all(|(_, line)| !line.contains(char::is_whitespace));
    if text.len() > MAX_BYTES || !is_only_values {
        return Vec::new();
    }
    let mut found: Vec<SecretFinding> = Vec::new();
    for setting in settings_of(name) {
        let mut print = String::new();
        let mut places = Vec::new();
        for (start, line) in &lines {
            // What has quotation marks of its own is read without.
            let mark = if line.contains(['"', '\\']) { "" } else { "\"" };
            print.push_str(&format!("{mark}{setting}{mark}: {mark}"));
            places.push((print.len(), *start, line.len()));
            print.push_str(&format!("{line}{mark}\n"));
        }
        for one in redact(&print).found {
            let last = places.partition_point(|(at, ..)| *at <= one.start);
            let line = last.checked_sub(1).and_then(|at| places.get(at));
            let Some((at, start, length)) = line.filter(|(at, _, length)| one.start < at + length)
            else {
                continue;
            };
            let end = (one.end - at).min(*length);
            let finding = SecretFinding {
                kind: one.kind,
                start: start + one.start - at,
                end: start + end,
            };
            let is_known =
                |known: &SecretFinding| known.start < finding.end && finding.start < known.end;
            if !found.iter().any(is_known) {
                found.push(finding);
            }
        }
    }
    found.sort_by_key(|one| one.start);
    found
}

/// Lines that say something, without the blanks around them, and where they begin.
fn lines_of(text: &str) -> Vec<(usize, &str)> {
    let mut start = 0;
    let mut lines = Vec::new();
    for line in text.split_inclusive('\n') {
        let blank = line.len() - line.trim_start().len();
        lines.push((start + blank, line.trim()));
        start += line.len();
    }
    lines.retain(|(_, line)| !line.is_empty());
    lines
}

/// What a setting would be called that a file's name names: the name without its last ending, and
/// without all of them.
fn settings_of(name: &str) -> Vec<String> {
    let name = name.trim_start_matches('.').trim();
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let first = name.split_once('.').map_or(name, |(first, _)| first);
    let plain = |c: char| match c {
        // What would end the setting's name, or begin another line.
        '"' | '\\' | '.' | ':' | '=' => '_',
        c if c.is_control() => '_',
        c => c,
    };
    let mut settings: Vec<String> = [stem, first]
        .iter()
        .map(|text| text.chars().map(plain).collect())
        .collect();
    settings.dedup();
    settings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn taken<'t>(name: &str, text: &'t str) -> Vec<&'t str> {
        let found = found_by_file_name(name, text);
        found.iter().map(|one| &text[one.start..one.end]).collect()
    }

    #[test]
    fn a_file_that_holds_a_value_is_read_by_its_name() {
        const VALUE: &str = "hunter2hunter2";
        for name in [
            "password",
            "password.txt",
            "db_password.txt",
            "DB-PASSWORD",
            "password.txt.bak",
            ".password",
            "db_root_pw",
            "my.password.txt",
        ] {
            for text in [VALUE.to_owned(), format!("\n  {VALUE}\r\n\n")] {
                assert_eq!(taken(name, &text), [VALUE], "{name}");
            }
        }
        assert_eq!(taken("pin.txt", "4821\n"), ["4821"]);
        assert_eq!(
            taken("passwords.txt", "Tr0ub4dor&3\nhunter2hunter2\n"),
            ["Tr0ub4dor&3", VALUE]
        );
        assert_eq!(taken("password", "hun\"ter2hun\\ter2").len(), 1);
    }

    #[test]
    fn a_text_about_secrets_is_no_value() {
        let prose = "All passwords must have at least twelve characters.\n";
        for (name, text) in [
            ("password-policy.txt", prose.repeat(3)),
            ("password_reset.py", "import os\nimport sys\n".to_owned()),
            ("notes.txt", "hunter2hunter2".to_owned()),
            ("shopping.txt", "4821".to_owned()),
            ("password.txt", "\n \n".to_owned()),
            ("password.txt", "a\n".repeat(40_000)),
        ] {
            assert!(taken(name, &text).is_empty(), "{name}");
        }
    }
}
