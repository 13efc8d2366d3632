//! Words, patterns, types, expressions and native SQL.
