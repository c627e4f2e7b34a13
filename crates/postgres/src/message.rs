//! Messages of clients, read from as many bytes as they have and no more.

use bytes::Bytes;
use kymo_yaml::Secret;

use crate::error::{PgError, code};

/// What a connection begins with.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum First {
    /// Whether TLS is spoken.
    Tls,
    /// Whether Kerberos is spoken.
    Gss,
    /// To cancel what another connection runs.
    Cancel { pid: i32, secret: i32 },
    /// To log in: minor version, settings.
    Startup { minor: u16, settings: Vec<(String, String)> },
}

const TLS_CODE: u32 = 80_877_103;
const GSS_CODE: u32 = 80_877_104;
const CANCEL_CODE: u32 = 80_877_102;
const MAJOR_VERSION: u16 = 3;

/// What a portal or statement is asked about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    Statement,
    Portal,
}

/// A message of a client that has logged in.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Message {
    Query(String),
    Parse {
        name: String,
        text: String,
        types: Vec<u32>,
    },
    Bind(Bind),
    Describe {
        target: Target,
        name: String,
    },
    Execute {
        portal: String,
        max_rows: usize,
    },
    Close {
        target: Target,
        name: String,
    },
    Flush,
    Sync,
    Terminate,
    Password(Secret),
    /// A piece of COPY, which no statement here asks for: it comes behind one that was refused.
    CopyPiece,
    /// A call of a function by its number, which is not offered here.
    FunctionCall,
    /// One whose texts are not UTF-8. It ends where it should, so the next one can be read.
    NotText {
        kind: u8,
        error: PgError,
    },
}

/// A statement with its values.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Bind {
    pub(crate) portal: String,
    pub(crate) statement: String,
    pub(crate) value_formats: Vec<i16>,
    pub(crate) values: Vec<Option<Bytes>>,
    pub(crate) result_formats: Vec<i16>,
}

impl First {
    /// Reads what is behind the length.
    pub(crate) fn read(body: Bytes) -> Result<Self, PgError> {
        let mut body = Body(body);
        let code = body.u32()?;
        match code {
            TLS_CODE => return Ok(Self::Tls),
            GSS_CODE => return Ok(Self::Gss),
            CANCEL_CODE => {
                return Ok(Self::Cancel { pid: body.i32()?, secret: body.i32()? });
            }
            _ => {}
        }
        let (major, minor) = ((code >> 16) as u16, code as u16);
        if major != MAJOR_VERSION {
            return Err(PgError::protocol(format!(
                "version {major}.{minor} of the protocol is not spoken here, 3.0 is"
            )));
        }
        let mut settings = Vec::new();
        loop {
            let name = body.text()?;
            if name.is_empty() {
                return Ok(Self::Startup { minor, settings });
            }
            settings.push((name, body.text()?));
        }
    }
}

impl Message {
    /// Reads what is behind the kind and the length.
    pub(crate) fn read(kind: u8, body: Bytes) -> Result<Self, PgError> {
        match Self::of(kind, body) {
            Err(error) if error.code == code::NOT_UTF8 => Ok(Self::NotText { kind, error }),
            read => read,
        }
    }

    fn of(kind: u8, body: Bytes) -> Result<Self, PgError> {
        let mut body = Body(body);
        let message = match kind {
            b'Q' => Self::Query(body.text()?),
            b'P' => {
                let (name, text) = (body.text()?, body.text()?);
                let count = body.count(4)?;
                let types = (0..count).map(|_| body.u32()).collect::<Result<_, _>>()?;
                Self::Parse { name, text, types }
            }
            b'B' => Self::Bind(Bind::read(&mut body)?),
            b'D' => Self::Describe { target: body.target()?, name: body.text()? },
            b'C' => Self::Close { target: body.target()?, name: body.text()? },
            b'E' => {
                let portal = body.text()?;
                // None is said by 0; PostgreSQL takes less for that, too.
                let max_rows = usize::try_from(body.i32()?).unwrap_or(0);
                Self::Execute { portal, max_rows }
            }
            b'H' => Self::Flush,
            b'S' => Self::Sync,
            b'X' => Self::Terminate,
            b'p' => Self::Password(Secret::new(body.text()?)),
            b'd' | b'c' | b'f' => Self::CopyPiece,
            b'F' => Self::FunctionCall,
            other => {
                let message = format!("there are no messages of kind {:?}", char::from(other));
                return Err(PgError::protocol(message));
            }
        };
        Ok(message)
    }

    /// Whether an error in it is followed by silence until the client says where it goes on.
    pub(crate) fn is_extended(&self) -> bool {
        match self {
            Self::Parse { .. }
            | Self::Bind(_)
            | Self::Describe { .. }
            | Self::Execute { .. }
            | Self::Close { .. }
            | Self::Flush => true,
            Self::NotText { kind, .. } => *kind != b'Q',
            _ => false,
        }
    }
}

impl Bind {
    fn read(body: &mut Body) -> Result<Self, PgError> {
        let (portal, statement) = (body.text()?, body.text()?);
        let value_formats = body.formats()?;
        let count = body.count(4)?;
        let mut values = Vec::with_capacity(count);
        for _ in 0..count {
            values.push(match usize::try_from(body.i32()?) {
                Ok(length) => Some(body.take(length)?),
                Err(_) => None,
            });
        }
        Ok(Self { portal, statement, value_formats, values, result_formats: body.formats()? })
    }
}

/// The format of one of several things: one for all, one for each, or text.
pub(crate) fn format_of(formats: &[i16], place: usize) -> i16 {
    match formats {
        [] => 0,
        [all] => *all,
        formats => formats.get(place).copied().unwrap_or(0),
    }
}

/// A text for a message, where a zero would be its end.
pub(crate) fn without_zeros(text: &str) -> String {
    text.replace('\0', "\u{fffd}")
}

/// What is left of a message.
struct Body(Bytes);

impl Body {
    fn take(&mut self, length: usize) -> Result<Bytes, PgError> {
        if length > self.0.len() {
            return Err(PgError::protocol(format!(
                "a message ends {} bytes too early",
                length - self.0.len()
            )));
        }
        Ok(self.0.split_to(length))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], PgError> {
        let mut array = [0; N];
        array.copy_from_slice(&self.take(N)?);
        Ok(array)
    }

    fn u16(&mut self) -> Result<u16, PgError> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    fn u32(&mut self) -> Result<u32, PgError> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    fn i32(&mut self) -> Result<i32, PgError> {
        Ok(i32::from_be_bytes(self.array()?))
    }

    /// How many things follow, of so many bytes at least.
    fn count(&mut self, least_bytes: usize) -> Result<usize, PgError> {
        let count = usize::from(self.u16()?);
        match count * least_bytes > self.0.len() {
            true => Err(PgError::protocol(format!("a message has no room for {count} things"))),
            false => Ok(count),
        }
    }

    fn formats(&mut self) -> Result<Vec<i16>, PgError> {
        let count = self.count(2)?;
        (0..count).map(|_| Ok(i16::from_be_bytes(self.array()?))).collect()
    }

    /// Text up to a zero.
    fn text(&mut self) -> Result<String, PgError> {
        let end = self.0.iter().position(|byte| *byte == 0);
        let end = end.ok_or_else(|| PgError::protocol("a text in a message has no end"))?;
        let text = self.take(end + 1)?;
        match std::str::from_utf8(&text[..end]) {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => Err(PgError::new(code::NOT_UTF8, "a text in a message is not UTF-8")),
        }
    }

    fn target(&mut self) -> Result<Target, PgError> {
        match self.array::<1>()? {
            [b'S'] => Ok(Target::Statement),
            [b'P'] => Ok(Target::Portal),
            [other] => Err(PgError::protocol(format!("there is no kind {other} of things"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bind() -> Vec<u8> {
        let mut body = b"p\0s\0".to_vec();
        body.extend([0, 1, 0, 1]);
        body.extend([0, 2, 0, 0, 0, 2, b'h', b'i', 0xff, 0xff, 0xff, 0xff]);
        body.extend([0, 1, 0, 0]);
        body
    }

    #[test]
    fn a_bind_is_read() {
        let Ok(Message::Bind(read)) = Message::read(b'B', bind().into()) else { panic!() };
        assert_eq!((read.portal.as_str(), read.statement.as_str()), ("p", "s"));
        assert_eq!(read.values, [Some(Bytes::from("hi")), None]);
        assert_eq!((read.value_formats, read.result_formats), (vec![1], vec![0]));
    }

    #[test]
    fn a_message_that_is_cut_anywhere_or_lies_about_counts_is_an_error() {
        for length in 0..bind().len() {
            assert!(Message::read(b'B', bind()[..length].to_vec().into()).is_err(), "{length}");
        }
        for place in 0..bind().len() {
            let mut changed = bind();
            changed[place] = 0xff;
            // Some of them are other messages; none is a panic.
            let _ = Message::read(b'B', changed.into());
        }
        assert!(Message::read(b'P', b"a\0b\0\xff\xff".to_vec().into()).is_err());
        assert!(Message::read(b'Q', b"no end".to_vec().into()).is_err());
        assert!(Message::read(b'D', b"x\0".to_vec().into()).is_err());
        assert!(Message::read(b'?', Bytes::new()).is_err());
    }

    #[test]
    fn a_text_that_is_not_utf8_spoils_its_message_only() {
        for (kind, body, is_extended) in
            [(b'Q', &b"\xff\0"[..], false), (b'P', b"\xff\0\0\0\0", true)]
        {
            let read = Message::read(kind, body.to_vec().into()).unwrap();
            assert!(matches!(&read, Message::NotText { error, .. } if error.code == "22021"));
            assert_eq!(read.is_extended(), is_extended);
        }
    }

    #[test]
    fn a_password_is_not_shown() {
        let read = Message::read(b'p', b"secret\0".to_vec().into()).unwrap();
        assert!(!format!("{read:?}").contains("secret"), "{read:?}");
    }

    #[test]
    fn the_first_message_is_one_of_four() {
        let first = |bytes: &[u8]| First::read(bytes.to_vec().into());
        assert_eq!(first(&TLS_CODE.to_be_bytes()), Ok(First::Tls));
        let startup = b"\0\x03\0\0user\0ada\0\0";
        let settings = vec![("user".to_owned(), "ada".to_owned())];
        assert_eq!(first(startup), Ok(First::Startup { minor: 0, settings }));
        assert!(first(b"\0\x02\0\0").unwrap_err().message.contains("2.0"));
        assert!(first(b"\0\x03\0\0user\0").is_err());
        assert!(first(b"\0").is_err());
    }

    #[test]
    fn one_format_is_for_all() {
        assert_eq!(format_of(&[], 3), 0);
        assert_eq!(format_of(&[1], 3), 1);
        assert_eq!(format_of(&[0, 1], 1), 1);
        assert_eq!(format_of(&[0, 1], 2), 0);
    }
}
