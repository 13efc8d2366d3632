//! Requests that travel together.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::future::{MaybeDone, maybe_done};

use super::super::error::Failure;
use super::super::step::Outcome;

/// An answer of the server.
type Answered = Result<Outcome, Failure>;

/// A request leaves when it is first polled.
type Request<'a> = Pin<Box<dyn Future<Output = Answered> + Send + 'a>>;

/// Requests in the order in which they leave.
pub type Flight<'a> = Vec<Request<'a>>;

/// Send all requests, then return their answers in the same order.
pub async fn in_order(flight: Flight<'_>) -> Vec<Answered> {
    let waiting: Vec<_> = flight.into_iter().map(maybe_done).collect();
    InOrder {
        waiting,
        answered: 0,
        is_sent: false,
    }
    .await
}

struct InOrder<'a> {
    waiting: Vec<MaybeDone<Request<'a>>>,
    /// How many from the front have their answers.
    answered: usize,
    is_sent: bool,
}

impl Future for InOrder<'_> {
    type Output = Vec<Answered>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Vec<Answered>> {
        let this = &mut *self;
        if !std::mem::replace(&mut this.is_sent, true) {
            for request in &mut this.waiting {
                let _ = Pin::new(request).poll(context);
            }
        }
        // The server answers in order, so only the first request without an answer can continue.
        while let Some(request) = this.waiting.get_mut(this.answered) {
            if Pin::new(request).poll(context).is_pending() {
                return Poll::Pending;
            }
            this.answered += 1;
        }
        let answers = this
            .waiting
            .iter_mut()
            .map(|request| Pin::new(request).take_output());
        Poll::Ready(answers.flatten().collect())
    }
}
