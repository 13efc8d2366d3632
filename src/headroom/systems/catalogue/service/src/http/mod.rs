//! The catalogue over HTTP: JSON for programs, an admin page for people, counts for Prometheus.
//!
//! Handlers read JSON and run typed commands (`catalogue::call`); rights and SQL are there, not here.
//! Connections share places, limits, certificates and the drain with those of AMGA's protocol.

mod admin;
mod connection;
mod directories;
mod entries;
mod login;
mod metrics;
mod model;
mod openapi;
mod problem;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::{HeaderValue, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::catalogue::{Catalogue, Shared};
use crate::refusal::{Code, Refusal};
use crate::server::{Server, Service as _, accept};
use problem::Problem;

/// Rules of HTTP. Other limits are those of the server.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Longest body of a request, and of a page of entries (B).
    pub max_body_bytes: usize,
    /// Entries of a page.
    pub max_page: usize,
    /// Time for a request, its body included.
    pub request_timeout: Duration,
    /// Whether counts are given to everyone, not to root alone.
    pub are_metrics_open: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_body_bytes: 8 * 1024 * 1024,
            max_page: 1000,
            request_timeout: Duration::from_secs(60),
            are_metrics_open: true,
        }
    }
}

/// The face of a server.
pub struct Http {
    server: Arc<Server<Shared>>,
    settings: Settings,
    /// Open connections.
    open: AtomicUsize,
    /// Responses by status.
    responses: Mutex<BTreeMap<u16, u64>>,
    began: (Instant, SystemTime),
    is_draining: watch::Receiver<bool>,
}

type Shares = State<Arc<Http>>;

impl Http {
    /// Return a face.
    pub fn new(server: Arc<Server<Shared>>, settings: Settings) -> Arc<Self> {
        Arc::new(Self {
            is_draining: server.is_draining(),
            server,
            settings,
            open: AtomicUsize::new(0),
            responses: Mutex::default(),
            began: (Instant::now(), SystemTime::now()),
        })
    }

    /// Serve until `stop` is ready, then let running requests end. While the server drains, requests
    /// are still answered, but only those about its state succeed.
    pub async fn serve(
        self: Arc<Self>,
        listener: TcpListener,
        stop: impl Future<Output = ()> + Send,
    ) {
        let router = router(Arc::clone(&self));
        let (ending, is_ending) = watch::channel(false);
        let places = Arc::clone(&self.server.places);
        let connection = |stream, address| {
            let (http, router) = (Arc::clone(&self), router.clone());
            let is_ending = is_ending.clone();
            async move { connection::run(&http, router, stream, address, is_ending).await }
        };
        let connections = accept::until(stop, &places, listener, connection).await;
        ending.send_replace(true);
        self.server.drain(connections).await;
    }

    fn catalogue(&self) -> &Arc<Catalogue> {
        &self.server.service.0
    }

    fn is_draining(&self) -> bool {
        *self.is_draining.borrow()
    }

    fn responses(&self) -> std::sync::MutexGuard<'_, BTreeMap<u16, u64>> {
        let locked = self.responses.lock();
        locked.unwrap_or_else(PoisonError::into_inner)
    }
}

fn router(http: Arc<Http>) -> Router {
    let entry = get(entries::get)
        .put(entries::put)
        .patch(entries::patch)
        .delete(entries::delete);
    let directories = get(directories::list)
        .post(directories::create)
        .delete(directories::remove);
    let attributes = get(directories::attributes)
        .post(directories::add_attribute)
        .delete(directories::remove_attribute);
    let commands = Router::new()
        .route("/v1/directories", directories)
        .route("/v1/attributes", attributes)
        .route("/v1/entry", entry)
        .route("/v1/entries", get(entries::list).post(entries::insert))
        .route("/v1/entries/get", post(entries::get_many))
        .route("/v1/entries/exist", post(entries::exist))
        .route("/v1/query", post(entries::query))
        .route("/v1/admin", get(admin::state))
        .layer(from_fn_with_state(Arc::clone(&http), refuse_when_draining));
    commands
        .route("/health", get(health))
        .route("/ready", get(ready))
        .route("/metrics", get(metrics::show))
        .route("/openapi.json", get(async || Json(openapi::document())))
        .route("/admin", get(async || admin::file("page.html")))
        .route("/admin/page.js", get(async || admin::file("page.js")))
        .route("/admin/page.css", get(async || admin::file("page.css")))
        .fallback(async || Problem::new(404, "there is nothing at this address"))
        .method_not_allowed_fallback(async || Problem::new(405, "use another method"))
        .layer(DefaultBodyLimit::max(http.settings.max_body_bytes))
        .layer(from_fn_with_state(Arc::clone(&http), watch_request))
        .with_state(http)
}

/// Limit the time of a request, count and log its end. The address has no names of entries: they are
/// in the query, which is not logged.
async fn watch_request(State(http): Shares, request: Request, next: Next) -> Response {
    let began = Instant::now();
    let (method, path) = (request.method().clone(), request.uri().path().to_owned());
    let answered = tokio::time::timeout(http.settings.request_timeout, next.run(request)).await;
    let mut response = answered.unwrap_or_else(|_| {
        let detail = "it took too long; a change may have been made, or not";
        Problem::with_code(504, Code::Cancelled, detail).into_response()
    });
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    let status = response.status().as_u16();
    *http.responses().entry(status).or_default() += 1;
    let took_us = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
    tracing::debug!(%method, path, status, took_us, "request");
    response
}

async fn refuse_when_draining(State(http): Shares, request: Request, next: Next) -> Response {
    if http.is_draining() {
        let refusal = Refusal::new(Code::Unavailable, "the server stops; ask another one");
        let mut response = Problem::from(refusal).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        return response;
    }
    next.run(request).await
}

/// Tell that the program runs.
#[utoipa::path(get, path = "/health", tag = "state", responses((status = 200, body = model::State)))]
async fn health() -> Json<model::State> {
    let status = "up";
    Json(model::State { status })
}

/// Tell whether requests may come: the database answers, and the server does not drain.
#[utoipa::path(get, path = "/ready", tag = "state", responses((status = 200, body = model::State)))]
async fn ready(State(http): Shares) -> Result<Json<model::State>, Problem> {
    if http.is_draining() {
        return Err(Refusal::new(Code::Unavailable, "the server stops").into());
    }
    if !http.server.service.is_ready().await {
        return Err(Refusal::new(Code::Unavailable, "the database does not answer").into());
    }
    let status = "ready";
    Ok(Json(model::State { status }))
}
