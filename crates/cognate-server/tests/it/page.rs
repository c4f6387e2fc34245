//! The dashboard comes with the program: compressed, told apart by hashes, and bound to its own server.

use super::support::Server;

#[test]
fn the_page_is_served_compressed_with_its_policy_and_known_again() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::plain(folder.path());
    let mut bytes = 0;
    for (path, kind) in [
        ("/", "text/html"),
        ("/page/app.js", "text/javascript"),
        ("/page/app.css", "text/css"),
        ("/page/icon.svg", "image/svg+xml"),
    ] {
        let plain = server.get(path);
        assert_eq!(plain.status, 200, "{path}");
        let head = |name: &str| plain.header(name).unwrap_or_else(|| panic!("{path}: no {name}")).to_owned();
        assert!(head("content-type").starts_with(kind), "{path}");
        let policy = head("content-security-policy");
        assert!(policy.starts_with("default-src 'none'; script-src 'self'; style-src 'self';"), "{policy}");
        let zipped = server.client().ask("GET", path, &["accept-encoding: br, gzip"], b"").unwrap();
        assert_eq!(zipped.header("content-encoding"), Some("gzip"));
        assert_eq!(zipped.body[..2], [0x1f, 0x8b]);
        bytes += zipped.body.len();
        let known = format!("if-none-match: {}", head("etag"));
        let again = server.client().ask("GET", path, &[&known], b"").unwrap();
        assert_eq!((again.status, again.body.len()), (304, 0), "{path}");
        assert!(!plain.text().contains("http://") || kind != "text/html", "nothing comes from elsewhere");
    }
    assert!(bytes < 150_000, "{bytes} bytes");
    assert_eq!(server.get("/page/../Cargo.toml").status, 404);
    assert_eq!(server.get("/page/secret").status, 404);
}
