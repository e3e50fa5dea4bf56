//! The examples of every command, as they stand in its help, in `gently help` and in its manual
//! page.
//!
//! A test goes through all commands: each has one to three here, and each is taken as that command.

/// What is typed, and what it does.
pub type Example = (&'static str, &'static str);

/// The words of a command, and its examples.
const EXAMPLES: &[(&str, &[Example])] = &[
    (
        "",
        &[
            (
                "gently ask \"Why is the sky blue?\"",
                "ask; it goes on record",
            ),
            ("gently show last", "see what is on record of it"),
            ("gently audit verify", "check all of the record"),
        ],
    ),
    (
        "ask",
        &[
            ("gently ask \"Why is the sky blue?\"", "a question"),
            (
                "git diff | gently ask \"What changed?\"",
                "with text behind the question",
            ),
            (
                "gently ask \"What changed?\" -f a.txt -f b.txt",
                "with files behind the question",
            ),
        ],
    ),
    // Ask
    (
        "chat",
        &[
            ("gently chat", "a new conversation"),
            ("gently chat -c", "the one that was asked in last"),
            (
                "gently chat < questions.txt",
                "a question a line, and an answer to each",
            ),
        ],
    ),
    (
        "conversation",
        &[
            ("gently conversation list", "what was asked, newest first"),
            ("gently conversation show last", "read the newest one"),
            ("gently ask -c \"And then?\"", "go on in it"),
        ],
    ),
    (
        "conversation list",
        &[
            ("gently conversation list", "the newest twenty"),
            ("gently conversation list --all -n 100", "of all projects"),
            (
                "gently conversation list --archived",
                "those that were put away",
            ),
        ],
    ),
    (
        "conversation show",
        &[
            ("gently conversation show last", "the newest one"),
            (
                "gently conversation show 6d1c0c30 -n 10",
                "another, its end",
            ),
            ("gently conversation show last -o md", "as Markdown"),
        ],
    ),
    (
        "conversation new",
        &[
            ("gently conversation new \"Lisbon\"", "begin one"),
            ("gently ask --conversation Lisbon \"When?\"", "ask in it"),
        ],
    ),
    (
        "conversation rename",
        &[(
            "gently conversation rename last \"A week in Lisbon\"",
            "call the newest one so",
        )],
    ),
    (
        "conversation move",
        &[
            ("gently conversation move last Travel", "into a project"),
            ("gently conversation move last none", "out of it"),
        ],
    ),
    (
        "conversation archive",
        &[(
            "gently conversation archive last",
            "put the newest one away",
        )],
    ),
    (
        "conversation restore",
        &[(
            "gently conversation restore 6d1c0c30",
            "take it out of the archive",
        )],
    ),
    (
        "conversation export",
        &[
            (
                "gently conversation export last --out lisbon.md",
                "to read it elsewhere",
            ),
            (
                "gently conversation export last --out lisbon.json",
                "for a program",
            ),
        ],
    ),
    (
        "conversation delete",
        &[
            (
                "gently conversation delete last --dry-run",
                "say what would go",
            ),
            (
                "gently conversation delete 6d1c0c30",
                "erase all of it, for ever",
            ),
        ],
    ),
    (
        "project",
        &[
            ("gently project new Travel", "make one"),
            ("gently project use Travel", "put it in use"),
        ],
    ),
    (
        "project new",
        &[("gently project new Travel", "make a project")],
    ),
    (
        "project list",
        &[("gently project list --all", "retired ones, too")],
    ),
    (
        "project rename",
        &[(
            "gently project rename Travel \"Travel 2026\"",
            "call it otherwise",
        )],
    ),
    (
        "project retire",
        &[(
            "gently project retire Travel",
            "end it for good; it asks first, scripts say --yes",
        )],
    ),
    (
        "project use",
        &[
            ("gently project use Travel", "what begins now joins it"),
            ("gently project use none", "no project"),
        ],
    ),
    (
        "session",
        &[
            ("gently session list", "all sessions"),
            ("gently session close", "end all that are open"),
        ],
    ),
    (
        "session open",
        &[(
            "gently session open -m sonnet",
            "ask one model from here on",
        )],
    ),
    (
        "session close",
        &[
            ("gently session close", "all that are open"),
            ("gently session close 81bb5b35", "one of them"),
            (
                "gently session close --yes",
                "not asked about what has no answer",
            ),
        ],
    ),
    (
        "session list",
        &[("gently session list --open", "those that are open")],
    ),
    (
        "session summary",
        &[
            ("gently session summary", "of the newest session"),
            ("gently session summary 81bb5b35", "of another one"),
        ],
    ),
    (
        "session show",
        &[("gently session show last", "the newest one")],
    ),
    (
        "thread",
        &[
            (
                "gently thread new review",
                "begin a conversation of its own",
            ),
            ("gently ask --thread review \"Is it sound?\"", "ask in it"),
        ],
    ),
    ("thread list", &[("gently thread list", "all of them")]),
    (
        "thread new",
        &[
            ("gently thread new review", "with a name"),
            ("gently thread new -m sonnet", "in the session of a model"),
        ],
    ),
    (
        "thread show",
        &[("gently thread show review", "what was said in it, with ids")],
    ),
    (
        "model",
        &[("gently model list", "what can be asked from here")],
    ),
    (
        "model list",
        &[("gently model list", "what can be asked from here")],
    ),
    // Look
    (
        "search",
        &[
            ("gently search nginx port", "both words, in any form"),
            (
                "gently search \"web server\" polic* -apache",
                "a phrase, a beginning, one not",
            ),
            (
                "gently search disk OR storage --since 3d --by model",
                "one of two, in answers of three days",
            ),
        ],
    ),
    (
        "show",
        &[
            (
                "gently show 81bb5b35/16",
                "a question and its answer, by the id below it",
            ),
            ("gently show last --full", "all that is on record of one"),
            ("gently show fact-1", "what else has an id"),
        ],
    ),
    (
        "log",
        &[
            ("gently log -n 50", "the newest 50 lines"),
            ("gently log --since 2h", "those of the last two hours"),
            ("gently log --session last", "those of the newest session"),
        ],
    ),
    (
        "context",
        &[
            ("gently context show", "what the model was shown last"),
            (
                "gently context preview \"How full is the disk?\"",
                "what it would be shown",
            ),
        ],
    ),
    (
        "context show",
        &[(
            "gently context show 81bb5b35/16",
            "what the model was shown, and why",
        )],
    ),
    (
        "context preview",
        &[(
            "gently context preview \"How full is the disk?\"",
            "asks nobody, records nothing",
        )],
    ),
    (
        "drift",
        &[
            (
                "gently drift list",
                "what is wrong with answers, not dealt with yet",
            ),
            ("gently drift show 42", "one of them"),
            (
                "gently drift close 42 --reason \"a joke\"",
                "it is dealt with",
            ),
        ],
    ),
    (
        "drift list",
        &[
            ("gently drift list", "what nobody dealt with yet"),
            (
                "gently drift list --all -n 20",
                "the newest 20, closed ones too",
            ),
        ],
    ),
    (
        "drift show",
        &[("gently drift show 42", "one, with all that is known of it")],
    ),
    (
        "drift ack",
        &[(
            "gently drift ack 41 42 --reason \"will ask again\"",
            "you saw them; they stay open",
        )],
    ),
    (
        "drift close",
        &[
            (
                "gently drift close 42 --reason \"a joke\"",
                "it is dealt with",
            ),
            ("gently drift close --all", "so is all that is open"),
            (
                "gently drift close --conversation last",
                "so is what is open of the newest conversation",
            ),
        ],
    ),
    (
        "drift test",
        &[
            (
                "gently drift test --jsonl < replies.jsonl",
                "with this home's kernel",
            ),
            (
                "gently drift test --jsonl --kernel kernel.toml < replies.jsonl",
                "with another one",
            ),
        ],
    ),
    (
        "action",
        &[
            (
                "gently action list",
                "what questions and answers wanted done",
            ),
            ("gently action show action-1", "one of them"),
        ],
    ),
    (
        "action list",
        &[("gently action list", "all of them, newest last")],
    ),
    (
        "action show",
        &[("gently action show action-1", "one of them")],
    ),
    (
        "sight",
        &[
            ("gently sight", "all tools"),
            ("gently sight disk_usage", "one of them"),
        ],
    ),
    (
        "assertion",
        &[("gently assertion report", "how checks of replies came out")],
    ),
    (
        "assertion report",
        &[
            ("gently assertion report --since 30d", "of a month"),
            (
                "gently assertion report --by specialist",
                "of each specialist",
            ),
        ],
    ),
    (
        "stats",
        &[
            ("gently stats", "all of it"),
            ("gently stats --since 30d --by model", "a month, by models"),
            ("gently stats --by day --svg days.svg", "a picture, too"),
        ],
    ),
    // Remember
    (
        "fact",
        &[
            (
                "gently fact add \"We close at six.\" --subject hours",
                "propose one",
            ),
            ("gently fact ratify fact-183", "from now on it counts"),
            ("gently fact list", "all that are in force"),
        ],
    ),
    (
        "fact add",
        &[
            (
                "gently fact add \"We close at six.\" --subject hours",
                "propose one",
            ),
            (
                "gently fact add \"The seal is red.\" --confidence high",
                "one that is sure",
            ),
        ],
    ),
    (
        "fact ratify",
        &[("gently fact ratify fact-183", "from now on it counts")],
    ),
    (
        "fact retire",
        &[(
            "gently fact retire fact-183 --reason \"new hours\"",
            "it counts no more",
        )],
    ),
    (
        "fact list",
        &[("gently fact list --all", "those that count no more, too")],
    ),
    (
        "correction",
        &[
            (
                "gently correction add \"We close at six.\" --not \"We close at five.\"",
                "say what is right",
            ),
            ("gently correction list", "with what is left of each"),
        ],
    ),
    (
        "correction add",
        &[
            (
                "gently correction add \"We close at six.\" --about last",
                "what was wrong in an answer",
            ),
            (
                "gently correction add \"Rust 1.90 is out.\" --decay D",
                "one that fades in months",
            ),
            (
                "gently correction add \"Closed on Monday.\" --replaces fact-2",
                "in the place of a fact",
            ),
        ],
    ),
    (
        "correction ratify",
        &[(
            "gently correction ratify correction-3",
            "from now on it counts",
        )],
    ),
    (
        "correction retire",
        &[(
            "gently correction retire correction-3 --reason \"new law\"",
            "it counts no more",
        )],
    ),
    (
        "correction list",
        &[(
            "gently correction list --all",
            "those that count no more, too",
        )],
    ),
    (
        "correction import",
        &[(
            "gently correction import pairs.jsonl",
            "propose all of a file",
        )],
    ),
    (
        "council",
        &[
            (
                "gently ask --council swe,law \"…\"",
                "both answer and review each other",
            ),
            ("gently council show", "all of what came of it"),
        ],
    ),
    (
        "council show",
        &[("gently council show council-1", "this one, all answers")],
    ),
    (
        "council list",
        &[("gently council list", "the newest councils")],
    ),
    (
        "rate",
        &[
            ("gently rate last good", "the last answer was good"),
            (
                "gently rate 81bb5b35/16 bad --why \"no such law\"",
                "and why it was not",
            ),
        ],
    ),
    (
        "handoff",
        &[
            (
                "gently handoff run",
                "the newest conversation, summed up by its model",
            ),
            ("gently handoff list", "all of them, and which are stale"),
            ("gently handoff show", "what the newest one says"),
        ],
    ),
    (
        "handoff run",
        &[
            (
                "gently handoff run",
                "the newest conversation, summed up by its model",
            ),
            (
                "gently handoff run \"Tax questions\" -m sonnet",
                "another one, by another model",
            ),
            (
                "gently handoff run --due",
                "each that has none, or messages after it; for cron",
            ),
        ],
    ),
    (
        "handoff list",
        &[
            ("gently handoff list", "all of them, and which are stale"),
            (
                "gently handoff list \"Tax questions\"",
                "those of one conversation",
            ),
        ],
    ),
    (
        "handoff show",
        &[
            ("gently handoff show", "what the newest one says"),
            ("gently handoff show handoff-3", "what that one says"),
        ],
    ),
    (
        "domain",
        &[
            (
                "gently domain add law --words \"visa, court\"",
                "a field of questions",
            ),
            ("gently domain list", "all of them"),
        ],
    ),
    (
        "domain add",
        &[(
            "gently domain add law --words \"visa, court\" --decay B",
            "its corrections fade slowly",
        )],
    ),
    (
        "domain change",
        &[(
            "gently domain change law --words \"visa, court, judge\"",
            "with other words",
        )],
    ),
    (
        "domain retire",
        &[("gently domain retire law", "no question is of it any more")],
    ),
    (
        "domain list",
        &[("gently domain list --all", "those that are retired, too")],
    ),
    (
        "specialist",
        &[
            (
                "gently specialist add swe -m ollama/llama3.2",
                "a name that is bound to a model",
            ),
            ("gently ask --specialist swe \"…\"", "ask it"),
        ],
    ),
    (
        "specialist add",
        &[(
            "gently specialist add swe -m ollama/llama3.2 --domains law",
            "one that answers in a domain",
        )],
    ),
    (
        "specialist list",
        &[(
            "gently specialist list --all",
            "those that are retired, too",
        )],
    ),
    (
        "specialist show",
        &[("gently specialist show swe", "one of them")],
    ),
    (
        "specialist change",
        &[(
            "gently specialist change swe --window 8192",
            "say its window",
        )],
    ),
    (
        "specialist retire",
        &[("gently specialist retire swe", "it is not asked any more")],
    ),
    (
        "specialist promote",
        &[(
            "gently specialist promote swe --to ollama/qwen3",
            "bind it to another model",
        )],
    ),
    (
        "specialist rollback",
        &[("gently specialist rollback swe", "undo that")],
    ),
    (
        "specialist report",
        &[
            (
                "gently specialist report --since 30d",
                "a month, in numbers",
            ),
            (
                "gently specialist report --svg report.svg",
                "what was expected of each, as a picture, too",
            ),
        ],
    ),
    (
        "note",
        &[
            ("gently note add \"Ana prefers short answers.\"", "keep one"),
            ("gently note list", "all of them"),
        ],
    ),
    (
        "note add",
        &[
            ("gently note add \"Ana prefers short answers.\"", "keep one"),
            (
                "gently note add \"Paper is short.\" --observed-at 3d",
                "of three days ago",
            ),
        ],
    ),
    (
        "note retire",
        &[("gently note retire note-1", "models are shown it no more")],
    ),
    (
        "note list",
        &[("gently note list", "those that are in force")],
    ),
    (
        "decision",
        &[
            (
                "gently decision add \"We write in Rust.\" --subject language",
                "keep one",
            ),
            ("gently decision list", "all that are in force"),
        ],
    ),
    (
        "decision add",
        &[(
            "gently decision add \"We write in Rust.\" --subject language",
            "keep one",
        )],
    ),
    (
        "decision retire",
        &[("gently decision retire decision-1", "it holds no more")],
    ),
    (
        "decision list",
        &[("gently decision list --all", "those that hold no more, too")],
    ),
    (
        "intent",
        &[
            (
                "gently intent set \"Write the yearly report\"",
                "say what you work at",
            ),
            ("gently intent clear", "that is done"),
        ],
    ),
    (
        "intent set",
        &[(
            "gently intent set \"Write the yearly report\"",
            "say what you work at",
        )],
    ),
    ("intent show", &[("gently intent show", "what is in force")]),
    ("intent clear", &[("gently intent clear", "that is done")]),
    (
        "conflict",
        &[
            ("gently conflict list", "what contradicts itself"),
            ("gently conflict resolve fact-183", "this one holds"),
        ],
    ),
    ("conflict list", &[("gently conflict list", "by subject")]),
    (
        "conflict resolve",
        &[(
            "gently conflict resolve fact-183 --reason \"newer\"",
            "this one holds",
        )],
    ),
    // Prove
    (
        "share",
        &[
            ("gently share", "the newest turn, as a file and a page"),
            (
                "gently share 81bb5b35/16 --out paris.json",
                "another one, under a name",
            ),
            (
                "gently share 81bb5b35 --html",
                "a whole session, the page alone",
            ),
        ],
    ),
    (
        "check",
        &[
            ("gently check answer.json", "is it genuine?"),
            ("gently check -v answer.json", "and what does that rest on?"),
            (
                "gently check answer.html --signer allowed_signers",
                "and is it theirs?",
            ),
        ],
    ),
    (
        "audit",
        &[
            ("gently audit verify", "check all of the record"),
            (
                "gently audit publish https://git.example/records.git",
                "let others see it grow",
            ),
        ],
    ),
    (
        "audit verify",
        &[
            ("gently audit verify", "all of your record"),
            ("gently audit verify --since last", "what is new"),
            (
                "gently audit verify --repo ledger.git --log audit.log --signer allowed_signers",
                "somebody else's record",
            ),
        ],
    ),
    (
        "audit session",
        &[("gently audit session 81bb5b35", "one session")],
    ),
    (
        "audit check",
        &[(
            "gently audit check answer.json --signer allowed_signers",
            "is it theirs?",
        )],
    ),
    (
        "audit stamp",
        &[("gently audit stamp", "ask for proofs of today")],
    ),
    (
        "audit upgrade",
        &[("gently audit upgrade", "fetch them, some hours later")],
    ),
    (
        "audit publish",
        &[(
            "gently audit publish https://git.example/records.git",
            "what is public of it",
        )],
    ),
    (
        "audit open",
        &[
            (
                "gently audit open 81bb5b35/16 --out answer.json",
                "one answer",
            ),
            (
                "gently audit open last 1 2 --role prompt,response",
                "two turns, on standard output",
            ),
            ("gently audit open --artifact fact-183", "a fact"),
        ],
    ),
    (
        "audit export",
        &[("gently audit export 81bb5b35 evidence", "into a new folder")],
    ),
    (
        "audit clock-set",
        &[("gently audit clock-set", "the clock is right again")],
    ),
    (
        "audit rebuild",
        &[
            ("gently audit rebuild --dry-run", "what is lost?"),
            ("gently audit rebuild", "restore it"),
        ],
    ),
    (
        "audit replay",
        &[
            ("gently audit replay 81bb5b35/16", "one exchange"),
            ("gently audit replay --all", "all of them"),
            (
                "gently audit replay --all --kernel kernel.toml",
                "what another kernel would have said",
            ),
        ],
    ),
    (
        "audit adopt",
        &[
            (
                "gently audit adopt --from newer.git --log audit.log",
                "a copy knows what came after",
            ),
            ("gently audit adopt --nothing-newer", "nothing came after"),
        ],
    ),
    (
        "trace",
        &[
            ("gently trace show", "what the newest turn was"),
            (
                "gently trace export --all --level generic --out traces.jsonl",
                "for others",
            ),
            ("gently trace verify traces.jsonl", "is it genuine?"),
        ],
    ),
    (
        "trace show",
        &[
            ("gently trace show", "the newest turn, without a word of it"),
            (
                "gently trace show 81bb5b35/16 --level detailed",
                "another one, with names",
            ),
        ],
    ),
    (
        "trace export",
        &[
            (
                "gently trace export last --level generic --out trace.json",
                "one turn",
            ),
            (
                "gently trace export --since 30d --level detailed --as batch --out month.jsonl",
                "a month, for the other project's receiver",
            ),
            (
                "gently trace export 81bb5b35/16 --level full_traces --with-proof --out whole.json",
                "with texts, under a consent",
            ),
        ],
    ),
    (
        "trace verify",
        &[
            ("gently trace verify traces.jsonl", "what gently wrote"),
            (
                "gently trace verify traces.jsonl --signer allowed_signers",
                "and is it theirs?",
            ),
        ],
    ),
    (
        "trace key",
        &[("gently trace key", "its id, and what registers it")],
    ),
    (
        "consent",
        &[
            (
                "gently consent give --purpose \"a study\" --past",
                "to all that you asked and ask",
            ),
            ("gently consent list", "what is in force"),
        ],
    ),
    (
        "consent give",
        &[
            (
                "gently consent give --purpose \"a study\" --until 2027-12-31",
                "to all that you ask from now on",
            ),
            (
                "gently consent give --purpose \"a study\" --exchange last",
                "to one question and its answer",
            ),
        ],
    ),
    (
        "consent withdraw",
        &[("gently consent withdraw consent-1", "no more is handed on")],
    ),
    (
        "consent list",
        &[("gently consent list", "all of them, oldest first")],
    ),
    (
        "anchor",
        &[
            (
                "gently anchor status",
                "which block would a session start on?",
            ),
            (
                "gently anchor sync",
                "keep headers, and need nobody to check",
            ),
        ],
    ),
    (
        "anchor status",
        &[("gently anchor status", "ask every source now")],
    ),
    (
        "anchor sync",
        &[
            ("gently anchor sync", "from your node, else an explorer"),
            (
                "gently anchor sync --from headers.bin",
                "from a file, without a network",
            ),
        ],
    ),
    (
        "witness",
        &[
            (
                "gently witness add tower VKEY https://tower.example",
                "have one cosign from now on",
            ),
            ("gently witness list", "what each cosigned last"),
        ],
    ),
    (
        "witness add",
        &[(
            "gently witness add tower VKEY https://tower.example",
            "with the key it publishes",
        )],
    ),
    (
        "witness list",
        &[("gently witness list", "what each cosigned last")],
    ),
    (
        "witness remove",
        &[("gently witness remove tower", "ask it no more")],
    ),
    (
        "witness ask",
        &[("gently witness ask", "do not wait for the next session")],
    ),
    // Keep
    (
        "backup",
        &[
            ("gently backup gently.age", "asks for a passphrase"),
            (
                "gently backup --force gently.age",
                "over the one of yesterday",
            ),
        ],
    ),
    (
        "restore",
        &[
            ("gently restore gently.age", "as a new home"),
            (
                "GENTLY_HOME=/srv/gently gently restore gently.age",
                "as a home in that folder",
            ),
            (
                "gently restore gently.age --store-key store.key.copy",
                "one whose database is encrypted, with the copy of its key",
            ),
        ],
    ),
    ("sync", &[("gently sync", "before the plug is pulled")]),
    (
        "store",
        &[
            ("gently store status", "is the database encrypted?"),
            ("gently store encrypt", "asks for a new passphrase"),
        ],
    ),
    (
        "store status",
        &[("gently store status", "and is its key at hand?")],
    ),
    (
        "store encrypt",
        &[
            ("gently store encrypt", "asks for a new passphrase"),
            (
                "gently store encrypt --new-key | secret-tool store --label gently gently store",
                "a key for [store] key_cmd, kept by the desktop",
            ),
        ],
    ),
    (
        "store decrypt",
        &[("gently store decrypt", "a plain file again")],
    ),
    (
        "erase",
        &[
            (
                "gently erase 81bb5b35/16 --reason \"a mistake\"",
                "one question and its answer",
            ),
            ("gently erase note-1", "a note"),
            (
                "gently erase --older-than 365 --dry-run",
                "what a year ago or earlier would be erased",
            ),
        ],
    ),
    (
        "import",
        &[
            (
                "gently import chatgpt export.zip --dry-run",
                "what of an export would be recorded",
            ),
            ("gently import chatgpt export.zip", "all of it"),
            (
                "gently conversation list --imported",
                "what came along, and where it is from",
            ),
        ],
    ),
    (
        "import chatgpt",
        &[
            ("gently import chatgpt export.zip", "what ChatGPT sent"),
            (
                "gently import chatgpt conversations.json --since 2025-01-01",
                "what was said this year",
            ),
        ],
    ),
    (
        "import claude",
        &[
            ("gently import claude export.zip", "what Claude sent"),
            (
                "gently import claude export.zip --only \"Tax questions\"",
                "one conversation of it",
            ),
        ],
    ),
    (
        "import llm",
        &[(
            "gently import llm logs.db",
            "what was asked by the program llm",
        )],
    ),
    (
        "import aua",
        &[("gently import aua aua.db", "a state store of version 1")],
    ),
    (
        "import jsonl",
        &[(
            "gently import jsonl messages.jsonl",
            "a message a line, from anywhere",
        )],
    ),
    (
        "import list",
        &[("gently import list", "what was imported, and how it ended")],
    ),
    (
        "import show",
        &[(
            "gently import show import-1",
            "one import, with its conversations",
        )],
    ),
    (
        "import erase",
        &[
            (
                "gently import erase import-1 --dry-run",
                "what would go with it",
            ),
            (
                "gently import erase import-1 --reason \"the wrong account\"",
                "all conversations of it, for ever",
            ),
        ],
    ),
    (
        "sanitize",
        &[
            ("gently sanitize < notes.txt > clean.txt", "one text"),
            ("gently sanitize --jsonl < texts.jsonl", "many of them"),
        ],
    ),
    // Set up
    (
        "init",
        &[
            ("gently init", "with the usual choices"),
            (
                "gently init --origin example.org/records",
                "with a name for ever",
            ),
        ],
    ),
    (
        "config",
        &[
            ("gently config get", "everything, and where it is from"),
            ("gently config set anchor.mode off", "contact no explorer"),
        ],
    ),
    (
        "config get",
        &[
            ("gently config get", "everything, and where it is from"),
            ("gently config get anchor.mode", "one value"),
        ],
    ),
    (
        "config set",
        &[
            (
                "gently config set model.default ollama/llama3.1:8b",
                "who answers",
            ),
            (
                "gently config set price.openai/gpt-4o-mini \"0.15 0.60\"",
                "what a million tokens cost, in and out",
            ),
            (
                "gently config set model.alias.fast ollama/llama3.1:8b",
                "a name for a model",
            ),
        ],
    ),
    (
        "config unset",
        &[("gently config unset anchor.mode", "its default again")],
    ),
    ("config path", &[("gently config path", "the file")]),
    (
        "config migrate",
        &[(
            "gently config migrate --from 0.7 --to 0.8 ~/agent --dry-run",
            "what of the files of an agent would be recorded",
        )],
    ),
    (
        "key",
        &[
            ("gently key list", "who may ask"),
            ("gently key add laptop", "one more"),
        ],
    ),
    ("key add", &[("gently key add laptop", "prints it once")]),
    ("key list", &[("gently key list", "who may ask")]),
    (
        "key show",
        &[
            ("gently key show", "what others pin, and what they run"),
            ("gently key show > signers", "the file to give to them"),
        ],
    ),
    (
        "key revoke",
        &[
            ("gently key revoke laptop", "for ever; asks first"),
            ("gently key revoke laptop --dry-run", "what that would do"),
        ],
    ),
    (
        "key rotate",
        &[
            ("gently key rotate", "to a new key in a file"),
            (
                "gently key rotate --to new.pub",
                "to a key of the SSH agent",
            ),
        ],
    ),
    (
        "key protect",
        &[("gently key protect", "asks for a passphrase")],
    ),
    (
        "key unprotect",
        &[("gently key unprotect", "asks for it once more")],
    ),
    (
        "kernel",
        &[
            (
                "gently kernel show > kernel.toml",
                "write it down, to edit it",
            ),
            ("gently kernel check kernel.toml", "what would change"),
            ("gently kernel set kernel.toml", "put it in force"),
        ],
    ),
    (
        "kernel show",
        &[(
            "gently kernel show > kernel.toml",
            "write it down, to edit it",
        )],
    ),
    (
        "kernel check",
        &[("gently kernel check kernel.toml", "what would change")],
    ),
    (
        "kernel set",
        &[("gently kernel set kernel.toml", "put it in force")],
    ),
    (
        "hook",
        &[(
            "gently hook install ledger.git",
            "from now on it can only grow",
        )],
    ),
    (
        "hook reference-transaction",
        &[(
            "gently hook reference-transaction prepared",
            "as git runs it",
        )],
    ),
    (
        "hook pre-receive",
        &[(
            "gently hook pre-receive --signer allowed_signers",
            "as git runs it",
        )],
    ),
    (
        "hook install",
        &[
            ("gently hook install ledger.git", "in a ledger"),
            (
                "gently hook install copy.git --signer allowed_signers",
                "in a host's copy",
            ),
        ],
    ),
    (
        "doctor",
        &[
            ("gently doctor", "what to mend, and how"),
            ("gently doctor -v", "one line for each check"),
            (
                "gently doctor --check-audit",
                "whether the log in the database hangs together",
            ),
        ],
    ),
    (
        "completions",
        &[
            (
                "gently completions bash > ~/.local/share/bash-completion/completions/gently",
                "from the next shell on",
            ),
            (
                "gently completions zsh > ~/.zfunc/_gently",
                "a folder of your fpath",
            ),
            (
                "gently completions fish > ~/.config/fish/completions/gently.fish",
                "at once",
            ),
        ],
    ),
    (
        "man",
        &[
            ("gently man pages", "into a new folder"),
            ("man ./pages/gently-ask.1", "read one"),
        ],
    ),
    (
        "help",
        &[
            ("gently help audit verify", "one command"),
            (
                "gently help exit-codes",
                "a topic: also ids, privacy, verify",
            ),
        ],
    ),
];

/// Examples of options, told where one of them is typed wrong.
const OF_OPTIONS: [Example; 6] = [
    (
        "gently ask -m sonnet \"Why is the sky blue?\"",
        "of a model",
    ),
    (
        "gently ask --accuracy fast \"Why is the sky blue?\"",
        "of the specialist with the best answers",
    ),
    (
        "gently ask --council swe,law \"May I ship this?\"",
        "of several, who review each other",
    ),
    (
        "gently ask --retries 2 \"Why is the sky blue?\"",
        "again where the kernel blocks the answer",
    ),
    ("gently chat -m sonnet", "with a model"),
    ("gently chat --specialist swe", "with a specialist"),
];

/// An example of a command in which one of these options stands: of its own, or of another's.
pub fn with_option(path: &str, options: &[String]) -> Option<&'static Example> {
    let begins = format!("gently {path} ");
    let all = EXAMPLES.iter().flat_map(|(_, examples)| examples.iter());
    let all = all.chain(&OF_OPTIONS);
    let mut of_it = all.filter(|(typed, _)| typed.starts_with(&begins));
    of_it.find(|(typed, _)| {
        let mut words = typed.split(' ');
        words.any(|word| options.iter().any(|option| option == word))
    })
}

/// The examples of a command, by its words.
pub fn of(path: &str) -> &'static [Example] {
    let found = EXAMPLES.iter().find(|(words, _)| *words == path);
    found.map_or(&[], |(_, examples)| examples)
}

/// The words of all commands that have examples, each once.
pub fn paths() -> impl Iterator<Item = &'static str> {
    EXAMPLES.iter().map(|(words, _)| *words)
}
