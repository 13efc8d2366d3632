//! The admin page, and the state of the server that it shows to root.

use std::sync::atomic::Ordering::Relaxed;
use std::time::UNIX_EPOCH;

use axum::Json;
use axum::extract::State;
use axum::http::header::{CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};

use super::Shares;
use super::login::Asker;
use super::problem::Problem;

/// The page asks this server alone, and is in no other page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
    img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Return a file of the page. It has no data of the catalogue, so everyone may have it.
pub(super) fn file(name: &str) -> Response {
    let (kind, text) = match name {
        "page.js" => ("text/javascript", include_str!("page/page.js")),
        "page.css" => ("text/css", include_str!("page/page.css")),
        _ => ("text/html", include_str!("page/page.html")),
    };
    let headers = [
        (CONTENT_TYPE, format!("{kind}; charset=utf-8")),
        (CONTENT_SECURITY_POLICY, POLICY.to_owned()),
        (REFERRER_POLICY, "no-referrer".to_owned()),
    ];
    (headers, text).into_response()
}

/// Tell root the state of pools, sessions and slow commands.
pub(super) async fn state(State(http): Shares, asker: Asker) -> Result<Json<Value>, Problem> {
    asker.demand_root()?;
    let (catalogue, server) = (http.catalogue(), &http.server);
    let pools = catalogue.store().state().into_iter().map(|pool| {
        json!({
            "database": pool.database, "size": pool.size, "open": pool.open, "idle": pool.idle,
            "waiting": pool.waiting, "statements": pool.statements,
        })
    });
    let slow = catalogue.metrics().slow().into_iter().map(|one| {
        let ended = one.ended.duration_since(UNIX_EPOCH).unwrap_or_default();
        json!({
            "command": one.command, "shape": one.shape, "person": one.person, "code": one.code,
            "ended_s": ended.as_secs(), "took_ms": one.took.as_secs_f64() * 1e3,
        })
    });
    let commands = catalogue.metrics().operations().map(|(name, operation)| {
        let (mut count, mut failed) = (0, 0);
        for (code, of_code) in operation.codes() {
            count += of_code;
            failed += if code > 0 { of_code } else { 0 };
        }
        let mean_ms = operation.sum().as_secs_f64() * 1e3 / count as f64;
        json!({"command": name, "count": count, "failed": failed, "mean_ms": mean_ms})
    });
    let persons = server.persons.counts().into_iter();
    let persons = persons.map(|(name, count)| json!({"name": name, "count": count}));
    let addresses = server.addresses.counts().into_iter();
    let addresses = addresses.map(|(name, count)| json!({"name": name, "count": count}));
    let most = server.settings.max_connections;
    Ok(Json(json!({
        "version": env!("CARGO_PKG_VERSION"),
        "up_s": http.began.0.elapsed().as_secs(),
        "is_draining": http.is_draining(),
        "connections": {
            "all": most - server.places.available_permits(),
            "http": http.open.load(Relaxed),
            "most": most,
        },
        "handshakes": server.handshakes.counts().into_iter().collect::<std::collections::BTreeMap<_, _>>(),
        "repeated": catalogue.store().repeated(),
        "pools": pools.collect::<Vec<_>>(),
        "persons": persons.collect::<Vec<_>>(),
        "addresses": addresses.collect::<Vec<_>>(),
        "commands": commands.collect::<Vec<_>>(),
        "slow": slow.collect::<Vec<_>>(),
    })))
}
