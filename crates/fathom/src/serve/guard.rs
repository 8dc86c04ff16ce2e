//! Who may ask? Whoever knows the secret in the address, from a page of that address.
//!
//! The secret keeps other users of the machine out, and pages of other origins that guess the port. The name of the host keeps those out whose name was bent to mean this machine; the origin keeps out pages
//! that have the secret from elsewhere.

use std::fmt;
use std::io;

use fathom_disk::storage::Id;

/// Where a page is served.
#[derive(Clone, Debug)]
pub struct Address {
    port: u16,
    secret: String,
}

/// What a request says of itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked<'a> {
    /// The path that is asked for.
    pub path: &'a str,
    /// The host that the browser believes to talk to.
    pub host: Option<&'a str>,
    /// The origin of the page that asks.
    pub origin: Option<&'a str>,
    /// What the browser says of the way from that page to here.
    pub site: Option<&'a str>,
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It comes from a page of another origin, or by another name of this machine.
    Foreign,
    /// It does not know the secret.
    Elsewhere,
}

impl Address {
    /// An address with a secret of its own.
    ///
    /// # Errors
    /// If the system has no chance to draw from.
    pub fn new(port: u16) -> io::Result<Address> {
        let secret = Id::draw()?.to_string();
        Ok(Address { port, secret })
    }

    /// What is asked for behind the secret.
    ///
    /// # Errors
    /// If there is no answer to that request.
    pub fn place<'a>(&self, asked: &Asked<'a>) -> Result<&'a str, Refusal> {
        let own = [format!("127.0.0.1:{}", self.port), format!("localhost:{}", self.port)];
        let is_own = |host: &str| own.iter().any(|own| own == host);
        let of_own_page = |origin: &str| origin.strip_prefix("http://").is_some_and(is_own);
        let foreign = !asked.host.is_some_and(is_own)
            || asked.origin.is_some_and(|origin| !of_own_page(origin))
            || asked.site.is_some_and(|site| !matches!(site, "same-origin" | "none"));
        if foreign {
            return Err(Refusal::Foreign);
        }
        let rest = asked.path.strip_prefix('/').and_then(|path| path.split_once('/'));
        match rest {
            Some((secret, place)) if alike(secret, &self.secret) => Ok(place),
            _ => Err(Refusal::Elsewhere),
        }
    }
}

/// Whether two texts are equal, in a time that does not tell where they differ.
fn alike(one: &str, other: &str) -> bool {
    let differing = one.bytes().zip(other.bytes()).fold(0, |all, (one, other)| all | (one ^ other));
    one.len() == other.len() && differing == 0
}

impl fmt::Display for Address {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "http://127.0.0.1:{}/{}/", self.port, self.secret)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_secret_the_host_and_the_origin_must_be_right() {
        let address = Address { port: 5000, secret: "abc".into() };
        let asked = |path, host, origin, site| address.place(&Asked { path, host: Some(host), origin, site });
        assert_eq!(asked("/abc/ask", "127.0.0.1:5000", None, None), Ok("ask"));
        assert_eq!(
            asked("/abc/", "localhost:5000", Some("http://localhost:5000"), Some("same-origin")),
            Ok("")
        );
        for path in ["/", "/ab/", "/abd/", "/abcd/", "abc/", "/abc"] {
            assert_eq!(asked(path, "127.0.0.1:5000", None, None), Err(Refusal::Elsewhere), "{path}");
        }
        for (host, origin, site) in [
            ("evil.example:5000", None, None),
            ("127.0.0.1", None, None),
            ("127.0.0.1:5000", Some("http://evil.example"), None),
            ("127.0.0.1:5000", Some("null"), None),
            ("127.0.0.1:5000", None, Some("cross-site")),
            ("127.0.0.1:5000", None, Some("same-site")),
        ] {
            assert_eq!(asked("/abc/", host, origin, site), Err(Refusal::Foreign), "{host} {origin:?}");
        }
        assert_eq!(address.place(&Asked { path: "/abc/", ..Asked::default() }), Err(Refusal::Foreign));
    }

    #[test]
    fn secrets_are_long_and_differ() {
        let (one, other) = (Address::new(1).unwrap(), Address::new(1).unwrap());
        assert_ne!(one.secret, other.secret);
        assert!(one.secret.len() >= 32, "{one}");
    }
}
