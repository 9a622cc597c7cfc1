//! The handwritten digits bundled with this crate.
//!
//! Alpaydin and Kaynak, "Optical Recognition of Handwritten Digits", UCI Machine Learning Repository, 1998,
//! doi:10.24432/C50P49, CC BY 4.0.

use flate2::read::GzDecoder;

use super::Dataset;
use crate::{Error, Result};

const ARCHIVE: &[u8] = include_bytes!("../../data/digits.csv.gz");
const PIXELS: usize = 8 * 8;
/// The largest pixel value.
const BRIGHTEST: f32 = 16.0;

/// 1797 digits of 8 x 8 pixels, scaled to 0 to 1.
///
/// # Errors
/// [`Error::Data`] if the bundled file is damaged.
pub fn digits() -> Result<Dataset> {
    let damaged = |what: String| Error::Data { source_name: "digits.csv.gz", what };
    let (mut features, mut labels) = (Vec::new(), Vec::new());
    let mut lines = csv::ReaderBuilder::new().has_headers(false).from_reader(GzDecoder::new(ARCHIVE));
    for line in lines.deserialize() {
        let line: Vec<u8> = line.map_err(|error| damaged(error.to_string()))?;
        let [pixels @ .., label] = &line[..] else { continue };
        if pixels.len() != PIXELS {
            return Err(damaged(format!("line {} has {} pixels, not {PIXELS}", labels.len() + 1, pixels.len())));
        }
        features.extend(pixels.iter().map(|&pixel| f32::from(pixel) / BRIGHTEST));
        labels.push(u32::from(*label));
    }
    Dataset::new(features, labels, 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_digits_are_there() {
        let digits = digits().unwrap();
        assert_eq!((digits.len(), digits.features(), digits.classes()), (1797, 64, 10));
        // Counts by class as the repository's description of the test part states them.
        let mut counts = [0; 10];
        digits.labels().iter().for_each(|&label| counts[label as usize] += 1);
        assert_eq!(counts, [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]);
        assert!(digits.as_slice().iter().all(|pixel| (0.0..=1.0).contains(pixel)));
    }
}
