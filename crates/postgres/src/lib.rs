//! PostgreSQL's protocol over the engine.
