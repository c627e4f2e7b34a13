//! What conditions and statements are made of.

/// A condition.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Condition {
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Not(Box<Condition>),
    Constant(bool),
    /// A function that is true or false.
    Call(Call),
    Compare {
        op: Comparison,
        left: Operand,
        right: Operand,
        at: usize,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
}

impl Comparison {
    /// How TraceQL writes it.
    pub(crate) fn sign(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessEqual => "<=",
            Self::Greater => ">",
            Self::GreaterEqual => ">=",
        }
    }

    /// The one that means the same when both sides are exchanged.
    pub(crate) fn mirrored(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessEqual => Self::GreaterEqual,
            Self::Greater => Self::Less,
            Self::GreaterEqual => Self::LessEqual,
            same => same,
        }
    }
}

/// One side of a comparison, or an argument.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Operand {
    Literal(Literal),
    Path(Path),
    Call(Call),
    /// `a - b` and the like.
    Arithmetic {
        sign: char,
        left: Box<Operand>,
        right: Box<Operand>,
        at: usize,
    },
    List(Vec<Operand>),
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Literal {
    Nil,
    Bool(bool),
    /// A number as it is written, with its sign.
    Number(String),
    Text(String),
    /// `0x…`: the digits.
    Bytes(String),
    /// `SPAN_KIND_SERVER` and the like.
    Enum(String),
}

/// `resource.attributes["a"]`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Path {
    /// Names between dots.
    pub(crate) names: Vec<String>,
    /// Keys in brackets behind the last name.
    pub(crate) keys: Vec<Key>,
    pub(crate) at: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Key {
    Text(String),
    /// A number, or something that is computed.
    Other,
}

impl Path {
    /// Whether another path means the same, wherever it stands.
    pub(crate) fn is_same(&self, other: &Path) -> bool {
        self.names == other.names && self.keys == other.keys && !self.keys.contains(&Key::Other)
    }

    /// The names as they are written.
    pub(crate) fn dotted(&self) -> String {
        self.names.join(".")
    }
}

/// `IsMatch(name, "x")`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Call {
    pub(crate) name: String,
    pub(crate) arguments: Vec<Operand>,
    /// Whether something in brackets stands behind it, or arguments have names.
    pub(crate) is_plain: bool,
    pub(crate) at: usize,
}

/// `set(attributes["a"], 1) where name == "b"`.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Statement {
    pub(crate) editor: Call,
    pub(crate) condition: Option<Condition>,
}
