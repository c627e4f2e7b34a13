//! TLS over real sockets, with clients of rustls on the other side.

#![allow(clippy::unwrap_used, reason = "a test")]

mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use kymo_edge::certs::{add_client, renew_server, revoke};
use kymo_edge::tls::{ClientCertificates, MinVersion, Reload, ServerTls, TlsError, TlsSettings};
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, DnType,
    ExtendedKeyUsagePurpose, IsCa, Issuer, KeyIdMethod, KeyPair, KeyUsagePurpose,
    RevokedCertParams, SerialNumber, SignatureAlgorithm,
};
use rustls::HandshakeKind;
use support::{
    Client, Server, ask, authority, certificates, echo, has_openssl, mutual, plain, shown,
};
use time::{Duration as Days, OffsetDateTime};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

/// An authority whose certificates say what a test wants.
struct Odd {
    issuer: Issuer<'static, KeyPair>,
    place: tempfile::TempDir,
}

impl Odd {
    fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.distinguished_name.push(DnType::CommonName, "odd authority");
        let place = tempfile::tempdir().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        fs::write(place.path().join("ca.pem"), certificate.pem()).unwrap();
        Self { issuer: Issuer::new(params, key), place }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.place.path().join(name)
    }

    /// Writes `NAME.pem` and `NAME.key`.
    fn issue(
        &self,
        name: &str,
        purpose: ExtendedKeyUsagePurpose,
        algorithm: &'static SignatureAlgorithm,
        change: impl FnOnce(&mut CertificateParams),
    ) {
        let key = KeyPair::generate_for(algorithm).unwrap();
        let mut params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
        params.extended_key_usages = vec![purpose];
        change(&mut params);
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        fs::write(self.path(&format!("{name}.pem")), certificate.pem()).unwrap();
        fs::write(self.path(&format!("{name}.key")), key.serialize_pem()).unwrap();
    }

    fn server(&self, change: impl FnOnce(&mut CertificateParams)) -> TlsSettings {
        let purpose = ExtendedKeyUsagePurpose::ServerAuth;
        self.issue("server", purpose, &rcgen::PKCS_ECDSA_P256_SHA256, change);
        plain(self.place.path())
    }

    /// Mutual TLS with a good server.
    fn mutual(&self) -> TlsSettings {
        let settings = self.server(|_| {});
        TlsSettings { client_ca: Some(self.path("ca.pem")), ..settings }
    }

    fn client(&self, change: impl FnOnce(&mut CertificateParams)) -> Client {
        let purpose = ExtendedKeyUsagePurpose::ClientAuth;
        self.issue("client-odd", purpose, &rcgen::PKCS_ECDSA_P256_SHA256, change);
        Client::new(self.place.path()).showing(self.place.path(), "odd")
    }
}

impl Odd {
    /// Writes a list that has one serial number.
    fn revoke(&self, file: &str, serial: u64) -> PathBuf {
        let now = OffsetDateTime::now_utc();
        let revoked = RevokedCertParams {
            serial_number: SerialNumber::from(serial),
            revocation_time: now,
            reason_code: None,
            invalidity_date: None,
        };
        let list = CertificateRevocationListParams {
            this_update: now - Days::days(1),
            next_update: now + Days::days(1),
            crl_number: SerialNumber::from(serial),
            issuing_distribution_point: None,
            revoked_certs: vec![revoked],
            key_identifier_method: KeyIdMethod::Sha256,
        };
        let path = self.path(file);
        fs::write(&path, list.signed_by(&self.issuer).unwrap().pem().unwrap()).unwrap();
        path
    }
}

fn expired(params: &mut CertificateParams) {
    let now = OffsetDateTime::now_utc();
    params.not_before = now - Days::days(10);
    params.not_after = now - Days::days(1);
}

fn not_yet_valid(params: &mut CertificateParams) {
    let now = OffsetDateTime::now_utc();
    params.not_before = now + Days::days(1);
    params.not_after = now + Days::days(10);
}

fn copy(from: &Path, to: &Path) {
    fs::copy(from, to).unwrap();
}

#[tokio::test]
async fn a_client_that_trusts_the_authority_reaches_the_server_by_every_name() {
    let place = authority();
    let mut server = Server::start(plain(place.path())).await;
    for name in ["localhost", "127.0.0.1", "::1"] {
        Client::new(place.path()).ask(&server, name).await.unwrap();
        assert!(server.ended().await.unwrap().is_none());
    }
}

#[tokio::test]
async fn both_versions_of_http_are_offered() {
    let place = authority();
    let server = Server::start(plain(place.path())).await;
    for protocol in ["h2", "http/1.1"] {
        let mut client = Client::new(place.path());
        client.protocols = vec![protocol.into()];
        let stream = client.ask(&server, "localhost").await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(protocol.as_bytes()));
    }
}

#[tokio::test]
async fn old_versions_of_tls_are_refused_as_configured() {
    let place = authority();
    let mut server = Server::start(plain(place.path())).await;
    let mut old = Client::new(place.path());
    old.versions = vec![&rustls::version::TLS12];
    old.ask(&server, "localhost").await.unwrap();
    server.ended().await.unwrap();
    let strict = TlsSettings { min_version: MinVersion::Tls13, ..plain(place.path()) };
    let mut server = Server::start(strict).await;
    assert!(old.ask(&server, "localhost").await.is_err());
    assert_eq!(server.ended().await.unwrap_err().reason(), "incompatible");
    Client::new(place.path()).ask(&server, "localhost").await.unwrap();
}

#[tokio::test]
async fn clients_refuse_servers_that_are_expired_early_misnamed_or_of_another_authority() {
    let odd = Odd::new();
    let client = || Client::new(odd.place.path());
    for change in [expired as fn(&mut CertificateParams), not_yet_valid] {
        let server = Server::start(odd.server(change)).await;
        let error = client().ask(&server, "localhost").await.unwrap_err().to_string();
        assert!(error.contains("expired") || error.contains("not valid yet"), "{error}");
    }
    let mut server = Server::start(odd.server(|_| {})).await;
    let error = client().ask(&server, "other.example").await.unwrap_err().to_string();
    assert!(error.contains("not valid for name"), "{error}");
    assert_eq!(server.ended().await.unwrap_err().reason(), "refused_by_client");
    let elsewhere = authority();
    assert!(Client::new(elsewhere.path()).ask(&server, "localhost").await.is_err());
    assert!(server.refused().await.contains("does not know the authority"));
    client().ask(&server, "localhost").await.unwrap();
}

#[tokio::test]
async fn clients_refuse_a_server_that_signed_for_itself() {
    let place = authority();
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["localhost".to_owned()]).unwrap();
    fs::write(place.path().join("server.pem"), params.self_signed(&key).unwrap().pem()).unwrap();
    fs::write(place.path().join("server.key"), key.serialize_pem()).unwrap();
    let server = Server::start(plain(place.path())).await;
    assert!(Client::new(place.path()).ask(&server, "localhost").await.is_err());
}

#[tokio::test]
async fn a_client_with_a_certificate_is_known_and_one_without_is_refused() {
    let place = authority();
    let mut server = Server::start(mutual(place.path())).await;
    Client::new(place.path()).showing(place.path(), "ada").ask(&server, "localhost").await.unwrap();
    let peer = server.ended().await.unwrap().unwrap();
    assert_eq!(peer.der(), &certificates(&place.path().join("client-ada.pem"))[0][..]);
    assert!(peer.is_still_accepted());
    assert!(Client::new(place.path()).ask(&server, "localhost").await.is_err());
    assert_eq!(server.ended().await.unwrap_err().reason(), "no_certificate");
}

#[tokio::test]
async fn a_certificate_may_be_optional_and_one_that_is_shown_has_to_be_good() {
    let (place, elsewhere) = (authority(), authority());
    let optional = Some(ClientCertificates::Optional);
    let settings = TlsSettings { client_certificates: optional, ..mutual(place.path()) };
    let mut server = Server::start(settings).await;
    Client::new(place.path()).ask(&server, "localhost").await.unwrap();
    assert!(server.ended().await.unwrap().is_none());
    Client::new(place.path()).showing(place.path(), "bob").ask(&server, "localhost").await.unwrap();
    assert!(server.ended().await.unwrap().is_some());
    // A client only shows what the server asks for; make it show the other one all the same.
    let stranger = Client::new(place.path()).showing(elsewhere.path(), "bob");
    stranger.ask(&server, "localhost").await.unwrap_err();
    assert!(server.refused().await.contains("does not have its authority"));
}

#[tokio::test]
async fn clients_that_are_expired_early_or_not_clients_are_refused() {
    let odd = Odd::new();
    let mut server = Server::start(odd.mutual()).await;
    odd.client(expired).ask(&server, "localhost").await.unwrap_err();
    assert!(server.refused().await.contains("has expired"));
    odd.client(not_yet_valid).ask(&server, "localhost").await.unwrap_err();
    assert!(server.refused().await.contains("not valid yet"));
    let as_server = odd.client(|params| {
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    });
    as_server.ask(&server, "localhost").await.unwrap_err();
    assert!(server.refused().await.contains("not for clients"));
    odd.client(|_| {}).ask(&server, "localhost").await.unwrap();
    server.ended().await.unwrap();
}

#[tokio::test]
async fn a_client_that_signed_for_itself_is_refused_and_told_so() {
    let place = authority();
    let mut server = Server::start(mutual(place.path())).await;
    // `openssl req -x509` makes an authority of it.
    for (is_ca, why) in [
        (IsCa::NoCa, "does not have its authority"),
        (IsCa::Ca(BasicConstraints::Unconstrained), "signed for itself"),
    ] {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "ada");
        params.is_ca = is_ca;
        let certificate = params.self_signed(&key).unwrap();
        fs::write(place.path().join("client-self.pem"), certificate.pem()).unwrap();
        fs::write(place.path().join("client-self.key"), key.serialize_pem()).unwrap();
        let client = Client::new(place.path()).showing(place.path(), "self");
        client.ask(&server, "localhost").await.unwrap_err();
        let refused = server.refused().await;
        assert!(refused.contains(why), "{refused}");
    }
}

#[tokio::test]
async fn every_list_of_one_authority_counts() {
    let odd = Odd::new();
    let lists = [("one.pem", 11), ("two.pem", 12), ("three.pem", 13)];
    let mut settings = odd.mutual();
    settings.revoked = lists.map(|(file, serial)| odd.revoke(file, serial)).to_vec();
    let mut server = Server::start(settings.clone()).await;
    let client =
        |serial: u64| odd.client(|params| params.serial_number = Some(SerialNumber::from(serial)));
    for serial in [11, 12, 13] {
        client(serial).ask(&server, "localhost").await.unwrap_err();
        let refused = server.refused().await;
        assert!(refused.contains("it is revoked"), "{serial}: {refused}");
    }
    client(14).ask(&server, "localhost").await.unwrap();
    server.ended().await.unwrap();
    // A list that is there twice is one, and there is a bound.
    settings.revoked.extend(settings.revoked.clone());
    assert!(ServerTls::load(settings.clone()).is_ok());
    settings.revoked.extend((20..30).map(|nth| odd.revoke(&format!("{nth}.pem"), nth)));
    assert!(matches!(ServerTls::load(settings), Err(TlsError::TooManyLists { .. })));
}

#[tokio::test]
async fn a_revoked_client_is_refused_also_with_a_session_and_an_open_connection() {
    let place = authority();
    let mut server = Server::start(mutual(place.path())).await;
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let name = format!("client-of-{:?}", version.version);
        add_client(place.path(), &name, 30, false).unwrap();
        let mut client = Client::new(place.path()).showing(place.path(), &name);
        client.versions = vec![version];
        // One configuration remembers sessions.
        let config = Arc::new(client.config());
        let mut open = ask(config.clone(), &server, "localhost").await.unwrap();
        let peer = server.ended().await.unwrap().unwrap();
        assert!(peer.is_still_accepted());
        revoke(place.path(), &name).unwrap();
        assert_eq!(server.tls.reload_if_changed(), Reload::Loaded);
        ask(config, &server, "localhost").await.unwrap_err();
        assert!(server.refused().await.contains("it is revoked"));
        // The connection goes on; whoever answers its requests is told.
        echo(&mut open).await.unwrap();
        assert!(!peer.is_still_accepted());
    }
    let good = Client::new(place.path()).showing(place.path(), "ada");
    good.ask(&server, "localhost").await.unwrap();
    assert!(server.ended().await.unwrap().unwrap().is_still_accepted());
}

#[tokio::test]
async fn certificates_are_swapped_under_open_connections() {
    let place = authority();
    let server = Server::start(plain(place.path())).await;
    let client = Client::new(place.path());
    assert_eq!(server.tls.reload_if_changed(), Reload::Unchanged);
    let mut open = client.ask(&server, "localhost").await.unwrap();
    let before = shown(&open);
    renew_server(place.path(), &[], 30).unwrap();
    assert_eq!(server.tls.reload_if_changed(), Reload::Loaded);
    assert_eq!(server.tls.reload_if_changed(), Reload::Unchanged);
    let after = shown(&client.ask(&server, "localhost").await.unwrap());
    assert_ne!(before, after);
    echo(&mut open).await.unwrap();
}

#[tokio::test]
async fn the_watch_sees_a_swapped_link_by_itself() {
    let (one, two, place) = (authority(), authority(), tempfile::tempdir().unwrap());
    let link = place.path().join("current");
    std::os::unix::fs::symlink(one.path(), &link).unwrap();
    let settings = TlsSettings::new(link.join("server.pem"), link.join("server.key"));
    let server = Server::start(settings).await;
    let watching = tokio::spawn(server.tls.clone().watch());
    Client::new(one.path()).ask(&server, "localhost").await.unwrap();
    // As Kubernetes does it: another link takes the place of the old one.
    let beside = place.path().join("next");
    std::os::unix::fs::symlink(two.path(), &beside).unwrap();
    fs::rename(&beside, &link).unwrap();
    let client = Client::new(two.path());
    let swapped = async {
        while client.ask(&server, "localhost").await.is_err() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), swapped).await.unwrap();
    watching.abort();
}

#[tokio::test]
async fn a_change_that_cannot_be_loaded_changes_nothing_until_it_is_mended() {
    let (place, other) = (authority(), authority());
    let server = Server::start(plain(place.path())).await;
    let client = Client::new(place.path());
    let key = place.path().join("server.key");
    let kept = place.path().join("kept.key");
    copy(&key, &kept);
    copy(&other.path().join("server.key"), &key);
    assert_eq!(server.tls.reload_if_changed(), Reload::Failed);
    assert_eq!(server.tls.reload_if_changed(), Reload::Failed);
    client.ask(&server, "localhost").await.unwrap();
    fs::remove_file(&key).unwrap();
    assert_eq!(server.tls.reload_if_changed(), Reload::Failed);
    client.ask(&server, "localhost").await.unwrap();
    copy(&kept, &key);
    assert_eq!(server.tls.reload_if_changed(), Reload::Loaded);
    assert_eq!(server.tls.reload_if_changed(), Reload::Unchanged);
    client.ask(&server, "localhost").await.unwrap();
}

#[tokio::test]
async fn who_says_nothing_or_speaks_no_tls_is_given_up() {
    let place = authority();
    let mut server = Server::start_with(plain(place.path()), Duration::from_millis(50)).await;
    let silent = TcpStream::connect(server.address).await.unwrap();
    assert_eq!(server.ended().await.unwrap_err().reason(), "timeout");
    drop(silent);
    let mut server = Server::start(plain(place.path())).await;
    let mut http = TcpStream::connect(server.address).await.unwrap();
    http.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").await.unwrap();
    assert_eq!(server.ended().await.unwrap_err().reason(), "not_tls");
    drop(TcpStream::connect(server.address).await.unwrap());
    assert_eq!(server.ended().await.unwrap_err().reason(), "closed");
}

#[tokio::test]
async fn keys_of_other_kinds_are_served() {
    let odd = Odd::new();
    for algorithm in [&rcgen::PKCS_ECDSA_P384_SHA384, &rcgen::PKCS_ED25519] {
        odd.issue("server", ExtendedKeyUsagePurpose::ServerAuth, algorithm, |_| {});
        let server = Server::start(plain(odd.place.path())).await;
        Client::new(odd.place.path()).ask(&server, "localhost").await.unwrap();
    }
}

#[test]
fn what_does_not_go_together_is_refused_with_what_to_do() {
    let (place, other) = (authority(), authority());
    let error = |settings: TlsSettings| ServerTls::load(settings).unwrap_err();
    let settings = TlsSettings { key: other.path().join("server.key"), ..plain(place.path()) };
    assert!(matches!(error(settings), TlsError::OtherKey { .. }));
    let settings = TlsSettings {
        client_certificates: Some(ClientCertificates::Required),
        ..plain(place.path())
    };
    assert!(matches!(error(settings), TlsError::NoAuthority));
    let settings = TlsSettings { client_ca: None, ..mutual(place.path()) };
    assert!(matches!(error(settings), TlsError::NothingToRevoke));
    let settings =
        TlsSettings { revoked: vec![other.path().join("crl.pem")], ..mutual(place.path()) };
    let message = error(settings).to_string();
    assert!(message.contains("no list of CN=Kymograph CA"), "{message}");
    let settings =
        TlsSettings { certificate: place.path().join("gone.pem"), ..plain(place.path()) };
    assert!(error(settings).to_string().starts_with("tls.certificate: "));
    let settings = TlsSettings { key: place.path().join("server.pem"), ..plain(place.path()) };
    assert!(error(settings).to_string().contains("has no private key"));
}

#[tokio::test]
async fn lists_may_be_several_and_in_der() {
    let (one, two, place) = (authority(), authority(), tempfile::tempdir().unwrap());
    revoke(two.path(), "ada").unwrap();
    let both = [one.path(), two.path()]
        .map(|from| fs::read_to_string(from.join("ca.pem")).unwrap())
        .concat();
    fs::write(place.path().join("ca.pem"), both).unwrap();
    use rustls::pki_types::{CertificateRevocationListDer, pem::PemObject};
    let pem = fs::read(two.path().join("crl.pem")).unwrap();
    let der = CertificateRevocationListDer::from_pem_slice(&pem).unwrap();
    fs::write(place.path().join("two.crl"), &der[..]).unwrap();
    let settings = TlsSettings {
        client_ca: Some(place.path().join("ca.pem")),
        revoked: vec![one.path().join("crl.pem"), place.path().join("two.crl")],
        ..plain(one.path())
    };
    let mut server = Server::start(settings).await;
    let client = |from: &Path, name| Client::new(one.path()).showing(from, name);
    client(one.path(), "ada").ask(&server, "localhost").await.unwrap();
    server.ended().await.unwrap();
    client(two.path(), "bob").ask(&server, "localhost").await.unwrap();
    server.ended().await.unwrap();
    client(two.path(), "ada").ask(&server, "localhost").await.unwrap_err();
    assert!(server.refused().await.contains("it is revoked"));
}

#[tokio::test]
async fn clients_of_openssl_are_let_in_until_they_are_revoked() {
    if !has_openssl() {
        return;
    }
    let place = authority();
    let mut server = Server::start(mutual(place.path())).await;
    let (address, directory) = (server.address.to_string(), place.path().to_owned());
    let ask = |version: &'static str| {
        let (address, directory) = (address.clone(), directory.clone());
        let asking = move || {
            let mut command = Command::new("openssl");
            let fixed = "s_client -brief -verify_return_error -verify_hostname localhost \
                -CAfile ca.pem -cert client-ada.pem -key client-ada.key -alpn h2 -connect";
            command.args(fixed.split_whitespace()).args([&address, version]);
            command.current_dir(directory).stdin(Stdio::null()).output().unwrap()
        };
        tokio::task::spawn_blocking(asking)
    };
    for version in ["-tls1_2", "-tls1_3"] {
        let output = ask(version).await.unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success() && said.contains("Verification: OK"), "{said}");
        assert!(server.ended().await.unwrap().is_some());
    }
    revoke(place.path(), "ada").unwrap();
    assert_eq!(server.tls.reload_if_changed(), Reload::Loaded);
    for version in ["-tls1_2", "-tls1_3"] {
        ask(version).await.unwrap();
        assert!(server.refused().await.contains("it is revoked"));
    }
}

#[tokio::test]
async fn sessions_are_resumed_only_where_clients_show_no_certificates() {
    let place = authority();
    let known = || Client::new(place.path()).showing(place.path(), "ada");
    let cases = [
        (plain(place.path()), Client::new(place.path()), HandshakeKind::Resumed),
        (mutual(place.path()), known(), HandshakeKind::Full),
    ];
    for (settings, mut client, expected) in cases {
        let server = Server::start(settings).await;
        for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
            client.versions = vec![version];
            let config = Arc::new(client.config());
            ask(config.clone(), &server, "localhost").await.unwrap();
            let again = ask(config, &server, "localhost").await.unwrap();
            assert_eq!(again.get_ref().1.handshake_kind(), Some(expected), "{version:?}");
        }
    }
}
