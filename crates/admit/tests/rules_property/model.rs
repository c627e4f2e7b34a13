//! Rules, told once more on plain lists: slow, plain, and independent of what is tested.

/// A value of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Int(i64),
    Text(String),
}

pub(crate) type Attributes = Vec<(String, Value)>;

/// A record with all that belongs to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Flat {
    pub(crate) resource: Attributes,
    pub(crate) scope: Attributes,
    pub(crate) own: Attributes,
    pub(crate) name: String,
    /// Which record it is.
    pub(crate) number: u64,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Place {
    Own,
    Resource,
    Scope,
}

impl Place {
    /// What is written before the dot.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Own => "",
            Self::Resource => "resource",
            Self::Scope => "instrumentation",
        }
    }
}

pub(crate) struct Rule {
    pub(crate) condition: Option<Condition>,
    pub(crate) effect: Effect,
}

pub(crate) enum Effect {
    Drop,
    Keep,
    Insert(Place, String, i64),
    Update(Place, String, i64),
    Upsert(Place, String, i64),
    Delete(Place, String),
    Rename(Place, String, String),
    Redact(Place, String),
}

pub(crate) enum Condition {
    Equals(Option<Place>, String, i64),
    IsNil(Option<Place>, String),
    Name(String),
    All(Box<Condition>, Box<Condition>),
    Any(Box<Condition>, Box<Condition>),
    Not(Box<Condition>),
}

impl Condition {
    pub(crate) fn text(&self) -> String {
        let name = |scope: &Option<Place>, key| format!("{}.{key}", scope.map_or("", Place::name));
        match self {
            Self::Equals(scope, key, value) => format!("{} = {value}", name(scope, key)),
            Self::IsNil(scope, key) => format!("{} = nil", name(scope, key)),
            Self::Name(text) => format!("name = \"{text}\""),
            Self::All(one, other) => format!("({}) && ({})", one.text(), other.text()),
            Self::Any(one, other) => format!("({}) || ({})", one.text(), other.text()),
            Self::Not(of) => format!("!({})", of.text()),
        }
    }

    fn holds(&self, record: &Flat) -> bool {
        let value = |scope: &Option<Place>, key: &str| {
            let lists = match scope {
                None | Some(Place::Own) => vec![&record.own, &record.resource, &record.scope],
                Some(Place::Resource) => vec![&record.resource],
                Some(Place::Scope) => vec![&record.scope],
            };
            let mut all = lists.into_iter().flatten();
            all.find(|(found, _)| found == key).map(|(_, value)| value.clone())
        };
        match self {
            Self::Equals(scope, key, wanted) => value(scope, key) == Some(Value::Int(*wanted)),
            Self::IsNil(scope, key) => value(scope, key).is_none(),
            Self::Name(text) => record.name == *text,
            Self::All(one, other) => one.holds(record) && other.holds(record),
            Self::Any(one, other) => one.holds(record) || other.holds(record),
            Self::Not(of) => !of.holds(record),
        }
    }
}

/// What is left of records, and how many are dropped.
pub(crate) fn apply(rules: &[Rule], records: &[Flat]) -> (Vec<Flat>, u64) {
    let left: Vec<Flat> = records.iter().filter_map(|record| one(rules, record.clone())).collect();
    let dropped = (records.len() - left.len()) as u64;
    (left, dropped)
}

fn one(rules: &[Rule], mut record: Flat) -> Option<Flat> {
    for rule in rules {
        let holds = rule.condition.as_ref().is_none_or(|condition| condition.holds(&record));
        match &rule.effect {
            Effect::Drop if holds => return None,
            Effect::Keep if !holds => return None,
            effect if holds => change(effect, &mut record),
            _ => {}
        }
    }
    Some(record)
}

fn change(effect: &Effect, record: &mut Flat) {
    let mut list = |scope: &Place| match scope {
        Place::Own => std::mem::take(&mut record.own),
        Place::Resource => std::mem::take(&mut record.resource),
        Place::Scope => std::mem::take(&mut record.scope),
    };
    let (scope, list) = match effect {
        Effect::Drop | Effect::Keep => return,
        Effect::Insert(scope, key, value) => {
            let mut list = list(scope);
            if !list.iter().any(|(found, _)| found == key) {
                list.push((key.clone(), Value::Int(*value)));
            }
            (scope, list)
        }
        Effect::Update(scope, key, value) => {
            let mut list = list(scope);
            for (_, old) in list.iter_mut().filter(|(found, _)| found == key) {
                *old = Value::Int(*value);
            }
            (scope, list)
        }
        Effect::Upsert(scope, key, value) => {
            let mut list = list(scope);
            if list.iter().any(|(found, _)| found == key) {
                for (_, old) in list.iter_mut().filter(|(found, _)| found == key) {
                    *old = Value::Int(*value);
                }
            } else {
                list.push((key.clone(), Value::Int(*value)));
            }
            (scope, list)
        }
        Effect::Delete(scope, key) => {
            let mut list = list(scope);
            list.retain(|(found, _)| found != key);
            (scope, list)
        }
        Effect::Rename(scope, from, to) => {
            let mut list = list(scope);
            if from != to && list.iter().any(|(found, _)| found == from) {
                list.retain(|(found, _)| found != to);
                list.iter_mut().filter(|(found, _)| found == from).for_each(|(key, _)| {
                    *key = to.clone();
                });
            }
            (scope, list)
        }
        Effect::Redact(scope, key) => {
            let mut list = list(scope);
            for (_, value) in list.iter_mut().filter(|(found, _)| found == key) {
                if let Value::Text(text) = value {
                    *text = text.replace('t', "*");
                }
            }
            (scope, list)
        }
    };
    match scope {
        Place::Own => record.own = list,
        Place::Resource => record.resource = list,
        Place::Scope => record.scope = list,
    }
}
