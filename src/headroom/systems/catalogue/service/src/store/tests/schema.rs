//! Tables that another program made, by the statements that are shown for it.

use super::*;
use crate::store::{schema, shard};

on_each_database!(tables_that_are_there_are_taken);

async fn tables_that_are_there_are_taken(place: Place) {
    let settings = std::sync::Arc::new(place.settings.clone());
    let made = shard(&settings.databases[0], &settings);
    let mut lease = made.writes.lease().await.unwrap();
    for statement in schema(settings.dialect().unwrap()) {
        // A database whose own order is that of the bytes may not know this collation.
        let statement = statement.replace(" COLLATE \"C\"", "");
        lease.batch(statement).await.unwrap();
    }
    drop(lease);
    // To make them again would fail.
    let store = open(&place).await;
    one(&store, insert("a", 1)).await.unwrap();
    assert_eq!(value(&store, "a").await, Some(1));
}
