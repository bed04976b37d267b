//! A fault of a contract: the message, a label for each place that matters, and the way out.

use crate::source::{Source, Sources, Span};
use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use std::fmt;
use std::ops::Range;
use std::sync::Arc;

/// The number of findings after which a text is looked at no further. Far fewer are shown.
pub(crate) const MOST_KEPT: usize = 1000;

/// Lines of more bytes are shown in part: a text may be a single line.
const LONG_LINE: usize = 1000;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The contract is refused.
    Error,
    /// The contract holds, but probably does not say what was meant.
    Warning,
}

/// A place and what it has to do with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Label {
    /// Where.
    pub span: Span,
    /// What.
    pub text: String,
    /// Whether this is the place of the error itself, not one that explains it.
    pub primary: bool,
}

/// One finding. Its `Display` form is the whole report with the source lines, as rustc would print
/// it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// The fault, in a line.
    pub message: String,
    /// The places that matter.
    pub labels: Vec<Label>,
    /// Further facts.
    pub notes: Vec<String>,
    /// The way out.
    pub help: Option<String>,
    sources: Sources,
}

impl Diagnostic {
    /// An error at a place.
    #[must_use]
    pub fn error(message: impl Into<String>, span: Span, label: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Error,
            message: message.into(),
            labels: vec![Label {
                span,
                text: label.into(),
                primary: true,
            }],
            notes: Vec::new(),
            help: None,
            sources: Sources::default(),
        }
    }

    /// A warning at a place.
    #[must_use]
    pub fn warning(message: impl Into<String>, span: Span, label: impl Into<String>) -> Diagnostic {
        Diagnostic {
            severity: Severity::Warning,
            ..Diagnostic::error(message, span, label)
        }
    }

    /// With one more place.
    #[must_use]
    pub fn label(mut self, span: Span, text: impl Into<String>) -> Diagnostic {
        let label = Label {
            span,
            text: text.into(),
            primary: false,
        };
        // Two reasons can lead to the same place.
        if !self.labels.contains(&label) {
            self.labels.push(label);
        }
        self
    }

    /// With a further fact.
    #[must_use]
    pub fn note(mut self, text: impl Into<String>) -> Diagnostic {
        self.notes.push(text.into());
        self
    }

    /// With the way out.
    #[must_use]
    pub fn help(mut self, text: impl Into<String>) -> Diagnostic {
        self.help = Some(text.into());
        self
    }

    /// Fills in the texts that the places lie in.
    pub fn set_sources(&mut self, sources: &Sources) {
        self.sources = Arc::clone(sources);
    }

    /// The report, in colour where asked for.
    #[must_use]
    pub fn render(&self, colour: bool) -> String {
        let level = match self.severity {
            Severity::Error => Level::ERROR,
            Severity::Warning => Level::WARNING,
        };
        let mut group = Group::with_title(level.primary_title(&self.message));
        for (i, source) in self.sources.iter().enumerate() {
            group = self.snippet(group, i, source);
        }
        for note in &self.notes {
            group = group.element(Level::NOTE.message(note));
        }
        if let Some(help) = &self.help {
            group = group.element(Level::HELP.message(help));
        }
        let renderer = if colour {
            Renderer::styled()
        } else {
            Renderer::plain()
        };
        renderer.render(&[group]).clone()
    }

    /// Adds the lines of a source that have labels.
    fn snippet<'a>(&'a self, group: Group<'a>, i: usize, source: &'a Source) -> Group<'a> {
        let text = &source.text;
        let here = self.labels.iter().filter(|l| l.span.source as usize == i);
        let labels: Vec<(&Label, Range<usize>)> = here
            .map(|l| {
                let range = l.span.range();
                (l, range.start.min(text.len())..range.end.min(text.len()))
            })
            .collect();
        let Some((_, main)) = labels.iter().find(|l| l.0.primary).or(labels.first()) else {
            return group;
        };
        let line = |at: usize| {
            let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
            start..text[at..].find('\n').map_or(text.len(), |end| at + end)
        };
        let of_labels = labels
            .iter()
            .flat_map(|(_, r)| [line(r.start), line(r.end)]);
        let lines: Vec<Range<usize>> = of_labels.collect();
        let long = lines.iter().any(|line| line.len() > LONG_LINE);
        let shown = if long {
            let line = line(main.start);
            let from = main.start.saturating_sub(LONG_LINE / 4).max(line.start);
            let to = (main.start + LONG_LINE / 2).min(line.end);
            text.floor_char_boundary(from)..text.floor_char_boundary(to)
        } else {
            let first = lines.iter().map(|line| line.start).min();
            let last = lines.iter().map(|line| line.end).max();
            first.unwrap_or(0)..last.unwrap_or(text.len())
        };
        let number = text[..main.start].matches('\n').count() + 1;
        let first = text[..shown.start].matches('\n').count() + 1;
        let mut snippet = Snippet::source(&text[shown.clone()]).line_start(first);
        let mut group = group;
        if long {
            // The place in the whole line, of which a part is shown.
            let column = text[line(main.start).start..main.start].chars().count() + 1;
            let origin = Origin::path(&source.name).line(number);
            group = group.element(origin.char_column(column));
        } else {
            snippet = snippet.path(&source.name);
        }
        let part = labels
            .iter()
            .filter(|(_, r)| shown.contains(&r.start) || !long);
        group.element(snippet.annotations(part.map(|(l, r)| {
            let kind = if l.primary {
                AnnotationKind::Primary
            } else {
                AnnotationKind::Context
            };
            let end = r.end.clamp(r.start, shown.end);
            kind.span(r.start - shown.start..end - shown.start)
                .label(&l.text)
        })))
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for Diagnostic {}
