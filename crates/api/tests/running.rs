//! What runs, as the way out of the window asks it.

use carillon_api::{App, Config};

#[test]
fn what_cannot_be_read_is_not_taken_for_nothing() {
    let dir = tempfile::Builder::new().prefix("c").tempdir().expect("a directory");
    let home = dir.path().join("h");
    let app = App::open(Config {
        home: home.clone(),
        home_is_chosen: true,
        carillon_binary: "/no/such/carillon".into(),
        from_terminal: true,
        demo: false,
        on_raise: None,
    })
    .expect("the app opens");
    assert_eq!(app.running().expect("it can be read"), []);
    let ledger = rusqlite::Connection::open(home.join("carillon.db")).expect("the ledger");
    ledger.execute_batch("ALTER TABLE agents RENAME TO lost").expect("renamed");
    let error = app.running().expect_err("it cannot be read");
    assert!(!error.message.is_empty());
}
