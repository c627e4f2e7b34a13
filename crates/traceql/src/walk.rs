//! Questions about trees.

use std::borrow::Cow;
use std::collections::HashSet;

use crate::ast::{
    Attribute, BinaryOp, Body, Expr, Intrinsic, Literal, Metrics, MetricsFunction, Name, Pipeline,
    Query, Scalar, Spansets, Stage,
};

impl Query {
    /// The value of a hint. The last of a name counts.
    pub fn hint(&self, name: &str) -> Option<&Literal> {
        self.hints.iter().rev().find(|hint| hint.name == name).map(|hint| &hint.value)
    }

    /// Every attribute that is named anywhere, in order of appearance, once each.
    pub fn attributes(&self) -> Vec<&Attribute> {
        let mut found = Found::default();
        match &self.body {
            Body::Spans(pipeline) => found.in_pipeline(pipeline),
            Body::Metrics(metrics) => found.in_metrics(metrics),
        }
        found.attributes
    }
}

impl Pipeline {
    /// Every attribute that is named anywhere, in order of appearance, once each. They are shown
    /// in answers.
    pub fn attributes(&self) -> Vec<&Attribute> {
        let mut found = Found::default();
        found.in_pipeline(self);
        found.attributes
    }

    /// The attributes of `select(…)`, in order of appearance, once each.
    pub fn selected(&self) -> Vec<&Attribute> {
        let mut found = Found { which: Which::Selected, ..Found::default() };
        found.in_pipeline(self);
        found.attributes
    }

    /// The attributes that spans are found for lacking: those of `= nil`, in order of appearance,
    /// once each.
    pub fn lacked(&self) -> Vec<&Attribute> {
        let mut found = Found { which: Which::Lacked, ..Found::default() };
        found.in_pipeline(self);
        found.attributes
    }
}

impl Expr {
    /// Every attribute that is named in it, in order of appearance, once each.
    pub fn attributes(&self) -> Vec<&Attribute> {
        let mut found = Found::default();
        found.in_expr(self);
        found.attributes
    }
}

impl Attribute {
    /// The key of its values in answers of a search: without the scope. `span.num` is `num`,
    /// `resource.service.name` is `service.name`, intrinsics have their own.
    pub fn bare_name(&self) -> Cow<'_, str> {
        let name = match &self.name {
            Name::Intrinsic(intrinsic) => intrinsic.name(),
            Name::Keyed { key, .. } => key,
        };
        // The span's own value may be shown beside it.
        if self.of_parent { Cow::Owned(format!("parent.{name}")) } else { Cow::Borrowed(name) }
    }

    /// Whether its values are durations, which functions over time tell in seconds.
    pub fn is_duration(&self) -> bool {
        let Name::Intrinsic(intrinsic) = &self.name else { return false };
        matches!(
            intrinsic,
            Intrinsic::Duration | Intrinsic::TraceDuration | Intrinsic::EventTimeSinceStart
        )
    }
}

/// Attributes that are looked for.
#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum Which {
    #[default]
    All,
    Selected,
    Lacked,
}

#[derive(Default)]
struct Found<'a> {
    attributes: Vec<&'a Attribute>,
    seen: HashSet<&'a Attribute>,
    which: Which,
}

impl<'a> Found<'a> {
    fn add(&mut self, attribute: &'a Attribute) {
        if self.seen.insert(attribute) {
            self.attributes.push(attribute);
        }
    }

    fn in_expr(&mut self, expr: &'a Expr) {
        match expr {
            _ if self.which == Which::Selected => {}
            _ if self.which == Which::Lacked => self.in_condition(expr),
            Expr::Literal(_) => {}
            Expr::Attribute(attribute) => self.add(attribute),
            Expr::Not(of) | Expr::Negate(of) => self.in_expr(of),
            Expr::Binary { left, right, .. } => {
                self.in_expr(left);
                self.in_expr(right);
            }
        }
    }

    /// Attributes of `= nil`; what is negated asks for the contrary.
    fn in_condition(&mut self, condition: &'a Expr) {
        match condition {
            Expr::Binary { op: BinaryOp::And | BinaryOp::Or, left, right } => {
                self.in_condition(left);
                self.in_condition(right);
            }
            Expr::Binary { op: BinaryOp::Equal, left, right } => {
                if let (Expr::Attribute(attribute), Expr::Literal(Literal::Nil))
                | (Expr::Literal(Literal::Nil), Expr::Attribute(attribute)) = (&**left, &**right)
                {
                    self.add(attribute);
                }
            }
            _ => {}
        }
    }

    fn in_pipeline(&mut self, pipeline: &'a Pipeline) {
        for stage in &pipeline.stages {
            match stage {
                Stage::Spansets(spansets) => self.in_spansets(spansets),
                // Only filters tell what spans are found for.
                _ if self.which == Which::Lacked => {}
                Stage::Scalars(filter) => {
                    self.in_scalar(&filter.left);
                    self.in_scalar(&filter.right);
                }
                Stage::By(expr) => self.in_expr(expr),
                Stage::Coalesce => {}
                Stage::Select(attributes) => {
                    attributes.iter().for_each(|attribute| self.add(attribute));
                }
            }
        }
    }

    fn in_spansets(&mut self, spansets: &'a Spansets) {
        match spansets {
            Spansets::Filter(expr) => self.in_expr(expr),
            Spansets::Pipeline(pipeline) => self.in_pipeline(pipeline),
            Spansets::Binary { left, right, .. } => {
                self.in_spansets(left);
                self.in_spansets(right);
            }
        }
    }

    fn in_scalar(&mut self, scalar: &'a Scalar) {
        match scalar {
            Scalar::Literal(_) | Scalar::Count => {}
            Scalar::Aggregate { of, .. } => self.in_expr(of),
            Scalar::Pipeline { pipeline, scalar } => {
                self.in_pipeline(pipeline);
                self.in_scalar(scalar);
            }
            Scalar::Binary { left, right, .. } => {
                self.in_scalar(left);
                self.in_scalar(right);
            }
        }
    }

    fn in_metrics(&mut self, metrics: &'a Metrics) {
        match metrics {
            Metrics::Literal(_) => {}
            Metrics::Binary { left, right, .. } => {
                self.in_metrics(left);
                self.in_metrics(right);
            }
            Metrics::Query { pipeline, function, by, .. } => {
                self.in_pipeline(pipeline);
                match function {
                    MetricsFunction::Rate | MetricsFunction::CountOverTime => {}
                    MetricsFunction::Compare { selection, .. } => self.in_expr(selection),
                    MetricsFunction::MinOverTime(of)
                    | MetricsFunction::MaxOverTime(of)
                    | MetricsFunction::SumOverTime(of)
                    | MetricsFunction::AvgOverTime(of)
                    | MetricsFunction::QuantileOverTime(of, _)
                    | MetricsFunction::HistogramOverTime(of) => self.add(of),
                }
                by.iter().for_each(|attribute| self.add(attribute));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::ast::{Body, Literal};
    use crate::{parse, parse_attribute};

    #[test]
    fn attributes_are_told_once_in_order_of_appearance() {
        let query = parse(
            "({ .b = 1 && name = \"x\" } | avg(span.a) > 1 | by(.b) | select(kind, .c)) \
             && ({ -event.d > 1 } | select(.c, .e))",
        )
        .unwrap();
        let shown = |attributes: Vec<&crate::ast::Attribute>| {
            attributes.iter().map(|a| a.to_string()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(shown(query.attributes()), ".b name span.a kind .c event.d .e");
        let Body::Spans(pipeline) = &query.body else { panic!() };
        assert_eq!(shown(pipeline.attributes()), ".b name span.a kind .c event.d .e");
        assert_eq!(shown(pipeline.selected()), "kind .c .e");
        assert_eq!(shown(pipeline.lacked()), "");
        let query = parse(
            "({ !(.a = nil) || nil = span.b && .c != nil } | by(.d = nil)) && ({ .f = nil && .e = 1 })",
        );
        let query = query.unwrap();
        let Body::Spans(pipeline) = &query.body else { panic!() };
        assert_eq!(shown(pipeline.lacked()), "span.b .f");
        let query = parse("({ .a } | max_over_time(span.b) by (.c)) / ({ .d } | rate())").unwrap();
        assert_eq!(shown(query.attributes()), ".a span.b .c .d");
        let query = parse("{ .a } | compare({ .d })").unwrap();
        assert_eq!(shown(query.attributes()), ".a .d");
    }

    #[test]
    fn the_last_hint_of_a_name_counts() {
        let query = parse("{ } with(a=1, b=true, a=-2.5)").unwrap();
        assert_eq!(query.hint("a"), Some(&Literal::Float(-2.5)));
        assert_eq!(query.hint("b"), Some(&Literal::Bool(true)));
        assert_eq!(query.hint("c"), None);
    }

    #[test]
    fn durations_are_known_in_all_spellings() {
        let durations = "duration span:duration traceDuration trace:duration event:timeSinceStart \
                         parent.duration";
        for attribute in durations.split_whitespace() {
            assert!(parse_attribute(attribute).unwrap().is_duration(), "{attribute}");
        }
        for attribute in ["span.duration", ".duration", "name", "nestedSetLeft"] {
            assert!(!parse_attribute(attribute).unwrap().is_duration(), "{attribute}");
        }
    }

    #[test]
    fn keys_in_answers_have_no_scope() {
        for (attribute, key) in [
            ("span.num", "num"),
            ("resource.service.name", "service.name"),
            (".a", "a"),
            ("span:parentID", "span:parentID"),
            ("kind", "kind"),
            ("event:name", "event:name"),
            ("nestedSetLeft", "nestedSetLeft"),
            ("parent.span.num", "parent.num"),
            ("span.\"a b\"", "a b"),
        ] {
            assert_eq!(parse_attribute(attribute).unwrap().bare_name(), key);
        }
    }
}
