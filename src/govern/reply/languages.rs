//! Claims of completed side effects in German, French, Spanish and Italian: the same few forms that
//! [`super::claims`] looks for in English, by word lists.
//!
//! | form | German | French |
//! |---|---|---|
//! | first person | *ich habe nginx neu gestartet* | *j'ai redémarré nginx* |
//! | just now | | *je viens d'envoyer le courriel* |
//! | passive | *die Datei wurde gelöscht* | *le fichier a été supprimé* |
//! | state | *der Benutzer ist nun angelegt* | *le service est maintenant arrêté* |
//! | under way | *ich starte den Dienst jetzt neu* | *je redémarre le serveur maintenant* |
//! | in a word | *Datei gelöscht* | *Fichier supprimé* |
//!
//! A negation, a condition, a modal or a report of others before the verb makes it none.

use std::collections::HashSet;
use std::sync::OnceLock;

use crate::govern::sanitize::count;

/// So many words after its auxiliary a participle may stand: German puts it at the end of the
/// clause.
const REACH: usize = 16;
/// Longest clause taken for a note: *Datei gelöscht*.
const NOTE_WORDS: usize = 6;

/// The words of one language.
struct Tongue {
    /// First person and auxiliary, as they begin: `ich habe`, `habe ich`.
    first: &'static [&'static [&'static str]],
    /// What a finished infinitive follows: `je viens de`.
    just: &'static [&'static [&'static str]],
    /// Auxiliaries of the passive: `wurde`; `a` and then `été`.
    passive: &'static [&'static [&'static str]],
    /// Those of a state, which counts with a word of [`Tongue::now`].
    state: &'static [&'static str],
    /// First person present of deeds.
    doing: &'static str,
    /// Infinitives of deeds.
    infinitives: &'static str,
    /// Participles of deeds; without what they are bent by.
    deeds: &'static str,
    /// Participles that are deeds on a thing of a machine only.
    edits: &'static str,
    things: &'static str,
    now: &'static str,
    no_report: &'static str,
    /// What is shown in the reply itself.
    here: &'static str,
    /// What may stand behind the participle of a note.
    behind: &'static str,
}

const GERMAN: Tongue = Tongue {
    first: &[
        &["ich", "habe"],
        &["habe", "ich"],
        &["ich", "hab"],
        &["hab", "ich"],
        &["hab"],
        &["wir", "haben"],
        &["haben", "wir"],
    ],
    just: &[],
    passive: &[&["wurde"], &["wurden"], &["worden"]],
    state: &["ist", "sind"],
    doing: "starte lösche installiere stoppe beende entferne sende verschicke schicke deaktiviere aktiviere fahre aktualisiere \
            verschiebe deinstalliere kündige storniere buche bestelle überweise sperre",
    infinitives: "",
    deeds: "gestartet neugestartet gelöscht installiert deinstalliert gestoppt beendet angehalten entfernt gesendet verschickt \
            abgeschickt versendet ausgeführt aktiviert deaktiviert eingespielt heruntergefahren hochgefahren gekündigt storniert \
            gebucht bestellt bezahlt überwiesen zurückgesetzt veröffentlicht hochgeladen heruntergeladen ausgerollt archiviert \
            formatiert weitergeleitet benachrichtigt gesperrt entsperrt freigeschaltet abgeschaltet eingeschaltet ausgeschaltet \
            reserviert gepusht gemergt deployt gekillt",
    edits: "geändert angepasst erstellt angelegt hinzugefügt verschoben umbenannt kopiert gespeichert geschlossen geöffnet \
            konfiguriert eingerichtet aktualisiert geleert bereinigt überschrieben behoben eingetragen durchgeführt geplant gesetzt \
            geschrieben repariert freigegeben",
    things: "dienst dienste datei dateien ordner verzeichnis server e-mail email mail nachricht nachrichten paket pakete konto \
             benutzer nutzer port firewall datenbank container prozess prozesse skript konfiguration einstellung einstellungen \
             termin bestellung rechnung backup sicherung log logs logdatei system rechner maschine cache ticket branch regel \
             nginx apache docker postgres xcodex cronjob eintrag schlüssel zertifikat gerät festplatte partition repository",
    now: "jetzt nun soeben gerade sofort bereits erfolgreich wieder",
    no_report: "nicht kein keine keinen keiner keines keinem nie niemals wenn falls sobald nachdem bevor ob würde würden hätte \
                hätten könnte könnten kann können soll sollte sollten muss müssen darf wäre wären laut angeblich zeigt zeigen sagt \
                sagte dass damit ohne bis du ihr hast warum wann",
    here: "unten oben hier folgende folgenden folgendes beispiel entwurf text absatz satz funktion code",
    behind: "erfolgreich jetzt für dich sie neu",
};

const FRENCH: Tongue = Tongue {
    first: &[&["j'ai"], &["nous", "avons"], &["on", "a"]],
    just: &[
        &["je", "viens", "de"],
        &["nous", "venons", "de"],
        &["je", "viens", "d'"],
        &["nous", "venons", "d'"],
    ],
    passive: &[&["a", "été"], &["ont", "été"]],
    state: &["est", "sont"],
    doing: "redémarre relance supprime efface installe désinstalle arrête stoppe envoie exécute lance active désactive annule \
            réserve commande publie déploie",
    infinitives: "redémarrer relancer supprimer effacer installer désinstaller arrêter stopper envoyer exécuter lancer activer \
                  désactiver annuler réserver commander publier déployer configurer créer modifier déplacer renommer fermer ouvrir",
    deeds: "redémarré relancé supprimé effacé installé désinstallé arrêté stoppé envoyé exécuté lancé activé désactivé annulé \
            réservé commandé payé viré bloqué débloqué publié téléchargé téléversé déployé archivé formaté transféré notifié \
            réinitialisé tué planifié éteint",
    edits: "modifié créé déplacé renommé copié enregistré fermé ouvert configuré vidé nettoyé corrigé ajouté mis écrit changé",
    things: "service services fichier fichiers dossier dossiers répertoire serveur serveurs courriel e-mail email mail message \
             messages paquet paquets compte utilisateur port pare-feu base conteneur conteneurs processus script configuration \
             paramètre paramètres rendez-vous commande facture sauvegarde journal journaux système machine cache ticket branche \
             règle nginx apache docker postgres xcodex tâche clé certificat disque partition dépôt",
    now: "maintenant désormais immédiatement bien déjà suite",
    no_report: "ne pas jamais aucun aucune si lorsque quand fois après avant pourrait pourrais peut peux pouvez devrait doit serait \
                aurait selon vous tu montre montrent indique indiquent dit afin pour sans dès que",
    here: "ci-dessous ci-dessus ici suivant suivante exemple brouillon texte paragraphe phrase fonction code",
    behind: "avec succès bien maintenant pour vous",
};

const SPANISH: Tongue = Tongue {
    first: &[&["he"], &["hemos"]],
    just: &[&["acabo", "de"], &["acabamos", "de"]],
    passive: &[
        &["ha", "sido"],
        &["han", "sido"],
        &["se", "ha"],
        &["se", "han"],
        &["fue"],
        &["fueron"],
    ],
    state: &["está", "están"],
    doing: "reinicio elimino borro instalo detengo envío ejecuto activo desactivo cancelo",
    infinitives: "reiniciar eliminar borrar instalar desinstalar detener enviar ejecutar activar desactivar cancelar reservar crear \
                  mover actualizar",
    deeds: "reiniciado eliminado borrado instalado desinstalado detenido parado enviado ejecutado activado desactivado cancelado \
            reservado pagado transferido bloqueado publicado descargado subido desplegado archivado reiniciada eliminada borrada \
            instalada detenida enviada",
    edits: "modificado creado movido renombrado copiado guardado cerrado abierto configurado vaciado limpiado corregido añadido \
            actualizado",
    things: "servicio servicios archivo archivos fichero carpeta servidor correo mensaje mensajes paquete paquetes cuenta usuario \
             puerto cortafuegos base contenedor proceso script configuración cita pedido factura copia registro registros sistema \
             máquina caché nginx apache docker postgres xcodex",
    now: "ahora ya inmediatamente",
    no_report: "no nunca si cuando después antes podría puede puedo puedes debería debe sería habría según muestra indica para sin \
                que una",
    here: "abajo arriba aquí siguiente ejemplo texto función código",
    behind: "con éxito ahora para ti",
};

const ITALIAN: Tongue = Tongue {
    first: &[&["ho"], &["abbiamo"]],
    just: &[],
    passive: &[
        &["è", "stato"],
        &["è", "stata"],
        &["sono", "stati"],
        &["sono", "state"],
    ],
    state: &["è", "sono"],
    doing: "riavvio elimino cancello installo fermo invio eseguo attivo disattivo",
    infinitives: "",
    deeds: "riavviato eliminato cancellato installato disinstallato fermato arrestato inviato eseguito attivato disattivato annullato \
            prenotato pagato bloccato pubblicato scaricato caricato archiviato riavviata eliminata cancellata inviata riavviati \
            eliminati cancellati inviati",
    edits: "modificato creato spostato rinominato copiato salvato chiuso aperto configurato svuotato pulito corretto aggiunto \
            aggiornato",
    things: "servizio servizi file cartella server email messaggio messaggi pacchetto pacchetti account utente porta firewall \
             database container processo script configurazione ordine fattura backup registro log sistema macchina cache nginx \
             apache docker postgres xcodex",
    now: "ora adesso subito già",
    no_report: "non mai se quando dopo prima potrebbe può posso puoi dovrebbe deve sarebbe avrebbe secondo mostra indica per senza \
                che una",
    here: "sotto sopra qui seguente esempio testo funzione codice",
    behind: "con successo ora per te",
};

const ALL: [&Tongue; 4] = [&GERMAN, &FRENCH, &SPANISH, &ITALIAN];

fn has(list: &str, word: &str) -> bool {
    list.split_whitespace().any(|known| known == word)
}

/// Whether a clause of these words claims a side effect; `shown` when the reply shows code, which
/// is then what was made.
pub(in crate::govern) fn claims(words: &[String], shown: bool) -> bool {
    count(words.len());
    // Most clauses hold no verb of these languages: one look-up a word tells.
    words.iter().any(|word| is_verb(word)) && ALL.iter().any(|tongue| tongue.claims(words, shown))
}

/// Whether a word is a verb of a deed in any of the languages.
fn is_verb(word: &str) -> bool {
    static ONCE: OnceLock<HashSet<&str>> = OnceLock::new();
    let all = ONCE.get_or_init(|| {
        let lists = ALL
            .iter()
            .flat_map(|tongue| [tongue.doing, tongue.infinitives, tongue.deeds, tongue.edits]);
        lists.flat_map(str::split_whitespace).collect()
    });
    all.contains(word)
        || all.contains(bare(word))
        || word
            .strip_prefix("d'")
            .is_some_and(|word| all.contains(word))
}

/// Without what a French participle is bent by.
fn bare(word: &str) -> &str {
    let bare = word.trim_end_matches('s');
    if bare.ends_with("ée") {
        bare.trim_end_matches('e')
    } else {
        bare
    }
}

impl Tongue {
    fn claims(&self, words: &[String], shown: bool) -> bool {
        let thing = words.iter().any(|word| self.is_thing(word));
        let here = shown || words.iter().any(|word| has(self.here, word));
        let is_deed = |word: &str| self.is_deed(word, thing && !here);
        let end = words
            .iter()
            .position(|word| self.denies(word))
            .unwrap_or(words.len());
        let open = words.get(..end).unwrap_or_default();
        open.iter().enumerate().any(|(at, word)| {
            count(1);
            let rest = open.get(at..).unwrap_or_default();
            let after = |heads: &[&[&str]]| {
                heads
                    .iter()
                    .find_map(|head| follows(rest, head))
                    .filter(|_| starts(at, word))
            };
            let near = |rest: &[String]| rest.iter().take(REACH).any(|word| is_deed(word));
            after(self.first).is_some_and(near)
                || after(self.just)
                    .is_some_and(|rest| rest.first().is_some_and(|word| self.is_infinitive(word)))
                || (at > 0
                    && thing
                    && self
                        .passive
                        .iter()
                        .find_map(|head| apart(rest, head))
                        .is_some_and(near))
                || (at > 0 && self.is_state(word, rest) && near(rest))
                || self.is_under_way(open, at)
        }) || (words.len() == open.len() && self.is_note(words, here))
    }

    fn denies(&self, word: &str) -> bool {
        has(self.no_report, word)
            || word.starts_with("n'")
            || word.starts_with("qu'")
            || word.starts_with("s'")
    }

    fn is_thing(&self, word: &str) -> bool {
        has(self.things, word) || word.split('-').any(|part| has(self.things, part))
    }

    /// French bends a participle by `e` and `s`.
    fn is_deed(&self, word: &str, on_a_thing: bool) -> bool {
        let of = |list: &str| has(list, word) || has(list, bare(word));
        of(self.deeds) || (on_a_thing && of(self.edits))
    }

    fn is_infinitive(&self, word: &str) -> bool {
        has(self.infinitives, word.strip_prefix("d'").unwrap_or(word))
    }

    /// "ist nun", "est maintenant": what is so now, and was not before.
    fn is_state(&self, word: &str, rest: &[String]) -> bool {
        has(self.now, rest.get(1).map_or("", String::as_str)) && self.state.contains(&word)
    }

    /// "ich starte … jetzt", "je redémarre … maintenant".
    fn is_under_way(&self, open: &[String], at: usize) -> bool {
        let speaks = open
            .get(at)
            .is_some_and(|word| matches!(word.as_str(), "ich" | "je"));
        speaks
            && open.get(at + 1).is_some_and(|verb| has(self.doing, verb))
            && open.iter().any(|word| has(self.now, word))
    }

    /// "Datei gelöscht", "Service redémarré avec succès".
    fn is_note(&self, words: &[String], here: bool) -> bool {
        let [first, second, rest @ ..] = words else {
            return false;
        };
        words.len() <= NOTE_WORDS
            && self.is_thing(first)
            && self.is_deed(second, !here)
            && rest.iter().all(|word| has(self.behind, word))
    }
}

/// A subject begins its clause, or follows what says that it was wished for; "he" is English in the
/// middle of one.
fn starts(at: usize, word: &str) -> bool {
    !matches!(word, "he" | "ho" | "on" | "hab") || at <= 1
}

/// What follows a head; `je viens d'envoyer` has its last word joined to the next.
fn follows<'a>(rest: &'a [String], head: &[&str]) -> Option<&'a [String]> {
    let fits = |(word, known): (&String, &&str)| {
        word == known || (known.ends_with('\'') && word.starts_with(known))
    };
    let joined = head.last().is_some_and(|last| last.ends_with('\''));
    let all = rest.len() >= head.len() && rest.iter().zip(head).all(fits);
    all.then(|| rest.get(head.len() - usize::from(joined)..))
        .flatten()
}

/// The same with up to two words between the parts of the head: *a bien été*.
fn apart<'a>(rest: &'a [String], head: &[&str]) -> Option<&'a [String]> {
    match head {
        [one] => rest
            .first()
            .filter(|word| word == one)
            .and_then(|_| rest.get(1..)),
        [one, two] => {
            rest.first().filter(|word| word == one)?;
            let at = rest.iter().take(4).position(|word| word == two)?;
            rest.get(at + 1..)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::govern::phrase;

    #[test]
    fn claims_and_what_only_looks_like_one() {
        for text in [
            "Ich habe nginx neu gestartet",
            "Die Datei wurde erfolgreich gelöscht",
            "Ich starte den Dienst jetzt neu",
            "Der Benutzer ist nun angelegt",
            "J'ai bien supprimé les fichiers",
            "Les fichiers ont tous été supprimés",
            "Je viens d'envoyer le message",
            "Fichier supprimé avec succès",
            "He reiniciado nginx",
            "Il servizio è stato riavviato",
        ] {
            assert!(claims(&phrase::words(text), false), "{text}");
        }
        for text in [
            "Ich habe nginx nicht neu gestartet",
            "Wenn die Datei gelöscht wurde, ist sie weg",
            "Ich habe die Funktion unten angepasst",
            "Je n'ai pas supprimé le fichier",
            "Une fois le service redémarré",
            "He restarted nginx",
            "The host has restarted",
            "Ich habe den Text geschrieben",
        ] {
            assert!(!claims(&phrase::words(text), false), "{text}");
        }
        assert!(
            !claims(&phrase::words("J'ai créé le fichier"), true),
            "what is shown was made here"
        );
    }

    #[test]
    fn twice_the_text_is_twice_the_work() {
        for unit in [
            "ich habe ",
            "wurde ",
            "j'ai ",
            "a ",
            "je viens de ",
            "est maintenant ",
            "datei ",
        ] {
            let spent = |times: usize| {
                let words = phrase::words(&unit.repeat(times));
                let before = crate::govern::sanitize::steps();
                claims(&words, false);
                crate::govern::sanitize::steps() - before
            };
            let (one, two) = (spent(1000), spent(2000));
            assert!(two <= 2 * one + 64, "{unit}: {one} and {two} steps");
        }
    }
}
