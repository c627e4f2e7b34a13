//! Tokens to a tree. Variables and functions that do not exist are found here, as Go does.

use std::collections::HashMap;

use super::lexer::{Kind, Token, tokens};
use super::tree::{Branch, Command, Node, NodeKind, Operand, OperandKind, Pipeline, Tree};
use super::{TemplateError, functions};
use crate::limits::MAX_TEMPLATE_NESTING;

type Result<T> = std::result::Result<T, TemplateError>;

/// Reads a template; `name` is what errors call it.
pub(super) fn parse(name: &str, text: &str) -> Result<Tree> {
    let mut parser = Parser {
        name,
        text,
        tokens: tokens(name, text)?,
        next: 0,
        variables: vec!["$".to_owned()],
        defined: HashMap::new(),
        nesting: 0,
        loops: 0,
    };
    let (main, end) = parser.list()?;
    if end != ListEnd::Text {
        let word = if end == ListEnd::End { "end" } else { "else" };
        return parser.fail(format!("unexpected {{{{{word}}}}}"));
    }
    Ok(Tree { main, defined: parser.defined })
}

/// What a list of nodes ended with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ListEnd {
    Text,
    End,
    Else,
}

struct Parser<'a> {
    name: &'a str,
    text: &'a str,
    tokens: Vec<Token>,
    next: usize,
    variables: Vec<String>,
    defined: HashMap<String, Vec<Node>>,
    nesting: usize,
    loops: usize,
}

impl Parser<'_> {
    fn peek(&self) -> &Kind {
        self.tokens.get(self.next).map_or(&Kind::End, |token| &token.kind)
    }

    fn token(&self) -> Token {
        let end = Token { kind: Kind::End, start: self.text.len(), end: 0, is_spaced: false };
        self.tokens.get(self.next).cloned().unwrap_or(end)
    }

    fn advance(&mut self) -> Token {
        let token = self.token();
        self.next += 1;
        token
    }

    fn fail<T>(&self, message: impl std::fmt::Display) -> Result<T> {
        let at = self.token().start;
        Err(TemplateError::parsing(self.name, self.text, at, &message.to_string()))
    }

    fn unexpected<T>(&self, context: &str) -> Result<T> {
        let token = self.token();
        let found = match token.kind {
            Kind::End => "EOF".to_owned(),
            _ => format!("<{}>", self.text.get(token.start..token.end).unwrap_or_default()),
        };
        self.fail(format!("unexpected {found} in {context}"))
    }

    fn deeper<T>(&mut self, inner: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        self.nesting += 1;
        if self.nesting > MAX_TEMPLATE_NESTING {
            return self.fail(format!("nested more than {MAX_TEMPLATE_NESTING} deep"));
        }
        let found = inner(self);
        self.nesting -= 1;
        found
    }

    /// Nodes up to `{{end}}`, `{{else` or the end of the text. Of `{{else` the word is taken.
    fn list(&mut self) -> Result<(Vec<Node>, ListEnd)> {
        let mut nodes = Vec::new();
        loop {
            let token = self.advance();
            match token.kind {
                Kind::End => return Ok((nodes, ListEnd::Text)),
                Kind::Text(text) => {
                    nodes.push(Node { at: token.start, kind: NodeKind::Text(text) });
                }
                _ => match self.peek().clone() {
                    Kind::Word(word) if word == "end" => {
                        self.advance();
                        self.close("end")?;
                        return Ok((nodes, ListEnd::End));
                    }
                    Kind::Word(word) if word == "else" => {
                        self.advance();
                        return Ok((nodes, ListEnd::Else));
                    }
                    _ => nodes.extend(self.deeper(|parser| parser.action(token.start))?),
                },
            }
        }
    }

    fn close(&mut self, context: &str) -> Result<()> {
        if *self.peek() != Kind::Close {
            return self.unexpected(context);
        }
        self.advance();
        Ok(())
    }

    /// What is behind `{{`.
    fn action(&mut self, at: usize) -> Result<Option<Node>> {
        let word = match self.peek() {
            Kind::Word(word) => word.clone(),
            _ => String::new(),
        };
        let kind = match word.as_str() {
            "if" | "with" | "range" => {
                self.advance();
                self.control(&word)?
            }
            "break" | "continue" => {
                self.advance();
                if self.loops == 0 {
                    return self.fail(format!("{{{{{word}}}}} outside {{{{range}}}}"));
                }
                self.close(&word)?;
                if word == "break" { NodeKind::Break } else { NodeKind::Continue }
            }
            "define" => {
                self.advance();
                self.define("define clause")?;
                return Ok(None);
            }
            "block" => {
                self.advance();
                let name = self.template_name("block clause")?;
                let argument = Some(self.pipeline("block clause")?);
                self.close("block clause")?;
                self.definition(name.clone())?;
                NodeKind::Call { name, argument }
            }
            "template" => {
                self.advance();
                let name = self.template_name("template clause")?;
                let argument = match self.peek() {
                    Kind::Close => None,
                    _ => Some(self.pipeline("template clause")?),
                };
                self.close("template clause")?;
                NodeKind::Call { name, argument }
            }
            _ => {
                let pipeline = self.pipeline("command")?;
                self.close("command")?;
                NodeKind::Action(pipeline)
            }
        };
        Ok(Some(Node { at, kind }))
    }

    /// `if`, `with` or `range`, with everything up to its `end`.
    fn control(&mut self, word: &str) -> Result<NodeKind> {
        let known = self.variables.len();
        let pipeline = self.pipeline(word)?;
        self.close(word)?;
        if word == "range" {
            self.loops += 1;
        }
        let (body, end) = self.list()?;
        if word == "range" {
            self.loops -= 1;
        }
        let otherwise = match end {
            ListEnd::Text => return self.fail("unexpected EOF"),
            ListEnd::End => Vec::new(),
            ListEnd::Else => self.otherwise(word)?,
        };
        self.variables.truncate(known);
        let branch = Branch { pipeline, body, otherwise };
        Ok(match word {
            "if" => NodeKind::If(branch),
            "with" => NodeKind::With(branch),
            _ => NodeKind::Range(branch),
        })
    }

    /// What is behind `else`: another condition, or nodes up to the end.
    fn otherwise(&mut self, word: &str) -> Result<Vec<Node>> {
        let at = self.token().start;
        let chains = matches!(self.peek(), Kind::Word(next) if next == word) && word != "range";
        if chains {
            self.advance();
            let kind = self.deeper(|parser| parser.control(word))?;
            return Ok(vec![Node { at, kind }]);
        }
        self.close("else")?;
        match self.list()? {
            (nodes, ListEnd::End) => Ok(nodes),
            (_, ListEnd::Else) => self.fail("expected end; found {{else}}"),
            (_, ListEnd::Text) => self.fail("unexpected EOF"),
        }
    }

    fn template_name(&mut self, context: &str) -> Result<String> {
        match self.peek().clone() {
            Kind::Literal(name) => {
                self.advance();
                Ok(name)
            }
            _ => self.unexpected(context),
        }
    }

    fn define(&mut self, context: &str) -> Result<()> {
        let name = self.template_name(context)?;
        self.close(context)?;
        self.definition(name)
    }

    /// The body of a template; it does not see the variables around it.
    fn definition(&mut self, name: String) -> Result<()> {
        let outer = std::mem::replace(&mut self.variables, vec!["$".to_owned()]);
        let loops = std::mem::take(&mut self.loops);
        let (nodes, end) = self.list()?;
        if end != ListEnd::End {
            return self.unexpected("define clause");
        }
        self.variables = outer;
        self.loops = loops;
        self.defined.insert(name, nodes);
        Ok(())
    }

    fn pipeline(&mut self, context: &str) -> Result<Pipeline> {
        let (variables, is_assignment) = self.declarations(context)?;
        let mut commands = Vec::new();
        loop {
            let command = self.command(context)?;
            // Only a function or a method can take what comes through the pipe.
            let takes = |operand: &Operand| {
                matches!(operand.kind, OperandKind::Function(_)) || !operand.fields.is_empty()
            };
            if !commands.is_empty() && !command.operands.first().is_some_and(takes) {
                let stage = commands.len() + 1;
                return self.fail(format!("non executable command in pipeline stage {stage}"));
            }
            commands.push(command);
            if *self.peek() != Kind::Pipe {
                break;
            }
            self.advance();
        }
        if !is_assignment {
            self.variables.extend(variables.iter().cloned());
        }
        Ok(Pipeline { variables, is_assignment, commands })
    }

    /// `$x :=`, `$x =` and, for `range`, `$i, $x :=`.
    fn declarations(&mut self, context: &str) -> Result<(Vec<String>, bool)> {
        let start = self.next;
        let mut names = Vec::new();
        while let Kind::Variable(name) = self.peek().clone() {
            self.advance();
            names.push(format!("${name}"));
            match self.peek() {
                Kind::Comma if context == "range" && names.len() < 2 => {
                    self.advance();
                }
                Kind::Comma => return self.fail(format!("too many declarations in {context}")),
                Kind::Declare => {
                    self.advance();
                    return Ok((names, false));
                }
                Kind::Assign => {
                    for name in &names {
                        self.known(name)?;
                    }
                    self.advance();
                    return Ok((names, true));
                }
                _ => break,
            }
        }
        self.next = start;
        Ok((Vec::new(), false))
    }

    fn known(&self, name: &str) -> Result<()> {
        if self.variables.iter().any(|known| known == name) {
            return Ok(());
        }
        self.fail(format!("undefined variable {name:?}"))
    }

    fn command(&mut self, context: &str) -> Result<Command> {
        let mut operands = Vec::new();
        while !matches!(self.peek(), Kind::Close | Kind::CloseParen | Kind::Pipe) {
            if !operands.is_empty() && !self.token().is_spaced {
                return self.unexpected("operand");
            }
            operands.push(self.operand(context)?);
        }
        if operands.is_empty() {
            return self.fail(format!("missing value for {context}"));
        }
        Ok(Command { operands })
    }

    fn operand(&mut self, context: &str) -> Result<Operand> {
        let token = self.token();
        let mut fields = Vec::new();
        let kind = match token.kind.clone() {
            Kind::Dot => OperandKind::Dot,
            Kind::Field(name) => {
                fields.push(name);
                OperandKind::Dot
            }
            Kind::Variable(name) => {
                let name = format!("${name}");
                self.known(&name)?;
                OperandKind::Variable(name)
            }
            Kind::Literal(text) => OperandKind::Text(text),
            Kind::Int(number) => OperandKind::Int(number),
            Kind::Float(number) => OperandKind::Float(number),
            Kind::Word(word) => match word.as_str() {
                "nil" => OperandKind::Nil,
                "true" | "false" => OperandKind::Bool(word == "true"),
                _ if functions::is_function(&word) => OperandKind::Function(word),
                _ => return self.fail(format!("function {word:?} not defined")),
            },
            Kind::OpenParen => {
                self.advance();
                let pipeline = self.deeper(|parser| parser.pipeline("parenthesized pipeline"))?;
                if *self.peek() != Kind::CloseParen {
                    return self.unexpected("parenthesized pipeline");
                }
                OperandKind::Pipeline(Box::new(pipeline))
            }
            _ => return self.unexpected(context),
        };
        self.advance();
        let mut end = self.tokens.get(self.next - 1).map_or(token.end, |token| token.end);
        while let Kind::Field(name) = self.peek().clone() {
            if self.token().is_spaced {
                break;
            }
            fields.push(name);
            end = self.advance().end;
        }
        Ok(Operand { start: token.start, end, kind, fields })
    }
}
