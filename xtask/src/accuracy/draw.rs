//! One picture for each activation: the function with its first two derivatives, and the f32 errors around each x.

use std::path::Path;

use anyhow::{Result, anyhow};
use plotters::prelude::*;

use super::report::{Point, Report};

const SIZE: (u32, u32) = (760, 560);
/// Hues that remain apart without colour vision.
const COLORS: [RGBColor; 3] = [RGBColor(0, 95, 175), RGBColor(200, 90, 0), RGBColor(120, 120, 120)];
const GRID: RGBColor = RGBColor(225, 225, 225);
const TEXT: RGBColor = RGBColor(40, 40, 40);

/// Writes the picture of one activation.
pub fn draw(report: &Report, name: &str, path: &Path) -> Result<()> {
    let area = SVGBackend::new(path, SIZE).into_drawing_area();
    let draw = || -> Result<(), Box<dyn std::error::Error>> {
        area.fill(&WHITE)?;
        let (upper, lower) = area.split_vertically(SIZE.1 * 3 / 5);
        panel(&upper, name, "f, f', f''", &of(&report.curves, name), ["f", "f'", "f''"], -3.0..4.0)?;
        let spreads = of(&report.spreads, name);
        let highest = spreads.iter().flat_map(|point| point.values).fold(1.0, f64::max);
        panel(&lower, "", "error in f32, ulp", &spreads, ["f", "f'"], 0.0..highest * 1.1)?;
        area.present()?;
        Ok(())
    };
    draw().map_err(|error| anyhow!("can't draw {}: {error}", path.display()))
}

fn of<'a, const N: usize>(points: &'a [Point<N>], name: &str) -> Vec<&'a Point<N>> {
    points.iter().filter(|point| point.name == name).collect()
}

fn panel<const N: usize>(
    area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
    title: &str,
    label: &str,
    points: &[&Point<N>],
    names: [&str; N],
    range: std::ops::Range<f64>,
) -> Result<(), Box<dyn std::error::Error>> {
    let font = |size: u32| ("sans-serif", size).into_font().color(&TEXT);
    let ends =
        points.iter().map(|point| point.x).fold((0.0, 1.0), |(low, high): (f64, f64), x| (low.min(x), high.max(x)));
    let mut builder = ChartBuilder::on(area);
    builder.margin(8).x_label_area_size(22).y_label_area_size(48);
    if !title.is_empty() {
        builder.caption(title, font(20));
    }
    let mut chart = builder.build_cartesian_2d(ends.0..ends.1, range.clone())?;
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .bold_line_style(GRID)
        .axis_style(TEXT)
        .x_labels(9)
        .y_labels(7)
        .y_desc(label)
        .label_style(font(13))
        .axis_desc_style(font(13))
        .draw()?;
    for (k, name) in names.into_iter().enumerate() {
        let color = COLORS[k];
        // Pieces within the range: a line to infinity would leave the picture.
        for piece in points.split(|point| !range.contains(&point.values[k])) {
            chart.draw_series(LineSeries::new(
                piece.iter().map(|point| (point.x, point.values[k])),
                color.stroke_width(2),
            ))?;
        }
        chart
            .draw_series(std::iter::empty::<Circle<(f64, f64), i32>>())?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 16, y)], color.stroke_width(2)));
    }
    chart
        .configure_series_labels()
        .background_style(WHITE)
        .label_font(font(13))
        .position(SeriesLabelPosition::UpperLeft)
        .draw()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::report::{Report, tests::TEXT};

    #[test]
    fn pictures_are_small_and_hold_all_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("silu.svg");
        super::draw(&Report::parse(TEXT).unwrap(), "silu", &path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("<svg") && text.contains("silu") && text.len() < 40_000, "{}", text.len());
        assert!(text.matches("<polyline").count() >= 5, "{text}");
    }
}
