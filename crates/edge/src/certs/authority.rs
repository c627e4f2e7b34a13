//! The authority itself: its key signs certificates and lists.

use rcgen::string::Ia5String;
use rcgen::{
    BasicConstraints, CertificateParams, CertificateRevocationListParams, DistinguishedName,
    DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyIdMethod, KeyPair, KeyUsagePurpose,
    PKCS_ECDSA_P256_SHA256, PublicKeyData, RevocationReason, RevokedCertParams, SanType,
    SerialNumber,
};
use ring::rand::{SecureRandom, SystemRandom};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use time::{Duration, OffsetDateTime};
use x509_parser::asn1_rs::Tag;
use x509_parser::oid_registry::OID_X509_COMMON_NAME;
use x509_parser::prelude::{FromDer, X509Certificate};

use super::CertsError;
use super::files::{Directory, Output};
use super::register::{Issued, Purpose, Register};
use crate::limits::{AUTHORITY_DAYS, CLOCK_SKEW_SECONDS, MAX_PEM_BYTES};

/// Bytes of a serial number: at most 20 are allowed, and no two may be the same.
const SERIAL_BYTES: usize = 16;

/// Who signs.
pub(super) struct Authority {
    certificate_pem: String,
    key_pem: String,
    issuer: Issuer<'static, KeyPair>,
    not_after: OffsetDateTime,
}

/// What a certificate says.
pub(super) struct Leaf<'a> {
    purpose: Purpose,
    /// Of the subject.
    common_name: &'a str,
    /// Names and addresses of a server.
    names: &'a [String],
}

impl<'a> Leaf<'a> {
    pub(super) fn server(names: &'a [String]) -> Self {
        // Clients look at the other names alone; this one is for people.
        Self { purpose: Purpose::Server, common_name: "kymo server", names }
    }

    pub(super) fn client(name: &'a str) -> Self {
        Self { purpose: Purpose::Client, common_name: name, names: &[] }
    }
}

impl Authority {
    /// A new one.
    pub(super) fn new(now: OffsetDateTime) -> Result<Self, CertsError> {
        let key = new_key()?;
        // Its name is its own: a system that has seen two authorities of one name mixes them up.
        let [a, b, c, d] = random()?;
        let name = format!("Kymograph CA {a:02x}{b:02x}{c:02x}{d:02x}");
        let mut params = issuing(&name);
        params.not_before = now - Duration::seconds(CLOCK_SKEW_SECONDS);
        params.not_after = now + Duration::days(AUTHORITY_DAYS.into());
        params.serial_number = Some(serial()?);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        let certificate = params.self_signed(&key).map_err(crypto)?;
        Ok(Self {
            certificate_pem: certificate.pem(),
            key_pem: key.serialize_pem(),
            not_after: params.not_after,
            issuer: Issuer::new(params, key),
        })
    }

    /// One that was made before.
    pub(super) fn read(place: &Directory, name: &str) -> Result<Self, CertsError> {
        let (certificate_file, key_file) = (format!("{name}.pem"), format!("{name}.key"));
        let certificate_pem = place.read(&certificate_file, MAX_PEM_BYTES)?;
        let key_pem = place.read(&key_file, MAX_PEM_BYTES)?;
        let foreign =
            |why: String| CertsError::Foreign { path: place.path(&certificate_file), why };
        let der = CertificateDer::from_pem_slice(certificate_pem.as_bytes())
            .map_err(|error| foreign(error.to_string()))?;
        let (_, certificate) =
            X509Certificate::from_der(&der).map_err(|error| foreign(error.to_string()))?;
        let common_name = only_common_name(&certificate)
            .ok_or_else(|| foreign("its subject is not a common name alone".to_owned()))?;
        // What is wrong with a key is not said in words that could quote it.
        let other_key = || CertsError::Foreign {
            path: place.path(&key_file),
            why: format!("it is not the key of {certificate_file}"),
        };
        let key = KeyPair::from_pem(&key_pem).map_err(|_| other_key())?;
        if key.subject_public_key_info() != certificate.public_key().raw {
            return Err(other_key());
        }
        let not_after = certificate.validity().not_after.to_datetime();
        let issuer = Issuer::new(issuing(&common_name), key);
        Ok(Self { certificate_pem, key_pem, issuer, not_after })
    }

    /// Its own files.
    pub(super) fn outputs(&self, name: &str) -> Vec<Output> {
        pair(name, self.certificate_pem.clone(), self.key_pem.clone())
    }

    /// A certificate with a key, and what the register says of it. It ends with the authority at the
    /// latest.
    pub(super) fn issue(
        &self,
        leaf: Leaf<'_>,
        file: &str,
        now: OffsetDateTime,
        not_after: OffsetDateTime,
    ) -> Result<(Issued, Vec<Output>), CertsError> {
        if self.not_after <= now {
            return Err(CertsError::Ended { ended: self.not_after.date().to_string() });
        }
        let (key, serial) = (new_key()?, serial()?);
        let mut params = CertificateParams::default();
        params.not_before = now - Duration::seconds(CLOCK_SKEW_SECONDS);
        params.not_after = not_after.min(self.not_after);
        params.distinguished_name = subject(leaf.common_name);
        params.subject_alt_names = alternatives(leaf.names)?;
        params.serial_number = Some(serial.clone());
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![match leaf.purpose {
            Purpose::Server => ExtendedKeyUsagePurpose::ServerAuth,
            Purpose::Client => ExtendedKeyUsagePurpose::ClientAuth,
        }];
        params.is_ca = IsCa::ExplicitNoCa;
        params.use_authority_key_identifier_extension = true;
        let certificate = params.signed_by(&key, &self.issuer).map_err(crypto)?;
        let names = match leaf.purpose {
            Purpose::Server => leaf.names.to_vec(),
            Purpose::Client => vec![leaf.common_name.to_owned()],
        };
        let issued = Issued {
            purpose: leaf.purpose,
            names,
            serial: hex(serial.as_ref()),
            not_after_seconds: params.not_after.unix_timestamp(),
            revoked_seconds: None,
        };
        Ok((issued, pair(file, certificate.pem(), key.serialize_pem())))
    }

    /// The list of all certificates that the register has as revoked. It is good for as long as the
    /// authority: a new one is written when something is revoked, and at no other time.
    pub(super) fn revocations(
        &self,
        register: &Register,
        file: &str,
        now: OffsetDateTime,
    ) -> Result<Output, CertsError> {
        let mut revoked_certs = Vec::new();
        for issued in &register.issued {
            let Some(seconds) = issued.revoked_seconds else { continue };
            let serial = unhex(&issued.serial).ok_or_else(|| {
                crypto(format!("the register has a wrong serial number: {:?}", issued.serial))
            })?;
            revoked_certs.push(RevokedCertParams {
                serial_number: SerialNumber::from(serial),
                revocation_time: OffsetDateTime::from_unix_timestamp(seconds).map_err(crypto)?,
                reason_code: Some(RevocationReason::PrivilegeWithdrawn),
                invalidity_date: None,
            });
        }
        let list = CertificateRevocationListParams {
            this_update: now - Duration::seconds(CLOCK_SKEW_SECONDS),
            next_update: self.not_after,
            crl_number: SerialNumber::from(register.list_number),
            issuing_distribution_point: None,
            revoked_certs,
            key_identifier_method: KeyIdMethod::Sha256,
        };
        let content = list.signed_by(&self.issuer).and_then(|list| list.pem()).map_err(crypto)?;
        Ok(Output { name: file.to_owned(), content, is_secret: false })
    }
}

/// What an authority signs as.
fn issuing(common_name: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = subject(common_name);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

fn subject(common_name: &str) -> DistinguishedName {
    let mut name = DistinguishedName::new();
    name.push(DnType::CommonName, common_name);
    name
}

/// The common name, if the subject is nothing else and is written as we write it: an issuer is found
/// by the bytes of its name.
fn only_common_name(certificate: &X509Certificate<'_>) -> Option<String> {
    let mut attributes = certificate.subject().iter_attributes();
    let (only, None) = (attributes.next()?, attributes.next()) else { return None };
    let is_ours =
        only.attr_type() == &OID_X509_COMMON_NAME && only.attr_value().tag() == Tag::Utf8String;
    only.as_str().ok().filter(|_| is_ours).map(str::to_owned)
}

fn alternatives(names: &[String]) -> Result<Vec<SanType>, CertsError> {
    let alternative = |name: &String| match name.parse() {
        Ok(address) => Ok(SanType::IpAddress(address)),
        Err(_) => Ia5String::try_from(name.as_str()).map(SanType::DnsName).map_err(crypto),
    };
    names.iter().map(alternative).collect()
}

fn pair(name: &str, certificate_pem: String, key_pem: String) -> Vec<Output> {
    let certificate =
        Output { name: format!("{name}.pem"), content: certificate_pem, is_secret: false };
    vec![Output { name: format!("{name}.key"), content: key_pem, is_secret: true }, certificate]
}

fn new_key() -> Result<KeyPair, CertsError> {
    KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).map_err(crypto)
}

/// A random serial number: positive, and without a leading zero that some would leave out.
fn serial() -> Result<SerialNumber, CertsError> {
    let mut bytes: [u8; SERIAL_BYTES] = random()?;
    bytes[0] = bytes[0] & 0x7f | 0x40;
    Ok(SerialNumber::from(bytes.to_vec()))
}

fn random<const N: usize>() -> Result<[u8; N], CertsError> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).map_err(|_| crypto("the system has no randomness"))?;
    Ok(bytes)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let is_hex = text.len().is_multiple_of(2) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let pairs = (0..text.len()).step_by(2).map(|at| text.get(at..at + 2));
    let bytes = pairs.map(|pair| u8::from_str_radix(pair?, 16).ok());
    if is_hex && !text.is_empty() { bytes.collect() } else { None }
}

fn crypto(error: impl ToString) -> CertsError {
    CertsError::Crypto(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_authority_that_has_ended_signs_nothing_and_says_so() {
        let now = OffsetDateTime::now_utc();
        let lifetime = Duration::days(AUTHORITY_DAYS.into());
        let issue = |authority: &Authority| {
            authority.issue(Leaf::client("ada"), "client-ada", now, now + Duration::days(1))
        };
        assert!(issue(&Authority::new(now - lifetime / 2).unwrap()).is_ok());
        let ended = Authority::new(now - lifetime - Duration::days(1)).unwrap();
        let error = issue(&ended).err().unwrap().to_string();
        assert!(error.contains("has ended") && error.contains("kymo certs new"), "{error}");
    }
}
