//! Our own API: flags as documents, for admins.
//!
//! | question | answered by | statuses |
//! |---|---|---|
//! | `GET /api/audience/flags` | [`list`] | 200 |
//! | `POST /api/audience/flags` | [`create`] | 201, 400, 409, 413 |
//! | `GET /api/audience/flags/{key}` | [`get`] | 200, 404 |
//! | `PUT /api/audience/flags/{key}` | [`put`] | 200, 201, 400, 413 |
//! | `PATCH /api/audience/flags/{key}` | [`patch`] | 200, 400, 404, 413 |
//! | `DELETE /api/audience/flags/{key}` | [`delete`] | 204, 404 |
//! | `GET /api/audience/audit` | [`audit`] | 200 |
//!
//! Errors are `{"error": "…"}`. These functions know no network and no disk. Who changes a book
//! gives a copy, makes it durable if the answer says that something was done, and puts it in force
//! then.

use serde::Serialize;
use serde_json::{Map, Value};

use super::answer::Answer;
use super::audit::AuditEntry;
use super::book::{Author, Change, FlagBook};
use super::flag::{Flag, FlagError};
use super::limits::MAX_REQUEST_BYTES;
use super::patch::FlagPatch;
use super::settings::AudienceSettings;

#[derive(Serialize)]
struct Flags<'a> {
    flags: Vec<&'a Flag>,
}

#[derive(Serialize)]
struct Audit<'a> {
    audit: Vec<&'a AuditEntry>,
}

#[derive(Serialize)]
struct Error {
    error: String,
}

/// All flags.
#[must_use]
pub fn list(book: &FlagBook) -> Answer {
    Answer::json(200, &Flags { flags: book.flags().collect() })
}

/// One flag.
#[must_use]
pub fn get(book: &FlagBook, key: &str) -> Answer {
    show(book, key, 200)
}

/// The last changes, the latest first.
#[must_use]
pub fn audit(book: &FlagBook) -> Answer {
    Answer::json(200, &Audit { audit: book.audit().collect() })
}

/// Makes a flag. The document has its `key`, and whichever fields are not to be as a new flag has
/// them.
#[must_use]
pub fn create(
    book: &mut FlagBook,
    body: &[u8],
    settings: &AudienceSettings,
    author: &Author<'_>,
) -> Answer {
    let key = match read(body) {
        Err(error) => return refused(&error),
        Ok(mut fields) => fields.remove("key"),
    };
    let Some(Value::String(key)) = key else {
        return refused(&FlagError::invalid("key", "must be the name of the new flag"));
    };
    let done = said(&key, body).and_then(|said| book.create(&key, said, settings, author));
    finish(book, &key, done)
}

/// Makes a flag what the document says, whether it is there or not. Fields that are left out are as
/// a new flag has them.
#[must_use]
pub fn put(
    book: &mut FlagBook,
    key: &str,
    body: &[u8],
    settings: &AudienceSettings,
    author: &Author<'_>,
) -> Answer {
    let done = said(key, body).and_then(|said| book.replace(key, said, settings, author));
    finish(book, key, done)
}

/// Changes the fields that the document has.
#[must_use]
pub fn patch(book: &mut FlagBook, key: &str, body: &[u8], author: &Author<'_>) -> Answer {
    let done = said(key, body).and_then(|said| book.update(key, said, author));
    finish(book, key, done)
}

/// Removes a flag.
#[must_use]
pub fn delete(book: &mut FlagBook, key: &str, author: &Author<'_>) -> Answer {
    match book.delete(key, author) {
        Ok(()) => Answer::empty(204),
        Err(error) => refused(&error),
    }
}

/// An error as this API tells it.
#[must_use]
pub fn refused(error: &FlagError) -> Answer {
    let status = match error {
        FlagError::Missing(_) => 404,
        FlagError::Exists(_) => 409,
        FlagError::TooLarge { .. } => 413,
        FlagError::Invalid { .. }
        | FlagError::TooMany
        | FlagError::Document(_)
        | FlagError::Newer { .. } => 400,
    };
    Answer::json(status, &Error { error: error.to_string() })
}

fn finish(book: &FlagBook, key: &str, done: Result<Change, FlagError>) -> Answer {
    match done {
        Ok(Change::Created) => show(book, key, 201),
        Ok(Change::Updated | Change::Nothing) => show(book, key, 200),
        Err(error) => refused(&error),
    }
}

fn show(book: &FlagBook, key: &str, status: u16) -> Answer {
    match book.flag(key) {
        Some(flag) => Answer::json(status, flag),
        None => refused(&FlagError::Missing(key.to_owned())),
    }
}

fn read(body: &[u8]) -> Result<Map<String, Value>, FlagError> {
    if body.len() > MAX_REQUEST_BYTES {
        return Err(FlagError::TooLarge { size_bytes: body.len() });
    }
    serde_json::from_slice(body).map_err(|error| FlagError::Document(error.to_string()))
}

/// What a document says of a flag. One that was got from here can be sent back: its key is checked,
/// and who changed it last is not for the sender to say.
fn said(key: &str, body: &[u8]) -> Result<FlagPatch, FlagError> {
    let mut fields = read(body)?;
    if fields.remove("key").is_some_and(|named| named != key) {
        let message = "must be the one in the path; a flag cannot be renamed";
        return Err(FlagError::invalid("key", message));
    }
    fields.remove("updated_at_millis");
    fields.remove("updated_by");
    serde_json::from_value(Value::Object(fields))
        .map_err(|error| FlagError::Document(error.to_string()))
}
