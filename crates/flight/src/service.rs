//! The methods of Flight SQL.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use arrow_flight::decode::FlightRecordBatchStream;
use arrow_flight::error::FlightError;
use arrow_flight::flight_service_server::{FlightService, FlightServiceServer};
use arrow_flight::sql::server::{FlightSqlService, PeekableFlightDataStream};
use arrow_flight::sql::*;
use arrow_flight::{
    Action, FlightDescriptor, FlightEndpoint, FlightInfo, HandshakeRequest, HandshakeResponse,
    IpcMessage, SchemaAsIpc, Ticket,
};
use arrow_ipc::writer::IpcWriteOptions;
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use bytes::Bytes;
use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use kymo_engine::{Asked, Engine, Parameter, Tenants};
use prost::Message;
use tonic::{Request, Response, Status, Streaming};

use crate::about::{self, CATALOG, SCHEMA, TABLE_TYPE};
use crate::answer::{self, Answer, sent};
use crate::handle::{Given, Handle};
use crate::limits::MESSAGE_MAX_BYTES;
use crate::values;

/// The header by which a client says who it is.
const AUTHORIZATION: &str = "authorization";

/// What is told of a query that has ended: how, and after which time.
pub type Ended = Arc<dyn Fn(&'static str, Duration) + Send + Sync>;

/// Flight SQL over an engine. Whoever serves it puts the [`Tenants`] that a call is for into the
/// extensions of its request.
#[derive(Clone)]
pub struct FlightSql {
    engine: Engine,
    ended: Ended,
}

impl FlightSql {
    /// Below this are the methods.
    pub const PATH: &'static str = "/arrow.flight.protocol.FlightService";

    /// Over an engine.
    #[must_use]
    pub fn new(engine: Engine, ended: Ended) -> Self {
        Self { engine, ended }
    }

    /// Answers a call.
    pub async fn call<B>(&self, request: http::Request<B>) -> http::Response<tonic::body::Body>
    where
        B: http_body::Body + Send + 'static,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>> + Send + 'static,
    {
        use tonic::codegen::Service;
        let mut service =
            FlightServiceServer::new(self.clone()).max_decoding_message_size(MESSAGE_MAX_BYTES);
        match service.call(request).await {
            Ok(response) => response,
            Err(never) => match never {},
        }
    }

    /// What a query will be answered with.
    async fn described(&self, tenants: Tenants, asked: Asked) -> Result<SchemaRef, Status> {
        let described = self.engine.describe(tenants, asked).await;
        described.map(|known| sent(&known.schema)).map_err(|error| answer::status(&error))
    }

    /// Answers a query.
    async fn answered(&self, tenants: Tenants, asked: Asked) -> Result<Response<Answer>, Status> {
        let began = Instant::now();
        match self.engine.ask(tenants, asked).await {
            Ok(rows) => {
                answer::rows(&self.engine, rows, began, self.ended.clone()).map(Response::new)
            }
            Err(error) => {
                (self.ended)(error.kind(), began.elapsed());
                Err(answer::status(&error))
            }
        }
    }

    /// Tables that fit a command, with their columns if it wants them.
    async fn tables(&self, query: CommandGetTables) -> Result<RecordBatch, Status> {
        let mut tables = query.into_builder();
        let known = self.engine.tables().await.map_err(|error| answer::status(&error))?;
        for (name, schema) in known {
            tables.append(CATALOG, SCHEMA, name, TABLE_TYPE, &sent(&schema)).map_err(of_flight)?;
        }
        tables.build().map_err(of_flight)
    }
}

fn of_arrow(error: ArrowError) -> Status {
    Status::internal(error.to_string())
}

fn of_flight(error: FlightError) -> Status {
    Status::from(error)
}

/// Whose data a call is about.
fn tenants<T>(request: &Request<T>) -> Result<Tenants, Status> {
    let known = request.extensions().get::<Tenants>().cloned();
    known.ok_or_else(|| Status::internal("nobody said for whom this call is"))
}

/// Where an answer is: here, for a ticket.
fn info(
    schema: &Schema,
    ticket: impl Into<Bytes>,
    descriptor: FlightDescriptor,
) -> Result<Response<FlightInfo>, Status> {
    let endpoint = FlightEndpoint::new().with_ticket(Ticket::new(ticket));
    let info = FlightInfo::new().try_with_schema(schema).map_err(of_arrow)?;
    Ok(Response::new(info.with_endpoint(endpoint).with_descriptor(descriptor)))
}

/// The same for a command that is its own ticket.
fn info_of(
    command: &impl ProstMessageExt,
    schema: &Schema,
    request: Request<FlightDescriptor>,
) -> Result<Response<FlightInfo>, Status> {
    info(schema, command.as_any().encode_to_vec(), request.into_inner())
}

/// A schema as bytes; empty if there are no columns.
fn schema_bytes(schema: &Schema) -> Result<Bytes, Status> {
    if schema.fields().is_empty() {
        return Ok(Bytes::new());
    }
    let options = IpcWriteOptions::default();
    let message: IpcMessage = SchemaAsIpc::new(schema, &options).try_into().map_err(of_arrow)?;
    Ok(message.0)
}

/// Columns for parameters, as far as their types are known. Ids are given as text.
fn parameter_schema(types: &[Option<DataType>]) -> Schema {
    let fields = types.iter().enumerate().map(|(place, data_type)| {
        let data_type = match data_type {
            None | Some(DataType::FixedSizeBinary(_) | DataType::Null) => DataType::Utf8,
            Some(DataType::Dictionary(_, values)) => (**values).clone(),
            Some(known) => known.clone(),
        };
        Field::new(format!("${}", place + 1), data_type, true)
    });
    Schema::new(fields.collect::<Vec<_>>())
}

/// The query of a prepared statement with its values.
fn asked(handle: &[u8]) -> Result<Asked, Status> {
    let Handle { query, values } = Handle::read(handle)?;
    let parameters = values.into_iter().map(|given| Parameter::Value(given.into())).collect();
    Ok(Asked { text: query, parameters, session: None })
}

fn read_only() -> Status {
    Status::permission_denied("nothing is written by Flight SQL: send records by OTLP")
}

fn no_transactions() -> Status {
    Status::unimplemented(
        "there are no transactions: each query sees what was acknowledged before it",
    )
}

/// Keys, which there are none of.
fn no_keys(columns: &[&str]) -> RecordBatch {
    let fields = columns.iter().map(|name| Field::new(*name, DataType::Utf8, true));
    RecordBatch::new_empty(Arc::new(Schema::new(fields.collect::<Vec<_>>())))
}

const PRIMARY_KEY: [&str; 6] =
    ["catalog_name", "db_schema_name", "table_name", "column_name", "key_name", "key_sequence"];
const FOREIGN_KEY: [&str; 8] = [
    "pk_catalog_name",
    "pk_db_schema_name",
    "pk_table_name",
    "pk_column_name",
    "fk_catalog_name",
    "fk_db_schema_name",
    "fk_table_name",
    "fk_column_name",
];

#[tonic::async_trait]
impl FlightSqlService for FlightSql {
    type FlightService = Self;

    /// Who is let in here may go on with what he has shown: clients take the header from the answer.
    async fn do_handshake(
        &self,
        request: Request<Streaming<HandshakeRequest>>,
    ) -> Result<Response<<Self as FlightService>::HandshakeStream>, Status> {
        let shown = request.metadata().get(AUTHORIZATION).cloned();
        let payload = shown.as_ref().map(|shown| Bytes::copy_from_slice(shown.as_bytes()));
        let answer =
            HandshakeResponse { protocol_version: 0, payload: payload.unwrap_or_default() };
        let stream = stream::iter([Ok(answer)]);
        let mut response: Response<<Self as FlightService>::HandshakeStream> =
            Response::new(Box::pin(stream));
        if let Some(shown) = shown {
            response.metadata_mut().insert(AUTHORIZATION, shown);
        }
        Ok(response)
    }

    async fn get_flight_info_statement(
        &self,
        query: CommandStatementQuery,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        let tenants = tenants(&request)?;
        let schema = self.described(tenants, query.query.as_str().into()).await?;
        let ticket = TicketStatementQuery { statement_handle: query.query.into() };
        info_of(&ticket, &schema, request)
    }

    async fn do_get_statement(
        &self,
        ticket: TicketStatementQuery,
        request: Request<Ticket>,
    ) -> Result<Response<<Self as FlightService>::DoGetStream>, Status> {
        let query = String::from_utf8(ticket.statement_handle.to_vec());
        let query = query.map_err(|_| Status::invalid_argument("the ticket is none of ours"))?;
        self.answered(tenants(&request)?, query.as_str().into()).await
    }

    async fn do_action_create_prepared_statement(
        &self,
        query: ActionCreatePreparedStatementRequest,
        request: Request<Action>,
    ) -> Result<ActionCreatePreparedStatementResult, Status> {
        let asked = Asked::from(query.query.as_str());
        let described = self.engine.describe(tenants(&request)?, asked).await;
        let described = described.map_err(|error| answer::status(&error))?;
        Ok(ActionCreatePreparedStatementResult {
            prepared_statement_handle: Handle::new(query.query).bytes(),
            dataset_schema: schema_bytes(&sent(&described.schema))?,
            parameter_schema: schema_bytes(&parameter_schema(&described.parameters))?,
        })
    }

    /// Nothing is kept, so there is nothing to close.
    async fn do_action_close_prepared_statement(
        &self,
        _: ActionClosePreparedStatementRequest,
        _: Request<Action>,
    ) -> Result<(), Status> {
        Ok(())
    }

    /// Puts values into a handle.
    async fn do_put_prepared_statement_query(
        &self,
        query: CommandPreparedStatementQuery,
        request: Request<PeekableFlightDataStream>,
    ) -> Result<DoPutPreparedStatementResult, Status> {
        let mut handle = Handle::read(&query.prepared_statement_handle)?;
        let messages = request.into_inner().map_err(|status| FlightError::Tonic(Box::new(status)));
        let mut batches = FlightRecordBatchStream::new_from_flight_data(messages);
        handle.values = Vec::new();
        // What decodes batches panics on some that are damaged.
        while let Some(batch) =
            AssertUnwindSafe(batches.next()).catch_unwind().await.map_err(|_| {
                Status::invalid_argument("parameters cannot be read: the batch is damaged")
            })?
        {
            let batch = batch.map_err(of_flight)?;
            if batch.num_rows() == 0 {
                continue;
            }
            if !handle.values.is_empty() {
                let message = "several rows of parameters are given: a query takes one";
                return Err(Status::invalid_argument(message));
            }
            handle.values = values::of(&batch)?.into_iter().map(Given::from).collect();
        }
        Ok(DoPutPreparedStatementResult { prepared_statement_handle: Some(handle.bytes()) })
    }

    async fn get_flight_info_prepared_statement(
        &self,
        query: CommandPreparedStatementQuery,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        let asked = asked(&query.prepared_statement_handle)?;
        let schema = self.described(tenants(&request)?, asked).await?;
        info_of(&query, &schema, request)
    }

    async fn do_get_prepared_statement(
        &self,
        query: CommandPreparedStatementQuery,
        request: Request<Ticket>,
    ) -> Result<Response<<Self as FlightService>::DoGetStream>, Status> {
        let asked = asked(&query.prepared_statement_handle)?;
        self.answered(tenants(&request)?, asked).await
    }

    async fn get_flight_info_catalogs(
        &self,
        query: CommandGetCatalogs,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        info_of(&query, &query.into_builder().schema(), request)
    }

    async fn do_get_catalogs(
        &self,
        query: CommandGetCatalogs,
        _: Request<Ticket>,
    ) -> Result<Response<<Self as FlightService>::DoGetStream>, Status> {
        let mut catalogs = query.into_builder();
        catalogs.append(CATALOG);
        Ok(Response::new(answer::batch(catalogs.build().map_err(of_flight)?)))
    }

    async fn get_flight_info_schemas(
        &self,
        query: CommandGetDbSchemas,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        info_of(&query.clone(), &query.into_builder().schema(), request)
    }

    async fn do_get_schemas(
        &self,
        query: CommandGetDbSchemas,
        _: Request<Ticket>,
    ) -> Result<Response<<Self as FlightService>::DoGetStream>, Status> {
        let mut schemas = query.into_builder();
        schemas.append(CATALOG, SCHEMA);
        Ok(Response::new(answer::batch(schemas.build().map_err(of_flight)?)))
    }

    async fn get_flight_info_tables(
        &self,
        query: CommandGetTables,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        info_of(&query.clone(), &query.into_builder().schema(), request)
    }

    async fn do_get_tables(
        &self,
        query: CommandGetTables,
        _: Request<Ticket>,
    ) -> Result<Response<<Self as FlightService>::DoGetStream>, Status> {
        Ok(Response::new(answer::batch(self.tables(query).await?)))
    }

    async fn get_flight_info_table_types(
        &self,
        query: CommandGetTableTypes,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        info_of(&query, &query.into_builder().schema(), request)
    }

    async fn do_get_table_types(
        &self,
        query: CommandGetTableTypes,
        _: Request<Ticket>,
    ) -> Result<Response<<Self as FlightService>::DoGetStream>, Status> {
        let mut types = query.into_builder();
        types.append(TABLE_TYPE);
        Ok(Response::new(answer::batch(types.build().map_err(of_flight)?)))
    }

    async fn get_flight_info_sql_info(
        &self,
        query: CommandGetSqlInfo,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        info_of(&query.clone(), &query.into_builder(about::facts()?).schema(), request)
    }

    async fn do_get_sql_info(
        &self,
        query: CommandGetSqlInfo,
        _: Request<Ticket>,
    ) -> Result<Response<<Self as FlightService>::DoGetStream>, Status> {
        let facts = query.into_builder(about::facts()?).build().map_err(of_flight)?;
        Ok(Response::new(answer::batch(facts)))
    }

    async fn get_flight_info_xdbc_type_info(
        &self,
        query: CommandGetXdbcTypeInfo,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        info_of(&query, &query.into_builder(about::types()?).schema(), request)
    }

    async fn do_get_xdbc_type_info(
        &self,
        query: CommandGetXdbcTypeInfo,
        _: Request<Ticket>,
    ) -> Result<Response<<Self as FlightService>::DoGetStream>, Status> {
        let types = query.into_builder(about::types()?).build().map_err(of_flight)?;
        Ok(Response::new(answer::batch(types)))
    }

    async fn get_flight_info_primary_keys(
        &self,
        query: CommandGetPrimaryKeys,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        info_of(&query, &no_keys(&PRIMARY_KEY).schema(), request)
    }

    async fn do_get_primary_keys(
        &self,
        _: CommandGetPrimaryKeys,
        _: Request<Ticket>,
    ) -> Result<Response<<Self as FlightService>::DoGetStream>, Status> {
        Ok(Response::new(answer::batch(no_keys(&PRIMARY_KEY))))
    }

    async fn get_flight_info_exported_keys(
        &self,
        query: CommandGetExportedKeys,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        info_of(&query, &no_keys(&FOREIGN_KEY).schema(), request)
    }

    async fn do_get_exported_keys(
        &self,
        _: CommandGetExportedKeys,
        _: Request<Ticket>,
    ) -> Result<Response<<Self as FlightService>::DoGetStream>, Status> {
        Ok(Response::new(answer::batch(no_keys(&FOREIGN_KEY))))
    }

    async fn get_flight_info_imported_keys(
        &self,
        query: CommandGetImportedKeys,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        info_of(&query, &no_keys(&FOREIGN_KEY).schema(), request)
    }

    async fn do_get_imported_keys(
        &self,
        _: CommandGetImportedKeys,
        _: Request<Ticket>,
    ) -> Result<Response<<Self as FlightService>::DoGetStream>, Status> {
        Ok(Response::new(answer::batch(no_keys(&FOREIGN_KEY))))
    }

    async fn do_put_statement_update(
        &self,
        _: CommandStatementUpdate,
        _: Request<PeekableFlightDataStream>,
    ) -> Result<i64, Status> {
        Err(read_only())
    }

    async fn do_put_statement_ingest(
        &self,
        _: CommandStatementIngest,
        _: Request<PeekableFlightDataStream>,
    ) -> Result<i64, Status> {
        Err(read_only())
    }

    async fn do_put_prepared_statement_update(
        &self,
        _: CommandPreparedStatementUpdate,
        _: Request<PeekableFlightDataStream>,
    ) -> Result<i64, Status> {
        Err(read_only())
    }

    async fn do_action_begin_transaction(
        &self,
        _: ActionBeginTransactionRequest,
        _: Request<Action>,
    ) -> Result<ActionBeginTransactionResult, Status> {
        Err(no_transactions())
    }

    async fn do_action_end_transaction(
        &self,
        _: ActionEndTransactionRequest,
        _: Request<Action>,
    ) -> Result<(), Status> {
        Err(no_transactions())
    }

    async fn do_action_cancel_query(
        &self,
        _: ActionCancelQueryRequest,
        _: Request<Action>,
    ) -> Result<ActionCancelQueryResult, Status> {
        Err(Status::unimplemented("a query ends when its stream is closed"))
    }

    /// To cancel by what a query was described with, and to set or close a session: there is neither.
    async fn do_action_fallback(
        &self,
        request: Request<Action>,
    ) -> Result<Response<<Self as FlightService>::DoActionStream>, Status> {
        let action = &request.get_ref().r#type;
        Err(Status::unimplemented(format!(
            "the action {action} is not offered: nothing is kept between calls, and a query ends \
             when its stream is closed"
        )))
    }

    /// What is told is fixed.
    async fn register_sql_info(&self, _: i32, _: &SqlInfo) {}
}
