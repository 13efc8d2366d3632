//! Lines, greetings and replies.
