//! Mean and 95 % confidence interval over runs.

/// A mean over runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Mean {
    pub(crate) mean: f64,
    /// Half width of the 95 % interval (Student's t); `None` for a single run.
    pub(crate) half_width: Option<f64>,
}

/// The mean of the values; `None` when there are none.
pub(crate) fn mean(values: impl IntoIterator<Item = f64>) -> Option<Mean> {
    let values: Vec<f64> = values.into_iter().collect();
    let n = values.len();
    if n == 0 {
        return None;
    }
    let mean = values.iter().sum::<f64>() / n as f64;
    if n == 1 {
        return Some(Mean { mean, half_width: None });
    }
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let deviation = (squares / (n - 1) as f64).sqrt();
    Some(Mean { mean, half_width: Some(student_t(n - 1) * deviation / (n as f64).sqrt()) })
}

/// Upper 2.5 % point of Student's t.
fn student_t(degrees: usize) -> f64 {
    const TABLE: [f64; 30] = [
        12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281, 2.2010, 2.1788,
        2.1604, 2.1448, 2.1314, 2.1199, 2.1098, 2.1009, 2.0930, 2.0860, 2.0796, 2.0739, 2.0687, 2.0639,
        2.0595, 2.0555, 2.0518, 2.0484, 2.0452, 2.0423,
    ];
    if let Some(value) = degrees.checked_sub(1).and_then(|index| TABLE.get(index)) {
        return *value;
    }
    // Cornish-Fisher expansion about the normal point, good to 1e-4 beyond 30 degrees (Abramowitz, Stegun 26.7.5).
    let (z, v): (f64, f64) = (1.959_963_985, degrees.max(1) as f64);
    z + (z.powi(3) + z) / (4.0 * v) + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * v * v)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_sample() {
        let known = mean([1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert_eq!(known.mean, 3.0);
        // s = sqrt(2.5), t(4) = 2.7764.
        assert!((known.half_width.unwrap() - 1.9633).abs() < 1e-4, "{known:?}");
        assert_eq!(mean([7.0]), Some(Mean { mean: 7.0, half_width: None }));
        assert_eq!(mean([]), None);
    }

    #[test]
    fn beyond_the_table() {
        for (degrees, expected) in
            [(31, 2.0395), (40, 2.0211), (60, 2.0003), (120, 1.9799), (1_000_000, 1.9600)]
        {
            assert!((student_t(degrees) - expected).abs() < 1e-4, "{degrees}: {}", student_t(degrees));
        }
        assert!(student_t(30) > student_t(31));
    }
}
