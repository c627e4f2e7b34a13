//! Tokens to trees: `or` binds loosest, then `and`, then `not`.

use super::ast::{Call, Comparison, Condition, Key, Literal, Operand, Path, Statement};
use super::lexer::{Token, tokens};
use super::{OttlError, Result};
use crate::limits::{MAX_CONDITION_BYTES, MAX_NESTING};

/// Reads a condition.
pub(crate) fn parse_condition(text: &str) -> Result<Condition> {
    let mut parser = Parser::new(text)?;
    let condition = parser.any()?;
    parser.end()?;
    Ok(condition)
}

/// Reads a statement of the transform processor.
pub(crate) fn parse_statement(text: &str) -> Result<Statement> {
    let mut parser = Parser::new(text)?;
    let at = parser.at();
    let Operand::Call(editor) = parser.operand()? else {
        return Err(OttlError::new(at, "expected a function"));
    };
    let condition = if parser.word("where") { Some(parser.any()?) } else { None };
    parser.end()?;
    Ok(Statement { editor, condition })
}

struct Parser {
    tokens: Vec<(usize, Token)>,
    next: usize,
    depth: usize,
}

impl Parser {
    fn new(text: &str) -> Result<Self> {
        if text.len() > MAX_CONDITION_BYTES {
            let message = format!("longer than {MAX_CONDITION_BYTES} bytes");
            return Err(OttlError::new(0, message));
        }
        Ok(Self { tokens: tokens(text)?, next: 0, depth: 0 })
    }

    fn peek(&self) -> &Token {
        self.peek_at(0)
    }

    fn peek_at(&self, ahead: usize) -> &Token {
        self.tokens.get(self.next + ahead).map_or(&Token::End, |(_, token)| token)
    }

    /// The character that the next token begins at.
    fn at(&self) -> usize {
        self.tokens.get(self.next).or(self.tokens.last()).map_or(0, |(at, _)| *at)
    }

    fn sign(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Token::Sign(found) if *found == sign);
        self.next += usize::from(found);
        found
    }

    fn word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Token::Word(found) if found == word);
        self.next += usize::from(found);
        found
    }

    fn expect(&mut self, sign: &str) -> Result<()> {
        if self.sign(sign) { Ok(()) } else { Err(self.unexpected(&format!("\"{sign}\""))) }
    }

    fn unexpected(&self, expected: &str) -> OttlError {
        OttlError::new(self.at(), format!("expected {expected}"))
    }

    fn end(&self) -> Result<()> {
        match self.peek() {
            Token::End => Ok(()),
            _ => Err(self.unexpected("the end")),
        }
    }

    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= MAX_NESTING {
            return Err(OttlError::new(self.at(), format!("nested deeper than {MAX_NESTING}")));
        }
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        read
    }

    fn any(&mut self) -> Result<Condition> {
        let mut conditions = vec![self.all()?];
        while self.word("or") {
            conditions.push(self.all()?);
        }
        Ok(one_or(conditions, Condition::Any))
    }

    fn all(&mut self) -> Result<Condition> {
        let mut conditions = vec![self.term()?];
        while self.word("and") {
            conditions.push(self.term()?);
        }
        Ok(one_or(conditions, Condition::All))
    }

    fn term(&mut self) -> Result<Condition> {
        if self.word("not") {
            let inner = self.nested(Self::term)?;
            return Ok(Condition::Not(Box::new(inner)));
        }
        // A parenthesis may open a condition or the arithmetic of a comparison's left side.
        if matches!(self.peek(), Token::Sign("(")) {
            let start = self.next;
            self.next += 1;
            if let Ok(condition) = self.nested(Self::any)
                && self.sign(")")
                && self.comparison().is_none()
            {
                return Ok(condition);
            }
            self.next = start;
        }
        self.compared()
    }

    fn compared(&mut self) -> Result<Condition> {
        let at = self.at();
        let left = self.operand()?;
        if let Some(op) = self.comparison() {
            let right = self.operand()?;
            return Ok(Condition::Compare { op, left, right, at });
        }
        match left {
            Operand::Call(call) => Ok(Condition::Call(call)),
            Operand::Literal(Literal::Bool(value)) => Ok(Condition::Constant(value)),
            _ => Err(self.unexpected("a comparison such as == or !=")),
        }
    }

    fn comparison(&mut self) -> Option<Comparison> {
        let op = match self.peek() {
            Token::Sign("==") => Comparison::Equal,
            Token::Sign("!=") => Comparison::NotEqual,
            Token::Sign("<") => Comparison::Less,
            Token::Sign("<=") => Comparison::LessEqual,
            Token::Sign(">") => Comparison::Greater,
            Token::Sign(">=") => Comparison::GreaterEqual,
            _ => return None,
        };
        self.next += 1;
        Some(op)
    }

    /// A sum of products; the signs of one level from the left.
    fn operand(&mut self) -> Result<Operand> {
        let mut left = self.product()?;
        loop {
            let at = self.at();
            let sign = match self.peek() {
                Token::Sign("+") => '+',
                Token::Sign("-") => '-',
                _ => return Ok(left),
            };
            self.next += 1;
            let right = Box::new(self.product()?);
            left = Operand::Arithmetic { sign, left: Box::new(left), right, at };
        }
    }

    fn product(&mut self) -> Result<Operand> {
        let mut left = self.single()?;
        loop {
            let at = self.at();
            let sign = match self.peek() {
                Token::Sign("*") => '*',
                Token::Sign("/") => '/',
                _ => return Ok(left),
            };
            self.next += 1;
            let right = Box::new(self.single()?);
            left = Operand::Arithmetic { sign, left: Box::new(left), right, at };
        }
    }

    fn single(&mut self) -> Result<Operand> {
        let at = self.at();
        if self.sign("(") {
            let inner = self.nested(Self::operand)?;
            self.expect(")")?;
            return Ok(inner);
        }
        if self.sign("[") {
            let items = self.nested(|parser| parser.items("]"))?;
            return Ok(Operand::List(items.0));
        }
        if self.sign("-") {
            let Token::Number(number) = self.peek().clone() else {
                return Err(self.unexpected("a number"));
            };
            self.next += 1;
            return Ok(Operand::Literal(Literal::Number(format!("-{number}"))));
        }
        let literal = match self.peek().clone() {
            Token::Text(text) => Literal::Text(text),
            Token::Number(number) => Literal::Number(number),
            Token::Bytes(digits) => Literal::Bytes(digits),
            Token::Word(word) => return self.named(word, at),
            Token::Sign(_) | Token::End => return Err(self.unexpected("a value")),
        };
        self.next += 1;
        Ok(Operand::Literal(literal))
    }

    /// What begins with a word: a constant, a function or a path.
    fn named(&mut self, word: String, at: usize) -> Result<Operand> {
        self.next += 1;
        let literal = match word.as_str() {
            "nil" => Some(Literal::Nil),
            "true" => Some(Literal::Bool(true)),
            "false" => Some(Literal::Bool(false)),
            _ if is_enum(&word) && *self.peek() != Token::Sign("(") => {
                Some(Literal::Enum(word.clone()))
            }
            _ => None,
        };
        if let Some(literal) = literal {
            return Ok(Operand::Literal(literal));
        }
        if self.sign("(") {
            let (arguments, has_names) = self.nested(|parser| parser.items(")"))?;
            let keys = self.keys()?;
            let is_plain = !has_names && keys.is_empty();
            return Ok(Operand::Call(Call { name: word, arguments, is_plain, at }));
        }
        let mut names = vec![word];
        while self.sign(".") {
            let Token::Word(name) = self.peek().clone() else {
                return Err(self.unexpected("a name"));
            };
            self.next += 1;
            names.push(name);
        }
        let keys = self.keys()?;
        Ok(Operand::Path(Path { names, keys, at }))
    }

    /// `["a"][0]`.
    fn keys(&mut self) -> Result<Vec<Key>> {
        let mut keys = Vec::new();
        while self.sign("[") {
            let key = self.nested(Self::operand)?;
            self.expect("]")?;
            keys.push(match key {
                Operand::Literal(Literal::Text(text)) => Key::Text(text),
                _ => Key::Other,
            });
        }
        Ok(keys)
    }

    /// Values between commas up to a sign, and whether some had names.
    fn items(&mut self, close: &str) -> Result<(Vec<Operand>, bool)> {
        let mut items = Vec::new();
        let mut has_names = false;
        if self.sign(close) {
            return Ok((items, has_names));
        }
        loop {
            if matches!((self.peek(), self.peek_at(1)), (Token::Word(_), Token::Sign("="))) {
                self.next += 2;
                has_names = true;
            }
            items.push(self.operand()?);
            if self.sign(close) {
                return Ok((items, has_names));
            }
            self.expect(",")?;
        }
    }
}

/// Enumerations are written in capitals.
fn is_enum(word: &str) -> bool {
    word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

fn one_or(mut conditions: Vec<Condition>, several: fn(Vec<Condition>) -> Condition) -> Condition {
    match conditions.pop() {
        Some(only) if conditions.is_empty() => only,
        Some(last) => {
            conditions.push(last);
            several(conditions)
        }
        None => several(conditions),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn and_binds_tighter_than_or_and_not_tightest() {
        let Condition::Any(any) = parse_condition("true or not false and IsRootSpan()").unwrap()
        else {
            panic!("an or")
        };
        assert_eq!(any.len(), 2);
        let Condition::All(all) = &any[1] else { panic!("an and") };
        assert_eq!(all[0], Condition::Not(Box::new(Condition::Constant(false))));
    }

    #[test]
    fn parentheses_are_conditions_or_arithmetic() {
        let condition = parse_condition("(end_time_unix_nano - start_time_unix_nano) > 5").unwrap();
        assert!(matches!(condition, Condition::Compare { left: Operand::Arithmetic { .. }, .. }));
        let condition = parse_condition("((name == \"a\") and true)").unwrap();
        assert!(matches!(condition, Condition::All(_)));
    }

    #[test]
    fn statements_have_a_function_and_a_condition() {
        let statement = parse_statement(r#"set(attributes["a"], "b") where name == "c""#).unwrap();
        assert_eq!(statement.editor.name, "set");
        assert_eq!(statement.editor.arguments.len(), 2);
        assert!(statement.condition.is_some());
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place_and_depth_is_bounded() {
        for (text, at) in [("name ==", 7), ("name", 4), ("(true", 5), ("true true", 5), ("", 0)] {
            let error = parse_condition(text).unwrap_err();
            assert_eq!(error.at, at, "{text}: {error}");
        }
        let deep = "(".repeat(10_000) + "true" + &")".repeat(10_000);
        assert!(parse_condition(&deep).is_err());
        assert!(parse_condition(&"not ".repeat(5000)).is_err());
    }
}
