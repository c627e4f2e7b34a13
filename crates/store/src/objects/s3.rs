//! Objects of a bucket, on Amazon S3 or whatever speaks its protocol.
//!
//! The client is async and has a small runtime of its own; each call hands its work over to that
//! and waits on a channel. That works from any thread, also from one that belongs to another
//! runtime.
//!
//! Of the server we ask, beyond the basics, for create-if-absent: `PUT` with `If-None-Match: *`.
//! Requests that fail on the way, or with a 5xx or 429, are repeated for a bounded time. A
//! create-if-absent whose answer was lost may so find itself already there, hence the comparison
//! of bodies in [`put_new`](Objects::put_new).
//!
//! Messages name the server's error code, never its answer or the request, which may hold keys
//! and signatures.

use std::{
    fmt,
    future::Future,
    ops::Range,
    sync::mpsc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use object_store::{
    BackoffConfig, ClientConfigKey, GetOptions, GetRange, MultipartUpload, ObjectStore,
    ObjectStoreExt, PutMode, RetryConfig,
    aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey, S3ConditionalPut},
    list::{PaginatedListOptions, PaginatedListStore},
    path::Path,
};
use tokio::{runtime::Runtime, task::JoinSet};

use super::{
    ObjectInfo, Objects, ObjectsError, Tail, check_path, check_prefix, check_range,
    failure::{Failure, innermost, is_transport, status},
    out_of_range, without_secrets,
};

/// Threads of the client's runtime. They move bytes and decrypt; two keep up with a fast network.
const WORKER_THREADS: usize = 2;

/// Longest time for a connection to be made.
const CONNECT_TIMEOUT_SECS: u64 = 5;

/// Longest time for one request with its answer. With [`RETRY_FOR`] it bounds a call on a server
/// that hangs to about 30 seconds.
const REQUEST_TIMEOUT_SECS: u64 = 15;

/// How long after its start a failed request is still repeated.
const RETRY_FOR: Duration = Duration::from_secs(15);

/// Pauses between repetitions grow from the first to the second.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(3));

/// Repetitions of one request; the time is over before.
const MAX_RETRIES: usize = 20;

/// Bodies from this size on are sent in parts, so that each request is short.
const MULTIPART_FROM_BYTES: usize = 16 * 1024 * 1024;

/// Size of a part. S3 wants at least 5 MiB and at most 10,000 parts: enough for 80 GB.
const PART_BYTES: usize = 8 * 1024 * 1024;

/// Parts of one body that are on the way at a time.
const PARTS_IN_FLIGHT: usize = 4;

/// How to reach a bucket: the `AWS_` variables, and how patient to be.
///
/// Of the variables, these matter most: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY` and
/// `AWS_SESSION_TOKEN` (without them the machine's or the container's role is asked for);
/// `AWS_REGION` (default `us-east-1`); `AWS_ENDPOINT_URL` for servers other than Amazon's, with
/// `AWS_ALLOW_HTTP=true` if it has no TLS; `AWS_VIRTUAL_HOSTED_STYLE_REQUEST=true` if the bucket
/// is to stand in the host name instead of in the path. Profiles in `~/.aws` are not read.
pub struct S3Options {
    variables: Vec<(String, String)>,
    retry_for: Duration,
}

impl S3Options {
    /// The variables of this process.
    pub fn from_env() -> S3Options {
        let variables = std::env::vars_os()
            .filter_map(|(key, value)| Some((key.into_string().ok()?, value.into_string().ok()?)));
        S3Options::from_variables(variables)
    }

    /// Just these variables; those that do not start with `AWS_` do not count.
    pub fn from_variables<K: Into<String>, V: Into<String>>(
        variables: impl IntoIterator<Item = (K, V)>,
    ) -> S3Options {
        let variables = variables.into_iter().map(|(key, value)| (key.into(), value.into()));
        let variables = variables.filter(|(key, _)| key.starts_with("AWS_")).collect();
        S3Options { variables, retry_for: RETRY_FOR }
    }

    /// How long after its start a failed request is still repeated; 15 seconds if not set.
    pub fn retry_for(self, retry_for: Duration) -> S3Options {
        S3Options { retry_for, ..self }
    }
}

/// Objects of a bucket, below a prefix.
pub struct S3Objects {
    store: AmazonS3,
    bucket: String,
    /// Empty, or a path without a `/` at its end.
    prefix: String,
    /// Where the server is, if not Amazon's.
    endpoint: Option<String>,
    has_credentials: bool,
    retry_for: Duration,
    worker: Worker,
}

impl S3Objects {
    /// Gets ready to use `s3://bucket/prefix`; the server is not asked anything yet.
    pub fn open(url: &str, options: &S3Options) -> Result<S3Objects, ObjectsError> {
        let invalid =
            |reason: String| ObjectsError::InvalidUrl { url: without_secrets(url), reason };
        let (bucket, prefix) = split_url(url).map_err(|reason| invalid(reason.into()))?;
        let builder = builder(bucket, options);
        let setting = |key| builder.get_config_value(&key);
        let endpoint =
            setting(AmazonS3ConfigKey::S3Endpoint).or_else(|| setting(AmazonS3ConfigKey::Endpoint));
        let allow_http = setting(AmazonS3ConfigKey::Client(ClientConfigKey::AllowHttp));
        let is_plain = endpoint.as_ref().is_some_and(|endpoint| endpoint.starts_with("http://"));
        if is_plain && !allow_http.is_some_and(|value| is_yes(&value)) {
            return Err(invalid(
                "AWS_ENDPOINT_URL is without TLS; set AWS_ALLOW_HTTP=true if that is meant".into(),
            ));
        }
        let has_credentials = CREDENTIAL_SOURCES.into_iter().any(|key| setting(key).is_some());
        let store = builder.build().map_err(|error| {
            invalid(format!("the AWS_ variables do not fit: {}", innermost(&error)))
        })?;
        Ok(S3Objects {
            store,
            bucket: bucket.to_owned(),
            prefix: prefix.to_owned(),
            endpoint: endpoint.map(|endpoint| without_secrets(&endpoint)),
            has_credentials,
            retry_for: options.retry_for,
            worker: Worker::start().map_err(|source| ObjectsError::Io {
                act: "start the threads for",
                path: without_secrets(url),
                source,
            })?,
        })
    }

    /// Runs `work` on the object at `path` and turns its failure into ours.
    fn run<T, F>(
        &self,
        path: &str,
        work: impl FnOnce(AmazonS3, Path) -> F,
    ) -> Result<T, ObjectsError>
    where
        T: Send + 'static,
        F: Future<Output = object_store::Result<T>> + Send + 'static,
    {
        let key = Path::parse(self.key(path)).map_err(|_| ObjectsError::InvalidPath {
            path: path.to_owned(),
            reason: "no object of a bucket can have it",
        })?;
        match self.worker.run(work(self.store.clone(), key)) {
            Some(done) => done.map_err(|error| self.failed(path, &error)),
            None => Err(ObjectsError::Unavailable {
                place: self.place(path),
                detail: "the client's threads have ended".into(),
            }),
        }
    }

    fn key(&self, path: &str) -> String {
        match (&*self.prefix, path) {
            ("", path) => path.to_owned(),
            (prefix, "") => prefix.to_owned(),
            (prefix, path) => format!("{prefix}/{path}"),
        }
    }

    /// What the keys of all objects below `prefix` start with.
    fn key_prefix(&self, prefix: &str) -> String {
        let mut key = self.key(prefix);
        if !key.is_empty() {
            key.push('/');
        }
        key
    }

    fn place(&self, path: &str) -> String {
        format!("s3://{}/{}", self.bucket, self.key(path))
    }

    fn failed(&self, path: &str, error: &object_store::Error) -> ObjectsError {
        let place = self.place(path);
        match Failure::of(error) {
            Failure::NotFound => ObjectsError::NotFound { path: path.to_owned() },
            Failure::NoBucket => ObjectsError::NoBucket { bucket: self.bucket.clone() },
            Failure::Denied(detail) => ObjectsError::Denied { place, detail },
            Failure::Unavailable(mut detail) => {
                if !self.has_credentials {
                    detail.push_str(
                        "; as AWS_ACCESS_KEY_ID is not set, this machine's role was asked for",
                    );
                }
                ObjectsError::Unavailable { place: self.at_endpoint(place), detail }
            }
            Failure::Refused(detail) => {
                ObjectsError::Refused { place: self.at_endpoint(place), detail }
            }
        }
    }

    /// As [`S3Objects::failed`], for writes: there, nothing can be missing that is not a passing
    /// state of the server, such as the parts of an upload that a repeated request has completed.
    fn write_failed(&self, path: &str, error: ObjectsError) -> ObjectsError {
        match error {
            ObjectsError::NotFound { .. } => ObjectsError::Unavailable {
                place: self.at_endpoint(self.place(path)),
                detail: "the server lost track of the write".into(),
            },
            error => error,
        }
    }

    fn at_endpoint(&self, place: String) -> String {
        match &self.endpoint {
            Some(endpoint) => format!("{place} at {endpoint}"),
            None => place,
        }
    }
}

impl Objects for S3Objects {
    fn get(&self, path: &str) -> Result<Bytes, ObjectsError> {
        check_path(path)?;
        self.run(path, async |store, key| store.get(&key).await?.bytes().await)
    }

    fn get_range(&self, path: &str, range: Range<u64>) -> Result<Bytes, ObjectsError> {
        check_path(path)?;
        let Some(range) = check_range(path, range)? else {
            return Ok(Bytes::new());
        };
        let wanted = range.clone();
        let bytes = self.run(path, move |store, key| async move {
            let options = GetOptions::new().with_range(Some(GetRange::Bounded(wanted)));
            match store.get_opts(&key, options).await {
                // The object ends before the range starts.
                Err(error) if status(&error) == Some(RANGE_NOT_SATISFIABLE) => Ok(Bytes::new()),
                got => got?.bytes().await,
            }
        })?;
        // S3 gives what there is of a range that starts inside and ends outside.
        if bytes.len() as u64 != range.end - range.start {
            return Err(out_of_range(path, &range));
        }
        Ok(bytes)
    }

    fn get_tail(&self, path: &str, len_bytes: u64) -> Result<Tail, ObjectsError> {
        check_path(path)?;
        self.run(path, move |store, key| async move {
            if len_bytes == 0 {
                return Ok(Tail { bytes: Bytes::new(), size_bytes: store.head(&key).await?.size });
            }
            let options = GetOptions::new().with_range(Some(GetRange::Suffix(len_bytes)));
            let error = match store.get_opts(&key, options).await {
                Ok(tail) => {
                    let size_bytes = tail.meta.size;
                    return Ok(Tail { bytes: tail.bytes().await?, size_bytes });
                }
                Err(error) => error,
            };
            // An empty object has no last byte: servers answer that in different ways.
            match store.head(&key).await {
                Ok(meta) if meta.size == 0 => Ok(Tail { bytes: Bytes::new(), size_bytes: 0 }),
                _ => Err(error),
            }
        })
    }

    fn put(&self, path: &str, body: Bytes) -> Result<(), ObjectsError> {
        check_path(path)?;
        self.run(path, async |store, key| {
            if body.len() < MULTIPART_FROM_BYTES {
                store.put(&key, body.into()).await?;
                return Ok(());
            }
            let mut upload = store.put_multipart(&key).await?;
            let put = put_parts(&mut *upload, body).await;
            if put.is_err() {
                // Best effort, for the first error is the one to report: the parts of an upload
                // that was not completed are no object, but they are paid for.
                let _ = upload.abort().await;
            }
            put
        })
        .map_err(|error| self.write_failed(path, error))
    }

    fn put_new(&self, path: &str, body: Bytes) -> Result<bool, ObjectsError> {
        check_path(path)?;
        let retry_until = Instant::now() + self.retry_for;
        self.run(path, move |store, key| create(store, key, body, retry_until))
            .map_err(|error| self.write_failed(path, error))
    }

    fn delete(&self, path: &str) -> Result<(), ObjectsError> {
        check_path(path)?;
        match self.run(path, async |store, key| store.delete(&key).await) {
            Err(ObjectsError::NotFound { .. }) => Ok(()),
            deleted => deleted,
        }
    }

    fn list(&self, prefix: &str) -> Result<Vec<ObjectInfo>, ObjectsError> {
        let prefix = check_prefix(prefix)?;
        let root_len = self.key_prefix("").len();
        let key_prefix = self.key_prefix(prefix);
        let mut objects = self.run(prefix, async move |store, _| {
            let mut objects = Vec::new();
            let mut options = PaginatedListOptions::default();
            loop {
                let page = store.list_paginated(Some(&key_prefix), options.clone()).await?;
                // A key that is just the prefix is how some tools mark an empty directory.
                let below = |key: &str| key.len() > key_prefix.len();
                let found = page.result.objects.into_iter();
                objects.extend(found.filter(|meta| below(meta.location.as_ref())).map(|meta| {
                    ObjectInfo {
                        path: meta.location.as_ref()[root_len..].to_owned(),
                        size_bytes: meta.size,
                        modified_nanos: meta.last_modified.timestamp_nanos_opt().unwrap_or(0),
                    }
                }));
                match page.page_token {
                    Some(token) => options.page_token = Some(token),
                    None => return Ok(objects),
                }
            }
        })?;
        objects.sort_unstable_by(|left, right| left.path.cmp(&right.path));
        Ok(objects)
    }

    fn list_dirs(&self, prefix: &str) -> Result<Vec<String>, ObjectsError> {
        let prefix = check_prefix(prefix)?;
        let found =
            self.run(prefix, async |store, key| store.list_with_delimiter(Some(&key)).await)?;
        let names = found.common_prefixes.iter().filter_map(|dir| dir.filename());
        let mut names: Vec<_> = names.map(str::to_owned).collect();
        names.sort_unstable();
        Ok(names)
    }

    fn describe(&self) -> String {
        self.at_endpoint(match &*self.prefix {
            "" => format!("s3://{}", self.bucket),
            prefix => format!("s3://{}/{prefix}", self.bucket),
        })
    }
}

impl fmt::Debug for S3Objects {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("S3Objects").field(&self.describe()).finish()
    }
}

/// Settings that say where credentials come from.
const CREDENTIAL_SOURCES: [AmazonS3ConfigKey; 5] = [
    AmazonS3ConfigKey::AccessKeyId,
    AmazonS3ConfigKey::WebIdentityTokenFile,
    AmazonS3ConfigKey::ContainerCredentialsRelativeUri,
    AmazonS3ConfigKey::ContainerCredentialsFullUri,
    AmazonS3ConfigKey::SkipSignature,
];

/// Whether the client takes a setting for a yes.
fn is_yes(value: &str) -> bool {
    ["1", "true", "on", "yes", "y"].contains(&&*value.to_ascii_lowercase())
}

/// Splits `s3://bucket/prefix`.
fn split_url(url: &str) -> Result<(&str, &str), &'static str> {
    let rest = url.strip_prefix("s3://").ok_or("it does not start with `s3://`")?;
    if rest.contains(['@', '?', '#']) {
        return Err("use `s3://bucket/prefix`, and AWS_ variables for credentials and settings");
    }
    let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    if bucket.is_empty() || !bucket.bytes().all(is_name) {
        return Err("it does not name a bucket; use `s3://bucket/prefix`");
    }
    match check_prefix(prefix) {
        Ok(prefix) => Ok((bucket, prefix)),
        Err(ObjectsError::InvalidPath { reason, .. }) => Err(reason),
        Err(_) => Err("its prefix is invalid"),
    }
}

fn builder(bucket: &str, options: &S3Options) -> AmazonS3Builder {
    let client = AmazonS3ConfigKey::Client;
    let secs = |secs: u64| format!("{secs}s");
    let mut builder = AmazonS3Builder::new()
        .with_config(client(ClientConfigKey::Timeout), secs(REQUEST_TIMEOUT_SECS))
        .with_config(client(ClientConfigKey::ConnectTimeout), secs(CONNECT_TIMEOUT_SECS));
    for (key, value) in &options.variables {
        if let Ok(key) = key.to_ascii_lowercase().parse() {
            builder = builder.with_config(key, value);
        }
    }
    let (init_backoff, max_backoff) = BACKOFF;
    builder.with_bucket_name(bucket).with_conditional_put(S3ConditionalPut::ETagMatch).with_retry(
        RetryConfig {
            backoff: BackoffConfig { init_backoff, max_backoff, base: 2.0 },
            max_retries: MAX_RETRIES,
            retry_timeout: options.retry_for,
        },
    )
}

/// Uploads `body` in parts and makes them one object.
async fn put_parts(upload: &mut dyn MultipartUpload, mut body: Bytes) -> object_store::Result<()> {
    let mut parts = JoinSet::new();
    while !body.is_empty() {
        if parts.len() >= PARTS_IN_FLIGHT
            && let Some(part) = parts.join_next().await
        {
            part??;
        }
        let part = body.split_to(PART_BYTES.min(body.len()));
        parts.spawn(upload.put_part(part.into()));
    }
    while let Some(part) = parts.join_next().await {
        part??;
    }
    upload.complete().await?;
    Ok(())
}

/// Creates the object if it is absent; whether it is now there with our body.
async fn create(
    store: AmazonS3,
    key: Path,
    body: Bytes,
    retry_until: Instant,
) -> object_store::Result<bool> {
    let mut pause = BACKOFF.0;
    loop {
        let put = store.put_opts(&key, body.clone().into(), PutMode::Create.into()).await;
        let error = match put {
            Ok(_) => return Ok(true),
            Err(object_store::Error::AlreadyExists { path, source }) => {
                match is_same(&store, &key, &body).await {
                    // The server saw a conflict with another write that is not over (409), or
                    // with an object that was deleted since.
                    Err(object_store::Error::NotFound { .. }) => {
                        object_store::Error::AlreadyExists { path, source }
                    }
                    compared => return compared,
                }
            }
            // It may have arrived or not; the next try will tell.
            Err(error) if is_transport(&error) => error,
            Err(error) => return Err(error),
        };
        if Instant::now() + pause > retry_until {
            return Err(error);
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(BACKOFF.1);
    }
}

async fn is_same(store: &AmazonS3, key: &Path, body: &Bytes) -> object_store::Result<bool> {
    let existing = store.get(key).await?;
    if existing.meta.size != body.len() as u64 {
        return Ok(false);
    }
    Ok(existing.bytes().await? == *body)
}

const RANGE_NOT_SATISFIABLE: u16 = 416;

/// The runtime of the client.
struct Worker {
    /// Present until dropped.
    runtime: Option<Runtime>,
}

impl Worker {
    fn start() -> std::io::Result<Worker> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(WORKER_THREADS)
            .thread_name("kymo-s3")
            .enable_all()
            .build()?;
        Ok(Worker { runtime: Some(runtime) })
    }

    /// Runs `work` and waits for it; `None` if the runtime does not get it done.
    fn run<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> Option<T> {
        let (sender, receiver) = mpsc::sync_channel(1);
        self.runtime.as_ref()?.spawn(async move {
            // Only fails if nobody waits any more.
            let _ = sender.send(work.await);
        });
        receiver.recv().ok()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // To wait for the threads is forbidden on the threads of another runtime, and every call
        // waited for its own work anyway.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

#[cfg(test)]
mod tests;
