//! `gently man`: a manual page for every command, in a folder.

mod folder;

use std::io;
use std::path::PathBuf;

use clap::builder::Resettable;
use clap::{Args, Command};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};

use crate::view::set_up::help::ManPagesView;

use crate::cli::help;
use crate::cli::{could_not, present};

/// Arguments of `gently man`.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// A folder that is new, is empty, or holds nothing but pages of an earlier gently
    pub dir: PathBuf,
}

/// One manual page.
struct Page {
    name: String,
    bytes: Vec<u8>,
}

/// Writes all pages.
pub fn run(args: &ManArgs, json: bool) -> u8 {
    let pages = match pages() {
        Ok(pages) => pages,
        Err(e) => return could_not(&format!("making the pages: {e}"), json),
    };
    let removed = match folder::fill(&args.dir, &pages) {
        Ok(removed) => removed,
        Err(why) => return could_not(&why, json),
    };
    let folder = args.dir.display().to_string();
    let view = || ManPagesView {
        folder: folder.clone(),
        pages: pages.iter().map(|page| page.name.clone()).collect(),
        removed: removed.clone(),
    };
    let text = || {
        let gone = match removed.len() {
            0 => String::new(),
            n => format!("; {n} of commands that are gone removed"),
        };
        format!("{} manual pages in {folder}{gone}\n", pages.len())
    };
    present(json, view, text)
}

/// The pages of all commands.
fn pages() -> io::Result<Vec<Page>> {
    let mut root = help::command();
    let source = format!("gently {}", root.get_version().unwrap_or_default());
    root.build();
    let mut pages = Vec::new();
    add(&root, "", &source, &mut pages)?;
    Ok(pages)
}

/// Adds the page of a command, and those of the commands below it.
fn add(command: &Command, path: &str, source: &str, pages: &mut Vec<Page>) -> io::Result<()> {
    pages.push(page(command, path, source)?);
    for below in command
        .get_subcommands()
        .filter(|below| !below.is_hide_set())
    {
        let path = format!("{path} {}", below.get_name());
        add(below, path.trim_start(), source, pages)?;
    }
    Ok(())
}

fn page(command: &Command, path: &str, source: &str) -> io::Result<Page> {
    // Examples have a section of their own here, in lines that are not filled.
    let command = command
        .clone()
        .after_help(Resettable::Reset)
        .subcommand_help_heading("Commands");
    let man = Man::new(command).source(source).manual("gently manual");
    let name = man.get_filename();
    let mut bytes = folder::MARK.as_bytes().to_vec();
    man.render(&mut bytes)?;
    let mut more = Roff::new();
    examples(&mut more, path);
    if path.is_empty() {
        topics(&mut more);
        see_also(&mut more, &[]);
    } else {
        see_also(&mut more, &path.split(' ').collect::<Vec<_>>());
    }
    more.to_writer(&mut bytes)?;
    Ok(Page { name, bytes })
}

fn examples(page: &mut Roff, path: &str) {
    page.control("SH", ["EXAMPLES"]);
    for (typed, does) in help::examples_of(path) {
        page.control("TP", []);
        page.text([bold(*typed)]);
        page.text([roman(*does)]);
    }
}

/// The topics of `gently help`, as they stand there.
fn topics(page: &mut Roff) {
    for topic in &help::TOPICS {
        let title = topic.name.replace('-', " ");
        page.control("SH", [title.to_uppercase().as_str()]);
        page.control("nf", []);
        let is_title = |line: &&str| line.is_empty() || line.eq_ignore_ascii_case(&title);
        for line in topic.text.lines().skip_while(is_title) {
            match line.is_empty() {
                true => page.control("sp", []),
                false => page.text([roman(line)]),
            };
        }
        page.control("fi", []);
    }
}

/// The page of the command above, and that of all commands.
fn see_also(page: &mut Roff, words: &[&str]) {
    let mut others = vec!["git(1)".to_owned(), "ssh-keygen(1)".to_owned()];
    if let Some((_, above)) = words.split_last() {
        others = (0..=above.len())
            .map(|n| format!("{}(1)", [&["gently"], &above[..n]].concat().join("-")))
            .collect();
    }
    page.control("SH", ["SEE ALSO"]);
    page.text([roman(others.join(", "))]);
}
