//! Floating point: products, transforms, pictures, planets.

use crate::{Random, Ready, mix};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::hint::black_box;

/// A number without its last bits, in which sides may differ that add in another order.
fn rounded(value: f64) -> u64 {
    ((value * 1024.0) as i64).cast_unsigned()
}

pub fn product() -> Ready {
    let n = 96;
    let a = ndarray::Array2::from_shape_fn((n, n), |(i, j)| ((i * n + j) % 17) as f64 * 0.5);
    let b = ndarray::Array2::from_shape_fn((n, n), |(i, j)| ((i * n + j) % 13) as f64 - 3.0);
    Box::new(move || rounded(black_box(&a).dot(black_box(&b)).sum()))
}

pub fn fft() -> Ready {
    let mut random = Random(88_172_645_463_325_252);
    let input: Vec<f32> = (0..4096)
        .map(|_| random.below(1000) as f32 / 500.0 - 1.0)
        .collect();
    let mut samples = [0_f32; 4096];
    Box::new(move || {
        let mut sum = 0;
        for _ in 0..16 {
            samples.copy_from_slice(black_box(&input));
            let spectrum = microfft::real::rfft_4096(&mut samples);
            let most = spectrum.iter().fold(0.0, |most: f32, bin| most.max(bin.re));
            sum = mix(sum, most as u64);
        }
        sum
    })
}

pub fn convolution() -> Ready {
    const WIDTH: usize = 320;
    const HEIGHT: usize = 240;
    const WEIGHTS: [[u32; 3]; 3] = [[1, 2, 1], [2, 4, 2], [1, 2, 1]];
    let mut random = Random(424_242);
    let picture: Vec<u8> = (0..WIDTH * HEIGHT)
        .map(|_| random.below(256) as u8)
        .collect();
    let mut out = vec![0_u8; WIDTH * HEIGHT];
    Box::new(move || {
        let picture = black_box(&picture);
        for y in 1..HEIGHT - 1 {
            let rows = [y - 1, y, y + 1].map(|row| &picture[row * WIDTH..][..WIDTH]);
            let line = &mut out[y * WIDTH..][..WIDTH];
            for x in 1..WIDTH - 1 {
                let mut sum = 0;
                for (row, weights) in rows.iter().zip(&WEIGHTS) {
                    for (pixel, weight) in row[x - 1..=x + 1].iter().zip(weights) {
                        sum += u32::from(*pixel) * weight;
                    }
                }
                line[x] = (sum / 16) as u8;
            }
        }
        out.iter()
            .step_by(97)
            .fold(0, |sum, pixel| mix(sum, (*pixel).into()))
    })
}

#[derive(Clone, Copy)]
struct Body {
    place: [f64; 3],
    speed: [f64; 3],
    mass: f64,
}

pub fn nbody() -> Ready {
    let body = |place: [f64; 3], speed: [f64; 3], mass| Body { place, speed, mass };
    let bodies = [
        body([0.0; 3], [0.0; 3], 39.478),
        body([4.841, -1.160, -0.1036], [0.6063, 2.812, -0.02522], 0.03769),
        body([8.343, 4.125, -0.4035], [-1.011, 1.826, 0.008416], 0.01129),
        body(
            [12.894, -15.111, -0.2233],
            [1.083, 0.8687, -0.01083],
            0.001724,
        ),
        body(
            [15.380, -25.919, 0.1793],
            [0.9791, 0.5947, -0.03476],
            0.002034,
        ),
    ];
    Box::new(move || {
        let mut bodies = black_box(bodies);
        for _ in 0..8_000 {
            for i in 0..bodies.len() {
                let (before, behind) = bodies.split_at_mut(i + 1);
                let one = &mut before[i];
                // By component, as the formula has it.
                #[allow(clippy::needless_range_loop)]
                for other in behind {
                    let mut away = [0.0; 3];
                    for k in 0..3 {
                        away[k] = one.place[k] - other.place[k];
                    }
                    let square = away.iter().map(|d| d * d).sum::<f64>() + 1e-9;
                    let pull = 0.001 / (square * square);
                    for k in 0..3 {
                        one.speed[k] -= away[k] * other.mass * pull;
                        other.speed[k] += away[k] * one.mass * pull;
                    }
                }
            }
            for body in &mut bodies {
                for k in 0..3 {
                    body.place[k] += 0.001 * body.speed[k];
                }
            }
        }
        rounded(
            bodies
                .iter()
                .map(|body| body.place[0] + body.speed[1])
                .sum(),
        )
    })
}

pub fn mandelbrot() -> Ready {
    Box::new(|| {
        let mut sum = 0;
        for y in 0..64 {
            for x in 0..96 {
                let (cx, cy) = (f64::from(x) / 38.0 - 2.0, f64::from(y) / 32.0 - 1.0);
                let (mut zx, mut zy, mut steps) = (0.0, 0.0, 0_u64);
                while zx * zx + zy * zy < 4.0 && steps < 200 {
                    (zx, zy) = (zx * zx - zy * zy + cx, 2.0 * zx * zy + cy);
                    steps += 1;
                }
                sum = mix(sum, black_box(steps));
            }
        }
        sum
    })
}
