//! What Prometheus' API answers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// An answer.
#[derive(Debug, Deserialize)]
pub(crate) struct Answer {
    data: Data,
    #[serde(default)]
    pub(crate) warnings: Vec<String>,
    #[serde(default)]
    pub(crate) infos: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "resultType", content = "result", rename_all = "lowercase")]
enum Data {
    Scalar(Point),
    String((f64, String)),
    Vector(Vec<Row>),
    Matrix(Vec<Row>),
}

/// A time in seconds, and a number as text.
type Point = (f64, String);

#[derive(Debug, Deserialize)]
struct Row {
    metric: BTreeMap<String, String>,
    value: Option<Point>,
    histogram: Option<(f64, Histogram)>,
    #[serde(default)]
    values: Vec<Point>,
    #[serde(default)]
    histograms: Vec<(f64, Histogram)>,
}

/// What was found. Times are nanoseconds since 1970.
#[derive(Debug)]
pub(crate) enum Found {
    Number(i64, f64),
    Text(i64, String),
    Series(Vec<Series>),
}

/// A series with one value or many.
#[derive(Debug)]
pub(crate) struct Series {
    pub(crate) labels: BTreeMap<String, String>,
    /// Times and numbers.
    pub(crate) points: Vec<(i64, f64)>,
    /// Times and native histograms.
    pub(crate) histograms: Vec<(i64, Histogram)>,
}

/// A native histogram, numbers as text.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Histogram {
    pub(super) count: String,
    pub(super) sum: String,
    /// Which bounds belong to it, the bounds, and how many are in it.
    #[serde(default)]
    pub(super) buckets: Vec<(u8, String, String, String)>,
}

impl Series {
    pub(crate) fn label(&self, name: &str) -> &str {
        self.labels.get(name).map_or("", String::as_str)
    }

    /// Its newest number.
    pub(crate) fn last(&self) -> Option<f64> {
        self.points.last().map(|(_, number)| *number)
    }
}

impl Answer {
    /// What it says.
    pub(crate) fn found(self) -> Result<Found, Failure> {
        Ok(match self.data {
            Data::Scalar(point) => {
                let (time, number) = read(&point)?;
                Found::Number(time, number)
            }
            Data::String((time, text)) => Found::Text(nanos(time), text),
            Data::Vector(rows) | Data::Matrix(rows) => {
                Found::Series(rows.into_iter().map(series).collect::<Result<_, _>>()?)
            }
        })
    }

    /// The series of it; none if it is a number or a text.
    pub(crate) fn series(self) -> Result<Vec<Series>, Failure> {
        Ok(match self.found()? {
            Found::Series(series) => series,
            Found::Number(..) | Found::Text(..) => Vec::new(),
        })
    }
}

fn series(row: Row) -> Result<Series, Failure> {
    let points = row.value.iter().chain(&row.values).map(read).collect::<Result<_, _>>()?;
    let histograms = row.histogram.into_iter().chain(row.histograms);
    let histograms = histograms.map(|(time, histogram)| (nanos(time), histogram)).collect();
    Ok(Series { labels: row.metric, points, histograms })
}

fn read((time, number): &Point) -> Result<(i64, f64), Failure> {
    let number = number.parse().map_err(|_| {
        Failure::Other(format!(
            "the answer of the server has {number:?} where a number is expected"
        ))
    })?;
    Ok((nanos(*time), number))
}

/// Seconds, of which Prometheus has no more than three decimals.
fn nanos(seconds: f64) -> i64 {
    ((seconds * 1000.0).round() as i64).saturating_mul(1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(data: &str) -> Found {
        let text = format!(r#"{{"status":"success","data":{data},"infos":["i"]}}"#);
        let answer: Answer = serde_json::from_str(&text).unwrap();
        assert_eq!(answer.infos, ["i"]);
        answer.found().unwrap()
    }

    #[test]
    fn numbers_texts_and_series_are_read() {
        let number = found(r#"{"resultType":"scalar","result":[1.5,"+Inf"]}"#);
        assert!(matches!(number, Found::Number(1_500_000_000, f64::INFINITY)), "{number:?}");
        let text = found(r#"{"resultType":"string","result":[0,"hé"]}"#);
        assert!(matches!(&text, Found::Text(0, text) if text == "hé"), "{text:?}");
        let vector = r#"{"resultType":"vector","result":[
            {"metric":{"job":"a"},"value":[1435781451.781,"NaN"]},
            {"metric":{},"histogram":[1,{"count":"2","sum":"3"}]}],"stats":{}}"#;
        let Found::Series(series) = found(vector) else { panic!("no series") };
        assert_eq!(series[0].label("job"), "a");
        assert_eq!(series[0].points[0].0, 1_435_781_451_781_000_000);
        assert!(series[0].last().unwrap().is_nan());
        assert_eq!(series[1].histograms[0].1.sum, "3");
        let matrix = r#"{"resultType":"matrix","result":[
            {"metric":{},"values":[[1,"1"],[2,"-2.5e3"]],"histograms":[[3,{"count":"0","sum":"0"}]]}]}"#;
        let Found::Series(series) = found(matrix) else { panic!("no series") };
        assert_eq!(series[0].points, [(1_000_000_000, 1.0), (2_000_000_000, -2500.0)]);
        assert_eq!(series[0].histograms.len(), 1);
    }

    #[test]
    fn what_is_no_number_is_refused() {
        let text = r#"{"data":{"resultType":"scalar","result":[1,"many"]}}"#;
        let answer: Answer = serde_json::from_str(text).unwrap();
        let why = answer.found().unwrap_err().to_string();
        assert!(why.contains("\"many\""), "{why}");
    }
}
