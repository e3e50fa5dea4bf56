//! The one HTTP client: block sources, calendars, witnesses and models are all asked through it.
//!
//! - This machine (`localhost`, `127.0.0.0/8`, `::1`) is never asked through a proxy, and
//!   `localhost` is this machine whatever a hosts file or resolver says. Others are asked as
//!   `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY` of the environment say, as on hosts that reach the
//!   world no other way; TLS runs through the proxy to the server.
//! - Only places that the configuration names are asked: a redirect is followed to another path of
//!   the same scheme, host and port, or not at all.
//! - A connection has a time limit, and no answer is read further than its caller's limit.

use std::error::Error as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::time::Duration;

use reqwest::{Client, Response, Url, redirect, retry};

/// Explorers redirect to another path; more hops are a loop.
const MAX_REDIRECTS: usize = 3;

/// Why a text is no address of a server.
pub enum AddressFault {
    /// Not a URL, in the library's words.
    NotUrl(String),
    /// A name or password is in it, which would show in messages.
    Credentials,
    /// A `?` or `#` part is in it; paths are appended to an address.
    Query,
    /// Neither `http` nor `https`.
    Scheme,
}

/// Reads an address: a scheme, a host, and nothing behind them but a path.
pub fn parse_address(text: &str) -> Result<Url, AddressFault> {
    let url = Url::parse(text).map_err(|e| AddressFault::NotUrl(e.to_string()))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(AddressFault::Credentials);
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err(AddressFault::Query);
    }
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err(AddressFault::Scheme);
    }
    Ok(url)
}

/// Whether an address is on this machine.
pub fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || address.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// What may be done with the requests of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repetition {
    /// A question may be asked twice: connections are kept, and redirects followed.
    Harmless,
    /// What is sent goes out once: each call has a connection of its own, because on a connection
    /// that is used again the HTTP library may send twice; and no redirect is followed.
    Never,
}

/// Installs ring as the process's TLS provider; without one the first `https` client would panic.
///
/// May be called any number of times: an earlier provider, whoever installed it, stays.
pub fn install_tls_provider() {
    // The error says "already installed", which is what is wanted.
    let _already_installed = rustls::crypto::ring::default_provider().install_default();
}

/// Builds the client for one address.
pub fn client(
    url: &Url,
    connect_timeout: Duration,
    repetition: Repetition,
) -> reqwest::Result<Client> {
    install_tls_provider();
    let mut builder = Client::builder()
        .user_agent(concat!("gently/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(connect_timeout)
        .referer(false);
    builder = match repetition {
        Repetition::Harmless => builder.redirect(redirect::Policy::custom(same_place)),
        Repetition::Never => builder
            .redirect(redirect::Policy::none())
            .retry(retry::never())
            .pool_max_idle_per_host(0),
    };
    if is_loopback(url) {
        let here = [
            IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(Ipv6Addr::LOCALHOST),
        ];
        builder = builder
            .no_proxy()
            .resolve_to_addrs("localhost", &here.map(|ip| SocketAddr::new(ip, 0)));
    }
    if url.scheme() == "http" {
        // Without TLS no certificates are wanted: a machine that has none can still ask itself.
        builder = builder.tls_certs_only([]);
    }
    builder.build()
}

/// Follows a redirect that stays at its scheme, host and port: a server does not choose whom this
/// machine talks to.
fn same_place(attempt: redirect::Attempt<'_>) -> redirect::Action {
    let Some(first) = attempt.previous().first() else {
        return attempt.stop();
    };
    let (next, hops) = (attempt.url(), attempt.previous().len());
    if next.scheme() != first.scheme() {
        return attempt.error("redirected to another scheme");
    }
    if (next.host_str(), next.port_or_known_default())
        != (first.host_str(), first.port_or_known_default())
    {
        return attempt.error(
            "redirected to another host; name that one in the configuration, if it is meant",
        );
    }
    if hops > MAX_REDIRECTS {
        return attempt.error("redirected too often");
    }
    attempt.follow()
}

/// Why an answer has no whole body.
pub enum BodyFault {
    /// Longer than the limit.
    TooLong,
    /// It broke off.
    Broken {
        /// Bytes that had come.
        received: usize,
        /// What the HTTP library said.
        error: reqwest::Error,
    },
}

/// Reads the body of an answer, which has at most so many bytes.
pub async fn body(response: &mut Response, limit: usize) -> Result<Vec<u8>, BodyFault> {
    body_in_pieces(response, limit, &mut |_| ()).await
}

/// The same; `each` is given what has come, as it comes.
pub async fn body_in_pieces(
    response: &mut Response,
    limit: usize,
    each: &mut (dyn FnMut(&[u8]) + Send),
) -> Result<Vec<u8>, BodyFault> {
    let length = response.content_length().unwrap_or_default();
    if usize::try_from(length).map_or(true, |length| length > limit) {
        return Err(BodyFault::TooLong);
    }
    let mut bytes = Vec::new();
    loop {
        match response.chunk().await {
            Ok(None) => return Ok(bytes),
            Ok(Some(chunk)) if bytes.len() + chunk.len() > limit => return Err(BodyFault::TooLong),
            Ok(Some(chunk)) => {
                each(&chunk);
                bytes.extend_from_slice(&chunk);
            }
            Err(error) => {
                let received = bytes.len();
                return Err(BodyFault::Broken { received, error });
            }
        }
    }
}

/// What caused an error, from the outside in. The error's own words are not among them: they hold
/// the address, and only repeat that the request failed.
pub fn causes(error: &reqwest::Error) -> Vec<String> {
    let mut words = Vec::new();
    let mut next = error.source();
    while let Some(cause) = next {
        words.push(cause.to_string());
        next = cause.source();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_known_by_its_names() {
        for (address, expected) in [
            ("http://127.0.0.1:3000", true),
            ("http://127.9.9.9/x", true),
            ("http://[::1]:3000/api", true),
            ("https://localhost", true),
            ("http://127.0.0.1.example.org", false),
            ("http://localhost.example.org", false),
            ("http://10.0.0.1", false),
        ] {
            let url = parse_address(address).ok().expect("an address");
            assert_eq!(is_loopback(&url), expected, "{address}");
        }
    }
}
