//! The tokens of a text that parses, by parentheses, braces and statements: as much of its
//! structure as its layout needs, so that new kinds of declarations are laid out like those that
//! there are.

use super::pieces::Piece;

/// A part of a statement.
pub(super) enum Node<'a> {
    Token(Piece<'a>),
    /// The tokens between parentheses.
    Group {
        open: Piece<'a>,
        nodes: Vec<Node<'a>>,
        close: Piece<'a>,
    },
    Block(Block<'a>),
}

impl<'a> Node<'a> {
    /// Its first token.
    pub fn first(&self) -> &Piece<'a> {
        match self {
            Node::Token(piece) => piece,
            Node::Group { open, .. } => open,
            Node::Block(block) => &block.open,
        }
    }

    /// Whether it is this token.
    pub fn is(&self, text: &str) -> bool {
        matches!(self, Node::Token(piece) if piece.text == text)
    }
}

/// The statements between braces.
pub(super) struct Block<'a> {
    pub open: Piece<'a>,
    pub statements: Vec<Statement<'a>>,
    pub close: Piece<'a>,
    /// Whether it may stand in one line: it does in the text, and is no contract.
    pub line: bool,
}

/// A declaration, a member of one, an alternative, a value of an enum.
pub(super) struct Statement<'a> {
    pub nodes: Vec<Node<'a>>,
    /// The sign at its end, where the text leaves it out.
    pub missing: Option<&'static str>,
}

impl Statement<'_> {
    pub fn is_import(&self) -> bool {
        self.nodes.first().is_some_and(|n| n.is("import"))
    }
}

/// The construct that a statement belongs to.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    File,
    Enum,
    Block,
}

/// The statements of a text, and its end with what stands before it.
pub(super) fn tree<'a>(text: &'a str, pieces: Vec<Piece<'a>>) -> (Vec<Statement<'a>>, Piece<'a>) {
    let end = Piece {
        text: "",
        comments: Vec::new(),
        lines: 0,
        apart: false,
        start: text.len(),
    };
    let mut builder = Builder {
        text,
        end,
        pieces: pieces.into_iter().peekable(),
    };
    let statements = builder.statements(Place::File);
    let end = builder.next();
    (statements, end)
}

struct Builder<'a> {
    text: &'a str,
    /// The token that is returned when none is left.
    end: Piece<'a>,
    pieces: std::iter::Peekable<std::vec::IntoIter<Piece<'a>>>,
}

impl<'a> Builder<'a> {
    fn peek(&mut self) -> &str {
        self.pieces.peek().map_or("", |p| p.text)
    }

    fn next(&mut self) -> Piece<'a> {
        self.pieces.next().unwrap_or_else(|| self.end.clone())
    }

    fn statements(&mut self, place: Place) -> Vec<Statement<'a>> {
        let mut all = Vec::new();
        while !matches!(self.peek(), "" | "}") {
            all.push(self.statement(place));
        }
        all
    }

    fn statement(&mut self, place: Place) -> Statement<'a> {
        let mut nodes: Vec<Node<'a>> = Vec::new();
        loop {
            match self.peek() {
                "" | "}" => {
                    let sign = if place == Place::Enum { "," } else { ";" };
                    let missing = Some(sign).filter(|_| place != Place::File);
                    return Statement { nodes, missing };
                }
                "{" => {
                    let block = self.block(&nodes);
                    let ends = match place {
                        Place::File => true,
                        // `state S: one { … }` ends with its brace; as a step of a sequence it does
                        // not.
                        _ => is_choice(&nodes) && self.peek() != "->",
                    };
                    nodes.push(Node::Block(block));
                    if ends {
                        self.needless_end(&mut nodes);
                        return Statement {
                            nodes,
                            missing: None,
                        };
                    }
                }
                "(" => {
                    let group = self.group();
                    nodes.push(group);
                }
                sign => {
                    let ends = sign == ";" || (sign == "," && place == Place::Enum);
                    nodes.push(Node::Token(self.next()));
                    if ends {
                        return Statement {
                            nodes,
                            missing: None,
                        };
                    }
                }
            }
        }
    }

    /// Leaves out a `;` that nothing needs, unless comments hang on it.
    fn needless_end(&mut self, nodes: &mut Vec<Node<'a>>) {
        if self.peek() == ";" {
            let piece = self.next();
            if !piece.comments.is_empty() {
                nodes.push(Node::Token(piece));
            }
        }
    }

    fn block(&mut self, head: &[Node<'a>]) -> Block<'a> {
        let open = self.next();
        let starts = |word: &str| head.iter().take(2).any(|n| n.is(word));
        let place = if starts("enum") {
            Place::Enum
        } else {
            Place::Block
        };
        let statements = self.statements(place);
        let close = self.next();
        let inside = self.text.get(open.start..close.start).unwrap_or("");
        let contract = starts("contract") && !head.iter().any(|n| n.is("narrows"));
        Block {
            line: statements.is_empty() || (!contract && !inside.contains('\n')),
            open,
            statements,
            close,
        }
    }

    fn group(&mut self) -> Node<'a> {
        let open = self.next();
        let mut nodes = Vec::new();
        loop {
            match self.peek() {
                ")" | "" => break,
                "(" => {
                    let group = self.group();
                    nodes.push(group);
                }
                "{" => {
                    let block = self.block(&[]);
                    nodes.push(Node::Block(block));
                }
                _ => nodes.push(Node::Token(self.next())),
            }
        }
        let close = self.next();
        Node::Group { open, nodes, close }
    }
}

/// Whether this is `state S: one`, without steps before the choice.
fn is_choice(nodes: &[Node<'_>]) -> bool {
    let state = nodes.iter().take(2).any(|n| n.is("state"));
    let [.., colon, one] = nodes else {
        return false;
    };
    state && colon.is(":") && one.is("one")
}
