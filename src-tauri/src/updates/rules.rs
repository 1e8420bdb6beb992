//! What an update may come from, and what it must be: addresses, keys, and the name that was signed.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tauri::Url;

/// The length of a minisign public key in bytes: its algorithm, the key's number and the key (minisign, "Public key format").
const KEY_BYTES: usize = 42;
/// Ed25519, the one algorithm that minisign has.
const KEY_ALGORITHM: &[u8] = b"Ed";

/// An address that updates may come from: by TLS, or from this very machine. The error is a phrase for the user.
pub fn address(text: &str) -> Result<Url, String> {
    let url = Url::parse(text.trim()).map_err(|error| format!("this is no address ({error})"))?;
    if may_be_asked(&url) {
        return Ok(url);
    }
    Err(format!("{} may be listened to and changed on its way; only https is asked", url.scheme()))
}

/// Whether nobody in between can change what comes from there.
pub fn may_be_asked(url: &Url) -> bool {
    match url.scheme() {
        "https" => url.has_host(),
        "http" => is_here(url),
        _ => false,
    }
}

/// Whether it is this machine.
pub fn is_here(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// A public key as the updater reads it: the whole key file in base64. Both that and the one line that minisign prints are taken.
/// The error is a phrase for the user.
pub fn key(text: &str) -> Result<String, String> {
    let text = text.trim();
    let is_key = |line: &str| {
        let bytes = STANDARD.decode(line).unwrap_or_default();
        bytes.len() == KEY_BYTES && bytes.starts_with(KEY_ALGORITHM)
    };
    if is_key(text) {
        return Ok(STANDARD.encode(format!("untrusted comment: minisign public key\n{text}\n")));
    }
    let file = STANDARD.decode(text).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    if file.is_some_and(|file| file.lines().nth(1).is_some_and(is_key)) {
        return Ok(text.to_owned());
    }
    Err("this is no minisign public key; it is one line that begins with RW".to_owned())
}

/// The name of the file that a signature was made for. The signature covers it (minisign, "Trusted comment").
pub fn signed_name(signature: &str) -> Option<String> {
    let text = STANDARD.decode(signature).ok().and_then(|bytes| String::from_utf8(bytes).ok())?;
    let comment = text.lines().find_map(|line| line.strip_prefix("trusted comment: "))?;
    comment.split(['\t', ' ']).find_map(|word| word.strip_prefix("file:")).map(str::to_owned)
}

/// The name that the file of that version has. What the list says of a version is not signed; the file's name is. So an older file
/// cannot be given out as a newer one, nor the thin one in the place of the full one.
pub fn file_name(version: &str, is_thin: bool) -> String {
    let thin = if is_thin { "-thin" } else { "" };
    format!("Carillon-{version}{thin}-{}.AppImage", std::env::consts::ARCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tls_and_this_machine_are_asked() {
        for good in [
            "https://example.org/latest.json",
            "http://127.0.0.1:8/x",
            "http://[::1]:8/",
            " http://localhost/ ",
        ] {
            assert!(address(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "example.org",
            "http://example.org/",
            "http://127.0.0.1.example.org/",
            "file:///etc/passwd",
            "ftp://127.0.0.1/",
            "http://localhost.example.org/",
            "http://10.0.0.1/",
        ] {
            assert!(address(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_key_is_taken_as_minisign_prints_it_and_as_the_updater_wants_it() {
        let line = STANDARD.encode([b"Ed".as_slice(), &[7; 40]].concat());
        let whole = key(&format!(" {line}\n")).expect("a key");
        assert_eq!(key(&whole).as_ref(), Ok(&whole));
        for bad in ["", "RWQ", "none", &STANDARD.encode([7; 42]), &STANDARD.encode("one\ntwo\n")] {
            assert!(key(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_name_comes_from_what_is_signed_of_the_comment() {
        let signature = |comment: &str| {
            STANDARD.encode(format!("untrusted comment: file:wrong\nRU\ntrusted comment: {comment}\nAA\n"))
        };
        let name = file_name("1.2.3", true);
        assert!(name.starts_with("Carillon-1.2.3-thin-"), "{name}");
        assert_eq!(signed_name(&signature(&format!("timestamp:5\tfile:{name}"))), Some(name));
        assert_eq!(signed_name(&signature("timestamp:5")), None);
        assert_eq!(signed_name("?"), None);
    }
}
