//! LogQL: syntax, pipelines, evaluation on log lines.
