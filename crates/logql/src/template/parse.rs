//! From tokens to the tree.

use std::collections::BTreeMap;

use super::TemplateError;
use super::functions::{self, takes_pattern_first};
use super::lex::{Placed, Token, tokens};
use super::tree::{Branch, Command, Node, Operand, Pipe};
use crate::limits::{MAX_NESTING, MAX_TEMPLATE_PATTERN_BYTES};

type Named = BTreeMap<String, Vec<Node>>;

/// The tree of a template, and the trees of the templates that it defines.
pub(super) fn parse(text: &str) -> Result<(Vec<Node>, Named), TemplateError> {
    let tokens = tokens(text)?;
    let mut parser = Parser {
        tokens,
        at: 0,
        line: 1,
        variables: Vec::new(),
        named: Named::new(),
        loops: 0,
        depth: 0,
    };
    let (root, end) = parser.list()?;
    match end {
        ListEnd::Text => Ok((root, parser.named)),
        ListEnd::End => parser.error("unexpected {{end}}"),
        ListEnd::Else(_) => parser.error("unexpected {{else}}"),
    }
}

struct Parser {
    tokens: Vec<Placed>,
    /// The next of them.
    at: usize,
    line: usize,
    /// The variables that can be seen, the innermost last.
    variables: Vec<String>,
    named: Named,
    /// The loops around, which `break` and `continue` need.
    loops: usize,
    depth: usize,
}

/// What a list of nodes ended with.
enum ListEnd {
    Text,
    End,
    /// With the keyword that follows, if any: `{{else if ...}}`.
    Else(Option<Keyword>),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Keyword {
    If,
    With,
    Range,
}

impl Parser {
    fn error<T>(&self, message: impl Into<String>) -> Result<T, TemplateError> {
        Err(TemplateError::Syntax { line: self.line, message: message.into() })
    }

    fn next(&mut self) -> Option<Token> {
        let (token, line) = self.tokens.get_mut(self.at)?;
        self.line = *line;
        self.at += 1;
        // A token is read once.
        Some(std::mem::replace(token, Token::Space))
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|(token, _)| token)
    }

    fn skip_space(&mut self) {
        while self.peek() == Some(&Token::Space) {
            self.next();
        }
    }

    fn close(&mut self, after: &str) -> Result<(), TemplateError> {
        self.skip_space();
        match self.next() {
            Some(Token::Close) => Ok(()),
            _ => self.error(format!("unexpected text in {{{{{after}}}}}")),
        }
    }

    /// Runs what calls itself, no deeper than is good for the stack.
    fn deeper<T>(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<T, TemplateError>,
    ) -> Result<T, TemplateError> {
        if self.depth == MAX_NESTING {
            return self.error("too much is nested");
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }

    /// Nodes up to the `end` or `else` that belongs to what is around, which is read.
    fn list(&mut self) -> Result<(Vec<Node>, ListEnd), TemplateError> {
        let mut nodes = Vec::new();
        loop {
            match self.next() {
                None => return Ok((nodes, ListEnd::Text)),
                Some(Token::Text(text)) => nodes.push(Node::Text(text)),
                Some(_) => {
                    self.skip_space();
                    if let Some(end) = self.action(&mut nodes)? {
                        return Ok((nodes, end));
                    }
                }
            }
        }
    }

    /// An action after its `{{`; gives the end of the list if it is that.
    fn action(&mut self, nodes: &mut Vec<Node>) -> Result<Option<ListEnd>, TemplateError> {
        let word = match self.peek() {
            Some(Token::Word(word)) => word.clone(),
            _ => String::new(),
        };
        let is_keyword = matches!(
            word.as_str(),
            "if" | "with"
                | "range"
                | "end"
                | "else"
                | "break"
                | "continue"
                | "template"
                | "define"
                | "block"
        );
        if !is_keyword {
            let pipe = self.pipe("command", Token::Close)?;
            nodes.push(Node::Action(pipe));
            return Ok(None);
        }
        self.next();
        match word.as_str() {
            "if" => nodes.push(self.branch(Keyword::If)?),
            "with" => nodes.push(self.branch(Keyword::With)?),
            "range" => nodes.push(self.branch(Keyword::Range)?),
            "end" => {
                self.close("end")?;
                return Ok(Some(ListEnd::End));
            }
            "else" => return self.otherwise().map(|next| Some(ListEnd::Else(next))),
            "break" | "continue" => {
                if self.loops == 0 {
                    return self.error(format!("{{{{{word}}}}} outside of {{{{range}}}}"));
                }
                self.close(&word)?;
                nodes.push(if word == "break" { Node::Break } else { Node::Continue });
            }
            "template" => {
                let (name, pipe) = self.name_and_pipe()?;
                nodes.push(Node::Call(name, pipe));
            }
            "define" => self.define()?,
            _ => {
                let (name, pipe) = self.name_and_pipe()?;
                if pipe.is_none() {
                    return self.error("missing value for block");
                }
                self.definition(name.clone())?;
                nodes.push(Node::Call(name, pipe));
            }
        }
        Ok(None)
    }

    /// After `else`: the keyword that follows, or the end of the action.
    fn otherwise(&mut self) -> Result<Option<Keyword>, TemplateError> {
        self.skip_space();
        let keyword = match self.peek() {
            Some(Token::Word(word)) if word == "if" => Some(Keyword::If),
            Some(Token::Word(word)) if word == "with" => Some(Keyword::With),
            _ => None,
        };
        match keyword {
            Some(_) => drop(self.next()),
            None => self.close("else")?,
        }
        Ok(keyword)
    }

    fn branch(&mut self, keyword: Keyword) -> Result<Node, TemplateError> {
        self.deeper(|parser| parser.branch_within(keyword))
    }

    fn branch_within(&mut self, keyword: Keyword) -> Result<Node, TemplateError> {
        let visible = self.variables.len();
        let context = match keyword {
            Keyword::If => "if",
            Keyword::With => "with",
            Keyword::Range => "range",
        };
        let pipe = self.pipe(context, Token::Close)?;
        let allowed = if keyword == Keyword::Range { 2 } else { 1 };
        if pipe.variables.len() > allowed {
            return self.error(format!("too many variables in {context}"));
        }
        self.loops += usize::from(keyword == Keyword::Range);
        let body = self.list();
        self.loops -= usize::from(keyword == Keyword::Range);
        let (body, end) = body?;
        let otherwise = match end {
            ListEnd::Text => return self.error(format!("{{{{{context}}}}} has no {{{{end}}}}")),
            ListEnd::End => Vec::new(),
            ListEnd::Else(None) => {
                let (nodes, end) = self.list()?;
                if !matches!(end, ListEnd::End) {
                    return self.error(format!("expected {{{{end}}}} of {{{{{context}}}}}"));
                }
                nodes
            }
            // `else if` is an `if` of its own that shares the end.
            ListEnd::Else(Some(next)) => {
                if (keyword, next) != (Keyword::If, Keyword::If)
                    && (keyword, next) != (Keyword::With, Keyword::With)
                {
                    return self.error("unexpected word after else");
                }
                vec![self.branch(next)?]
            }
        };
        self.variables.truncate(visible);
        let branch = Branch { pipe, body, otherwise };
        Ok(match keyword {
            Keyword::If => Node::If(branch),
            Keyword::With => Node::With(branch),
            Keyword::Range => Node::Range(branch),
        })
    }

    fn name_and_pipe(&mut self) -> Result<(String, Option<Pipe>), TemplateError> {
        self.skip_space();
        let Some(Token::Quoted(name)) = self.next() else {
            return self.error("expected the name of a template in quotes");
        };
        self.skip_space();
        if self.peek() == Some(&Token::Close) {
            self.next();
            return Ok((name, None));
        }
        let pipe = self.pipe("template", Token::Close)?;
        Ok((name, Some(pipe)))
    }

    fn define(&mut self) -> Result<(), TemplateError> {
        self.skip_space();
        let Some(Token::Quoted(name)) = self.next() else {
            return self.error("expected the name of a template in quotes");
        };
        self.close("define")?;
        if self.depth > 0 {
            return self.error("unexpected {{define}} within another action");
        }
        self.definition(name)
    }

    /// The body of a named template; variables around it cannot be seen in it.
    fn definition(&mut self, name: String) -> Result<(), TemplateError> {
        let around = std::mem::take(&mut self.variables);
        let loops = std::mem::take(&mut self.loops);
        let (body, end) = self.deeper(Self::list)?;
        if !matches!(end, ListEnd::End) {
            return self.error(format!("the template {name:?} has no {{{{end}}}}"));
        }
        self.variables = around;
        self.loops = loops;
        self.named.insert(name, body);
        Ok(())
    }

    /// A pipe up to and with the token that ends it.
    fn pipe(&mut self, context: &str, end: Token) -> Result<Pipe, TemplateError> {
        let (variables, is_assignment) = self.declaration(context)?;
        let mut commands = Vec::new();
        loop {
            self.skip_space();
            match self.peek() {
                Some(token) if *token == end => {
                    self.next();
                    break;
                }
                Some(Token::RightParen) => return self.error("unexpected right parenthesis"),
                Some(Token::Close) => return self.error("a parenthesis is not closed"),
                None => return self.error("an action is not closed"),
                _ => {
                    let command = self.command()?;
                    let is_value = !matches!(
                        command.operands.first(),
                        Some(
                            Operand::Field(_)
                                | Operand::Variable(..)
                                | Operand::Function(_)
                                | Operand::Chain(..)
                                | Operand::Pipe(_)
                        )
                    );
                    if !commands.is_empty() && is_value {
                        return self.error("what follows a pipe has to be a function");
                    }
                    commands.push(command);
                }
            }
        }
        if commands.is_empty() {
            return self.error(format!("missing value for {context}"));
        }
        // Variables can be seen from here on, not in their own value.
        if !is_assignment {
            self.variables.extend(variables.iter().cloned());
        }
        Ok(Pipe { variables, is_assignment, commands })
    }

    /// `$x :=`, `$x =`, `$i, $x :=`, if the pipe starts so.
    fn declaration(&mut self, context: &str) -> Result<(Vec<String>, bool), TemplateError> {
        self.skip_space();
        // A look ahead, as `$x` alone is a value.
        let after = self.tokens.iter().skip(self.at).map(|(token, _)| token);
        let ahead: Vec<&Token> = after.filter(|token| **token != Token::Space).take(4).collect();
        let (variables, count) = match ahead.as_slice() {
            [Token::Variable(name), Token::Declare | Token::Assign, ..] => (vec![name.clone()], 1),
            [
                Token::Variable(key),
                Token::Comma,
                Token::Variable(value),
                Token::Declare | Token::Assign,
            ] => {
                if context != "range" {
                    return self.error(format!("too many variables in {context}"));
                }
                (vec![key.clone(), value.clone()], 3)
            }
            _ => return Ok((Vec::new(), false)),
        };
        for _ in 0..count {
            self.skip_space();
            self.next();
        }
        self.skip_space();
        let is_assignment = self.next() == Some(Token::Assign);
        if is_assignment && let Some(name) = variables.iter().find(|name| !self.is_visible(name)) {
            return self.error(format!("undefined variable \"${name}\""));
        }
        Ok((variables, is_assignment))
    }

    fn is_visible(&self, name: &str) -> bool {
        name.is_empty() || self.variables.iter().any(|variable| variable == name)
    }

    /// Operands up to a pipe or the end of what is around; a pipe is read.
    fn command(&mut self) -> Result<Command, TemplateError> {
        let mut operands: Vec<Operand> = Vec::new();
        loop {
            self.skip_space();
            match self.peek() {
                Some(Token::Pipe) if operands.is_empty() => {
                    return self.error("expected a value before the pipe");
                }
                Some(Token::Pipe) => {
                    self.next();
                    break;
                }
                Some(Token::Close | Token::RightParen) | None => break,
                _ => operands.push(self.operand()?),
            }
            if !matches!(
                self.peek(),
                Some(Token::Space | Token::Pipe | Token::Close | Token::RightParen) | None
            ) {
                return self.error("expected a blank between values");
            }
        }
        let regex = match operands.as_slice() {
            [Operand::Function(function), Operand::Text(pattern), ..]
                if takes_pattern_first(function) =>
            {
                Some(kymo_pattern::search(pattern, MAX_TEMPLATE_PATTERN_BYTES))
            }
            _ => None,
        };
        Ok(Command { operands, regex })
    }

    /// A value with the fields that follow it without a blank.
    fn operand(&mut self) -> Result<Operand, TemplateError> {
        let term = self.term()?;
        let mut fields = Vec::new();
        while let Some(Token::Field(_)) = self.peek() {
            if let Some(Token::Field(name)) = self.next() {
                fields.push(name);
            }
        }
        if fields.is_empty() {
            return Ok(term);
        }
        match term {
            Operand::Field(mut names) => {
                names.extend(fields);
                Ok(Operand::Field(names))
            }
            Operand::Variable(name, mut names) => {
                names.extend(fields);
                Ok(Operand::Variable(name, names))
            }
            Operand::Function(_) | Operand::Pipe(_) | Operand::Chain(..) => {
                Ok(Operand::Chain(Box::new(term), fields))
            }
            _ => self.error("unexpected dot after a value"),
        }
    }

    fn term(&mut self) -> Result<Operand, TemplateError> {
        match self.next() {
            Some(Token::Word(word)) => match word.as_str() {
                "true" => Ok(Operand::Bool(true)),
                "false" => Ok(Operand::Bool(false)),
                "nil" => Ok(Operand::Nil),
                _ => match functions::find(&word) {
                    Some(function) => Ok(Operand::Function(function)),
                    None => self.error(format!("function {word:?} is not defined")),
                },
            },
            Some(Token::Field(name)) => Ok(Operand::Field(vec![name])),
            Some(Token::Dot) => Ok(Operand::Dot),
            Some(Token::Variable(name)) if self.is_visible(&name) => {
                Ok(Operand::Variable(name, Vec::new()))
            }
            Some(Token::Variable(name)) => self.error(format!("undefined variable \"${name}\"")),
            Some(Token::Quoted(text)) => Ok(Operand::Text(text)),
            Some(Token::Number(number)) => Ok(Operand::Number(number)),
            Some(Token::LeftParen) => {
                let pipe = self.deeper(|parser| parser.pipe("parenthesis", Token::RightParen))?;
                Ok(Operand::Pipe(Box::new(pipe)))
            }
            _ => self.error("expected a value"),
        }
    }
}
