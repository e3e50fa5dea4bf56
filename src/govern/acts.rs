//! Words of acts on a machine: verbs, the things that each acts on, and what only looks like one (AEGIS 7.1).

/// What is wanted to be done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ActClass {
    /// `systemctl restart`, containers.
    Service,
    /// The machine off, or off and on.
    Power,
    /// A process ended.
    Process,
    /// Packages installed, removed, upgraded.
    Package,
    /// Files and disks.
    File,
    /// Configuration written; users, names, schedules.
    Configuration,
    /// Ports and addresses let through, or not.
    Firewall,
    /// A command or script run; something deployed or pushed.
    Command,
    /// Something sent to somebody.
    Message,
    /// A block in the form of a call of a tool.
    ToolCall,
}

impl ActClass {
    /// The spelling on record.
    pub const fn name(self) -> &'static str {
        match self {
            ActClass::Service => "service",
            ActClass::Power => "power",
            ActClass::Process => "process",
            ActClass::Package => "package",
            ActClass::File => "file",
            ActClass::Configuration => "configuration",
            ActClass::Firewall => "firewall",
            ActClass::Command => "command",
            ActClass::Message => "message",
            ActClass::ToolCall => "tool_call",
        }
    }
}

/// What a verb has to act on for its sentence to be an act.
struct Rule {
    class: ActClass,
    verbs: &'static [&'static str],
    things: &'static [&'static [&'static str]],
    /// Whether a path or a file's name is a thing, too.
    paths: bool,
}

const MACHINES: &[&str] = &[
    "machine", "computer", "host", "system", "server", "servers", "box", "laptop", "vm", "node", "instance", "router",
];
const SERVICES: &[&str] = &[
    "service",
    "services",
    "daemon",
    "daemons",
    "unit",
    "container",
    "containers",
    "pod",
    "pods",
    "cluster",
    "proxy",
    "database",
    "webserver",
    "vpn",
];
/// Programs that people call by name.
const PROGRAMS: &[&str] = &[
    "nginx",
    "apache",
    "apache2",
    "httpd",
    "caddy",
    "haproxy",
    "postgres",
    "postgresql",
    "mysql",
    "mysqld",
    "mariadb",
    "redis",
    "mongodb",
    "mongod",
    "docker",
    "dockerd",
    "containerd",
    "kubelet",
    "ssh",
    "sshd",
    "cron",
    "crond",
    "systemd",
    "networkmanager",
    "dnsmasq",
    "named",
    "postfix",
    "dovecot",
    "samba",
    "smbd",
    "cups",
    "tomcat",
    "jenkins",
    "gitlab",
    "grafana",
    "prometheus",
    "rabbitmq",
    "kafka",
    "elasticsearch",
    "fail2ban",
    "firewalld",
    "wireguard",
    "openvpn",
    "ollama",
];
const PROCESSES: &[&str] = &["process", "processes", "pid", "job", "jobs"];
const PACKAGES: &[&str] = &["package", "packages", "software", "os", "kernel", "dependencies", "distribution"];
const FILES: &[&str] = &[
    "file",
    "files",
    "folder",
    "folders",
    "directory",
    "directories",
    "disk",
    "disks",
    "partition",
    "partitions",
    "volume",
    "volumes",
    "backup",
    "backups",
    "snapshot",
    "snapshots",
    "log",
    "logs",
    "database",
    "databases",
    "cache",
    "trash",
    "logfile",
    "logfiles",
];
const SETTINGS: &[&str] = &[
    "config",
    "configuration",
    "settings",
    "setting",
    "crontab",
    "hostname",
    "timezone",
    "permissions",
    "dns",
    "user",
    "users",
    "account",
    "accounts",
    "sysctl",
];
const NETWORK: &[&str] = &["port", "ports", "firewall", "traffic", "iptables", "nftables", "ufw", "ip"];
const COMMANDS: &[&str] = &[
    "command",
    "commands",
    "script",
    "playbook",
    "migration",
    "migrations",
    "cronjob",
    "sudo",
    "rm",
    "apt",
    "apt-get",
    "dnf",
    "yum",
    "systemctl",
    "docker",
    "kubectl",
    "git",
    "make",
    "bash",
    "sh",
    "ansible",
    "terraform",
];
const DEPLOYED: &[&str] =
    &["app", "application", "release", "build", "branch", "site", "website", "production", "staging", "prod", "stack"];
const REPOSITORIES: &[&str] = &["branch", "main", "master", "origin", "remote", "repo", "repository", "upstream"];
const MESSAGES: &[&str] = &[
    "email",
    "emails",
    "e-mail",
    "mail",
    "message",
    "messages",
    "sms",
    "tweet",
    "invite",
    "invitation",
    "notification",
];

const RULES: &[Rule] = &[
    Rule {
        class: ActClass::Power,
        verbs: &["reboot", "shutdown", "poweroff", "hibernate"],
        things: &[MACHINES],
        paths: false,
    },
    Rule { class: ActClass::Power, verbs: &["restart", "shut", "power", "turn"], things: &[MACHINES], paths: false },
    Rule {
        class: ActClass::Service,
        verbs: &["restart", "reload", "start", "stop", "enable", "disable", "mask", "unmask", "kill"],
        things: &[SERVICES, PROGRAMS],
        paths: false,
    },
    Rule {
        class: ActClass::Process,
        verbs: &["kill", "terminate", "stop", "pause", "end"],
        things: &[PROCESSES],
        paths: false,
    },
    Rule {
        class: ActClass::Package,
        verbs: &["install", "uninstall", "reinstall", "upgrade", "downgrade", "update", "purge", "remove"],
        things: &[PACKAGES, MACHINES, PROGRAMS],
        paths: false,
    },
    Rule {
        class: ActClass::File,
        verbs: &[
            "delete",
            "remove",
            "erase",
            "wipe",
            "move",
            "rename",
            "copy",
            "overwrite",
            "truncate",
            "chmod",
            "chown",
            "mount",
            "unmount",
            "umount",
            "format",
            "unlink",
            "clear",
            "empty",
            "rotate",
            "archive",
            "shred",
            "drop",
        ],
        things: &[FILES],
        paths: true,
    },
    Rule { class: ActClass::File, verbs: &["create", "make", "touch", "mkdir"], things: &[], paths: true },
    Rule {
        class: ActClass::Configuration,
        verbs: &[
            "configure",
            "set",
            "edit",
            "change",
            "modify",
            "update",
            "reset",
            "delete",
            "remove",
            "add",
            "disable",
        ],
        things: &[SETTINGS],
        paths: true,
    },
    Rule {
        class: ActClass::Configuration,
        verbs: &["write", "append", "put", "save", "replace", "apply"],
        things: &[],
        paths: true,
    },
    Rule {
        class: ActClass::Firewall,
        verbs: &["open", "close", "block", "unblock", "allow", "ban", "unban", "forward", "disable", "enable", "drop"],
        things: &[NETWORK],
        paths: false,
    },
    Rule { class: ActClass::Command, verbs: &["run", "execute", "exec"], things: &[COMMANDS], paths: true },
    Rule {
        class: ActClass::Command,
        verbs: &["deploy", "roll", "rollback"],
        things: &[DEPLOYED, SERVICES, MACHINES],
        paths: true,
    },
    Rule { class: ActClass::Command, verbs: &["push", "merge", "rebase"], things: &[REPOSITORIES], paths: false },
    Rule { class: ActClass::Message, verbs: &["send", "forward", "post"], things: &[MESSAGES], paths: false },
];

/// What is made or changed in a text: an act on one of these is none on the machine.
const TEXTS: &[&str] = &[
    "sentence",
    "sentences",
    "paragraph",
    "paragraphs",
    "text",
    "word",
    "words",
    "comma",
    "story",
    "stories",
    "essay",
    "poem",
    "function",
    "functions",
    "method",
    "class",
    "variable",
    "example",
    "examples",
    "title",
    "heading",
    "headline",
    "letter",
    "letters",
    "instructions",
    "guide",
    "tutorial",
    "template",
    "snippet",
    "summary",
    "list",
    "draft",
    "tone",
    "style",
    "adjectives",
    "typo",
    "typos",
    "question",
    "answer",
    "joke",
    "article",
    "bullet",
    "bullets",
    "row",
    "rows",
    "column",
    "columns",
    "chapter",
    "character",
    "characters",
    "plan",
    "steps",
];
/// Words at which another clause begins: what follows is no object of the verb.
const BORDERS: &[&str] =
    &["that", "which", "who", "if", "because", "when", "while", "so", "like", "how", "why", "what", "unless", "until"];
/// How far from its verb an object may stand, in words.
const REACH: usize = 8;
/// Verbs that take whatever they name: "install htop".
const INSTALLS: &[&str] = &["install", "uninstall", "reinstall"];

/// The act of a verb on what follows it; none when it acts on nothing of a machine.
pub(super) fn of_verb(verb: &str, after: &[String]) -> Option<ActClass> {
    // Right after the verb it points at something: "kill that process".
    let end = after.iter().take(REACH).skip(1).position(|word| BORDERS.contains(&word.as_str())).map(|at| at + 1);
    let objects = after.get(..end.unwrap_or(after.len().min(REACH)))?;
    let first = |is: &dyn Fn(&str) -> bool| objects.iter().position(|word| is(word));
    let text = first(&|word| TEXTS.contains(&word)).unwrap_or(usize::MAX);
    if INSTALLS.contains(&verb) && !objects.is_empty() && text == usize::MAX {
        return Some(ActClass::Package);
    }
    if verb == "reboot" && objects.len() <= 1 {
        return Some(ActClass::Power);
    }
    let acts_on = |rule: &&Rule| {
        let thing = first(&|word| {
            rule.things.iter().any(|list| list.contains(&word)) || (rule.paths && is_path(word)) || is_unit(rule, word)
        });
        // The text comes first: "remove the word 'file' from the sentence" is about a text.
        thing.is_some_and(|at| at < text)
            && (rule.class != ActClass::Message || objects.iter().any(|word| word == "to"))
    };
    RULES.iter().filter(|rule| rule.verbs.contains(&verb)).find(acts_on).map(|rule| rule.class)
}

/// Whether any rule knows the verb.
pub(super) fn is_verb(word: &str) -> bool {
    RULES.iter().any(|rule| rule.verbs.contains(&word))
}

/// The verb of a form in `-ing`: `stopping` is `stop`.
pub(super) fn of_gerund(word: &str) -> Option<&'static str> {
    let stem = word.strip_suffix("ing")?;
    let fits = |verb: &&str| {
        let doubled = || verb.chars().next_back().is_some_and(|last| stem.strip_suffix(last) == Some(verb));
        *verb == stem || verb.strip_suffix('e') == Some(stem) || doubled()
    };
    RULES.iter().flat_map(|rule| rule.verbs.iter().copied()).find(|verb| fits(verb))
}

fn is_unit(rule: &Rule, word: &str) -> bool {
    let ends = [".service", ".socket", ".timer", ".target", ".mount"];
    rule.class == ActClass::Service && ends.iter().any(|end| word.len() > end.len() && word.ends_with(end))
}

/// A path, or a file's name with an ending that files have.
fn is_path(word: &str) -> bool {
    const ENDINGS: [&str; 30] = [
        "conf", "cfg", "toml", "yaml", "yml", "ini", "json", "txt", "log", "md", "csv", "sh", "py", "service", "db",
        "sqlite", "bak", "tmp", "gz", "zip", "tar", "xml", "env", "key", "pem", "sql", "html", "iso", "img", "lock",
    ];
    let rooted = ["/", "~/", "./", "../"].iter().any(|start| {
        word.strip_prefix(start).is_some_and(|rest| {
            rest.len() > 1 && rest.starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '*'))
        })
    });
    let named = word.rsplit_once('.').is_some_and(|(name, end)| !name.is_empty() && ENDINGS.contains(&end));
    rooted || named || word.as_bytes().get(1..3) == Some(b":\\")
}
