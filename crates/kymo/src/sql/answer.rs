//! The rows of an answer, wherever they are from.

use std::io::{self, BufReader, Read};

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_schema::SchemaRef;
use futures::StreamExt;
use kymo_server::format::Format;

use crate::client::{Client, broken};
use crate::failure::Failure;
use crate::source::{Directory, Source};

/// Bytes that are read from a connection at once.
const READ_BYTES: usize = 128 << 10;
/// What every stream ends with: a message of length zero.
const END: [u8; 8] = [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0];

/// Rows as they come.
pub(crate) struct Answer<'a> {
    pub(crate) schema: SchemaRef,
    pub(crate) batches: Box<dyn Iterator<Item = Result<RecordBatch, Failure>> + 'a>,
}

impl<'a> Answer<'a> {
    /// Asks.
    pub(crate) fn ask(source: &'a Source, query: &str) -> Result<Self, Failure> {
        match source {
            Source::Server(client) => Self::of_server(client, query),
            Source::Directory(directory) => Self::of_directory(directory, query),
        }
    }

    fn of_server(client: &Client, query: &str) -> Result<Self, Failure> {
        let response = client.post("/api/sql", query.to_owned(), Format::ARROW_STREAM)?;
        Self::of_stream(BufReader::with_capacity(READ_BYTES, response))
    }

    /// Reads an Arrow IPC stream.
    pub(crate) fn of_stream(stream: impl Read + 'a) -> Result<Self, Failure> {
        let reader = StreamReader::try_new(Ending::new(stream), None);
        let reader = reader.map_err(|error| broken(Some(&error)))?;
        Ok(Self { schema: reader.schema(), batches: Box::new(Whole { reader, done: false }) })
    }

    fn of_directory(directory: &'a Directory, query: &str) -> Result<Self, Failure> {
        let Directory { engine, runtime, tenants, .. } = directory;
        let mut rows = runtime.block_on(engine.sql(tenants, query))?;
        let schema = rows.schema();
        let next = move || Some(runtime.block_on(rows.next())?.map_err(Failure::from));
        Ok(Self { schema, batches: Box::new(std::iter::from_fn(next)) })
    }
}

/// Batches of a stream that must not stop before its end: a connection that breaks between two
/// messages looks like an end otherwise.
struct Whole<R: Read> {
    reader: StreamReader<Ending<R>>,
    done: bool,
}

impl<R: Read> Iterator for Whole<R> {
    type Item = Result<RecordBatch, Failure>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        let batch = self.reader.next();
        self.done = !matches!(batch, Some(Ok(_)));
        match batch {
            Some(batch) => Some(batch.map_err(|error| broken(Some(&error)))),
            None if self.reader.get_ref().last == END => None,
            None => Some(Err(broken(None))),
        }
    }
}

/// A reader that remembers the last bytes it gave.
struct Ending<R> {
    inner: R,
    last: [u8; END.len()],
}

impl<R> Ending<R> {
    fn new(inner: R) -> Self {
        Self { inner, last: [0; END.len()] }
    }
}

impl<R: Read> Read for Ending<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        let fresh = &buffer[count.saturating_sub(END.len())..count];
        self.last.rotate_left(fresh.len());
        self.last[END.len() - fresh.len()..].copy_from_slice(fresh);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array};
    use arrow_ipc::writer::StreamWriter;

    use super::*;

    fn stream() -> (Vec<u8>, Vec<usize>) {
        let numbers = Arc::new(Int64Array::from(vec![1, 2, 3])) as ArrayRef;
        let batch = RecordBatch::try_from_iter([("n", numbers)]).unwrap();
        let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
        let mut ends = vec![writer.get_ref().len()];
        for _ in 0..3 {
            writer.write(&batch).unwrap();
            ends.push(writer.get_ref().len());
        }
        writer.finish().unwrap();
        (writer.into_inner().unwrap(), ends)
    }

    fn read(bytes: &[u8]) -> Result<usize, Failure> {
        let answer = Answer::of_stream(bytes)?;
        let batches: Result<Vec<_>, _> = answer.batches.collect();
        Ok(batches?.len())
    }

    #[test]
    fn a_whole_stream_is_read() {
        assert_eq!(read(&stream().0).unwrap(), 3);
    }

    #[test]
    fn a_stream_that_breaks_anywhere_is_an_error() {
        let (bytes, ends) = stream();
        for end in 0..bytes.len() {
            let read = read(&bytes[..end]);
            assert!(read.is_err(), "cut at {end} of {}, messages end at {ends:?}", bytes.len());
        }
    }
}
