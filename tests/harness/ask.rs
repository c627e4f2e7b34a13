//! Requests over HTTP, and what comes back.

use reqwest::blocking::RequestBuilder;
use reqwest::header::HeaderMap;
use serde_json::Value;

use super::{Encoding, Server, Signal};

/// An answer, read to its end.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Answer {
    #[track_caller]
    pub fn of(request: RequestBuilder) -> Self {
        let response = request.send().unwrap();
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        Self { status, headers, body: response.bytes().unwrap().to_vec() }
    }

    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{}", self.text());
        self
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.text()))
    }

    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }
}

/// Rows of a SQL answer.
#[derive(Debug)]
pub struct Table {
    pub columns: Vec<String>,
    pub rows: Vec<Vec<Value>>,
}

impl Table {
    #[track_caller]
    fn of(document: &Value) -> Self {
        let columns = document["columns"].as_array().unwrap();
        let columns = columns.iter().map(|c| c["name"].as_str().unwrap().to_owned()).collect();
        let rows: Vec<Vec<Value>> = serde_json::from_value(document["rows"].clone()).unwrap();
        assert_eq!(document["row_count"], rows.len());
        Self { columns, rows }
    }

    /// A row with names.
    #[track_caller]
    pub fn row(&self, nth: usize) -> serde_json::Map<String, Value> {
        self.columns.iter().cloned().zip(self.rows[nth].iter().cloned()).collect()
    }

    /// All values as texts.
    pub fn cells(&self) -> Vec<Vec<&str>> {
        self.rows.iter().map(|row| row.iter().map(text).collect()).collect()
    }

    /// Those of the first column.
    pub fn texts(&self) -> Vec<&str> {
        self.rows.iter().map(|row| text(&row[0])).collect()
    }
}

fn text(cell: &Value) -> &str {
    cell.as_str().unwrap_or("NULL")
}

impl Server {
    /// An address on the main port.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.http())
    }

    #[track_caller]
    pub fn get(&self, path: &str) -> Answer {
        Answer::of(self.client.get(self.url(path)))
    }

    /// Asks Tempo's API with parameters.
    #[track_caller]
    pub fn tempo(&self, path: &str, params: &[(&str, &str)]) -> Answer {
        Answer::of(self.client.get(self.url(&format!("/tempo{path}"))).query(params))
    }

    /// Ids of the traces that a search finds.
    #[track_caller]
    pub fn search(&self, query: &str) -> Vec<String> {
        let document = self.tempo("/api/search", &[("q", query)]).expect(200).json();
        let traces = document["traces"].as_array().unwrap();
        traces.iter().map(|trace| trace["traceID"].as_str().unwrap().to_owned()).collect()
    }

    /// A SQL query whose answer is checked by the caller.
    #[track_caller]
    pub fn ask(&self, query: &str, accept: &str) -> Answer {
        let request = self.client.post(self.url("/api/sql")).header("accept", accept);
        Answer::of(request.body(query.to_owned()))
    }

    /// A SQL query that works.
    #[track_caller]
    pub fn sql(&self, query: &str) -> Table {
        Table::of(&self.ask(query, "application/json").expect(200).json())
    }

    /// The same for another tenant.
    #[track_caller]
    pub fn sql_of(&self, tenant: &str, query: &str) -> Table {
        let request = self.client.post(self.url("/api/sql")).header("x-scope-orgid", tenant);
        Table::of(&Answer::of(request.body(query.to_owned())).expect(200).json())
    }

    /// The one number that a query gives.
    #[track_caller]
    pub fn number(&self, query: &str) -> u64 {
        let table = self.sql(query);
        table.rows[0][0].as_u64().unwrap_or_else(|| panic!("{query}: {table:?}"))
    }

    /// How many records of a signal there are.
    #[track_caller]
    pub fn count(&self, signal: Signal) -> u64 {
        self.number(&format!("SELECT count(*) FROM {}", signal.table()))
    }

    /// Sends a request to the port for OTLP over HTTP.
    #[track_caller]
    pub fn send(&self, signal: Signal, encoding: Encoding, body: impl Into<Vec<u8>>) -> Answer {
        Answer::of(self.request(signal, encoding, body))
    }

    /// The same, to be changed before it is sent.
    pub fn request(
        &self,
        signal: Signal,
        encoding: Encoding,
        body: impl Into<Vec<u8>>,
    ) -> RequestBuilder {
        let url = format!("http://{}{}", self.otlp_http(), signal.path());
        let request = self.client.post(url).header("content-type", encoding.content_type());
        request.body(body.into())
    }

    /// Sends protobuf and expects that it is stored.
    #[track_caller]
    pub fn store(&self, signal: Signal, body: impl Into<Vec<u8>>) {
        let answer = self.send(signal, Encoding::Protobuf, body).expect(200);
        assert!(answer.body.is_empty(), "nothing is refused: {:?}", answer.text());
    }

    /// The sum of a metric of the server over all label sets that contain these labels.
    #[track_caller]
    pub fn metric(&self, name: &str, labels: &[&str]) -> f64 {
        let text = self.get("/metrics").expect(200).text();
        let samples = text.lines().filter(|line| !line.starts_with('#'));
        let mut sum = 0.0;
        for line in samples {
            let (series, value) = line.rsplit_once(' ').unwrap();
            let (found, found_labels) = series.split_once('{').unwrap_or((series, ""));
            if found == name && labels.iter().all(|label| found_labels.contains(label)) {
                sum += value.parse::<f64>().unwrap();
            }
        }
        sum
    }
}
