//! Commands on every database that is here.

mod backups;
mod changes;
mod divided;
mod logins;
mod rights;
mod together;

use std::sync::Arc;
use std::time::Duration;

use super::{Catalogue, Client, Settings};
use crate::server::Session as _;
use crate::store::Store;
use crate::store::testing::{Place, databases};
use crate::wire::reply::Reply;

/// A person at a catalogue.
struct Someone(Client);

impl Someone {
    /// Run a command and return its reply: lines joined by ` | `, the code first. Silence counts
    /// as success.
    async fn says(&mut self, line: &str) -> String {
        let mut sent = Vec::new();
        let mut reply = Reply::new(&mut sent, 1, Duration::MAX);
        let result = self.0.execute(line, &mut reply).await;
        reply.end(result, None).await.unwrap();
        if sent.is_empty() {
            return "0".to_owned();
        }
        assert_eq!(sent.pop(), Some(4), "the end mark");
        let text = String::from_utf8(sent).unwrap();
        text.strip_suffix('\n')
            .unwrap_or(&text)
            .replace('\n', " | ")
    }

    /// Run commands that have to succeed.
    async fn does(&mut self, lines: &[&str]) {
        for line in lines {
            let said = self.says(line).await;
            assert!(said.starts_with('0'), "{line}: {said}");
        }
    }

    /// Run commands and compare their replies.
    async fn hears(&mut self, pairs: &[(&str, &str)]) {
        for (line, expected) in pairs {
            let said = self.says(line).await;
            assert_eq!(said, *expected, "{line}");
        }
    }

    /// Run a command that has to be refused with a code.
    async fn is_refused(&mut self, pairs: &[(&str, u8)]) {
        for (line, code) in pairs {
            let said = self.says(line).await;
            assert!(said.starts_with(&format!("{code} ")), "{line}: {said}");
        }
    }
}

/// A database with two servers.
struct World {
    name: &'static str,
    servers: [Arc<Catalogue>; 2],
    _places: Vec<Place>,
}

impl World {
    async fn person(&self, server: usize, name: &str) -> Someone {
        let client = self.servers[server].client(name).await;
        Someone(client.unwrap_or_else(|refusal| panic!("{}: {refusal}", self.name)))
    }
}

/// Return a fresh catalogue in each database that is here.
async fn worlds() -> Vec<World> {
    let mut worlds = Vec::new();
    for place in databases() {
        worlds.push(world(vec![place]).await);
    }
    assert!(!worlds.is_empty());
    worlds
}

/// Return a catalogue that is divided among fresh databases of one kind.
async fn world(places: Vec<Place>) -> World {
    let databases = places.iter().flat_map(|place| &place.settings.databases);
    let settings = crate::store::Settings {
        databases: databases.cloned().collect(),
        ..places[0].settings.clone()
    };
    let server = async || {
        let store = Store::open(settings.clone()).await.unwrap();
        Catalogue::open(store, Settings::default()).await.unwrap()
    };
    World {
        name: places[0].name,
        servers: [server().await, server().await],
        _places: places,
    }
}
