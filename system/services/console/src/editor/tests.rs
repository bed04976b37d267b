//! Keys and what they do to the line and the row.

use super::*;
use alloc::format;

/// Types keys; the finished line.
fn typed(editor: &mut Editor, keys: &[u8]) -> Option<Event> {
    let mut out = String::new();
    keys.iter().find_map(|&b| editor.feed(b, &mut out))
}

fn line(keys: &[u8]) -> String {
    let mut editor = Editor::new(80, true);
    editor.begin("> ");
    match typed(&mut editor, &[keys, b"\r"].concat()) {
        Some(Event::Line(line)) => line,
        other => panic!("{other:?}"),
    }
}

#[test]
fn editing() {
    assert_eq!(line(b"hello"), "hello");
    assert_eq!(line(b"hllo\x01\x06e"), "hello");
    assert_eq!(line(b"abc\x7f\x7fx"), "ax");
    assert_eq!(line(b"abc\x01\x04"), "bc");
    assert_eq!(line(b"one two three\x17\x17x"), "one x");
    assert_eq!(line(b"one two\x15x"), "x");
    assert_eq!(line(b"one two\x01\x06\x06\x06\x0b"), "one");
    assert_eq!(line(b"ac\x1b[Db\x1b[Fd\x1b[Hz"), "zabcd");
    assert_eq!(line(b"a b\x1bb\x7f\x7f\x7f\x7fq"), "qb");
    assert_eq!(line("gr\u{fc}n\u{20ac}\x7f!".as_bytes()), "grün!");
}

#[test]
fn ends() {
    let mut e = Editor::new(80, true);
    e.begin("> ");
    assert_eq!(typed(&mut e, b"abc\x03"), Some(Event::Interrupt));
    assert_eq!(typed(&mut e, b"\x04"), Some(Event::EndOfInput));
    assert_eq!(typed(&mut e, b"a\x04"), None);
    assert_eq!(typed(&mut e, b"\r"), Some(Event::Line("a".into())));
}

#[test]
fn history() {
    let mut e = Editor::new(80, true);
    for l in ["one\r", "two\r", "two\r", "  \r"] {
        e.begin("> ");
        typed(&mut e, l.as_bytes());
    }
    e.begin("> ");
    let got = typed(&mut e, b"new\x1b[A\x1b[A\x1b[A\x1b[B\x1b[B\x1b[B\x1b[A\r");
    assert_eq!(got, Some(Event::Line("two".into())));
    e.begin("> ");
    let got = typed(&mut e, b"new\x1b[A\x1b[B!\r");
    assert_eq!(got, Some(Event::Line("new!".into())));
}

#[test]
fn the_history_is_searched() {
    let mut e = Editor::new(80, true);
    for l in ["echo one\r", "cat two\r", "echo three\r"] {
        e.begin("> ");
        typed(&mut e, l.as_bytes());
    }
    for (keys, line) in [
        (&b"\x12echo\r"[..], "echo three"),
        (b"\x12echo\x12\r", "echo one"),
        (b"\x12tow\x7f\x7fw\r", "cat two"),
        // The cursor is where the text begins, and other keys edit the line.
        (b"\x12two\x1b[Cx\r", "cat txwo"),
        (b"\x12three\x05!\r", "echo three!"),
        (b"\x12one\x01\x06\x06\x0b\x1b[F2\r", "ec2"),
        // As it was before.
        (b"new\x02\x12one\x07!\r", "ne!w"),
        // The new line is not lost.
        (b"new\x12two\x1b[C\x1b[B\x1b[B!\r", "new!"),
        (b"new\x12zzz\x1b[C\x1b[A\x1b[B!\r", "new!"),
        (b"new\x1b[A\x12two\x1b[C\x1b[B\x1b[B!\r", "new!"),
        // Nothing is found: the line stays.
        (b"new\x12zzz\r", "new"),
        (b"\x12\x12\x12new\x7f\x7f\x7f\x07\r", ""),
    ] {
        let mut e2 = Editor::new(80, true);
        for l in ["echo one", "cat two", "echo three"] {
            e2.remember(l);
        }
        e2.begin("> ");
        let got = typed(&mut e2, keys);
        assert_eq!(got, Some(Event::Line(line.into())), "{keys:?}");
    }
    let mut out = String::new();
    e.begin("> ");
    b"\x12ca".iter().for_each(|&b| drop(e.feed(b, &mut out)));
    assert!(
        out.ends_with("\r\x1b[K(search 'ca'): cat two\r\x1b[15C"),
        "{out:?}"
    );
    out.clear();
    b"z".iter().for_each(|&b| drop(e.feed(b, &mut out)));
    assert!(out.contains("(nothing with 'caz'): cat two"), "{out:?}");
    // For a job there is none, and Ctrl-Z suspends it.
    let mut job = Editor::new(80, false);
    job.begin("");
    assert_eq!(typed(&mut job, b"\x12a\r"), Some(Event::Line("a".into())));
    assert_eq!(typed(&mut job, b"a\x1a"), Some(Event::Suspend));
    assert_eq!(
        typed(&mut e, b"\x07\x1a\x1ax\r"),
        Some(Event::Line("x".into()))
    );
}

#[test]
fn wide_and_combining_characters_are_edited() {
    assert_eq!(line("日本語\x7f\x02x".as_bytes()), "日x本");
    assert_eq!(line("e\u{301}x\x02\x02y".as_bytes()), "ye\u{301}x");
    assert_eq!(line("ae\u{301}\x7f".as_bytes()), "a");
    assert_eq!(line("e\u{301}x\x01\x04".as_bytes()), "x");
    let mut e = Editor::new(20, true);
    let mut out = String::new();
    e.resume("日> ", Unfinished::default(), &mut out);
    for b in "日本x\x02\x02".bytes() {
        out.clear();
        e.feed(b, &mut out);
    }
    // The cursor is behind four columns of prompt and two of line.
    assert_eq!(out, "\r\x1b[K日> 日本x\r\x1b[6C");
    // Twenty columns have room for seven of these behind the prompt, and the cursor.
    e.begin("日> ");
    for b in "語".repeat(30).bytes() {
        out.clear();
        e.feed(b, &mut out);
    }
    assert_eq!(out, format!("\r\x1b[K日> {}", "語".repeat(7)));
}

#[test]
fn few_characters_combine_in_a_row() {
    let typed = |text: &str| line(text.as_bytes());
    let most = |c: &str| String::from("e") + &c.repeat(COMBINING);
    assert_eq!(typed(&most("\u{301}")), most("\u{301}"));
    assert_eq!(
        typed(&format!("e{}x", "\u{301}".repeat(100))),
        most("\u{301}") + "x"
    );
    // Those behind the cursor count, too.
    let before = "\u{302}".repeat(9);
    let behind = "\u{301}".repeat(5);
    assert_eq!(
        typed(&format!("{behind}x\x01{before}")),
        "\u{302}".repeat(COMBINING - 5) + &behind + "x"
    );
    // What a key draws is bounded, whatever is pasted.
    let mut e = Editor::new(20, true);
    e.begin("> ");
    for b in "e\u{301}".repeat(LONGEST).bytes() {
        let mut out = String::new();
        e.feed(b, &mut out);
        assert!(out.len() < 4 * 20 * (COMBINING + 1), "{}", out.len());
    }
}

#[test]
fn a_long_prompt_leaves_room() {
    let mut e = Editor::new(20, true);
    let mut out = String::new();
    e.begin(&"p".repeat(40));
    typed(&mut e, b"abc");
    e.draw(&mut out);
    assert_eq!(out, format!("\r\x1b[K{}abc", "p".repeat(11)));
}

#[test]
fn a_line_goes_on_in_another_editor() {
    let (mut job, mut shell) = (Editor::new(80, false), Editor::new(80, true));
    job.begin("");
    typed(&mut job, b"ehco x\x01\x06");
    let mut shown = String::new();
    shell.resume("> ", job.take(), &mut shown);
    assert_eq!(shown, "\r\x1b[K> ehco x\r\x1b[3C");
    let line = typed(&mut shell, b"\x1b[3~\x06h\r");
    assert_eq!(line, Some(Event::Line("echo x".into())));
    assert!(job.is_empty() && job.take().is_empty());
}

#[test]
fn words_are_completed_at_the_cursor() {
    let mut e = Editor::new(80, true);
    e.begin("> ");
    assert_eq!(
        typed(&mut e, b"ls /bo x\x02\x02\t"),
        Some(Event::Complete("ls /bo".into()))
    );
    let mut out = String::new();
    e.complete("ot\x1b/", "", &mut out);
    assert_eq!(out, "\r\x1b[K> ls /boot/ x\r\x1b[11C");
    out.clear();
    e.complete("", "a  b\nc\x07\n", &mut out);
    let row = "\r\x1b[K> ls /boot/ x";
    assert_eq!(out, format!("{row}\r\na  b\r\nc\r\n{row}\r\x1b[11C"));
    let line = typed(&mut e, b"y\r");
    assert_eq!(line, Some(Event::Line("ls /boot/y x".into())));
    // For a job, a tab is a space.
    let mut job = Editor::new(80, false);
    job.begin("");
    assert_eq!(typed(&mut job, b"a\tb\r"), Some(Event::Line("a b".into())));
}

#[test]
fn what_is_shown_fits_the_row() {
    let mut e = Editor::new(30, true);
    e.begin("prompt> ");
    let mut row = String::from("prompt> ");
    for i in 0..100_u8 {
        let mut out = String::new();
        e.feed(b'a' + i % 26, &mut out);
        match out.strip_prefix("\r\x1b[K") {
            Some(drawn) => row = drawn.into(),
            None => row.push_str(&out),
        }
        assert!(row.chars().count() < 30, "{row:?}");
        assert!(row.starts_with("prompt> "));
        assert!(row.ends_with(char::from(b'a' + i % 26)));
    }
}

#[test]
fn any_bytes_are_taken() {
    let mut e = Editor::new(25, true);
    e.begin("> ");
    let mut x = 1_u32;
    let mut out = String::new();
    for _ in 0..200_000 {
        x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        e.feed((x >> 24) as u8, &mut out);
        out.clear();
        assert!(e.cursor <= e.line.len());
    }
}
