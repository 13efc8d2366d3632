//! Who a client is, by what it sends and by its certificate.

use std::io;

use tokio::io::AsyncRead;

use super::connection::Client;
use super::sessions::Sessions;
use super::{Server, Service};
use crate::refusal::{Answer, Code, Refusal};
use crate::security::{Proof, Who};
use crate::wire::lines::{Line, Lines};
use crate::wire::opening::{Choice, Login};

impl<S: Service> Client<'_, S> {
    /// Log the client in, within the time of the opening.
    pub(super) async fn login<R: AsyncRead + Unpin>(
        &mut self,
        lines: &mut Lines<R>,
        choice: Choice,
    ) -> io::Result<Answer<S::Session>> {
        let claim = match choice {
            Choice::Resume(id) | Choice::ResumeTls(id) => {
                let (server, is_encrypted) = (self.server, self.is_encrypted);
                let person = async { Ok(resumed(server, is_encrypted, &id).await) };
                let person = self.opening.within(person).await?;
                person.map(|person| (person.clone(), Proof::Resumed(person)))
            }
            Choice::Plain | Choice::Tls => {
                let block = read_block(lines, self.server.settings.token_number);
                let login = self.opening.within(block).await?;
                let identity = self.identity.as_ref();
                self.trust
                    .proof(self.is_encrypted, login.password, login.token, identity)
                    .map(|proof| (login.name, proof))
            }
        };
        let (login, proof) = match claim {
            Ok(claim) => claim,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let (server, address, is_encrypted) = (self.server, self.address, self.is_encrypted);
        let who = Who {
            login,
            proof,
            address,
            is_encrypted,
        };
        let session = async { Ok(server.service.login(who).await) };
        self.opening.within(session).await
    }
}

/// Return the person of a session. An id that was given out in TLS must not come without it.
async fn resumed<S>(server: &Server<S>, is_encrypted: bool, id: &str) -> Answer<String> {
    let refused = || Refusal::new(Code::LoginRefused, "the session has expired; log in again");
    let may_resume = match server.settings.sessions {
        Sessions::No => false,
        Sessions::Allow => is_encrypted,
        Sessions::Force => true,
    };
    if !may_resume {
        return Err(refused());
    }
    server.sessions.find(id).await?.ok_or_else(refused)
}

async fn read_block<R: AsyncRead + Unpin>(
    lines: &mut Lines<R>,
    token_number: u8,
) -> io::Result<Login> {
    let mut login = Login::default();
    loop {
        match lines.next().await? {
            Line::Text(line) if line.is_empty() => return Ok(login),
            Line::Text(line) => login.add(&line, token_number),
            _ => return Err(io::Error::other("not a login block")),
        }
    }
}
