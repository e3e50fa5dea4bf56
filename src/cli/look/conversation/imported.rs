//! Imported conversations on the terminal: their list, what stands in one, and one in a file. Each says
//! where it is from.

use std::path::Path;

use crate::app::home::open::OpenHomeError;
use crate::app::look::imported::{
    ImportedLine, ImportedPage, ListedImport, list, origin_words, page,
};
use crate::home::Home;
use crate::record::ledger::imported::{ImportedConversation, ImportedState};
use crate::record::ledger::short_name::short_name;
use crate::record::unseen::spelled;
use crate::view::look::imported::{ExportedImportView, ImportedListView, ImportedPageView};

use super::markdown::{escaped, fenced};
use super::{INDENT, ListArguments, OutputFormat, ShowArguments, was_changed};
use crate::cli::look::{below_row, zone_line};
use crate::cli::screen::new_file::NewFile;
use crate::cli::screen::{block, counted, minute, quiet, row, whole_row};
use crate::cli::{NEGATIVE, could_not, json_line, present, present_as_is, program, refusal, say};

/// Lists them.
pub fn print_list(home: &Home, args: &ListArguments, json: bool) -> Result<u8, OpenHomeError> {
    let found = list(home, args.before.as_deref(), args.number)?;
    let text = || {
        let lines: String = found.conversations.iter().map(listed_lines).collect();
        match lines.is_empty() {
            true => {
                say(&format!(
                    "no imported conversation is here: {0} help import says which can be imported, and {0} import list \
                     what was",
                    program()
                ));
                lines
            }
            false => format!("{}{lines}", zone_line()),
        }
    };
    let printed = present(json, || ImportedListView::of(&found), text);
    if let Some(next) = found.next.filter(|_| !json) {
        let number = args.number;
        say(&format!(
            "earlier: {} conversation list --imported -n {number} --before {next}",
            program()
        ));
    }
    Ok(printed)
}

/// `imported-1  2026-11-24 02:15   12 messages  What should I pack?`, and below it where it is from, and
/// which version took its place.
pub fn listed_lines(listed: &ListedImport) -> String {
    lines(listed, row)
}

/// The same, with the title laid out behind or below its row by `row`.
fn lines(listed: &ListedImport, row: fn(&str, &str) -> String) -> String {
    let at = listed.row.updated_at.or(listed.row.created_at);
    let at = at.map(minute).unwrap_or_default();
    let messages = match listed.row.state {
        ImportedState::Erased => String::new(),
        _ => counted(listed.row.messages, "message"),
    };
    let head = format!("{:12}  {at:16}  {messages:>12}", short_name(&listed.row.id));
    let mut beside = vec![origin_words(listed.row.format, listed.at)];
    beside.extend(listed.project.as_deref().map(quiet));
    beside.extend((!listed.models.is_empty()).then(|| quiet(&listed.models.join(", "))));
    let below = below_row();
    let replaced = replaced(listed).map_or_else(String::new, |why| format!("{below}{why}\n"));
    format!(
        "{}{replaced}{below}{}\n",
        row(&head, &quiet(&listed.called())),
        beside.join(" · ")
    )
}

/// That this is an older version of a conversation, and what shows the newest.
fn replaced(listed: &ListedImport) -> Option<String> {
    let newest = short_name(listed.replaced_by.as_deref()?);
    let program = program();
    Some(format!(
        "replaced by {newest}: {program} conversation show {newest}"
    ))
}

/// Shows the newest messages of one, along the way that its source showed last.
pub fn print_page(
    home: &Home,
    found: ImportedConversation,
    args: &ShowArguments,
    json: bool,
) -> Result<u8, OpenHomeError> {
    if args.before.is_some() || args.after.is_some() {
        let why = "an imported conversation has no pages: --number says how many of its newest messages are shown";
        return Ok(could_not(why, json));
    }
    let page = page(home, found)?;
    let view = || ImportedPageView::of(&page);
    let printed = match args.output {
        OutputFormat::Md => present_as_is(false, view, || document(&page)),
        OutputFormat::Text if !json => present(false, view, || page_text(&page, args.number)),
        OutputFormat::Text | OutputFormat::Json => present(true, view, String::new),
    };
    if page.is_changed {
        say(&was_changed(&[&short_name(&page.listed.row.id)]));
        return Ok(NEGATIVE.max(printed));
    }
    Ok(printed)
}

fn page_text(page: &ImportedPage, number: u32) -> String {
    let mut text = format!("{}{}", zone_line(), lines(&page.listed, whole_row));
    if let Some(why) = page.missing() {
        text.push_str(&format!("{INDENT}({})\n", quiet(&why)));
        return text;
    }
    let way: Vec<&ImportedLine> = page.messages.iter().filter(|line| line.is_on_way).collect();
    let most = usize::try_from(number).unwrap_or(usize::MAX);
    let left = way.len().saturating_sub(most);
    for line in way.into_iter().skip(left) {
        let at = line.at.map(minute).unwrap_or_default();
        let head = format!("{}  {at}  {}", line.number, who(line));
        text.push_str(&format!("\n{}\n", head.trim_end()));
        text.push_str(&block(&line.text, INDENT));
    }
    if left > 0 {
        let all = page.messages.len();
        say(&format!(
            "{} before these: {} conversation show {} -n {all}",
            counted(left, "message"),
            program(),
            short_name(&page.listed.row.id)
        ));
    }
    if page.aside() > 0 {
        say(&format!(
            "{} of other branches: --json has them",
            counted(page.aside(), "message")
        ));
    }
    text
}

/// Who wrote a message.
fn who(line: &ImportedLine) -> String {
    match (line.role.as_str(), &line.model) {
        ("user", _) => "you".to_owned(),
        ("assistant", Some(model)) => quiet(model),
        (role, _) => quiet(role),
    }
}

/// The conversation in Markdown.
fn document(page: &ImportedPage) -> String {
    let listed = &page.listed;
    let mut text = format!("# {}\n\n", escaped(&listed.called()));
    let origin = origin_words(listed.row.format, listed.at);
    text.push_str(&format!("- Conversation: `{}`, {origin}\n", listed.row.id));
    if let Some(newest) = &listed.replaced_by {
        text.push_str(&format!("- An older version, replaced by `{newest}`\n"));
    }
    if let Some(project) = &listed.project {
        text.push_str(&format!("- Project in its source: {}\n", escaped(project)));
    }
    if let Some(digest) = &listed.row.digest {
        text.push_str(&format!("- SHA-256 of what was received: `{digest}`\n"));
    }
    for line in &page.messages {
        let at = line.at.map_or_else(String::new, |at| format!(" · {at}"));
        let branch = match line.is_on_way {
            true => "",
            false => " · another branch",
        };
        let who = escaped(&who(line));
        text.push_str(&format!("\n## {} · {who}{at}{branch}\n\n", line.number));
        text.push_str(&fenced(&line.text));
    }
    text
}

/// Writes one to a new file.
pub fn write(
    home: &Home,
    found: ImportedConversation,
    (path, format): (&Path, OutputFormat),
    json: bool,
) -> Result<u8, OpenHomeError> {
    let page = page(home, found)?;
    let why = match (page.missing(), page.is_changed) {
        (Some(why), _) => Some(why),
        (None, true) => Some(was_changed(&[&short_name(&page.listed.row.id)])),
        (None, false) => None,
    };
    if let Some(why) = why {
        return Ok(refusal(
            &format!("nothing was written: {why}"),
            json,
            NEGATIVE,
        ));
    }
    let (text, name) = match format {
        OutputFormat::Md => (document(&page), "md"),
        _ => {
            let view = json_line(&ImportedPageView::of(&page));
            (spelled(&view).into_owned(), "json")
        }
    };
    let written = NewFile::create(path).and_then(|file| file.fill_or(&text, "nothing was written"));
    if let Err(why) = written {
        return Ok(could_not(&why, json));
    }
    let view = || ExportedImportView {
        listed: ImportedPageView::of(&page).listed,
        file: path.display().to_string(),
        format: name,
    };
    Ok(super::written_to(path, page.messages.len(), json, view))
}
