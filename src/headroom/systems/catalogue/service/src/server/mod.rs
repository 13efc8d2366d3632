//! Connections, limits and settings.
