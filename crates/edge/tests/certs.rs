//! The authority of `kymo certs`: its files, and what OpenSSL thinks of them.

#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use kymo_edge::certs::{
    CertsError, NewAuthority, Purpose, add_client, list, new_authority, renew_server, revoke,
};
use kymo_edge::tls::{ServerTls, TlsError};
use support::{authority, has_openssl};

fn names(place: &Path) -> Vec<String> {
    let entries = fs::read_dir(place).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// What `openssl` says, and whether it is content.
fn openssl(place: &Path, arguments: &str) -> (bool, String) {
    let output = Command::new("openssl")
        .args(arguments.split_whitespace())
        .current_dir(place)
        .output()
        .unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&said).into_owned())
}

#[test]
fn everything_that_is_needed_is_there_and_keys_are_for_their_owner() {
    let place = authority();
    let expected = [
        "ca.key",
        "ca.pem",
        "client-ada.key",
        "client-ada.pem",
        "client-bob.key",
        "client-bob.pem",
        "crl.pem",
        "issued.json",
        "server.key",
        "server.pem",
    ];
    assert_eq!(names(place.path()), expected);
    for name in expected {
        let mode = fs::metadata(place.path().join(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode & 0o077 == 0, name.ends_with(".key"), "{name} {mode:o}");
    }
    let issued = list(place.path()).unwrap();
    let purposes: Vec<_> = issued.iter().map(|issued| issued.purpose).collect();
    assert_eq!(purposes, [Purpose::Server, Purpose::Client, Purpose::Client]);
    assert_eq!(issued[1].names, ["ada"]);
}

#[test]
fn a_directory_that_is_made_is_for_its_owner() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("new").join("certs");
    new_authority(&directory, &NewAuthority::default()).unwrap();
    let mode = fs::metadata(&directory).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);
}

#[test]
fn nothing_is_overwritten_unless_that_is_asked_for() {
    let place = authority();
    let before = fs::read(place.path().join("ca.pem")).unwrap();
    let error = new_authority(place.path(), &NewAuthority::default()).unwrap_err();
    assert!(matches!(&error, CertsError::Exists { path } if path.starts_with(place.path())));
    assert!(error.to_string().contains("--force"));
    let ada = fs::read(place.path().join("client-ada.pem")).unwrap();
    let issued = list(place.path()).unwrap();
    assert!(matches!(add_client(place.path(), "ada", 30, false), Err(CertsError::Exists { .. })));
    assert_eq!(fs::read(place.path().join("ca.pem")).unwrap(), before);
    assert_eq!(fs::read(place.path().join("client-ada.pem")).unwrap(), ada);
    assert_eq!(list(place.path()).unwrap(), issued);
    add_client(place.path(), "ada", 30, true).unwrap();
    assert_ne!(fs::read(place.path().join("client-ada.pem")).unwrap(), ada);
    let forced = NewAuthority { overwrites: true, ..Default::default() };
    new_authority(place.path(), &forced).unwrap();
    assert_ne!(fs::read(place.path().join("ca.pem")).unwrap(), before);
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_written() {
    let place = tempfile::tempdir().unwrap();
    let directory = place.path().join("certs");
    for wanted in [
        NewAuthority { client_names: vec!["../x".to_owned()], ..Default::default() },
        NewAuthority { server_names: vec!["a b".to_owned()], ..Default::default() },
    ] {
        assert!(matches!(new_authority(&directory, &wanted), Err(CertsError::Name { .. })));
        assert!(!directory.exists());
    }
    let wanted = NewAuthority { valid_days: 0, ..Default::default() };
    assert!(matches!(new_authority(&directory, &wanted), Err(CertsError::Days { .. })));
    assert!(names(&directory).is_empty());
    let error = add_client(&directory, "ada", 30, false).unwrap_err();
    assert!(error.to_string().contains("kymo certs new"), "{error}");
    let missing = place.path().join("nowhere");
    assert!(matches!(revoke(&missing, "ada"), Err(CertsError::NoAuthority { .. })));
}

#[test]
fn an_authority_of_somebody_else_is_not_signed_with() {
    let (place, other) = (authority(), authority());
    fs::copy(other.path().join("ca.key"), place.path().join("ca.key")).unwrap();
    let error = add_client(place.path(), "eve", 30, false).unwrap_err().to_string();
    assert!(error.contains("not the key of ca.pem"), "{error}");
    fs::write(place.path().join("ca.key"), "nonsense").unwrap();
    assert!(matches!(revoke(place.path(), "ada"), Err(CertsError::Foreign { .. })));
    fs::write(other.path().join("issued.json"), "{\"format\": 2}").unwrap();
    assert!(matches!(list(other.path()), Err(CertsError::Foreign { .. })));
}

#[test]
fn revoking_takes_all_certificates_of_a_client_and_only_those() {
    let place = authority();
    add_client(place.path(), "ada", 30, true).unwrap();
    let revocation = revoke(place.path(), "ada").unwrap();
    assert_eq!(revocation.serials.len(), 2);
    assert_eq!(revocation.list, place.path().join("crl.pem"));
    let error = revoke(place.path(), "ada").unwrap_err().to_string();
    assert!(error.ends_with("those that have: bob"), "{error}");
    revoke(place.path(), "bob").unwrap();
    assert!(revoke(place.path(), "bob").unwrap_err().to_string().ends_with("none"));
    let issued = list(place.path()).unwrap();
    assert_eq!(issued.iter().filter(|issued| issued.revoked_seconds.is_some()).count(), 3);
}

#[test]
fn many_at_once_lose_nothing() {
    let place = authority();
    std::thread::scope(|scope| {
        for number in 0..8 {
            let path = place.path();
            scope.spawn(move || add_client(path, &format!("runner-{number}"), 30, false).unwrap());
        }
    });
    let issued = list(place.path()).unwrap();
    assert_eq!(issued.len(), 3 + 8);
    let serials: std::collections::BTreeSet<_> = issued.iter().map(|one| &one.serial).collect();
    assert_eq!(serials.len(), issued.len());
}

#[test]
fn a_renewed_server_keeps_its_names() {
    let place = tempfile::tempdir().unwrap();
    let server_names = vec!["hub.example".to_owned(), "10.0.0.7".to_owned()];
    let wanted = NewAuthority { server_names, ..Default::default() };
    new_authority(place.path(), &wanted).unwrap();
    renew_server(place.path(), &[], 30).unwrap();
    let issued = list(place.path()).unwrap();
    assert_eq!(issued[0].names, issued[1].names);
    assert!(issued[1].names.contains(&"10.0.0.7".to_owned()));
    renew_server(place.path(), &["other.example".to_owned()], 30).unwrap();
    assert!(list(place.path()).unwrap()[2].names.contains(&"other.example".to_owned()));
}

#[test]
fn openssl_verifies_what_is_issued_and_refuses_what_is_revoked() {
    if !has_openssl() {
        return;
    }
    let place = authority();
    let check = |arguments: &str| openssl(place.path(), arguments);
    let strict = "verify -x509_strict -CAfile ca.pem";
    let (is_good, said) =
        check(&format!("{strict} -purpose sslserver -verify_hostname localhost server.pem"));
    assert!(is_good, "{said}");
    let (is_good, said) = check(&format!("{strict} -purpose sslserver -verify_ip ::1 server.pem"));
    assert!(is_good, "{said}");
    let (is_good, said) = check(&format!("{strict} -purpose sslclient client-ada.pem"));
    assert!(is_good, "{said}");
    assert!(!check(&format!("{strict} -purpose sslserver client-ada.pem")).0);
    let revoked = "verify -x509_strict -crl_check -CAfile ca.pem -CRLfile crl.pem client-ada.pem";
    let (is_good, said) = check(revoked);
    assert!(is_good, "{said}");
    revoke(place.path(), "ada").unwrap();
    let (is_good, said) = check(revoked);
    assert!(!is_good && said.contains("revoked"), "{said}");
    let (is_good, said) = check("crl -in crl.pem -CAfile ca.pem -noout -text");
    assert!(is_good && said.contains("verify OK") && said.contains("X509v3 CRL Number"), "{said}");
    let (_, subject) = check("x509 -in client-bob.pem -noout -subject -nameopt RFC2253");
    assert_eq!(subject.trim(), "subject=CN=bob");
}

#[test]
fn keys_that_openssl_writes_are_read_in_every_form() {
    if !has_openssl() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let forms = [
        ("BEGIN RSA PRIVATE KEY", "genrsa -traditional -out server.key 2048"),
        (
            "BEGIN PRIVATE KEY",
            "genpkey -algorithm RSA -pkeyopt rsa_keygen_bits:2048 -out server.key",
        ),
        ("BEGIN EC PRIVATE KEY", "ecparam -genkey -name prime256v1 -noout -out server.key"),
        ("BEGIN PRIVATE KEY", "genpkey -algorithm ED25519 -out server.key"),
        // The parameters of the curve come first here.
        ("BEGIN EC PARAMETERS", "ecparam -genkey -name secp384r1 -out server.key"),
    ];
    for (beginning, make) in forms {
        let (is_made, said) = openssl(place.path(), make);
        assert!(is_made, "{said}");
        let key = fs::read_to_string(place.path().join("server.key")).unwrap();
        assert!(key.contains(beginning), "{key}");
        let request = "req -x509 -new -key server.key -subj /CN=localhost -days 30 -out server.pem";
        let (is_made, said) = openssl(place.path(), request);
        assert!(is_made, "{said}");
        let loaded = ServerTls::load(support::plain(place.path()));
        assert!(loaded.is_ok(), "{make}: {}", loaded.unwrap_err());
    }
    let (is_made, said) =
        openssl(place.path(), "pkcs8 -topk8 -in server.key -out sealed.key -passout pass:secret");
    assert!(is_made, "{said}");
    fs::rename(place.path().join("sealed.key"), place.path().join("server.key")).unwrap();
    let loaded = ServerTls::load(support::plain(place.path()));
    assert!(matches!(loaded, Err(TlsError::Encrypted { .. })));
}
