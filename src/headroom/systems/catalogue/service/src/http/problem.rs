//! Refusals as RFC 9457 describes problems.

use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::{HeaderValue, StatusCode, header, request::Parts};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use utoipa::ToSchema;

use crate::refusal::{Code, Refusal};

/// A fault.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct Problem {
    /// Always `about:blank`: the status and the code tell the kind.
    r#type: &'static str,
    /// The meaning of the status.
    title: &'static str,
    /// The status of the response.
    status: u16,
    /// The fault and, if it helps, a remedy.
    detail: String,
    /// AMGA's code, if the catalogue refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<u8>,
}

impl Problem {
    pub(super) fn new(status: u16, detail: impl Into<String>) -> Self {
        let known = StatusCode::from_u16(status).unwrap_or_default();
        Self {
            r#type: "about:blank",
            title: known.canonical_reason().unwrap_or_default(),
            status,
            detail: detail.into(),
            code: None,
        }
    }

    pub(super) fn with_code(status: u16, code: Code, detail: impl Into<String>) -> Self {
        Self {
            code: Some(code.number()),
            ..Self::new(status, detail)
        }
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let status = match refusal.code {
            Code::NotFound | Code::NoSuchAttribute | Code::NoSuchName => 404,
            Code::Unavailable | Code::Cancelled => 503,
            Code::IllegalCommand | Code::IllegalQuery => 400,
            Code::PermissionDenied => 403,
            Code::LoginRefused => 401,
            Code::Transaction
            | Code::NotEmpty
            | Code::Exists
            | Code::DirectoryExists
            | Code::Sequence
            | Code::Constraint => 409,
        };
        Self::with_code(status, refusal.code, refusal.message)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.status).unwrap_or_default();
        let mut response = (status, Json(self)).into_response();
        let headers = response.headers_mut();
        let mut set = |name, value| headers.insert(name, HeaderValue::from_static(value));
        set(header::CONTENT_TYPE, "application/problem+json");
        match status.as_u16() {
            // Not `Basic`: the browser of the admin page would ask for a password by itself.
            401 => drop(set(header::WWW_AUTHENTICATE, "Bearer realm=\"catalogue\"")),
            429 | 503 => drop(set(header::RETRY_AFTER, "1")),
            _ => {}
        }
        response
    }
}

/// The body of a request, as JSON.
pub(super) struct Body<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let read = Json::<T>::from_request(request, state).await;
        let refused = |rejection: JsonRejection| {
            let status = match rejection.status().as_u16() {
                status @ (413 | 415) => status,
                _ => 400,
            };
            Problem::with_code(status, Code::IllegalCommand, rejection.body_text())
        };
        read.map(|Json(body)| Self(body)).map_err(refused)
    }
}

/// The query of a request.
pub(super) struct Query<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let read = axum::extract::Query::<T>::from_request_parts(parts, state).await;
        let refused = |rejection: QueryRejection| {
            Problem::with_code(400, Code::IllegalCommand, rejection.body_text())
        };
        read.map(|axum::extract::Query(query)| Self(query))
            .map_err(refused)
    }
}
