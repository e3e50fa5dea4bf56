//! A passphrase on bytes: the age format with its scrypt recipient, which stock `age -d` reads.

use std::io::{Read, Write};

use age::scrypt::{Identity, Recipient};
use age::secrecy::SecretString;
use age::{DecryptError, Decryptor, Encryptor};
use zeroize::Zeroizing;

use super::KeyError;

/// How a file of [`seal`] begins.
pub const ARMOR: &[u8] = b"-----BEGIN AGE ENCRYPTED FILE-----";
/// More work than this is not done for a file: its maker could make a reader wait for hours.
const MAX_LOG_N: u8 = 20;

/// How hard a passphrase is to try: scrypt with N = 2 to this power, r = 8, p = 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkFactor(u8);

impl WorkFactor {
    /// 2^18, as stock `age` writes: 256 MiB and some 0.5 to 1 s on a machine of these years.
    pub const STANDARD: WorkFactor = WorkFactor(18);

    /// Another one; for tests, which have no secrets to keep.
    pub fn new(log_n: u8) -> Self {
        WorkFactor(log_n.clamp(1, MAX_LOG_N))
    }
}

fn secret(passphrase: &str) -> SecretString {
    SecretString::from(passphrase.to_owned())
}

/// Wraps a writer: what is written to the result is encrypted; `finish` it, or the end is missing.
pub fn sealing<W: Write>(
    to: W,
    passphrase: &str,
    work: WorkFactor,
) -> Result<age::stream::StreamWriter<W>, KeyError> {
    let failed = |reason: String| KeyError::Seal { reason };
    let mut recipient = Recipient::new(secret(passphrase));
    recipient.set_work_factor(work.0);
    let encryptor = Encryptor::with_recipients(std::iter::once(&recipient as &dyn age::Recipient))
        .map_err(|e| failed(e.to_string()))?;
    encryptor.wrap_output(to).map_err(|e| failed(e.to_string()))
}

/// Unwraps a reader; every chunk is authenticated, and so is the end, once it was read.
pub fn opening<R: Read>(
    from: R,
    passphrase: &str,
    place: &str,
) -> Result<age::stream::StreamReader<R>, KeyError> {
    let mut identity = Identity::new(secret(passphrase));
    identity.set_max_work_factor(MAX_LOG_N);
    let decryptor = Decryptor::new(from).map_err(|e| fault(&e, place))?;
    decryptor
        .decrypt(std::iter::once(&identity as &dyn age::Identity))
        .map_err(|e| fault(&e, place))
}

/// Encrypts a few bytes, armored.
pub fn seal(bytes: &[u8], passphrase: &str, work: WorkFactor) -> Result<Vec<u8>, KeyError> {
    let failed = |e: std::io::Error| KeyError::Seal {
        reason: e.to_string(),
    };
    let armored =
        age::armor::ArmoredWriter::wrap_output(Vec::new(), age::armor::Format::AsciiArmor)
            .map_err(failed)?;
    let mut writer = sealing(armored, passphrase, work)?;
    writer.write_all(bytes).map_err(failed)?;
    writer
        .finish()
        .and_then(age::armor::ArmoredWriter::finish)
        .map_err(failed)
}

/// Decrypts what [`seal`] wrote; `limit` is the most that may come out.
pub fn open(
    armored: &[u8],
    passphrase: &str,
    place: &str,
    limit: usize,
) -> Result<Zeroizing<Vec<u8>>, KeyError> {
    let reader = opening(age::armor::ArmoredReader::new(armored), passphrase, place)?;
    let mut bytes = Zeroizing::new(Vec::with_capacity(limit.saturating_add(1)));
    let most = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    reader
        .take(most)
        .read_to_end(&mut bytes)
        .map_err(|e| KeyError::Sealed {
            place: place.to_owned(),
            reason: e.to_string(),
        })?;
    if bytes.len() > limit {
        let reason = format!("more than {limit} bytes are in it");
        return Err(KeyError::Sealed {
            place: place.to_owned(),
            reason,
        });
    }
    Ok(bytes)
}

fn fault(error: &DecryptError, place: &str) -> KeyError {
    let place = place.to_owned();
    match error {
        DecryptError::DecryptionFailed | DecryptError::KeyDecryptionFailed => {
            KeyError::WrongPassphrase { place }
        }
        DecryptError::NoMatchingKeys => KeyError::Sealed {
            place,
            reason: "it is encrypted to a key, not with a passphrase".to_owned(),
        },
        other => KeyError::Sealed {
            place,
            reason: other.to_string(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FAST: WorkFactor = WorkFactor(4);

    #[test]
    fn opens_with_its_passphrase_and_with_no_other() {
        let sealed = seal(b"secret", "correct horse", FAST).unwrap();
        assert!(sealed.starts_with(ARMOR));
        assert_eq!(
            &open(&sealed, "correct horse", "t", 64).unwrap()[..],
            b"secret"
        );
        for wrong in ["", "correct horse ", "Correct horse"] {
            assert!(
                matches!(
                    open(&sealed, wrong, "t", 64),
                    Err(KeyError::WrongPassphrase { .. })
                ),
                "{wrong}"
            );
        }
        assert!(matches!(
            open(&sealed, "correct horse", "t", 5),
            Err(KeyError::Sealed { .. })
        ));
    }

    #[test]
    fn a_changed_or_cut_file_is_no_wrong_answer() {
        let mut bytes = Vec::new();
        let mut writer = sealing(&mut bytes, "p", FAST).unwrap();
        writer.write_all(&[7; 1000]).unwrap();
        writer.finish().unwrap();
        let read = |bytes: &[u8]| -> Option<Vec<u8>> {
            let mut out = Vec::new();
            opening(bytes, "p", "t").ok()?.read_to_end(&mut out).ok()?;
            Some(out)
        };
        assert_eq!(read(&bytes), Some(vec![7; 1000]));
        for cut in [0, 10, bytes.len() / 2, bytes.len() - 1] {
            assert_eq!(read(&bytes[..cut]), None, "cut at {cut}");
        }
        for at in (0..bytes.len()).step_by(37) {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert_ne!(read(&changed), Some(vec![8; 1000]));
            assert_eq!(read(&changed), None, "bit flipped at {at}");
        }
    }
}
