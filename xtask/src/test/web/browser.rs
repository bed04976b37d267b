//! The system in a real browser: tables fill, the graph and the chart of messages are used by keyboard
//! alone, processes are killed with the key; light, dark and narrow. Pictures of it are left in
//! `target/sing`.

use super::address::launch;
use super::devtools::{Browser, DOWN, ENTER, ESCAPE, RIGHT, SLASH, SPACE, TAB};
use super::{TIME, ask, ready};
use crate::machine::Machine;
use crate::run::Request;
use crate::system::session::Session;
use crate::test::tcp::{free_port, tell};
use crate::test::{Report, Run};
use crate::web::Web;
use anyhow::{Context, Result, ensure};
use std::thread::sleep;
use std::time::{Duration, Instant};

const NAME: &str = "browser";
/// How long something on the page may take on a busy machine; it takes a second.
const SOON: Duration = Duration::from_secs(30);
/// Longer than two events are apart.
const EVENTS: Duration = Duration::from_millis(2500);
/// The processes whose messages are too many to be seen.
const PINGS: u32 = 30_000;
/// The width of a telephone, and that of a desk.
const NARROW: u32 = 390;
const WIDE: u32 = 1280;
/// WCAG 2.2, 1.4.3: the least contrast of text.
const CONTRAST: f64 = 4.5;

/// The rows of a table.
fn rows(of: &str) -> String {
    format!("document.querySelectorAll('#{of} tbody tr').length")
}

/// Whether an element shows this.
fn says(selector: &str, words: &str) -> String {
    format!("(document.querySelector('{selector}')?.textContent ?? '').includes('{words}')")
}

/// Arrows of the chart.
const ARROWS: &str = "document.querySelectorAll('#chart-area .arrow').length";
/// What the chart shows last.
const LAST: &str = "[...document.querySelectorAll('#chart-area .time')].at(-1)?.textContent ?? ''";
/// Messages that the kernel has counted.
const TRACED: &str = "seen.last.channels.rows.reduce((sum, c) => sum + c.traced, 0)";

/// On the hosted system.
pub fn check(run: &Run, report: &mut Report) -> Result<()> {
    if !run.wants(NAME) {
        return Ok(());
    }
    if let Some(reason) = run.without.chromium() {
        report.skipped.push(reason);
        return Ok(());
    }
    let [port, burst, end] = [free_port()?, free_port()?, free_port()?];
    let mut request = Request {
        machine: Machine::Hosted,
        web: Web::At(port),
        ..Request::default()
    };
    request.script = Some(format!(
        "sleep 1000 & sleep 0.1; echo ready; echo now | nc -l {burst}; pingpong {PINGS} > /dev/null; \
         echo over | nc -l {end}"
    ));
    let launch = launch(run, request, false)?;
    let deadline = Instant::now() + TIME;
    let mut session = Session::start(launch)?;
    let used = ready(&mut session, deadline).and_then(|key| {
        let key = key.context("no address of the system")?;
        let browser = Browser::start(&run.project.out())?;
        let mut visit = Visit {
            run,
            browser,
            port,
            burst,
        };
        let used = visit.all(&key);
        if used.is_err() {
            // What it looked like is all that is left of it.
            let _ = visit.shoot("failed");
        }
        used
    });
    // In any case: the script need not wait.
    if used.is_err() {
        let _ = tell(burst);
    }
    let _ = tell(end);
    let (output, ended) = session.finish(deadline);
    let judged = used.and_then(|()| {
        ensure!(matches!(ended, Ok(Some(0))), "the system: {ended:?}");
        Ok(())
    });
    report.count(NAME, judged.map_err(|why| format!("{why:#}\n{output}")));
    Ok(())
}

struct Visit<'a> {
    run: &'a Run,
    browser: Browser,
    port: u16,
    /// Who connects here sets off a great many messages.
    burst: u16,
}

impl Visit<'_> {
    fn all(&mut self, key: &str) -> Result<()> {
        self.browser.looks(WIDE, 900, false)?;
        let address = format!("http://127.0.0.1:{}/system", self.port);
        self.browser.open(&format!("{address}#{key}"))?;
        self.tables().context("tables")?;
        self.graph().context("the graph")?;
        self.chart().context("the chart")?;
        self.looks().context("how it looks")?;
        self.flood().context("more messages than can be shown")?;
        self.kill().context("to kill a process")?;
        self.quiet()?;
        self.without_key(&address, key).context("without the key")
    }

    /// A request that a program answers, in a process of its own.
    fn hello(&self) -> Result<()> {
        let answer = ask(self.port, "GET /hello?name=page", "")?;
        ensure!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
        Ok(())
    }

    fn shoot(&mut self, name: &str) -> Result<()> {
        let path = self.run.project.out().join(format!("watch-{name}.png"));
        self.browser.screenshot(&path)
    }

    fn tables(&mut self) -> Result<()> {
        let page = &mut self.browser;
        page.until("typeof seen !== 'undefined' && seen.last !== null", SOON)?;
        page.holds("location.hash === '' && location.pathname === '/system'")?;
        for (table, words) in [
            ("processes", "nameserver"),
            ("services", "clock"),
            ("devices", "/dev/disk0"),
            ("names", "/services"),
            ("channels", "NamespaceContract"),
        ] {
            let filled = format!(
                "{} > 0 && {}",
                rows(table),
                says(&format!("#{table} tbody"), words)
            );
            page.until(&filled, SOON).context(table)?;
        }
        page.holds(
            "[...document.querySelectorAll('#devices tbody tr')].some((row) => \
             ['/virtio-mmio/', '/virtio/2', 'virtio-blk', 'disk0', 'up'] \
             .every((word) => row.textContent.includes(word)))",
        )?;
        page.holds("document.querySelector('#state').textContent === 'live'")?;
        // They are live.
        let uptime = page.number("seen.last.uptime")?;
        page.until(&format!("seen.last.uptime > {uptime} + 1e6"), SOON)
    }

    /// From the navigation to the graph, from process to process, and to one's channels.
    fn graph(&mut self) -> Result<()> {
        let page = &mut self.browser;
        page.until(
            "document.querySelectorAll('#graph-area .process').length > 5",
            SOON,
        )?;
        page.holds("document.querySelectorAll('#graph-area .edge').length > 5")?;
        page.holds("document.querySelectorAll('#graph-area [tabindex=\"0\"]').length === 1")?;
        page.tab_to("e.getAttribute('href') === '#graph'", 12)?;
        page.press(ENTER)?;
        page.tab_to("e.classList.contains('process')", 4)?;
        // Right and down reach others than the first.
        let first = "document.activeElement.dataset.id";
        let begin = page.value(first)?;
        for key in [RIGHT, DOWN, RIGHT, DOWN] {
            page.press(key)?;
            page.holds("document.activeElement.classList.contains('process')")?;
        }
        ensure!(
            page.value(first)? != begin,
            "no key has led to another process"
        );
        page.press(ENTER)?;
        page.until(
            &format!(
                "!document.getElementById('graph-about').hidden && {} > 0",
                rows("graph-about")
            ),
            SOON,
        )?;
        page.holds("document.activeElement.getAttribute('aria-pressed') === 'true'")?;
        // A look later it is still so.
        sleep(EVENTS);
        page.holds("document.activeElement.getAttribute('aria-pressed') === 'true'")?;
        page.press(ESCAPE)?;
        page.holds("document.getElementById('graph-about').hidden")?;
        page.press(ENTER)
    }

    /// Messages are shown as they come, until it is paused; then nothing is traced.
    fn chart(&mut self) -> Result<()> {
        self.browser
            .holds("document.getElementById('chart-area').hidden")?;
        self.browser.tab_to("e.id === 'record'", 8)?;
        self.browser.press(SPACE)?;
        self.browser.until("chart.live", SOON)?;
        self.browser
            .until(&says("#messages-hint", "Recording"), SOON)?;
        // Asked until it is seen: the first may come before the system records.
        self.sees_hello()?;
        let (arrows, last) = (self.browser.number(ARROWS)?, self.browser.value(LAST)?);
        ensure!(arrows > 3.0, "{arrows} arrows");
        for words in ["WebContract.Request", "WebContract.Done", "made ("] {
            self.browser.until(&says("#chart-area", words), SOON)?;
        }
        self.browser
            .until("!!document.querySelector('#chart-area .cross')", SOON)?;
        self.hello()?;
        self.browser.until(&format!("({LAST}) !== {last}"), SOON)?;
        // This service is none of the processes shown.
        self.browser.holds(
            "![...document.querySelectorAll('#chart-area .name')].some((n) => n.textContent === 'watch')",
        )?;
        // Rates are counted meanwhile.
        self.browser
            .until("seen.last.channels.rows.some((c) => c.rate > 0)", SOON)?;
        // The same as a table.
        self.browser.tab_to("e.tagName === 'SUMMARY'", 8)?;
        self.browser.press(ENTER)?;
        let text = format!(
            "document.getElementById('messages-text').open && {} > 0",
            rows("messages-text")
        );
        self.browser.until(&text, SOON)?;
        self.filter()?;
        // Paused: the chart stays, and the kernel traces no more.
        self.browser
            .value("document.getElementById('record').focus()")?;
        self.browser.press(ENTER)?;
        self.browser.until("!chart.live", SOON)?;
        self.browser
            .until(&says("#messages-hint", "Paused"), SOON)?;
        let (last, end) = (self.browser.value(LAST)?, Instant::now() + SOON);
        loop {
            let traced = self.browser.number(TRACED)?;
            self.hello()?;
            sleep(EVENTS);
            ensure!(
                self.browser.value(LAST)? == last,
                "a paused chart has moved"
            );
            let now = self.browser.number(TRACED)?;
            if now <= traced {
                break;
            }
            // The service learns within a second or two that the browser has gone.
            ensure!(
                Instant::now() < end,
                "{traced} messages traced, {now} when it was paused"
            );
        }
        Ok(())
    }

    /// Asks until the chart shows it.
    fn sees_hello(&mut self) -> Result<()> {
        let end = Instant::now() + SOON;
        loop {
            self.hello()?;
            sleep(Duration::from_millis(400));
            let seen = self.browser.value(&says("#chart-area", "web-hello"))?;
            if seen == true {
                return Ok(());
            }
            ensure!(Instant::now() < end, "no message of web-hello has come");
        }
    }

    /// Of some processes alone.
    fn filter(&mut self) -> Result<()> {
        self.browser
            .value("document.getElementById('of').focus()")?;
        self.browser.types("web-hello")?;
        self.browser.press(ENTER)?;
        self.browser
            .value("document.getElementById('clear').focus()")?;
        self.browser.press(SPACE)?;
        self.browser
            .until("document.getElementById('chart-area').hidden", SOON)?;
        self.sees_hello()?;
        self.browser.holds(
            "[...document.querySelectorAll('#messages-rows tr')].every((row) => \
             row.children.length < 5 || row.textContent.includes('web-hello'))",
        )?;
        self.browser
            .value("document.getElementById('of').select()")?;
        self.browser.types("")?;
        self.browser
            .value("document.getElementById('of').value = ''")?;
        self.browser.press(ENTER)?;
        self.sees_hello()
    }

    /// Texts can be read, light and dark, and a narrow page is not wider than its window.
    fn looks(&mut self) -> Result<()> {
        let mut grounds = Vec::new();
        for (name, wide, dark) in [
            ("light", WIDE, false),
            ("dark", WIDE, true),
            ("narrow", NARROW, false),
            ("narrow-dark", NARROW, true),
        ] {
            self.browser.looks(wide, 900, dark)?;
            sleep(Duration::from_millis(300));
            let ground = self
                .browser
                .value("getComputedStyle(document.body).backgroundColor")?;
            grounds.push(ground);
            let least = self.browser.number(LEAST)?;
            ensure!(least >= CONTRAST, "{name}: a contrast of {least:.2}");
            self.browser
                .holds("document.documentElement.scrollWidth <= innerWidth")
                .context(name)?;
            self.shoot(name)?;
        }
        ensure!(grounds[0] != grounds[1], "dark is as light");
        self.browser.looks(WIDE, 900, false)
    }

    /// More messages than the chart takes: it says so, stays live and small.
    fn flood(&mut self) -> Result<()> {
        self.browser
            .value("document.getElementById('record').focus()")?;
        self.browser.press(SPACE)?;
        self.browser.until("chart.live", SOON)?;
        self.sees_hello()?;
        tell(self.burst)?;
        self.browser
            .until(&says("#messages-count", "events lost"), SOON)?;
        self.browser
            .until(&says("#chart-area", "PingContract."), SOON)?;
        self.shoot("flood")?;
        let shown = self.browser.number(&rows("messages-text"))?;
        ensure!(
            (1.0..=250.0).contains(&shown),
            "{shown} messages in the table"
        );
        let uptime = self.browser.number("seen.last.uptime")?;
        self.browser
            .until(&format!("seen.last.uptime > {uptime} + 2e6"), SOON)?;
        self.browser
            .value("document.getElementById('record').focus()")?;
        self.browser.press(SPACE)?;
        self.browser.until("!chart.live", SOON)
    }

    /// By keyboard: to the filter, to the row's button, through the question.
    fn kill(&mut self) -> Result<()> {
        let page = &mut self.browser;
        page.value("document.activeElement.blur()")?;
        page.press(SLASH)?;
        page.holds("document.activeElement.id === 'filter'")?;
        page.types("sleep")?;
        page.until(&format!("{} === 1", rows("processes")), SOON)?;
        let kill = "e.getAttribute('aria-label')?.startsWith('Kill sleep ')";
        page.tab_to(kill, 40)?;
        page.press(ENTER)?;
        page.until("document.getElementById('confirm').open", SOON)?;
        page.holds(&says("#question", "Kill sleep ("))?;
        // Cancel has the focus: Enter does nothing.
        page.press(ENTER)?;
        page.until("!document.getElementById('confirm').open", SOON)?;
        page.holds("document.getElementById('message').hidden")?;
        page.until(&format!("((e) => {kill})(document.activeElement)"), SOON)?;
        page.press(ENTER)?;
        page.until("document.getElementById('confirm').open", SOON)?;
        page.press(TAB)?;
        page.holds("document.activeElement.id === 'yes'")?;
        page.press(ENTER)?;
        page.until(&says("#message", "is killed"), SOON)?;
        // The shell may not have looked after it yet.
        page.until(
            "[...document.querySelectorAll('#processes tbody tr')] \
             .every((row) => row.textContent.includes('ended'))",
            SOON,
        )
    }

    /// The page has complained of nothing, and asked nobody else.
    fn quiet(&mut self) -> Result<()> {
        self.browser.value("1")?;
        let complaints = &self.browser.complaints;
        ensure!(complaints.is_empty(), "the page complains: {complaints:#?}");
        let own = format!("http://127.0.0.1:{}/system", self.port);
        let is_own = |url: &&String| url.starts_with(&own) || url.starts_with("data:,");
        let others: Vec<_> = self
            .browser
            .requests
            .iter()
            .filter(|url| !is_own(url))
            .collect();
        ensure!(others.is_empty(), "the page asks others: {others:?}");
        let (asked, most) = (self.browser.requests.len(), 100);
        ensure!(
            (6..most).contains(&asked),
            "the page has asked {asked} times"
        );
        Ok(())
    }

    /// Nothing is shown without the key, which can be typed.
    fn without_key(&mut self, address: &str, key: &str) -> Result<()> {
        self.browser.value("sessionStorage.clear()")?;
        self.browser.open(address)?;
        let page = &mut self.browser;
        page.until(
            "typeof seen !== 'undefined' && !document.getElementById('ask').hidden",
            SOON,
        )?;
        page.holds("seen.last === null && document.getElementById('main').hidden")?;
        for (typed, shows) in [
            ("00", "document.getElementById('why').textContent !== ''"),
            (key, "seen.last !== null"),
        ] {
            page.value("document.getElementById('why').textContent = ''")?;
            page.value("document.getElementById('key').focus()")?;
            page.types(typed)?;
            page.press(ENTER)?;
            page.until(shows, SOON)?;
        }
        page.holds("document.getElementById('ask').hidden")
    }
}

/// The least contrast of any text on the page that is seen, by WCAG 2.2.
const LEAST: &str = "(() => {
    const light = (color) => {
        const [r, g, b] = color.match(/[\\d.]+/g).map(Number).map((v) => {
            const part = v / 255;
            return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const under = (e) => {
        for (let at = e; at; at = at.parentElement) {
            const color = getComputedStyle(at).backgroundColor;
            if (color !== 'rgba(0, 0, 0, 0)' && color !== 'transparent') return color;
        }
        return 'rgb(255, 255, 255)';
    };
    let least = 21;
    for (const e of document.querySelectorAll('body *')) {
        const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
        if (!own || !e.checkVisibility() || e.matches(':disabled')) continue;
        const drawn = e instanceof SVGElement;
        if (drawn && e.closest('.aside, .chosen')) continue;
        const style = getComputedStyle(e);
        const box = drawn && e.parentElement.querySelector(':scope > rect');
        const [a, b] = [light(drawn ? style.fill : style.color),
            light(box ? getComputedStyle(box).fill : under(e))];
        least = Math.min(least, (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05));
    }
    return least;
})()";
