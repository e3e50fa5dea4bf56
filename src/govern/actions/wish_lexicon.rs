//! Word lists of wishes: states, verbs of two words, errands, shell commands, German and French.

use super::lexicon::ActClass;
use super::objects::{
    COMMANDS, DEPLOYED, FILES, MACHINES, MESSAGES, NETWORK, PACKAGES, PROCESSES, PROGRAMS,
    SERVICES, SETTINGS,
};

/// Things of a machine, each list with the class of an act on it.
pub(in crate::govern) const THINGS: [(ActClass, &[&str]); 11] = [
    (ActClass::Service, SERVICES),
    (ActClass::Service, PROGRAMS),
    (ActClass::Power, MACHINES),
    (ActClass::Process, PROCESSES),
    (ActClass::Package, PACKAGES),
    (ActClass::File, FILES),
    (ActClass::Configuration, SETTINGS),
    (ActClass::Firewall, NETWORK),
    (ActClass::Command, COMMANDS),
    (ActClass::Command, DEPLOYED),
    (ActClass::Message, MESSAGES),
];
/// More of them: what is kept free, scheduled, and named in other languages.
pub(in crate::govern) const MORE: &[&str] = &[
    "space",
    "table",
    "tables",
    "index",
    "job",
    "mode",
    "rollout",
    "deployment",
    "deploy",
    "image",
    "images",
    "key",
    "keys",
    "certificate",
    "access",
    "dienst",
    "datei",
    "dateien",
    "ordner",
    "rechner",
    "benutzer",
    "nachricht",
    "paket",
    "datenbank",
    "prozess",
    "konto",
    "maschine",
    "service",
    "serveur",
    "fichier",
    "fichiers",
    "dossier",
    "journaux",
    "journal",
    "conteneur",
    "courriel",
    "paquet",
    "compte",
    "machine",
    "base",
    "tâche",
    "e-mail",
    "reboot",
    "restart",
];

/// Verbs of two words: the verb, and what follows it at once or behind its object.
pub(in crate::govern) const PAIRS: &[(&str, &[&str])] = &[
    ("take", &["down", "offline", "out"]),
    ("bring", &["up", "down", "back", "online"]),
    ("put", &["maintenance", "offline", "online"]),
    ("switch", &["off", "on"]),
    ("turn", &["off", "on"]),
    ("shut", &["off", "down"]),
    ("spin", &["up", "down"]),
    ("tear", &["down"]),
    ("kick", &["off"]),
    ("roll", &["back", "out"]),
    ("clean", &["up", "out"]),
    ("free", &["up"]),
    ("blow", &["away"]),
    ("throw", &["away", "out"]),
    ("set", &["up"]),
    ("scale", &["up", "down"]),
    ("back", &["up"]),
    ("get", &["rid", "running"]),
    ("wipe", &["out"]),
    ("power", &["off", "down", "on"]),
    ("bounce", &[]),
    ("nuke", &[]),
    ("whitelist", &[]),
    ("blacklist", &[]),
    ("provision", &[]),
    ("revoke", &[]),
    ("grant", &[]),
    ("schedule", &[]),
    ("truncate", &[]),
    ("drop", &[]),
    ("purge", &[]),
    ("rotate", &[]),
];
/// Errands: the verb, and what it has to be about.
pub(in crate::govern) const ERRANDS: &[(&str, &[&str])] = &[
    (
        "book",
        &[
            "table",
            "flight",
            "room",
            "appointment",
            "ticket",
            "tickets",
            "hotel",
            "seat",
            "seats",
            "meeting",
            "car",
            "taxi",
        ],
    ),
    (
        "reserve",
        &["table", "flight", "room", "ticket", "hotel", "seat", "car"],
    ),
    (
        "cancel",
        &[
            "meeting",
            "order",
            "subscription",
            "appointment",
            "booking",
            "reservation",
            "flight",
            "membership",
        ],
    ),
    ("reschedule", &["meeting", "appointment", "call", "flight"]),
    ("schedule", &["meeting", "appointment", "call"]),
    (
        "order",
        &["more", "some", "another", "two", "pizza", "food", "toner"],
    ),
    (
        "buy",
        &[
            "more", "some", "another", "two", "ticket", "tickets", "shares", "domain",
        ],
    ),
    (
        "pay",
        &["invoice", "bill", "bills", "rent", "invoices", "fine"],
    ),
    (
        "transfer",
        &["money", "euros", "dollars", "funds", "eur", "usd", "€", "$"],
    ),
    ("unsubscribe", &["me", "us"]),
    ("subscribe", &["me", "us"]),
    ("sign", &["me"]),
    (
        "renew",
        &[
            "subscription",
            "license",
            "licence",
            "domain",
            "membership",
            "certificate",
        ],
    ),
    ("refund", &["order", "customer", "payment", "invoice"]),
    ("change", &["password", "passphrase", "pin"]),
    ("reset", &["password", "passphrase", "pin"]),
    ("remind", &["me"]),
];
/// Verbs that are words for a message, too: *email Bob that …*.
pub(in crate::govern) const WRITING: &[&str] = &[
    "email", "e-mail", "text", "message", "notify", "ping", "dm", "call", "alert",
];
/// And what follows them when they are nouns, or ask for a text.
pub(in crate::govern) const NOUNS: &[&str] = &[
    "the",
    "a",
    "an",
    "address",
    "addresses",
    "template",
    "templates",
    ":",
    ",",
    "to",
    "is",
    "format",
    "editor",
    "marketing",
    "subject",
    "in",
    "of",
    "from",
    "and",
    "for",
    "queue",
    "queues",
    "with",
    "me",
];
/// How a sentence begins that asks, and wishes nothing.
pub(in crate::govern) const ASKING: &[&str] = &[
    "why",
    "how",
    "what",
    "what's",
    "which",
    "when",
    "where",
    "who",
    "does",
    "do",
    "did",
    "is",
    "are",
    "was",
    "were",
    "should",
    "if",
    "explain",
    "tell",
    "show",
    "describe",
    "compare",
    "write",
    "draft",
    "summarize",
    "summarise",
    "translate",
    "review",
    "can",
    "could",
    "would",
    "will",
    "wie",
    "was",
    "warum",
    "wann",
    "wo",
    "soll",
    "erkläre",
    "comment",
    "pourquoi",
    "que",
    "quand",
];
/// What a need is for.
pub(in crate::govern) const NEEDED: &[&str] = &[
    "restart",
    "reboot",
    "update",
    "upgrade",
    "cleanup",
    "reload",
    "patch",
    "redeploy",
    "restarting",
    "rebooting",
    "updating",
    "upgrading",
    "cleaning",
    "reloading",
    "patching",
    "deleting",
];
/// States that somebody wishes for, beside what was done to a thing.
pub(in crate::govern) const STATES: &[&str] = &[
    "off", "on", "gone", "down", "up", "back", "running", "stopped", "closed", "open", "enabled",
    "disabled", "online", "offline",
];
/// Programs of a shell, each with the words behind them that change something; none: it always
/// does.
pub(in crate::govern) const SHELL: &[(&str, &[&str])] = &[
    ("sudo", &[]),
    ("rm", &[]),
    ("mv", &[]),
    ("dd", &[]),
    ("mkfs", &[]),
    ("kill", &["-9", "-15", "-kill", "-term"]),
    ("killall", &[]),
    ("pkill", &[]),
    (
        "git",
        &[
            "push", "reset", "commit", "merge", "rebase", "checkout", "clean",
        ],
    ),
    (
        "apt",
        &[
            "install",
            "remove",
            "purge",
            "upgrade",
            "update",
            "autoremove",
        ],
    ),
    (
        "apt-get",
        &[
            "install",
            "remove",
            "purge",
            "upgrade",
            "update",
            "autoremove",
            "dist-upgrade",
        ],
    ),
    ("dnf", &["install", "remove", "upgrade", "update"]),
    ("yum", &["install", "remove", "upgrade", "update"]),
    ("pip", &["install", "uninstall"]),
    ("npm", &["install", "uninstall", "publish"]),
    ("brew", &["install", "uninstall", "upgrade"]),
    (
        "systemctl",
        &[
            "start", "stop", "restart", "reload", "enable", "disable", "mask", "kill",
        ],
    ),
    (
        "docker",
        &[
            "rm", "rmi", "stop", "restart", "run", "kill", "start", "prune",
        ],
    ),
    (
        "kubectl",
        &["delete", "apply", "scale", "rollout", "drain", "cordon"],
    ),
    ("ufw", &["allow", "deny", "enable", "disable", "reset"]),
    ("terraform", &["apply", "destroy"]),
];

/// Verbs of German and French requests: as they begin one, and as they end one behind *kannst du*,
/// *peux-tu*.
pub(in crate::govern) const ORDERS: &str = "starte lösche lösch installiere deinstalliere stoppe beende entferne schick schicke sende fahr fahre \
  aktualisiere ändere leere öffne schließe sperre deaktiviere aktiviere kopiere verschiebe buche storniere bestelle kündige \
  redémarre redémarrez relance relancez supprime supprimez efface effacez installe installez désinstalle désinstallez arrête \
  arrêtez stoppe stoppez envoie envoyez lance lancez active activez désactive désactivez ferme fermez ouvre ouvrez déplace \
  déplacez annule annulez réserve réservez paie payez";
pub(in crate::govern) const INFINITIVES: &str = "starten neustarten löschen installieren deinstallieren stoppen beenden entfernen schicken senden \
  herunterfahren aktualisieren ändern leeren öffnen schließen sperren deaktivieren aktivieren kopieren verschieben buchen \
  stornieren redémarrer relancer supprimer effacer installer désinstaller arrêter stopper envoyer lancer activer désactiver \
  fermer ouvrir déplacer annuler réserver payer";
/// Polite words before them.
pub(in crate::govern) const POLITE: &[&[&str]] = &[
    &["bitte"],
    &["s'il", "te", "plaît"],
    &["s'il", "vous", "plaît"],
];
/// Questions that are requests.
pub(in crate::govern) const CAN_YOU: &[&[&str]] = &[
    &["kannst", "du"],
    &["könntest", "du"],
    &["können", "sie"],
    &["könnten", "sie"],
    &["würdest", "du"],
    &["peux-tu"],
    &["pourrais-tu"],
    &["pouvez-vous"],
    &["pourriez-vous"],
    &["tu", "peux"],
    &["vous", "pouvez"],
];
