//! The places at which lines end.
//!
//! A statement stands in one line where it fits. Else it is broken where it is loosest: before each
//! `requires`, then at `or` and commas, then before each `->`, then at `||` and `&&`; parentheses
//! open only where what is in them does not fit, and then each argument or alternative has its
//! line. A comment keeps its place: it stays in its line, or begins one, and so does what follows
//! it.

use super::pieces::Piece;
use super::tree::{Block, Node, Statement};

/// The longest line, where it can be broken.
const WIDTH: usize = 100;
/// How far the content of a block stands in.
const INDENT: usize = 2;

/// The tokens at which a statement may be broken, loosest first.
const BREAKS: [&[&str]; 5] = [&["requires"], LIST, &["->"], &["||"], &["&&"]];
/// The tokens between arguments and between alternatives.
const LIST: &[&str] = &["or", ","];

/// The statements of a text, laid out.
pub(super) fn layout(statements: &[Statement<'_>], end: &Piece<'_>) -> String {
    let mut out = Layout::default();
    let mut last: Option<&Statement<'_>> = None;
    for statement in statements {
        // Declarations stand apart; imports may stand together.
        out.apart = last.is_some_and(|l| !l.is_import() || !statement.is_import());
        out.statement(statement, 0);
        last = Some(statement);
    }
    out.apart = false;
    out.begin_line(0);
    out.comments(end);
    if !out.text.is_empty() {
        out.text.push('\n');
    }
    out.text
}

#[derive(Default)]
struct Layout {
    text: String,
    /// The start of the current line.
    line: usize,
    /// How far it stands in.
    indent: usize,
    /// How far the lines stand in that continue the statement.
    further: usize,
    /// The next token begins a line with this indentation.
    pending: Option<usize>,
    /// Whether an empty line comes before what comes next.
    empty: bool,
    /// Whether there must be one before the first thing that begins a line.
    apart: bool,
    /// Whether nothing has been written into the block at hand: no empty line begins one.
    fresh: bool,
}

impl Layout {
    fn column(&self) -> usize {
        self.text[self.line..].chars().count()
    }

    /// The next token begins a line.
    fn begin_line(&mut self, indent: usize) {
        self.pending = Some(indent);
    }

    /// Writes text that has no line end in it, or is a comment.
    fn write(&mut self, text: &str, apart: bool) {
        if let Some(indent) = self.pending.take() {
            if !self.text.is_empty() {
                self.text.push('\n');
                if (self.empty || self.apart) && !self.fresh {
                    self.text.push('\n');
                }
                self.apart = false;
            }
            self.line = self.text.len();
            self.text.extend(std::iter::repeat_n(' ', indent));
            self.indent = indent;
        } else if apart && !self.text.is_empty() {
            self.text.push(' ');
        }
        (self.empty, self.fresh) = (false, false);
        self.text.push_str(text);
        if let Some(end) = text.rfind('\n') {
            self.line = self.text.len() - (text.len() - end - 1);
        }
    }

    /// The comments before a token, each in its line.
    fn comments(&mut self, piece: &Piece<'_>) {
        let beside = piece.comments.len() - piece.beside();
        for (i, comment) in piece.comments.iter().enumerate() {
            let next = self.pending;
            if comment.lines > 0 {
                self.pending = Some(next.unwrap_or(self.further));
                self.empty = comment.lines > 1;
                self.write(&comment.text, true);
            } else if i >= beside {
                self.write(&comment.text, true);
            } else {
                self.pending = None;
                // `write` counts what it writes as the block's; a comment behind the brace is not.
                let fresh = self.fresh;
                self.write(&comment.text, true);
                self.fresh = fresh;
            }
            if i >= beside {
                // In one line with the token, wherever that comes to stand.
                continue;
            }
            let lines = piece.comments.get(i + 1).map_or(piece.lines, |c| c.lines);
            if next.is_some() || lines > 0 || comment.ends_line() {
                self.pending = Some(next.unwrap_or(self.further));
            }
        }
    }

    fn token(&mut self, piece: &Piece<'_>) {
        self.comments(piece);
        self.empty |= !piece.comments.is_empty() && piece.lines > 1 && self.pending.is_some();
        // A token begins the text only where nothing stands before it.
        let apart = piece.apart || piece.beside() > 0;
        self.write(piece.text, apart);
    }

    fn statement(&mut self, statement: &Statement<'_>, indent: usize) {
        let Some(first) = statement.nodes.first().map(Node::first) else {
            return;
        };
        self.begin_line(indent);
        self.further = indent + INDENT;
        let before = first.comments.len();
        let own = before - first.beside();
        let lines = first.comments.first().map_or(first.lines, |c| c.lines);
        self.empty = own == 0 && lines > 1;
        // Comments before the statement are written first, so that the statement's own line is
        // measured.
        let mut head = first.clone();
        head.comments.truncate(own);
        if own > 0 {
            head.lines = first.comments.get(own).map_or(first.lines, |c| c.lines);
            self.comments(&head);
            self.empty = head.lines > 1;
            self.begin_line(indent);
        }
        let tail = statement.missing.map_or(0, str::len);
        self.nodes(&statement.nodes, own, tail);
        if let Some(sign) = statement.missing {
            self.write(sign, false);
        }
    }

    /// Lays out a part of a statement; of the first token's comments, so many have been written.
    /// `tail` is the room that what follows in the line takes.
    fn nodes(&mut self, nodes: &[Node<'_>], written: usize, tail: usize) {
        let start = self.pending.unwrap_or_else(|| self.column());
        let mut flat = Flat {
            skip: written,
            ..Flat::default()
        };
        if flat.nodes(nodes) && start + flat.text.chars().count() + tail <= WIDTH {
            let apart = nodes.first().is_some_and(|n| n.first().apart);
            self.write(&flat.text, apart);
            return;
        }
        if self.holds_blocks(nodes, start, written) {
            return self.one_by_one(nodes, written, tail);
        }
        for signs in BREAKS {
            if has(nodes, signs) {
                return self.broken(nodes, signs, written, tail);
            }
        }
        self.one_by_one(nodes, written, tail);
    }

    /// Whether it is only for the blocks in it that it does not fit in a line: all else does.
    fn holds_blocks(&self, nodes: &[Node<'_>], start: usize, written: usize) -> bool {
        let mut blocks = 0;
        let mut column = start;
        let mut rest = nodes;
        let mut skip = written;
        while let Some(at) = rest.iter().position(|n| matches!(n, Node::Block(_))) {
            let mut flat = Flat {
                skip: std::mem::take(&mut skip),
                ..Flat::default()
            };
            if !flat.nodes(&rest[..at]) || column + flat.text.chars().count() + 2 > WIDTH {
                return false;
            }
            blocks += 1;
            column = self.indent + 1;
            rest = &rest[at + 1..];
        }
        let mut flat = Flat::default();
        blocks > 0 && flat.nodes(rest) && column + flat.text.chars().count() < WIDTH
    }

    /// Breaks a part of a statement at these tokens.
    fn broken(&mut self, nodes: &[Node<'_>], signs: &[&str], written: usize, tail: usize) {
        let further = self.further;
        let mut start = 0;
        for (i, node) in nodes.iter().enumerate() {
            // A comma stays in the line that it ends; all else begins one.
            let cut = if node.is(",") { i + 1 } else { i };
            if is_one(node, signs) && cut > start && cut < nodes.len() {
                self.part(&nodes[start..cut], start, written, 0, further);
                self.begin_line(further);
                start = cut;
            }
        }
        self.part(&nodes[start..], start, written, tail, further);
    }

    fn part(&mut self, nodes: &[Node<'_>], at: usize, written: usize, tail: usize, further: usize) {
        self.further = further + INDENT;
        self.nodes(nodes, if at == 0 { written } else { 0 }, tail);
        self.further = further;
    }

    /// Writes token after token, and opens the parentheses whose content does not fit.
    fn one_by_one(&mut self, nodes: &[Node<'_>], written: usize, tail: usize) {
        for (i, node) in nodes.iter().enumerate() {
            let skip = if i == 0 { written } else { 0 };
            match node {
                Node::Token(piece) => self.token(&without(piece, skip)),
                Node::Block(block) => self.block(block, skip),
                Node::Group {
                    open,
                    nodes: inner,
                    close,
                } => {
                    let mut flat = Flat {
                        skip,
                        ..Flat::default()
                    };
                    let mut rest = Flat::default();
                    let fits =
                        flat.nodes(std::slice::from_ref(node)) && rest.nodes(&nodes[i + 1..]) && {
                            let column = self.pending.unwrap_or_else(|| self.column());
                            let len = flat.text.chars().count() + rest.text.chars().count();
                            column + len + tail < WIDTH
                        };
                    if fits || inner.is_empty() && close.comments.is_empty() {
                        self.token(&without(open, skip));
                        self.one_by_one(inner, 0, 0);
                        self.token(close);
                    } else {
                        self.group(&without(open, skip), inner, close);
                    }
                }
            }
        }
    }

    fn group(&mut self, open: &Piece<'_>, nodes: &[Node<'_>], close: &Piece<'_>) {
        let further = self.further;
        self.token(open);
        let indent = self.indent;
        self.further = indent + INDENT;
        self.begin_line(indent + INDENT);
        if has(nodes, LIST) {
            self.broken(nodes, LIST, 0, 0);
        } else if !nodes.is_empty() {
            self.nodes(nodes, 0, 0);
        }
        self.closing(close, indent);
        self.further = further;
    }

    fn block(&mut self, block: &Block<'_>, skip: usize) {
        let further = self.further;
        let mut flat = Flat::default();
        if flat.block_inside(block) && self.column() + flat.text.chars().count() + 2 <= WIDTH {
            self.token(&without(&block.open, skip));
            self.write(&flat.text, true);
            return;
        }
        self.token(&without(&block.open, skip));
        let indent = self.indent;
        self.fresh = true;
        for statement in &block.statements {
            self.statement(statement, indent + INDENT);
        }
        self.closing(&block.close, indent);
        self.further = further;
    }

    /// A closing token in a line of its own. The comments before it belong to what it closes; no
    /// empty line comes before it.
    fn closing(&mut self, piece: &Piece<'_>, indent: usize) {
        self.begin_line(indent + INDENT);
        let mut before = piece.clone();
        // None of them stands beside it: they are the content's last words.
        before.lines = 1;
        self.comments(&before);
        self.empty = false;
        self.fresh = false;
        self.begin_line(indent);
        self.write(piece.text, false);
    }
}

/// Whether a part of a statement can be broken at one of these tokens.
fn has(nodes: &[Node<'_>], signs: &[&str]) -> bool {
    let inner = nodes.iter().skip(1).take(nodes.len().saturating_sub(2));
    inner.into_iter().any(|n| is_one(n, signs))
}

fn is_one(node: &Node<'_>, signs: &[&str]) -> bool {
    signs.iter().any(|s| node.is(s))
}

/// A token without those of its comments that have been written.
fn without<'a>(piece: &Piece<'a>, written: usize) -> Piece<'a> {
    let mut piece = piece.clone();
    piece.comments.drain(..written);
    piece
}

/// Text in one line, as long as it can be: not where a comment or a block needs lines of its own.
#[derive(Default)]
struct Flat {
    text: String,
    /// So many of the first token's comments are left out; what is left begins its line.
    skip: usize,
    begun: bool,
}

impl Flat {
    fn nodes(&mut self, nodes: &[Node<'_>]) -> bool {
        nodes.iter().all(|node| match node {
            Node::Token(piece) => self.token(piece),
            Node::Group { open, nodes, close } => {
                self.token(open) && self.nodes(nodes) && self.token(close)
            }
            Node::Block(block) => self.token(&block.open) && self.block_inside(block),
        })
    }

    /// The content of a block, and its closing brace.
    fn block_inside(&mut self, block: &Block<'_>) -> bool {
        self.begun = true;
        let mut good = block.line;
        for statement in &block.statements {
            good = good && self.nodes(&statement.nodes);
            if let Some(sign) = statement.missing.filter(|s| *s != ",") {
                self.text.push_str(sign);
            }
        }
        good && block.close.comments.is_empty() && self.token(&block.close)
    }

    fn token(&mut self, piece: &Piece<'_>) -> bool {
        let first = !std::mem::replace(&mut self.begun, true);
        let skip = std::mem::take(&mut self.skip);
        let comments = &piece.comments[skip..];
        if !comments.is_empty() {
            let inside = comments.iter().skip(usize::from(first));
            let broken = comments
                .iter()
                .any(|c| c.ends_line() || c.text.contains('\n'))
                || inside.map(|c| c.lines).any(|n| n > 0)
                || piece.lines > 0;
            if broken {
                return false;
            }
        }
        for comment in comments {
            self.gap(true);
            self.text.push_str(&comment.text);
        }
        self.gap(piece.apart || !comments.is_empty());
        self.text.push_str(piece.text);
        true
    }

    fn gap(&mut self, apart: bool) {
        if apart && !self.text.is_empty() {
            self.text.push(' ');
        }
    }
}
