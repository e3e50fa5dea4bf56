//! What block sources, calendars and witnesses are asked with: one bounded question, one bounded
//! answer.

use std::time::Duration;

use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, RequestBuilder, StatusCode, Url};

use super::{SourceFault, shown};
use crate::net;
use crate::net::{AddressFault, BodyFault, Repetition};

/// A connection that takes longer is none; the caller's deadline is usually shorter.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The most that one question may take when the caller sets no deadline.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Checks a configured address: `https`, or `http` on loopback, and nothing in it but a path.
pub(super) fn parse_base(address: &str, key: &'static str) -> Result<Url, SourceFault> {
    let fault = |reason| SourceFault::Address {
        address: without_credentials(address),
        reason,
        key,
    };
    let mut url = net::parse_address(address).map_err(|found| {
        fault(match found {
            AddressFault::NotUrl(_) => "it is not a URL like https://example.org/api",
            AddressFault::Credentials => "a name or password in it would show in messages",
            AddressFault::Query => "it has a '?' or '#' part, and paths are appended to it",
            AddressFault::Scheme => "it must begin with https:// (or http:// on loopback)",
        })
    })?;
    if url.scheme() == "http" && !net::is_loopback(&url) {
        return Err(fault(
            "plain http is for loopback only, elsewhere it must be https",
        ));
    }
    // A base ends with '/', so that joining appends to its path whichever way it was written.
    if !url.path().ends_with('/') {
        let path = format!("{}/", url.path());
        url.set_path(&path);
    }
    Ok(url)
}

/// The address without what stands before an `@`, for messages.
fn without_credentials(address: &str) -> String {
    match address.split_once("://") {
        Some((scheme, rest)) => match rest.rsplit_once('@') {
            Some((_, host)) => shown(format!("{scheme}://…@{host}").as_bytes()),
            None => shown(address.as_bytes()),
        },
        None => shown(address.as_bytes()),
    }
}

/// Builds the client of one base address. A proxy may stand between: a header proves itself, so it
/// can be withheld but not forged.
pub(super) fn client(base: &Url) -> Result<Client, SourceFault> {
    net::client(base, CONNECT_TIMEOUT, Repetition::Harmless).map_err(|error| {
        SourceFault::Certificates {
            reason: reason(&error),
        }
    })
}

/// A whole answer: its status, its media type, and at most `limit` bytes.
pub(super) struct HttpAnswer {
    pub status: StatusCode,
    pub kind: Option<String>,
    pub bytes: Vec<u8>,
}

/// Sends one request and reads its answer, at most `limit` bytes of it.
pub(super) async fn fetch(
    request: RequestBuilder,
    at: &str,
    limit: usize,
) -> Result<HttpAnswer, SourceFault> {
    let request = request.timeout(REQUEST_TIMEOUT);
    let mut response = request.send().await.map_err(|error| classify(at, &error))?;
    let status = response.status();
    let kind = response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .map(str::to_owned);
    let bytes = net::body(&mut response, limit)
        .await
        .map_err(|fault| match fault {
            BodyFault::TooLong => SourceFault::TooLong {
                at: at.to_owned(),
                limit,
            },
            BodyFault::Broken { error, .. } => classify(at, &error),
        })?;
    Ok(HttpAnswer {
        status,
        kind,
        bytes,
    })
}

fn classify(at: &str, error: &reqwest::Error) -> SourceFault {
    if error.is_timeout() {
        return SourceFault::Timeout {
            at: at.to_owned(),
            after: REQUEST_TIMEOUT,
        };
    }
    SourceFault::Unreachable {
        at: at.to_owned(),
        reason: reason(error),
    }
}

fn reason(error: &reqwest::Error) -> String {
    let words = net::causes(error);
    if words.is_empty() {
        "the request failed".to_owned()
    } else {
        words.join(": ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_is_https_or_loopback() {
        let good = [
            (
                "https://blockstream.info/api",
                "https://blockstream.info/api/",
            ),
            (
                "https://blockstream.info/api/",
                "https://blockstream.info/api/",
            ),
            ("https://mempool.space", "https://mempool.space/"),
            ("http://127.0.0.1:3000", "http://127.0.0.1:3000/"),
            ("http://127.9.9.9/x", "http://127.9.9.9/x/"),
            ("http://[::1]:3000/api", "http://[::1]:3000/api/"),
            ("http://localhost:3000", "http://localhost:3000/"),
        ];
        for (address, url) in good {
            assert_eq!(parse_base(address, "anchor.esplora").unwrap().as_str(), url);
        }
        let bad = [
            ("http://blockstream.info/api", "loopback only"),
            ("http://127.0.0.1.example.org", "loopback only"),
            ("http://localhost.example.org", "loopback only"),
            ("http://10.0.0.1", "loopback only"),
            ("ftp://127.0.0.1", "must begin with https://"),
            ("blockstream.info/api", "not a URL"),
            ("", "not a URL"),
            ("https://u:p@example.org", "would show in messages"),
            ("https://example.org/?a", "'?' or '#'"),
            ("https://example.org/#a", "'?' or '#'"),
        ];
        for (address, why) in bad {
            let fault = parse_base(address, "anchor.esplora")
                .unwrap_err()
                .to_string();
            assert!(fault.contains(why), "{address}: {fault}");
            assert!(!fault.contains("u:p"), "{fault}");
        }
    }
}
