//! How is a page served to its reader, and to nobody else? On loopback, under an address with a secret in it, to pages of that address alone.
//!
//! | file | question |
//! |---|---|
//! | [`guard`] | who may ask? |
//! | [`desk`] | what is answered, and what is searched meanwhile? |

pub mod desk;
pub mod guard;

use std::io::{self, Read as _};
use std::sync::Arc;

use tiny_http::{Header, Method, Request, Response, Server};

use self::desk::Desk;
use self::guard::{Address, Refusal};

/// No question is longer: the longest names all steps of a run.
const QUESTION_BYTES_MAX: u64 = 4 << 20;
/// How many questions are answered at a time.
const THREADS: usize = 4;
/// What a browser may do with a page of ours: talk to us, and to nobody else.
const HEADERS: [(&str, &str); 6] = [
    ("Cache-Control", "no-store"),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
];

/// A server that listens.
pub struct Serving {
    server: Server,
    address: Address,
}

impl Serving {
    /// Listens on loopback, at that port or at any if it is 0.
    ///
    /// # Errors
    /// If the port is taken, or there is no chance to draw a secret from.
    pub fn new(port: u16) -> io::Result<Serving> {
        let server = Server::http(("127.0.0.1", port)).map_err(io::Error::other)?;
        let port = server.server_addr().to_ip().map_or(port, |address| address.port());
        Ok(Serving { server, address: Address::new(port)? })
    }

    /// Where the page is.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Serves for ever.
    pub fn run(self, desk: &Desk, page: &[u8]) {
        let (server, address) = (Arc::new(self.server), &self.address);
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                let server = Arc::clone(&server);
                scope.spawn(move || {
                    while let Ok(request) = server.recv() {
                        // A reader who has gone away needs no answer.
                        let _ = respond(request, address, desk, page);
                    }
                });
            }
        });
    }
}

fn respond(mut request: Request, address: &Address, desk: &Desk, page: &[u8]) -> io::Result<()> {
    let header = |name: &'static str| {
        let named = request.headers().iter().find(|header| header.field.equiv(name));
        named.map(|header| header.value.as_str())
    };
    let asked = guard::Asked {
        path: request.url(),
        host: header("Host"),
        origin: header("Origin"),
        site: header("Sec-Fetch-Site"),
    };
    let place = address.place(&asked).map(str::to_owned);
    match (place.as_deref(), request.method()) {
        (Ok(""), Method::Get) => send(request, 200, "text/html; charset=utf-8", page.to_vec()),
        (Ok("ask"), Method::Post) => {
            let mut question = String::new();
            let mut body = request.as_reader().take(QUESTION_BYTES_MAX + 1);
            let read = body.read_to_string(&mut question);
            if read.is_err() || question.len() as u64 > QUESTION_BYTES_MAX {
                return send(request, 413, "text/plain", b"this is no question\n".to_vec());
            }
            let answer = desk.answer(&question);
            send(request, 200, "application/json", answer.into_bytes())
        }
        (Err(Refusal::Foreign), _) => {
            send(request, 403, "text/plain", b"this page is for its own reader\n".to_vec())
        }
        (Err(Refusal::Elsewhere), _) => send(request, 404, "text/plain", b"there is nothing here\n".to_vec()),
        (Ok("" | "ask"), _) => send(request, 405, "text/plain", b"not in this way\n".to_vec()),
        (Ok(_), _) => send(request, 404, "text/plain", b"there is nothing here\n".to_vec()),
    }
}

fn send(request: Request, status: u16, kind: &str, body: Vec<u8>) -> io::Result<()> {
    // The length is known: it goes in one piece.
    let mut response = Response::from_data(body).with_status_code(status).with_chunked_threshold(usize::MAX);
    let all = HEADERS.iter().copied().chain([("Content-Type", kind)]);
    for header in all.filter_map(|(name, value)| Header::from_bytes(name, value).ok()) {
        response.add_header(header);
    }
    request.respond(response)
}
