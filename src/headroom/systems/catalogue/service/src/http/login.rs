//! Who asks: the header `Authorization`, the certificate of the connection, or the guest.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::FromRequestParts;
use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use data_encoding::BASE64;

use super::Http;
use super::connection::Line;
use super::problem::Problem;
use crate::catalogue::Client;
use crate::catalogue::call::Call;
use crate::refusal::{Answer, Code, Refusal};
use crate::security::Who;
use crate::server::limits::Place;
use crate::server::{Service as _, Session as _};
use crate::wire::reply::Table;

/// How long a connection need not check the same password again, which takes a lot of time.
const MEMORY_TIME: Duration = Duration::from_secs(60);

/// A header with a password that was right.
pub(super) struct Remembered {
    header: String,
    person: String,
    since: Instant,
}

/// Who asks, among the connections and requests of this person.
pub(super) struct Asker {
    client: Client,
    max_bytes: usize,
    _place: Place<String>,
}

impl Asker {
    /// Run a command.
    pub(super) async fn call(&mut self, call: Call) -> Answer<Table> {
        self.client.call(&call, self.max_bytes).await
    }

    /// Run a command of the wire that says nothing.
    pub(super) async fn run<const N: usize>(
        &mut self,
        name: &'static str,
        words: [String; N],
    ) -> Answer<()> {
        let call = Call::Command(name, words.to_vec());
        self.call(call).await.map(drop)
    }

    /// Refuse everyone but root.
    pub(super) fn demand_root(&self) -> Answer<()> {
        if self.client.is_root() {
            return Ok(());
        }
        Err(Refusal::new(
            Code::PermissionDenied,
            "only root may see this",
        ))
    }
}

impl FromRequestParts<Arc<Http>> for Asker {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, http: &Arc<Http>) -> Result<Self, Problem> {
        let header = match parts.headers.get(AUTHORIZATION).map(|value| value.to_str()) {
            None => None,
            Some(Ok(header)) => Some(header),
            Some(Err(_)) => return Err(refused("the header Authorization is no text").into()),
        };
        let line = parts.extensions.get::<Arc<Line>>();
        let line = line.ok_or_else(|| Problem::new(500, "the request has no connection"))?;
        let client = client(http, line, header).await?;
        let place = http.server.persons.take(client.person().to_owned());
        let place = place.ok_or_else(|| {
            let detail = "too many connections and requests of this person";
            Problem::with_code(429, Code::Unavailable, detail)
        })?;
        Ok(Self {
            client,
            max_bytes: http.settings.max_body_bytes,
            _place: place,
        })
    }
}

async fn client(http: &Http, line: &Line, header: Option<&str>) -> Answer<Client> {
    let known = |remembered: &Remembered| {
        Some(&*remembered.header) == header && remembered.since.elapsed() < MEMORY_TIME
    };
    let person = {
        let remembered = line.remembered.lock();
        let remembered = remembered.unwrap_or_else(PoisonError::into_inner);
        let found = remembered.as_ref().filter(|one| known(one));
        found.map(|one| one.person.clone())
    };
    if let Some(person) = person {
        return http.catalogue().client(&person).await;
    }
    let (login, password, token) = credentials(header)?;
    let identity = line.identity.clone()?;
    let is_password = password.is_some();
    let proof = line
        .trust
        .proof(line.is_encrypted, password, token, identity.as_ref())?;
    let who = Who {
        login,
        proof,
        address: line.address,
        is_encrypted: line.is_encrypted,
    };
    let client = http.server.service.login(who).await?;
    if let Some(header) = header.filter(|_| is_password) {
        let one = Remembered {
            header: header.to_owned(),
            person: client.person().to_owned(),
            since: Instant::now(),
        };
        let mut remembered = line
            .remembered
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        *remembered = Some(one);
    }
    Ok(client)
}

/// Return login name, password and token.
fn credentials(header: Option<&str>) -> Answer<(String, Option<String>, Option<String>)> {
    let Some(header) = header else {
        return Ok((String::new(), None, None));
    };
    let (scheme, rest) = header.split_once(' ').unwrap_or((header, ""));
    let rest = rest.trim();
    if scheme.eq_ignore_ascii_case("bearer") && !rest.is_empty() {
        return Ok((String::new(), None, Some(rest.to_owned())));
    }
    if !scheme.eq_ignore_ascii_case("basic") {
        return Err(refused(
            "the header Authorization needs `Bearer` or `Basic`",
        ));
    }
    let pair = BASE64.decode(rest.as_bytes()).ok();
    let pair = pair.and_then(|bytes| String::from_utf8(bytes).ok());
    let pair = pair.as_deref().and_then(|pair| pair.split_once(':'));
    let (name, password) = pair.ok_or_else(|| refused("`Basic` needs a name and a password"))?;
    Ok((name.to_owned(), Some(password.to_owned()), None))
}

fn refused(message: &str) -> Refusal {
    Refusal::new(Code::LoginRefused, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_a_token_or_a_name_with_a_password() {
        let of = |header| credentials(Some(header)).map(|(a, b, c)| (a, b.unwrap_or_default(), c));
        let token = (String::new(), String::new(), Some("a.b.c".to_owned()));
        assert_eq!(of("bearer a.b.c").unwrap(), token);
        let (name, password, _) = of("Basic YW5uOmE6Yg==").unwrap();
        assert_eq!((&*name, &*password), ("ann", "a:b"));
        for header in ["Bearer", "Bearer ", "Basic ?", "Basic YW5u", "Digest x", ""] {
            assert_eq!(of(header).unwrap_err().code, Code::LoginRefused, "{header}");
        }
    }
}
