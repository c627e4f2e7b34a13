//! TLS: both sides show certificates, and they are replaced while requests are sent.

use std::fs;
use std::path::PathBuf;

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use tokio_rustls::TlsAcceptor;

use super::sink::{Reply, Sink};
use super::*;

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority() -> Authority {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// A certificate and its key in PEM.
fn issue(authority: &Authority, name: &str) -> (String, String) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
    (params.signed_by(&key, authority).unwrap().pem(), key.serialize_pem())
}

/// A server for a name that trusts those that an authority has issued certificates to.
fn acceptor(authority: &Authority, name: &str) -> TlsAcceptor {
    acceptor_with(authority, issue(authority, name))
}

/// A server with a certificate and its key.
fn acceptor_with(authority: &Authority, (chain, key): (String, String)) -> TlsAcceptor {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let certificate = |pem: &str| CertificateDer::from_pem_slice(pem.as_bytes()).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(certificate(&authority.pem())).unwrap();
    let verifier =
        WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider.clone()).build();
    let mut config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(verifier.unwrap())
        .with_single_cert(
            vec![certificate(&chain)],
            PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap(),
        )
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec()];
    Arc::new(config).into()
}

/// Files of a client: whom it trusts, and what it shows.
struct Files {
    ca: PathBuf,
    certificate: PathBuf,
    key: PathBuf,
}

impl Files {
    fn new(dir: &Path) -> Self {
        let [ca, certificate, key] = ["ca.pem", "client.pem", "client.key"].map(|n| dir.join(n));
        Self { ca, certificate, key }
    }

    fn write(&self, authority: &Authority) {
        let (certificate, key) = issue(authority, "client");
        fs::write(&self.ca, authority.pem()).unwrap();
        fs::write(&self.certificate, certificate).unwrap();
        fs::write(&self.key, key).unwrap();
    }

    fn settings(&self, sink: &Sink) -> DestinationSettings {
        let port = sink.address.port();
        let mut settings = to(DestinationProtocol::Grpc, format!("https://127.0.0.1:{port}"));
        settings.tls.ca = Some(self.ca.clone());
        settings.tls.certificate = Some(self.certificate.clone());
        settings.tls.key = Some(self.key.clone());
        settings.tls.server_name = Some("hub.test".to_owned());
        settings
    }
}

async fn secured(authority: &Authority, name: &str) -> Sink {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    Sink::on(listener, Some(acceptor(authority, name)), |_| Reply::Taken)
}

#[tokio::test(flavor = "multi_thread")]
async fn both_sides_show_certificates_and_new_ones_are_used_when_they_are_there() {
    let (node, old, new) = (Node::new(), authority(), authority());
    let files = Files::new(node.dir.path());
    files.write(&old);
    let sink = secured(&old, "hub.test").await;
    let address = sink.address;
    let destinations = node.start(&[files.settings(&sink)]);
    node.append_numbers(0..5);
    sink.until(|sink| sink.spans().len() == 5).await;
    until_status(&destinations, |status| status.lag_bytes == 0).await;
    drop(sink);
    // The server comes back with certificates of another authority.
    let listener = loop {
        match tokio::net::TcpListener::bind(address).await {
            Ok(listener) => break listener,
            Err(_) => tokio::task::yield_now().await,
        }
    };
    let sink = Sink::on(listener, Some(acceptor(&new, "hub.test")), |_| Reply::Taken);
    node.append_numbers(5..10);
    until_status(&destinations, |status| status.retries > 1).await;
    assert_eq!(sink.all().len(), 0, "neither trusts the other");
    files.write(&new);
    sink.until(|sink| sink.spans().len() == 5).await;
    assert_eq!(sink.spans(), numbers(5..10));
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_with_expired_or_self_signed_certificates_get_nothing_and_nothing_is_lost() {
    let authority = authority();
    let key = KeyPair::generate().unwrap();
    let named = || {
        let mut params = CertificateParams::new(vec!["hub.test".to_owned()]).unwrap();
        // Not the name of the authority.
        params.distinguished_name.push(rcgen::DnType::CommonName, "hub.test");
        params
    };
    let mut expired = named();
    expired.not_before = rcgen::date_time_ymd(2019, 1, 1);
    expired.not_after = rcgen::date_time_ymd(2020, 1, 1);
    let expired = expired.signed_by(&key, &authority).unwrap().pem();
    let self_signed = named().self_signed(&key).unwrap().pem();
    for (pem, word) in [(expired, "expired"), (self_signed, "UnknownIssuer")] {
        let node = Node::new();
        let files = Files::new(node.dir.path());
        files.write(&authority);
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let acceptor = acceptor_with(&authority, (pem, key.serialize_pem()));
        let sink = Sink::on(listener, Some(acceptor), |_| Reply::Taken);
        node.append_numbers(0..1);
        let destinations = node.start(&[files.settings(&sink)]);
        let status = until_status(&destinations, |status| status.retries > 1).await;
        let said = status.last_error.unwrap().message;
        assert!(said.contains("certificate") && said.contains(word), "{said}");
        assert!(status.lag_bytes > 0 && sink.all().is_empty());
        assert_eq!(node.refused("hub").len(), 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_for_another_name_is_not_trusted_unless_that_is_wanted() {
    let (node, authority) = (Node::new(), authority());
    let files = Files::new(node.dir.path());
    files.write(&authority);
    let sink = secured(&authority, "other.test").await;
    node.append_numbers(0..1);
    let mut settings = files.settings(&sink);
    let destinations = node.start(std::slice::from_ref(&settings));
    let status = until_status(&destinations, |status| status.retries > 1).await;
    let said = status.last_error.unwrap().message;
    assert!(said.contains("certificate"), "{said}");
    assert_eq!(sink.all().len(), 0);
    destinations.stop().await;
    settings.tls.insecure_skip_verify = true;
    let _destinations = node.start(&[settings]);
    sink.until(|sink| sink.taken().len() == 1).await;
}
