//! Who is there.
