//! A headless Chromium, told what to do over the pipe of its DevTools: messages of JSON, each ended by
//! a zero byte.
//!
//! Invariants:
//! - Whatever the browser does, a call ends by its deadline; the browser ends with this value, and
//!   its profile is removed.
//! - What the page complains of, and each address that it asks, is kept for the test to judge.

use crate::packages::Tools;
use anyhow::{Context, Result, anyhow, bail, ensure};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The browser.
pub const CHROMIUM: Tools = Tools {
    name: "chromium",
    programs: &["chromium"],
    packages: &["chromium"],
    elsewhere: "`dnf install chromium` on Fedora, `pacman -S chromium` on Arch",
};

/// What keeps it to itself: it asks no server but the one that it is told.
const OPTIONS: [&str; 14] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
    "--no-proxy-server",
];
/// How long one call may take.
const CALL: Duration = Duration::from_secs(30);
/// Between two looks whether something is so.
const MOMENT: Duration = Duration::from_millis(50);

/// A key of the keyboard.
#[derive(Clone, Copy, Debug)]
pub struct Key(&'static str, u32, &'static str);

pub const TAB: Key = Key("Tab", 9, "");
pub const ENTER: Key = Key("Enter", 13, "\r");
pub const ESCAPE: Key = Key("Escape", 27, "");
pub const RIGHT: Key = Key("ArrowRight", 39, "");
pub const DOWN: Key = Key("ArrowDown", 40, "");
pub const SPACE: Key = Key(" ", 32, " ");
pub const SLASH: Key = Key("/", 191, "/");

/// A browser with one page.
pub struct Browser {
    child: Child,
    profile: PathBuf,
    /// `None` when it is to end.
    input: Option<ChildStdin>,
    messages: Receiver<Value>,
    calls: u64,
    session: Option<String>,
    /// Errors and exceptions of the page.
    pub complaints: Vec<String>,
    /// The addresses that it has asked.
    pub requests: Vec<String>,
}

impl Browser {
    /// Starts one, with an empty profile in this folder.
    pub fn start(folder: &Path) -> Result<Browser> {
        let profile = folder.join(format!("browser-{}", std::process::id()));
        // The pipe is at 3 and 4; no other program is told the number of a descriptor here.
        let mut command = Command::new("sh");
        command
            .args(["-c", r#"exec "$0" "$@" 3<&0 4>&1 0</dev/null 1>/dev/null"#])
            .arg(CHROMIUM.programs[0])
            .args(OPTIONS)
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut child = command.spawn().context("cannot start sh")?;
        let input = child.stdin.take();
        let output = child.stdout.take().context("no output")?;
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            let mut reader = BufReader::new(output);
            let mut text = Vec::new();
            while let Ok(1..) = reader.read_until(0, &mut text) {
                let message = serde_json::from_slice(text.strip_suffix(&[0]).unwrap_or(&text));
                if message.is_ok_and(|message| sender.send(message).is_err()) {
                    break;
                }
                text.clear();
            }
        });
        let mut browser = Browser {
            child,
            profile,
            input,
            messages,
            calls: 0,
            session: None,
            complaints: Vec::new(),
            requests: Vec::new(),
        };
        let target = browser.call("Target.createTarget", json!({ "url": "about:blank" }))?;
        let attach = json!({ "targetId": target["targetId"], "flatten": true });
        let session = browser.call("Target.attachToTarget", attach)?;
        let session = session["sessionId"].as_str().context("no session")?;
        browser.session = Some(session.to_owned());
        for domain in ["Page", "Runtime", "Network", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({}))?;
        }
        Ok(browser)
    }

    /// Has something done; the result.
    pub fn call(&mut self, method: &str, params: Value) -> Result<Value> {
        self.calls += 1;
        let mut message = json!({ "id": self.calls, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let input = self.input.as_mut().context("the browser has ended")?;
        write!(input, "{message}\0").context("the browser has ended")?;
        let end = Instant::now() + CALL;
        loop {
            let rest = end.saturating_duration_since(Instant::now());
            let answer = self.messages.recv_timeout(rest);
            let answer = answer.map_err(|e| anyhow!("no answer to {method}: {e}"))?;
            if answer["id"] == json!(self.calls) {
                let error = &answer["error"];
                ensure!(error.is_null(), "{method}: {error}");
                return Ok(answer["result"].clone());
            }
            self.note(&answer);
        }
    }

    /// Keeps what a message says that was not asked for.
    fn note(&mut self, message: &Value) {
        let params = &message["params"];
        match message["method"].as_str().unwrap_or_default() {
            "Network.requestWillBeSent" => {
                let url = params["request"]["url"].as_str().unwrap_or_default();
                self.requests.push(url.to_owned());
            }
            "Runtime.exceptionThrown" => {
                self.complaints.push(params["exceptionDetails"].to_string());
            }
            "Runtime.consoleAPICalled"
                if matches!(
                    params["type"].as_str(),
                    Some("error" | "warning" | "assert")
                ) =>
            {
                self.complaints.push(params["args"].to_string());
            }
            "Log.entryAdded"
                if matches!(params["entry"]["level"].as_str(), Some("error" | "warning")) =>
            {
                self.complaints.push(params["entry"].to_string());
            }
            _ => {}
        }
    }

    /// The value of an expression within the page.
    pub fn value(&mut self, expression: &str) -> Result<Value> {
        let params = json!({
            "expression": expression, "returnByValue": true, "awaitPromise": true
        });
        let result = self.call("Runtime.evaluate", params)?;
        let thrown = &result["exceptionDetails"];
        ensure!(thrown.is_null(), "{expression}: {thrown}");
        Ok(result["result"]["value"].clone())
    }

    /// A number.
    pub fn number(&mut self, expression: &str) -> Result<f64> {
        let value = self.value(expression)?;
        value
            .as_f64()
            .with_context(|| format!("{expression} is {value}"))
    }

    /// Waits until an expression is true.
    pub fn until(&mut self, expression: &str, time: Duration) -> Result<()> {
        let end = Instant::now() + time;
        while self.value(expression)? != json!(true) {
            if Instant::now() > end {
                let seen = self.value("document.body.innerText.slice(0, 3000)")?;
                bail!("it was not so within {time:?}: {expression}\n{seen}");
            }
            sleep(MOMENT);
        }
        Ok(())
    }

    /// Whether an expression is true now.
    pub fn holds(&mut self, expression: &str) -> Result<()> {
        let value = self.value(expression)?;
        ensure!(value == json!(true), "{expression} is {value}");
        Ok(())
    }

    /// Presses a key.
    pub fn press(&mut self, key: Key) -> Result<()> {
        let Key(name, code, text) = key;
        let of = |kind: &str, text: &str| {
            json!({
                "type": kind, "key": name, "code": if name == "/" { "Slash" } else { name },
                "windowsVirtualKeyCode": code, "text": text
            })
        };
        let down = if text.is_empty() {
            "rawKeyDown"
        } else {
            "keyDown"
        };
        self.call("Input.dispatchKeyEvent", of(down, text))?;
        self.call("Input.dispatchKeyEvent", of("keyUp", ""))
            .map(drop)
    }

    /// Goes on by Tab until an expression of the element that has the focus, `e`, is true.
    pub fn tab_to(&mut self, expression: &str, most: usize) -> Result<()> {
        let is = format!("((e) => !!({expression}))(document.activeElement)");
        for _ in 0..most {
            self.press(TAB)?;
            if self.value(&is)? == json!(true) {
                return Ok(());
            }
        }
        bail!("{most} times Tab lead to nothing with {expression}")
    }

    /// Types a text.
    pub fn types(&mut self, text: &str) -> Result<()> {
        self.call("Input.insertText", json!({ "text": text }))
            .map(drop)
    }

    /// Opens an address.
    pub fn open(&mut self, url: &str) -> Result<()> {
        let opened = self.call("Page.navigate", json!({ "url": url }))?;
        let error = &opened["errorText"];
        ensure!(error.is_null(), "{url}: {error}");
        Ok(())
    }

    /// Sets the page's width and height, and whether people prefer it dark.
    pub fn looks(&mut self, wide: u32, high: u32, dark: bool) -> Result<()> {
        let metrics = json!({
            "width": wide, "height": high, "deviceScaleFactor": 1, "mobile": false
        });
        self.call("Emulation.setDeviceMetricsOverride", metrics)?;
        let scheme = if dark { "dark" } else { "light" };
        let media = json!({
            "features": [{ "name": "prefers-color-scheme", "value": scheme }]
        });
        self.call("Emulation.setEmulatedMedia", media).map(drop)
    }

    /// Writes what the whole page looks like to a PNG file.
    pub fn screenshot(&mut self, path: &Path) -> Result<()> {
        // What sticks to the window's top stands where it belongs.
        self.value("scrollTo({ top: 0, behavior: 'instant' })")?;
        let size = self.call("Page.getLayoutMetrics", json!({}))?;
        let size = &size["cssContentSize"];
        let clip = json!({
            "x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1
        });
        let params = json!({ "format": "png", "captureBeyondViewport": true, "clip": clip });
        let shot = self.call("Page.captureScreenshot", params)?;
        let text = shot["data"].as_str().context("no picture")?;
        let bytes = from_base64(text).context("the picture is no base64")?;
        std::fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.session = None;
        let _ = self.call("Browser.close", json!({}));
        self.input = None;
        let end = Instant::now() + Duration::from_secs(5);
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < end {
            sleep(MOMENT);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.profile);
    }
}

/// The bytes of a text in base64.
fn from_base64(text: &str) -> Option<Vec<u8>> {
    let (mut bytes, mut bits, mut count) = (Vec::new(), 0u32, 0);
    for c in text.trim_end_matches('=').bytes() {
        let six = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(six);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_read() {
        let read = |text| from_base64(text).map(|bytes| String::from_utf8(bytes).unwrap());
        assert_eq!(read("").as_deref(), Some(""));
        assert_eq!(read("Zg==").as_deref(), Some("f"));
        assert_eq!(read("Zm8=").as_deref(), Some("fo"));
        assert_eq!(read("Zm9v").as_deref(), Some("foo"));
        assert_eq!(from_base64("+/8="), Some(vec![0xfb, 0xff]));
        assert_eq!(read("Z!"), None);
    }
}
