//! The dialect that queries are written in: DataFusion's, but for what binds tighter.
//!
//! `body ->> 'user' = 'ada'` is a comparison, as in PostgreSQL: its operators that have no place of
//! their own bind tighter than comparisons, `LIKE`, `IN` and `IS`, and looser than sums. In
//! DataFusion's dialect arrows come after all of those, and `||` before sums.

use std::any::TypeId;

use datafusion::sql::sqlparser::dialect::{Dialect, GenericDialect, Precedence};
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::Token;

/// The dialect of queries.
#[derive(Debug)]
pub(super) struct Kymo;

/// What is answered as the dialect does which is DataFusion's default.
macro_rules! as_generic {
    ($($asked:ident)*) => {
        $(fn $asked(&self) -> bool {
            GenericDialect.$asked()
        })*
    };
}

impl Dialect for Kymo {
    /// The parser asks some things by the dialect's type.
    fn dialect(&self) -> TypeId {
        GenericDialect.dialect()
    }

    fn get_next_precedence(&self, parser: &Parser) -> Option<Result<u8, ParserError>> {
        let is_concatenation = matches!(parser.peek_token_ref().token, Token::StringConcat);
        is_concatenation.then(|| Ok(self.prec_value(Precedence::PgOther)))
    }

    fn prec_value(&self, precedence: Precedence) -> u8 {
        GenericDialect.prec_value(match precedence {
            Precedence::PgOther => Precedence::Pipe,
            other => other,
        })
    }

    fn is_delimited_identifier_start(&self, letter: char) -> bool {
        GenericDialect.is_delimited_identifier_start(letter)
    }

    fn is_identifier_start(&self, letter: char) -> bool {
        GenericDialect.is_identifier_start(letter)
    }

    fn is_identifier_part(&self, letter: char) -> bool {
        GenericDialect.is_identifier_part(letter)
    }

    as_generic! {
        allow_extract_custom
        allow_extract_single_quotes
        support_map_literal_syntax
        supports_array_join_syntax
        supports_array_typedef_with_brackets
        supports_asc_desc_in_column_definition
        supports_bitwise_shift_operators
        supports_comma_separated_set_assignments
        supports_comma_separated_trim
        supports_comment_on
        supports_comment_optimizer_hint
        supports_connect_by
        supports_constraint_keyword_without_name
        supports_create_index_with_clause
        supports_create_view_comment_syntax
        supports_cte_without_as
        supports_data_type_signed_suffix
        supports_detach
        supports_dictionary_syntax
        supports_empty_projections
        supports_explain_with_utility_options
        supports_extract_comma_syntax
        supports_filter_during_aggregation
        supports_from_first_select
        supports_group_by_expr
        supports_group_by_with_modifier
        supports_install
        supports_interpolate
        supports_interval_options
        supports_key_column_option
        supports_left_associative_joins_without_parens
        supports_limit_by
        supports_limit_comma
        supports_load_extension
        supports_match_against
        supports_match_recognize
        supports_multiline_comment_hints
        supports_named_fn_args_with_assignment_operator
        supports_nested_comments
        supports_optimize_table
        supports_parens_around_table_factor
        supports_parenthesized_set_variables
        supports_partition_by_after_order_by
        supports_pipe_operator
        supports_prewhere
        supports_projection_trailing_commas
        supports_quote_delimited_string
        supports_select_format
        supports_select_item_multi_column_alias
        supports_select_wildcard_except
        supports_select_wildcard_exclude
        supports_select_wildcard_ilike
        supports_select_wildcard_rename
        supports_select_wildcard_replace
        supports_set_names
        supports_settings
        supports_start_transaction_modifier
        supports_string_escape_constant
        supports_struct_literal
        supports_try_convert
        supports_unicode_string_literal
        supports_update_order_by
        supports_user_host_grantee
        supports_values_as_table_factor
        supports_window_clause_named_window_reference
        supports_window_function_null_treatment_arg
        supports_with_fill
        supports_xml_expressions
    }
}

#[cfg(test)]
mod tests {
    use std::ops::ControlFlow;

    use datafusion::sql::sqlparser::ast::{Expr, VisitMut, VisitorMut};

    use super::super::{names, statement};

    /// Puts brackets around every operator, and around nothing else.
    struct Brackets;

    impl VisitorMut for Brackets {
        type Break = ();

        fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
            match expr {
                Expr::Nested(inner) => *expr = (**inner).clone(),
                Expr::Value(_) | Expr::Identifier(_) => {}
                operator => *operator = Expr::Nested(Box::new(operator.clone())),
            }
            ControlFlow::Continue(())
        }
    }

    fn bracketed(expr: &str) -> String {
        let mut statement = statement(&format!("SELECT {expr}")).unwrap();
        let _ = names::inner(&mut statement).unwrap().visit(&mut Brackets);
        statement.to_string()
    }

    #[test]
    fn arrows_bind_tighter_than_comparisons_and_looser_than_sums() {
        for (text, meant) in [
            ("a ->> 'k' = 'x'", "(a ->> 'k') = 'x'"),
            ("'x' <> a ->> 'k'", "'x' <> (a ->> 'k')"),
            ("a -> 'k' ->> 'l' LIKE 'x%'", "((a -> 'k') ->> 'l') LIKE 'x%'"),
            ("a ->> 'k' IN ('x') AND b", "((a ->> 'k') IN ('x')) AND b"),
            ("NOT a ->> 'k' IS NULL", "NOT ((a ->> 'k') IS NULL)"),
            ("a ->> 'k' BETWEEN 'x' AND 'y'", "(a ->> 'k') BETWEEN 'x' AND 'y'"),
            ("a ->> 1 + 2", "a ->> (1 + 2)"),
            ("a ->> 'k' || 'x'", "(a ->> 'k') || 'x'"),
            ("a || 1 + 2 = b", "(a || (1 + 2)) = b"),
        ] {
            assert_eq!(bracketed(text), bracketed(meant), "{text}");
        }
        assert_ne!(bracketed("(a -> b) = c"), bracketed("a -> (b = c)"));
    }
}
