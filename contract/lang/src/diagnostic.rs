//! A fault of a contract: the message, a label for each place that matters, and the way out.

use crate::source::{Source, Sources, Span};
use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Renderer, Snippet};
use std::fmt;
use std::sync::Arc;

/// The number of findings after which a text is looked at no further. Far fewer are shown.
pub(crate) const MOST_KEPT: usize = 1000;

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

/// One finding. Its `Display` form is the whole report with the source lines, as rustc would print it.
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
        let mut group: Group<'_> = level.primary_title(&self.message).elements(
            self.sources
                .iter()
                .enumerate()
                .filter_map(|(i, source)| self.snippet(i, source)),
        );
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

    /// The lines of a source that have labels.
    fn snippet<'a>(&'a self, i: usize, source: &'a Source) -> Option<Snippet<'a, Annotation<'a>>> {
        let mut labels = self
            .labels
            .iter()
            .filter(|l| l.span.source as usize == i)
            .peekable();
        labels.peek()?;
        Some(
            Snippet::source(&source.text)
                .path(&source.name)
                .annotations(labels.map(|l| {
                    let kind = if l.primary {
                        AnnotationKind::Primary
                    } else {
                        AnnotationKind::Context
                    };
                    let end = source.text.len();
                    let range = l.span.range();
                    kind.span(range.start.min(end)..range.end.min(end))
                        .label(&l.text)
                })),
        )
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(false))
    }
}

impl std::error::Error for Diagnostic {}
