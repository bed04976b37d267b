//! Typing for the job in the foreground.

use crate::input::{self, Job};
use crate::server::{FOR_JOB, LINE_BYTES, LINES, Line, Server};
use alloc::string::String;
use alloc::vec::Vec;
use console::editor::Event;

/// The most jobs that are kept while they are suspended; the oldest ones lose their input.
const SUSPENDED: usize = 64;

impl Server {
    /// Moves typed text to the job, as far as it takes it.
    pub(crate) fn pump_job(&mut self) {
        self.short = false;
        if self.terminal() && self.job.as_ref().is_some_and(Job::takes_keys) {
            return self.pump_keys();
        }
        if self.terminal() {
            self.edit_for_job();
        }
        if !self.job.as_ref().is_some_and(Job::wants) {
            return;
        }
        let line = match self.terminal() {
            true => self.lines.pop_front(),
            false => self.typed.line().map(Line::Text),
        };
        if matches!(line, Some(Line::Text(_))) {
            self.note();
        }
        let Some(job) = &mut self.job else { return };
        match line {
            Some(Line::Text(text)) => {
                if let Err(text) = job.give(text) {
                    // Lack of memory is no end of input: the line stays.
                    self.short = true;
                    self.keep(text);
                }
            }
            Some(Line::End) => job.end_input(),
            None if self.typed.at_end() => job.end_input(),
            None => {}
        }
    }

    /// Lets the person type for the job: lines are finished whether it takes them or not, so that
    /// Ctrl-C works at any time.
    fn edit_for_job(&mut self) {
        if self.is_full() && self.typed.skip_to_interrupt() {
            self.interrupt_job();
        }
        while self.job.is_some()
            && !self.is_full()
            && !self.screen.is_far_behind()
            && let Some(byte) = self.typed.byte()
        {
            let mut text = String::new();
            if self.editors[FOR_JOB].is_empty() {
                self.editors[FOR_JOB].begin(self.screen.tail());
            }
            let event = self.editors[FOR_JOB].feed(byte, &mut text);
            self.screen.edited(&text);
            match event {
                Some(Event::Line(line)) => {
                    let mut bytes = line.into_bytes();
                    bytes.push(b'\n');
                    self.lines.push_back(Line::Text(bytes));
                }
                Some(Event::EndOfInput) => self.lines.push_back(Line::End),
                Some(Event::Interrupt) => self.interrupt_job(),
                Some(Event::Suspend) => self.suspend_job(),
                // Tab is a space for a job.
                Some(Event::Complete(_)) | None => {}
            }
        }
    }

    /// Gives the job the keys that were typed. Ctrl-C and Ctrl-Z are for the console, as soon as they
    /// come.
    fn pump_keys(&mut self) {
        if self.typed.skip_to_interrupt() {
            return self.interrupt_job();
        }
        let wants = self.job.as_ref().is_some_and(Job::wants);
        let mut keys = Vec::new();
        let mut suspended = false;
        while !suspended && let Some(byte) = self.typed.byte() {
            suspended = byte == input::SUSPEND;
            if !suspended {
                keys.push(byte);
            }
        }
        if wants && !keys.is_empty() {
            self.note();
            let given = self.job.as_mut().map_or(Ok(()), |job| job.give(keys));
            keys = given.err().unwrap_or_default();
            self.short = !keys.is_empty();
        }
        self.typed.put_back(&keys);
        if suspended {
            self.suspend_job();
        } else if self.typed.at_end()
            && let Some(job) = &mut self.job
            && job.wants()
        {
            job.end_input();
        }
    }

    /// Ctrl-Z: the job leaves the foreground, and keeps its input.
    fn suspend_job(&mut self) {
        let Some(mut job) = self.job.take() else {
            return;
        };
        let number = self.last_suspended.wrapping_add(1);
        if !job.suspend(number) {
            // An interrupt is on its way.
            self.job = Some(job);
            return;
        }
        self.last_suspended = number;
        self.suspended.retain(|(_, job)| !job.is_over());
        if self.suspended.len() >= SUSPENDED {
            self.suspended.remove(0);
        }
        self.suspended.push((number, job));
    }

    /// The job with this number is in the foreground again.
    pub(crate) fn take_again(&mut self, number: u32) {
        let place = self.suspended.iter().position(|(n, _)| *n == number);
        let job = place.map(|place| self.suspended.remove(place).1);
        self.job = job.and_then(|mut job| job.again().then_some(job));
    }

    /// Whether the most lines allowed are waiting for the job.
    fn is_full(&self) -> bool {
        let len = |line: &Line| match line {
            Line::Text(text) => text.len(),
            Line::End => 0,
        };
        self.lines.len() >= LINES || self.lines.iter().map(len).sum::<usize>() >= LINE_BYTES
    }

    /// Ctrl-C: interrupts the job, and discards the text typed before.
    fn interrupt_job(&mut self) {
        self.lines.clear();
        if let Some(job) = &mut self.job {
            job.interrupt();
        }
    }
}
