//! The little HTTP that block sources need: one bounded question, one bounded answer.

use std::error::Error as _;
use std::net::IpAddr;
use std::time::Duration;

use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url, redirect};

use super::{SourceFault, shown};

/// A connection that takes longer is none; the caller's deadline is usually shorter.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// The most that one question may take when the caller sets no deadline.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);

/// Explorers redirect to another path; more hops are a loop.
const MAX_REDIRECTS: usize = 3;

/// Installs ring as the process's TLS provider; without one the first `https` client would panic.
///
/// May be called any number of times: an earlier provider, whoever installed it, stays.
pub fn install_tls_provider() {
    // The error says "already installed", which is what is wanted.
    let _already_installed = rustls::crypto::ring::default_provider().install_default();
}

/// Checks a configured address: `https`, or `http` on loopback, and nothing in it but a path.
pub(super) fn parse_base(address: &str, key: &'static str) -> Result<Url, SourceFault> {
    let fault = |reason| SourceFault::Address {
        address: without_credentials(address),
        reason,
        key,
    };
    let mut url =
        Url::parse(address).map_err(|_| fault("it is not a URL like https://example.org/api"))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(fault("a name or password in it would show in messages"));
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(fault(
            "it has a '?' or '#' part, and paths are appended to it",
        ));
    }
    match url.scheme() {
        "https" => {}
        "http" if is_loopback(&url) => {}
        "http" => {
            return Err(fault(
                "plain http is for loopback only, elsewhere it must be https",
            ));
        }
        _ => {
            return Err(fault(
                "it must begin with https:// (or http:// on loopback)",
            ));
        }
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

fn is_loopback(url: &Url) -> bool {
    url.host_str().is_some_and(|host| {
        let address = host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost" || address.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
    })
}

/// Builds the client of one base address.
///
/// Loopback: never through a proxy, and without a CA store, since only `http` may be spoken there.
/// `https`: `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` of the environment are honoured, as on hosts
/// that reach the world no other way; TLS runs through the proxy to the explorer, and a header
/// proves itself, so a proxy can withhold a block but not forge one. Redirects never leave scheme,
/// host and port.
pub(super) fn client(base: &Url) -> Result<Client, SourceFault> {
    install_tls_provider();
    let mut builder = Client::builder()
        .user_agent(concat!("gently/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(REQUEST_TIMEOUT)
        .referer(false)
        .redirect(redirects());
    if base.scheme() == "http" {
        builder = builder.no_proxy().tls_certs_only([]);
    }
    builder.build().map_err(|error| SourceFault::Certificates {
        reason: reason(&error),
    })
}

fn redirects() -> redirect::Policy {
    redirect::Policy::custom(|attempt| {
        let Some(first) = attempt.previous().first() else {
            return attempt.stop();
        };
        let (next, hops) = (attempt.url(), attempt.previous().len());
        if next.scheme() != first.scheme() {
            return attempt.error("redirected to another scheme");
        }
        // Only places that the configuration names are asked: an explorer does not choose whom this
        // machine talks to.
        if (next.host_str(), next.port_or_known_default())
            != (first.host_str(), first.port_or_known_default())
        {
            return attempt.error(
                "redirected to another host; name that one in the configuration, if it is meant",
            );
        }
        if hops > MAX_REDIRECTS {
            attempt.error("redirected too often")
        } else {
            attempt.follow()
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
    let mut response = request.send().await.map_err(|error| classify(at, &error))?;
    let status = response.status();
    let kind = response
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .map(str::to_owned);
    let bytes = read_bounded(&mut response, at, limit).await?;
    Ok(HttpAnswer {
        status,
        kind,
        bytes,
    })
}

async fn read_bounded(
    response: &mut Response,
    at: &str,
    limit: usize,
) -> Result<Vec<u8>, SourceFault> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response
        .chunk()
        .await
        .map_err(|error| classify(at, &error))?
    {
        if bytes.len().saturating_add(chunk.len()) > limit {
            return Err(SourceFault::TooLong {
                at: at.to_owned(),
                limit,
            });
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
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

/// The library's words from the second on: the first only repeats that the request failed.
fn reason(error: &reqwest::Error) -> String {
    let mut words = Vec::new();
    let mut cause = error.source();
    while let Some(inner) = cause {
        words.push(inner.to_string());
        cause = inner.source();
    }
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
