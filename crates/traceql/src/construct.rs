//! Trees that programs build, without text to parse.

use std::convert::Infallible;

use crate::ast::{Attribute, BinaryOp, Expr, Literal, Name};

impl Expr {
    /// A value of the span itself, not of its parent.
    #[must_use]
    pub fn attribute(name: Name) -> Expr {
        Expr::Attribute(Attribute { of_parent: false, name })
    }

    /// `left op right`. Nothing is checked here: types that do not fit make it false of every
    /// span, and a regular expression that is none is refused when it is compiled.
    #[must_use]
    pub fn compare(op: BinaryOp, left: Expr, right: Expr) -> Expr {
        Expr::Binary { op, left: Box::new(left), right: Box::new(right) }
    }

    /// `&&` of all, in their order; `true` if there are none. The tree is balanced, so that many
    /// do not make it [too high](crate::limits::MAX_HEIGHT).
    ///
    /// ```
    /// use kymo_traceql::ast::{BinaryOp, Expr, Intrinsic, Literal, Name};
    ///
    /// let name = || Expr::attribute(Name::Intrinsic(Intrinsic::Name));
    /// let is_not = |text: &str| {
    ///     let text = Expr::Literal(Literal::Text(text.to_owned()));
    ///     Expr::compare(BinaryOp::NotEqual, name(), text)
    /// };
    /// let expr = Expr::all(["a", "b"].map(is_not));
    /// assert_eq!(expr.to_string(), r#"name != "a" && name != "b""#);
    /// ```
    #[must_use]
    pub fn all(exprs: impl IntoIterator<Item = Expr>) -> Expr {
        run(BinaryOp::And, exprs, true)
    }

    /// `||` of all, in their order; `false` if there are none. The tree is balanced.
    #[must_use]
    pub fn any(exprs: impl IntoIterator<Item = Expr>) -> Expr {
        run(BinaryOp::Or, exprs, false)
    }
}

fn run(op: BinaryOp, exprs: impl IntoIterator<Item = Expr>, of_none: bool) -> Expr {
    let join = &mut |left, right| Ok::<_, Infallible>(Expr::compare(op, left, right));
    let Ok(tree) = balanced(exprs.into_iter().collect(), join);
    tree.unwrap_or(Expr::Literal(Literal::Bool(of_none)))
}

/// One tree of operands, in their order, whose height is the logarithm of their number; nothing if
/// there are none.
pub(crate) fn balanced<T, E>(
    mut run: Vec<T>,
    join: &mut impl FnMut(T, T) -> Result<T, E>,
) -> Result<Option<T>, E> {
    if run.len() < 2 {
        return Ok(run.pop());
    }
    let right = run.split_off(run.len() / 2);
    match (balanced(run, join)?, balanced(right, join)?) {
        (Some(left), Some(right)) => join(left, right).map(Some),
        (one, other) => Ok(one.or(other)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ast::{Intrinsic, Scope};

    fn is(number: i64) -> Expr {
        let name = Name::Keyed { scope: Scope::Span, key: "a".to_owned() };
        Expr::compare(BinaryOp::Equal, Expr::attribute(name), Expr::Literal(Literal::Int(number)))
    }

    fn height(expr: &Expr) -> usize {
        match expr {
            Expr::Literal(_) | Expr::Attribute(_) => 1,
            Expr::Not(of) | Expr::Negate(of) => 1 + height(of),
            Expr::Binary { left, right, .. } => 1 + height(left).max(height(right)),
        }
    }

    #[test]
    fn what_is_built_is_what_is_parsed() {
        let expr = Expr::any([is(1), Expr::all([is(2), is(3)])]);
        assert_eq!(expr.to_string(), "span.a = 1 || (span.a = 2 && span.a = 3)");
        let text = format!("{{ {expr} }}");
        assert_eq!(crate::parse_filter_leniently(&text), Some(expr));
        let kind = Expr::attribute(Name::Intrinsic(Intrinsic::Kind));
        assert_eq!(kind.to_string(), "kind");
    }

    #[test]
    fn none_of_all_is_true_and_none_of_any_is_false() {
        assert_eq!(Expr::all([]), Expr::Literal(Literal::Bool(true)));
        assert_eq!(Expr::any([]), Expr::Literal(Literal::Bool(false)));
        assert_eq!(Expr::all([is(1)]), is(1));
        assert_eq!(Expr::any([is(1)]), is(1));
    }

    #[test]
    fn many_make_a_low_tree_in_their_order() {
        let many = Expr::any((0..100_000).map(is));
        assert_eq!(height(&many), 2 + 17, "a comparison below 2^17 operands");
        let few = Expr::all((0..9).map(is)).to_string();
        let numbers: String = few.chars().filter(char::is_ascii_digit).collect();
        assert_eq!(numbers, "012345678");
    }
}
