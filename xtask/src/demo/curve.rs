//! The loss curve: training loss on the left axis, held-out accuracy on the right one.

use std::path::Path;

use anyhow::{Result, anyhow};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::events::Training;
use super::percent;

const SIZE: (u32, u32) = (900, 520);
/// Two hues that remain apart without colour vision.
const LOSS: RGBColor = RGBColor(0, 95, 175);
const ACCURACY: RGBColor = RGBColor(200, 90, 0);
const GRID: RGBColor = RGBColor(225, 225, 225);
const TEXT: RGBColor = RGBColor(40, 40, 40);

/// Writes the curve.
pub fn draw(training: &Training, path: &Path) -> Result<()> {
    let area = SVGBackend::new(path, SIZE).into_drawing_area();
    draw_on(training, &area).map_err(|error| anyhow!("can't draw {}: {error}", path.display()))
}

fn draw_on(
    training: &Training,
    area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
) -> Result<(), Box<dyn std::error::Error>> {
    area.fill(&WHITE)?;
    let epochs = training.epochs.len().max(2) as f64;
    let finite = || training.epochs.iter().filter(|epoch| epoch.loss.is_finite());
    let highest = finite().map(|epoch| epoch.loss).fold(0.0, f64::max);
    let lowest = finite().map(|epoch| epoch.accuracy * 100.0).fold(100.0, f64::min);
    let lowest = (lowest / 10.0).floor() * 10.0;
    let font = |size: u32| ("sans-serif", size).into_font().color(&TEXT);

    let title = training.start.as_ref().map_or("", |start| &start.device);
    let mut chart = ChartBuilder::on(area)
        .caption(format!("Handwritten digits, trained on {title}"), font(20))
        .margin(14)
        .x_label_area_size(44)
        .y_label_area_size(58)
        .right_y_label_area_size(58)
        .build_cartesian_2d(1.0..epochs, 0.0..highest.max(1e-3) * 1.05)?
        .set_secondary_coord(1.0..epochs, lowest..100.0);
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(WHITE)
        .bold_line_style(GRID)
        .axis_style(TEXT)
        .x_desc("epoch")
        .x_labels(12)
        .x_label_formatter(&|epoch| format!("{epoch:.0}"))
        .y_desc("training loss")
        .y_labels(8)
        .y_label_formatter(&|loss| if highest < 0.5 { format!("{loss:.2}") } else { format!("{loss:.1}") })
        .label_style(font(14))
        .axis_desc_style(font(15))
        .draw()?;
    chart
        .configure_secondary_axes()
        .y_desc("held-out accuracy, %")
        .y_labels(8)
        .y_label_formatter(&|accuracy| format!("{accuracy:.0}"))
        .axis_style(TEXT)
        .label_style(font(14))
        .axis_desc_style(font(15))
        .draw()?;
    let losses = finite().map(|epoch| (epoch.epoch as f64, epoch.loss));
    let accuracies = finite().map(|epoch| (epoch.epoch as f64, epoch.accuracy * 100.0));
    chart.draw_secondary_series(LineSeries::new(accuracies, ACCURACY.stroke_width(2)))?;
    chart.draw_series(LineSeries::new(losses, LOSS.stroke_width(2)))?;

    // The lines are named where neither of them ends up, and what they do on the way there is covered.
    let (left, top) = (SIZE.0 as i32 - 390, SIZE.1 as i32 / 2 + 40);
    area.draw(&Rectangle::new([(left - 14, top - 20), (left + 292, top + 46)], WHITE.filled()))?;
    let last = training.epochs.last().map_or(f64::NAN, |epoch| epoch.loss);
    let named = [
        (LOSS, format!("training loss, {last:.4} at the end")),
        (ACCURACY, format!("held-out accuracy, {} at the end", percent(training.accuracy))),
    ];
    for (row, (color, text)) in named.into_iter().enumerate() {
        let (x, y) = (left + 40, top + 26 * row as i32);
        area.draw(&PathElement::new([(left, y), (left + 30, y)], color.stroke_width(3)))?;
        let style = font(15).pos(Pos::new(HPos::Left, VPos::Center));
        area.draw(&Text::new(text, (x, y), style))?;
    }
    area.present()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::events::tests::example;

    #[test]
    fn the_curve_is_an_svg_that_says_what_it_shows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("loss.svg");
        super::draw(&example(60), &path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.starts_with("<svg") && text.trim_end().ends_with("</svg>"), "{text}");
        assert!(text.contains("training loss") && text.contains("98.00 %") && text.contains("CPU, 2 threads"));
        // One polyline for each series at least.
        assert!(text.matches("<polyline").count() >= 2, "{text}");
    }

    #[test]
    fn one_epoch_and_a_loss_that_is_nan_are_drawn() {
        let folder = tempfile::tempdir().unwrap();
        super::draw(&example(1), &folder.path().join("one.svg")).unwrap();
        let mut training = example(3);
        training.epochs[1].loss = f64::NAN;
        super::draw(&training, &folder.path().join("nan.svg")).unwrap();
    }
}
