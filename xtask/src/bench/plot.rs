//! The picture of a result: for each target a bar of ours, of the peers and of the papers, on a
//! logarithmic scale.

use super::report::{Row, figure};
use anyhow::{Result, anyhow};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

const WIDTH: u32 = 960;
const LINE: u32 = 22;
const LEFT: f64 = 380.0;
const RIGHT: f64 = 90.0;

/// Draws the rows that have figures of others beside them, as SVG text.
pub fn svg(title: &str, rows: &[Row]) -> Result<String> {
    let bars = bars(rows);
    let mut text = String::new();
    {
        let height = (bars.len() as u32 + 3) * LINE;
        let area = SVGBackend::with_string(&mut text, (WIDTH, height)).into_drawing_area();
        draw(&area, title, &bars).map_err(|e| anyhow!("cannot draw the plot: {e}"))?;
        area.present()
            .map_err(|e| anyhow!("cannot draw the plot: {e}"))?;
    }
    Ok(text)
}

/// One bar, or a heading if there is no value.
struct Bar {
    label: String,
    value: Option<f64>,
    color: RGBColor,
}

fn bars(rows: &[Row]) -> Vec<Bar> {
    let mut bars = Vec::new();
    for row in rows
        .iter()
        .filter(|row| row.paper.is_some() || !row.peers.is_empty())
    {
        let head = format!(
            "{} {} ({})",
            row.id.as_deref().unwrap_or(""),
            row.name,
            row.unit
        );
        bars.push(Bar {
            label: head,
            value: None,
            color: BLACK,
        });
        bars.push(Bar {
            label: "this system".into(),
            value: Some(row.value),
            color: RGBColor(31, 119, 180),
        });
        if let Some(paper) = row.paper {
            let color = RGBColor(148, 103, 189);
            bars.push(Bar {
                label: "Singularity, 2005".into(),
                value: Some(paper),
                color,
            });
        }
        for (peer, value) in &row.peers {
            bars.push(Bar {
                label: peer.clone(),
                value: Some(*value),
                color: RGBColor(160, 160, 160),
            });
        }
    }
    bars
}

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

fn draw(area: &Area, title: &str, bars: &[Bar]) -> Result<(), Box<dyn std::error::Error>> {
    area.fill(&WHITE)?;
    let style = |size: f64, pos: HPos| {
        ("sans-serif", size)
            .into_text_style(area)
            .pos(Pos::new(pos, VPos::Center))
    };
    area.draw_text(title, &style(18.0, HPos::Left), (10, LINE as i32))?;
    let values = bars.iter().filter_map(|bar| bar.value).filter(|v| *v > 0.0);
    let (low, high) = values.fold((f64::MAX, f64::MIN), |(low, high), v| {
        (low.min(v), high.max(v))
    });
    let (low, high) = (low.log10().floor(), high.log10().ceil());
    let span = (high - low).max(1.0);
    for (index, bar) in bars.iter().enumerate() {
        let middle = ((index as u32 + 2) * LINE + LINE / 2) as i32;
        let Some(value) = bar.value else {
            area.draw_text(&bar.label, &style(14.0, HPos::Left), (10, middle))?;
            continue;
        };
        area.draw_text(
            &bar.label,
            &style(13.0, HPos::Right),
            (LEFT as i32 - 8, middle),
        )?;
        let part = ((value.max(f64::MIN_POSITIVE).log10() - low) / span).clamp(0.005, 1.0);
        let end = LEFT + part * (f64::from(WIDTH) - LEFT - RIGHT);
        let corners = [(LEFT as i32, middle - 7), (end as i32, middle + 7)];
        area.draw(&Rectangle::new(corners, bar.color.filled()))?;
        area.draw_text(
            &figure(value),
            &style(12.0, HPos::Left),
            (end as i32 + 6, middle),
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_row_with_peers_becomes_bars() {
        let peers = BTreeMap::from([("linux pipe".to_string(), 9000.0)]);
        let (name, unit) = ("round trip".to_string(), "cycles".to_string());
        let row = Row {
            id: Some("T3".into()),
            name,
            value: 200.0,
            unit,
            p10: 1.0,
            p90: 2.0,
            paper: Some(803.0),
            peers,
        };
        let svg = svg("basic", &[row]).unwrap();
        for part in ["<svg", "round trip", "linux pipe", "9,000", "803"] {
            assert!(svg.contains(part), "{part} missing in {svg}");
        }
        assert!(super::svg("nothing", &[]).unwrap().contains("<svg"));
    }
}
