//! Entries, pages and refusals, in each database that is here.

use super::*;
use crate::store::testing::databases;

#[tokio::test]
async fn entries_are_put_changed_read_and_removed_in_every_database() {
    for place in databases() {
        let server = start(place, Options::default()).await;
        server.fill().await;
        let entry = "/v1/entry?path=/d/a";
        let values = json!({"values": {"n": 7, "x": 1.5, "t": "", "p": "1.10"}});
        server
            .hears(&format!("PUT {entry}"), values, 201, json!(""))
            .await;
        let read = json!({"name": "a", "values": {"n": 7, "x": 1.5, "t": "", "p": "1.10"}});
        server.hears(&format!("GET {entry}"), None, 200, read).await;
        let changed = json!({"values": {"n": 8, "x": null}});
        server
            .hears(&format!("PATCH {entry}"), changed, 204, json!(""))
            .await;
        let read = json!({"name": "a", "values": {"n": 8, "x": null}});
        server
            .hears(&format!("GET {entry}&attributes=n,x"), None, 200, read)
            .await;
        // Put replaces: what is not given goes.
        let values = json!({"values": {"t": "new"}});
        server
            .hears(&format!("PUT {entry}"), values.clone(), 204, json!(""))
            .await;
        let read = json!({"name": "a", "values": {"n": null, "x": null, "t": "new", "p": null}});
        server.hears(&format!("GET {entry}"), None, 200, read).await;
        let only = server
            .ask_as("If-None-Match: *\r\n", &format!("PUT {entry}"), values)
            .await;
        assert_eq!((only.status, &only.body["code"]), (412, &json!(15)));
        server
            .hears(&format!("HEAD {entry}"), None, 200, json!(""))
            .await;
        server
            .hears(&format!("DELETE {entry}"), None, 204, json!(""))
            .await;
        server
            .hears(&format!("HEAD {entry}"), None, 404, json!(""))
            .await;
        server
            .hears(&format!("DELETE {entry}"), None, 404, json!(1))
            .await;
    }
}

#[tokio::test]
async fn many_entries_are_inserted_together_and_found() {
    for place in databases() {
        let server = start(place, Options::default()).await;
        server.fill().await;
        let new = |names: &[&str]| {
            let entries: Vec<_> = names
                .iter()
                .zip(1..)
                .map(|(name, n)| json!({"name": name, "values": {"n": n}}))
                .collect();
            json!({"path": "/d", "entries": entries})
        };
        let names = ["a", "b*", "c", "d e", "é"];
        let done = json!({"inserted": 5});
        server
            .hears("POST /v1/entries", new(&names), 201, done)
            .await;
        // All or none.
        server
            .hears("POST /v1/entries", new(&["new", "a"]), 409, json!(15))
            .await;
        let asked = json!({"path": "/d", "names": ["new", "b*", "é"]});
        let told = json!({"present": ["b*", "é"], "missing": ["new"]});
        server
            .hears("POST /v1/entries/exist", asked.clone(), 200, told)
            .await;
        let asked = json!({"path": "/d", "names": ["c", "new"], "select": ["n"]});
        let told = json!({"entries": [{"name": "c", "values": {"n": 3}}], "missing": ["new"]});
        server.hears("POST /v1/entries/get", asked, 200, told).await;
        let asked = json!({"path": "/d", "select": ["n * 2"], "condition": "n > 4"});
        let told = json!({"entries": [{"name": "é", "values": {"n * 2": 10}}], "next": null});
        server.hears("POST /v1/query", asked, 200, told).await;
        // Another directory in the condition: each entry appears once.
        for (name, k) in [("one", 1), ("two", 2), ("zwei", 2)] {
            if k == 1 {
                server
                    .ask("POST /v1/directories", json!({"path": "/k"}))
                    .await;
                let new = json!({"path": "/k", "name": "k", "type": "int"});
                server.ask("POST /v1/attributes", new).await;
            }
            let line = format!("PUT /v1/entry?path=/k/{name}");
            server.ask(&line, json!({"values": {"k": k}})).await;
        }
        let asked = json!({"path": "/d", "select": ["n"], "condition": "/d:n = /k:k"});
        let found = server.ask("POST /v1/query", asked).await.body;
        assert_eq!(found["entries"].as_array().unwrap().len(), 2, "{found}");
        // `b*` is a name, no pattern.
        server
            .hears("DELETE /v1/entry?path=/d/b*", None, 204, json!(""))
            .await;
        let names = server
            .ask("GET /v1/entries?path=/d&attributes=", None)
            .await
            .body;
        assert_eq!(names["entries"].as_array().unwrap().len(), 4, "{names}");
    }
}

#[tokio::test]
async fn pages_miss_nothing_while_others_insert() {
    for place in databases() {
        let server = start(place, Options::default()).await;
        server.fill().await;
        let put = async |name: &str| {
            let line = format!("PUT /v1/entry?path=/d/{name}");
            assert_eq!(server.ask(&line, json!({"values": {}})).await.status, 201);
        };
        for name in ["b", "d", "f", "h", "j"] {
            put(name).await;
        }
        let (mut seen, mut page) = (Vec::new(), String::new());
        for new in [["a", "e"], ["c", "i"], ["g", "k"], ["x", "y"]] {
            let line = format!("GET /v1/entries?path=/d&limit=2&attributes=n{page}");
            let body = server.ask(&line, None).await.body;
            let entries = body["entries"].as_array().unwrap().clone();
            seen.extend(
                entries
                    .iter()
                    .map(|entry| entry["name"].as_str().unwrap().to_owned()),
            );
            match body["next"].as_str() {
                Some(next) => page = format!("&page={next}"),
                None => break,
            }
            // One behind the page, one before it.
            for name in new {
                put(name).await;
            }
        }
        assert_eq!(seen, ["b", "d", "e", "f", "h", "i", "j", "k"]);
        for name in ["/d/x", "/d/y", "/d/z"] {
            server
                .ask("POST /v1/directories", json!({"path": name}))
                .await;
        }
        let first = server
            .ask("GET /v1/directories?path=/d&limit=2", None)
            .await
            .body;
        let next = first["next"].as_str().unwrap();
        let line = format!("GET /v1/directories?path=/d&limit=2&page={next}");
        let last = json!({"directories": [{"name": "z", "owner": "root"}], "next": null});
        server.hears(&line, None, 200, last).await;
    }
}

#[tokio::test]
async fn a_page_ends_where_its_bytes_do() {
    let http = Settings {
        max_body_bytes: 2000,
        ..Settings::default()
    };
    let server = started(Options {
        http,
        ..Options::default()
    })
    .await;
    server.fill().await;
    for name in ["a", "b", "c"] {
        let line = format!("PUT /v1/entry?path=/d/{name}");
        let values = json!({"values": {"t": "x".repeat(1500)}});
        assert_eq!(server.ask(&line, values).await.status, 201);
    }
    let page = server.ask("GET /v1/entries?path=/d", None).await.body;
    assert_eq!(page["entries"].as_array().unwrap().len(), 2);
    let line = format!(
        "GET /v1/entries?path=/d&page={}",
        page["next"].as_str().unwrap()
    );
    let page = server.ask(&line, None).await.body;
    assert_eq!(page["entries"][0]["name"], "c");
    assert_eq!(page["next"], Value::Null);
    let names = json!({"path": "/d", "names": ["a", "b", "c"]});
    server
        .hears("POST /v1/entries/get", names, 413, json!(3))
        .await;
    let long = json!({"values": {"t": "x".repeat(3000)}});
    server
        .hears("PUT /v1/entry?path=/d/d", long, 413, json!(3))
        .await;
}

#[tokio::test]
async fn refusals_are_problems_with_the_code_of_amga() {
    let server = started(Options::default()).await;
    server.fill().await;
    for (line, body, status, code) in [
        ("GET /v1/entries?path=/none", None, 404, 1),
        ("GET /v1/entries?path=/d&limit=0", None, 400, 3),
        ("GET /v1/entries?path=/d&page=%3F", None, 400, 3),
        ("GET /v1/entries?path=/d&condition=n+%3E", None, 400, 8),
        ("GET /v1/entries?path=/d&attributes=none", None, 404, 10),
        ("GET /v1/entries", None, 400, 3),
        ("GET /v1/entry?path=/", None, 404, 1),
        ("DELETE /v1/directories?path=/", None, 403, 4),
        ("POST /v1/directories", Some(json!({"path": "/d"})), 409, 16),
        (
            "POST /v1/directories",
            Some(json!({"path": "/e", "what": 1})),
            400,
            3,
        ),
        (
            "PUT /v1/entry?path=/d/a",
            Some(json!({"values": {"n": "x"}})),
            400,
            8,
        ),
        (
            "PUT /v1/entry?path=/d/a",
            Some(json!({"values": {"n": true}})),
            400,
            3,
        ),
        (
            "PATCH /v1/entry?path=/d/a",
            Some(json!({"values": {"n": 1}})),
            404,
            1,
        ),
        (
            "PATCH /v1/entry?path=/d/a",
            Some(json!({"values": {}})),
            400,
            3,
        ),
        (
            "POST /v1/query",
            Some(json!({"path": "/d", "select": ["count(n)"]})),
            400,
            8,
        ),
        (
            "POST /v1/query",
            Some(json!({"path": "/d", "select": ["/k:n"]})),
            400,
            8,
        ),
        (
            "POST /v1/entries",
            Some(json!({"path": "/d", "entries": []})),
            400,
            3,
        ),
    ] {
        let answer = server.ask(line, body).await;
        assert_eq!(
            (answer.status, &answer.body["code"]),
            (status, &json!(code)),
            "{line}"
        );
        assert_eq!(answer.body["status"], status, "{line}");
        assert!(answer.head.contains("application/problem+json"), "{line}");
    }
    assert_eq!(server.ask("GET /nothing", None).await.status, 404);
    let other = server.ask("DELETE /v1/query", None).await;
    assert_eq!(other.status, 405);
    assert!(other.head.contains("allow: post"), "{}", other.head);
}
