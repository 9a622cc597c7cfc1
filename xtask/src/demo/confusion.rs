//! The confusion matrix: how often the digit of the row was taken for the digit of the column.

use std::path::Path;

use anyhow::{Result, anyhow};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::events::{DIGITS, Training};
use super::percent;

const CELL: i32 = 52;
const LEFT: i32 = 78;
const TOP: i32 = 92;
const SIZE: (u32, u32) = ((LEFT + CELL * DIGITS as i32 + 24) as u32, (TOP + CELL * DIGITS as i32 + 62) as u32);
const TEXT: RGBColor = RGBColor(40, 40, 40);
const LINE: RGBColor = RGBColor(215, 215, 215);
/// What a full cell looks like: right ones and wrong ones.
const RIGHT: RGBColor = RGBColor(0, 95, 175);
const WRONG: RGBColor = RGBColor(200, 60, 0);

/// Writes the matrix.
pub fn draw(training: &Training, path: &Path) -> Result<()> {
    let area = SVGBackend::new(path, SIZE).into_drawing_area();
    draw_on(training, &area).map_err(|error| anyhow!("can't draw {}: {error}", path.display()))
}

fn draw_on(
    training: &Training,
    area: &DrawingArea<SVGBackend<'_>, plotters::coord::Shift>,
) -> Result<(), Box<dyn std::error::Error>> {
    area.fill(&WHITE)?;
    let text = |text: String, at: (i32, i32), size: u32, color: RGBColor| {
        let style = ("sans-serif", size).into_font().color(&color).pos(Pos::new(HPos::Center, VPos::Center));
        area.draw(&Text::new(text, at, style))
    };
    let middle = LEFT + CELL * DIGITS as i32 / 2;
    let wrong: u64 = cells(training).filter(|(truth, said, _)| truth != said).map(|(.., count)| count).sum();
    let total: u64 = cells(training).map(|(.., count)| count).sum();
    text(format!("{total} held-out digits, {wrong} mistaken: {}", percent(training.accuracy)), (middle, 26), 20, TEXT)?;
    text("predicted".into(), (middle, TOP - 40), 15, TEXT)?;
    let turned = ("sans-serif", 15).into_font().transform(FontTransform::Rotate270).color(&TEXT);
    let turned = turned.pos(Pos::new(HPos::Center, VPos::Center));
    area.draw(&Text::new("true digit", (24, TOP + CELL * DIGITS as i32 / 2), turned))?;

    for digit in 0..DIGITS as i32 {
        text(digit.to_string(), (LEFT + CELL * digit + CELL / 2, TOP - 16), 16, TEXT)?;
        text(digit.to_string(), (LEFT - 20, TOP + CELL * digit + CELL / 2), 16, TEXT)?;
    }
    for (truth, said, count) in cells(training) {
        let (x, y) = (LEFT + CELL * said as i32, TOP + CELL * truth as i32);
        let corners = [(x, y), (x + CELL, y + CELL)];
        let in_row: u64 = training.confusion[truth].iter().sum();
        let share = count as f64 / in_row.max(1) as f64;
        // A single mistake among forty must still be seen.
        let strength = if truth == said {
            0.85 * share
        } else if count == 0 {
            0.0
        } else {
            0.25 + 0.75 * share
        };
        let fill = blend(if truth == said { RIGHT } else { WRONG }, strength);
        area.draw(&Rectangle::new(corners, fill.filled()))?;
        area.draw(&Rectangle::new(corners, LINE.stroke_width(1)))?;
        if count > 0 {
            text(count.to_string(), (x + CELL / 2, y + CELL / 2), 16, if strength > 0.5 { WHITE } else { TEXT })?;
        }
    }
    let below = TOP + CELL * DIGITS as i32 + 30;
    text("blue: recognised, orange: mistaken, white: never".into(), (middle, below), 14, TEXT)?;
    area.present()?;
    Ok(())
}

/// (true digit, predicted digit, how often).
fn cells(training: &Training) -> impl Iterator<Item = (usize, usize, u64)> {
    let row = |(truth, row): (usize, &Vec<u64>)| {
        row.iter().enumerate().map(move |(said, &count)| (truth, said, count)).collect::<Vec<_>>()
    };
    training.confusion.iter().enumerate().flat_map(row)
}

/// From white to the colour.
fn blend(color: RGBColor, strength: f64) -> RGBColor {
    let channel = |full: u8| (255.0 - (255.0 - f64::from(full)) * strength.clamp(0.0, 1.0)) as u8;
    RGBColor(channel(color.0), channel(color.1), channel(color.2))
}

#[cfg(test)]
mod tests {
    use super::super::events::tests::example;
    use super::*;

    #[test]
    fn the_matrix_is_an_svg_with_all_counts() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("confusion.svg");
        let training = example(2);
        draw(&training, &path).unwrap();
        let svg = std::fs::read_to_string(&path).unwrap();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"), "{svg}");
        assert!(svg.matches("\n36\n").count() == DIGITS, "{svg}");
        let rectangles = 2 * DIGITS * DIGITS + 1;
        assert_eq!(svg.matches("<rect").count(), rectangles);
        assert!(svg.contains("true digit") && svg.contains("predicted"));
    }

    #[test]
    fn blending_goes_from_white_to_the_colour() {
        assert_eq!(blend(RIGHT, 0.0), RGBColor(255, 255, 255));
        assert_eq!(blend(RIGHT, 1.0), RIGHT);
    }
}
