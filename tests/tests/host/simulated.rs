//! Kernels in the simulator: each against plain loops, and the errors of kernels that do wrong.

use cuda_std::prelude::*;
use rand::RngExt;
use warpsmith_gpu::activations::{GeluTanh, Silu};
use warpsmith_gpu::elementwise::{Accumulate, Descend};
use warpsmith_gpu::epilogue::{Activated, AddSource, Biased, Epilogue, Saved, Sum, SumRows, Sums};
use warpsmith_gpu::kernels::{
    GemmShape, Simt, Strides, bias_add, column_sum, combine_partials, gemm_naive, gemm_simt, gemm_simt_blocks,
    gemm_simt_parts, gemm_sums, map_backward, map_forward, map_in_place, sgd, sgd_momentum, softmax_cross_entropy,
};
use warpsmith_gpu::{Activation, Element, Fast, bf16};
use warpsmith_tests::{TestResult, canonical, numbers, random, same_bits, uniform};

fn global<T: Copy>(slice: &[T]) -> Global<'_, T> {
    Global::from_slice(slice)
}

fn global_mut<T: Copy>(slice: &mut [T]) -> GlobalMut<'_, T> {
    GlobalMut::from_slice(slice)
}

#[test]
fn map_kernels_at_odd_sizes_offsets_and_grids() -> TestResult {
    let mut random = random("map_kernels");
    for (n, offset) in [(0, 0), (1, 0), (3, 1), (4, 0), (31, 2), (1000, 3), (1025, 0)] {
        // Fewer threads than elements, and more.
        for (grid, block) in [(1, 32), (3, 64), (20, 128)] {
            let shape = simulator::Shape::new(grid, block);
            let x = numbers(&mut random, offset + n);
            let dy = uniform(&mut random, offset + n);
            let (x, dy) = (&x[offset..], &dy[offset..]);
            let want: Vec<f32> = x.iter().map(|&x| GeluTanh.forward(x)).collect();
            let mut y = vec![f32::NAN; n + offset];
            simulator::launch::<map_forward<GeluTanh, f32>>(
                shape,
                (GeluTanh, global(x), global_mut(&mut y[offset..])),
            )?;
            same_bits("map_forward", &y[offset..], &want)?;

            let want: Vec<f32> = x.iter().zip(dy).map(|(&x, &dy)| Silu.backward(x, dy)).collect();
            let mut dx = vec![f32::NAN; n];
            simulator::launch::<map_backward<Silu, f32>>(shape, (Silu, global(x), global(dy), global_mut(&mut dx)))?;
            same_bits("map_backward", &dx, &want)?;

            let x: Vec<bf16> = x.iter().map(|&x| bf16::from_f32(x)).collect();
            // 16-bit activations are computed by approximate functions.
            let silu = |x: bf16| bf16::from_f32(Silu.forward(Fast(x.to_f32())).0).to_f32();
            let want: Vec<f32> = x.iter().map(|&x| silu(x)).collect();
            let mut y = x.clone();
            simulator::launch::<map_in_place<Silu, bf16>>(shape, (Silu, global_mut(&mut y)))?;
            let y: Vec<f32> = y.iter().map(|y| y.to_f32()).collect();
            same_bits("map_in_place", &y, &want)?;
        }
    }
    Ok(())
}

#[test]
fn bias_and_column_sum() -> TestResult {
    let mut random = random("bias_and_column_sum");
    for (rows, columns) in [(1, 1), (33, 7), (64, 64), (31, 100), (5, 0)] {
        let x = uniform(&mut random, rows * columns);
        let bias = uniform(&mut random, rows);
        let mut y = x.clone();
        simulator::launch::<bias_add<f32>>(simulator::Shape::new(2, 64), (global(&bias), global_mut(&mut y)))?;
        let want: Vec<f32> = x.iter().enumerate().map(|(i, x)| x + bias[i % rows]).collect();
        same_bits("bias_add", &y, &want)?;

        let want: Vec<f32> = (0..rows)
            .map(|row| {
                let mut partials = [0.0; 8];
                (0..columns).for_each(|column| partials[column % 8] += x[row + column * rows]);
                combine_partials(partials)
            })
            .collect();
        let mut sum = vec![f32::NAN; rows];
        let shape =
            simulator::Shape { grid: [rows.div_ceil(32) as u32, 1, 1], block: [32, 8, 1], dynamic_shared_bytes: 0 };
        simulator::launch::<column_sum<f32>>(shape, (global(&x), global_mut(&mut sum)))?;
        same_bits("column_sum", &sum, &want)?;
        for (row, sum) in sum.iter().enumerate() {
            let exact: f64 = (0..columns).map(|column| f64::from(x[row + column * rows])).sum();
            let bound = columns as f64 * f64::from(f32::EPSILON);
            assert!((f64::from(*sum) - exact).abs() <= bound, "row {row}: {sum} is not {exact}");
        }
    }
    Ok(())
}

#[test]
fn cross_entropy_against_f64() -> TestResult {
    let mut random = random("cross_entropy");
    let (classes, samples) = (10, 37);
    let logits: Vec<f32> = (0..classes * samples).map(|_| random.random_range(-30.0..30.0)).collect();
    let mut labels: Vec<u32> = (0..samples).map(|_| random.random_range(0..classes as u32)).collect();
    labels[5] = 10; // no class
    let (mut loss, mut gradient) = (vec![0.0; samples], vec![0.0; classes * samples]);
    simulator::launch::<softmax_cross_entropy<f32>>(
        simulator::Shape::new(1, 32),
        (global(&logits), global(&labels), 0.5, global_mut(&mut loss), global_mut(&mut gradient)),
    )?;
    for sample in 0..samples {
        let column = &logits[sample * classes..][..classes];
        let gradient = &gradient[sample * classes..][..classes];
        if sample == 5 {
            assert!(loss[sample].is_nan() && gradient.iter().all(|g| g.is_nan()));
            continue;
        }
        let sum: f64 = column.iter().map(|&z| f64::from(z).exp()).sum();
        let exact = sum.ln() - f64::from(column[labels[sample] as usize]);
        assert!((f64::from(loss[sample]) - exact).abs() <= 1e-5, "loss {} is not {exact}", loss[sample]);
        for (class, &g) in gradient.iter().enumerate() {
            let target = f64::from(u8::from(class == labels[sample] as usize));
            let exact = 0.5 * (f64::from(column[class]).exp() / sum - target);
            assert!((f64::from(g) - exact).abs() <= 1e-6, "gradient {g} is not {exact}");
        }
    }
    Ok(())
}

#[test]
fn optimizers() -> TestResult {
    let mut random = random("optimizers");
    let n = 101;
    let (g, w, v) = (uniform(&mut random, n), uniform(&mut random, n), uniform(&mut random, n));
    let shape = simulator::Shape::new(1, 32);
    let mut got = w.clone();
    simulator::launch::<sgd<f32>>(shape, (Descend { rate: 0.1 }, global(&g), global_mut(&mut got)))?;
    let want: Vec<f32> = w.iter().zip(&g).map(|(w, g)| (-0.1f32).mul_add(*g, *w)).collect();
    same_bits("sgd", &got, &want)?;

    let (mut velocity, mut got) = (v.clone(), w.clone());
    simulator::launch::<sgd_momentum<f32>>(
        shape,
        (
            Descend { rate: 0.1 },
            Accumulate { momentum: 0.9 },
            global(&g),
            global_mut(&mut velocity),
            global_mut(&mut got),
        ),
    )?;
    let new_v: Vec<f32> = v.iter().zip(&g).map(|(v, g)| 0.9f32.mul_add(*v, *g)).collect();
    let want: Vec<f32> = w.iter().zip(&new_v).map(|(w, v)| (-0.1f32).mul_add(*v, *w)).collect();
    same_bits("velocity", &velocity, &new_v)?;
    same_bits("sgd_momentum", &got, &want)
}

/// Strides of a factor of `rows` x `columns`: transposed, with gaps, or such that nothing can be fetched together.
const FACTORS: [fn(usize, usize) -> Strides; 4] = [
    |rows, _| Strides::columns(rows.next_multiple_of(4)),
    |_, columns| Strides::rows(columns.next_multiple_of(4)),
    |rows, _| Strides { row: 2, column: 2 * rows + 1, batch: 0 },
    |rows, _| Strides::columns(rows + 3),
];

/// The tiled kernel and the naive one give the bits of the sums in order, whatever the strides, and the same sums of the values.
#[test]
fn gemm_kernels_bit_for_bit() -> TestResult {
    type E = SumRows<AddSource<Activated<Saved<Biased<Sum>>, GeluTanh>>>;
    let epilogue = Sum.bias().activation(GeluTanh).save_preactivation().add_source(0.5).sum_rows();
    let mut random = random("gemm kernels");
    for (number, (m, n, k)) in [(1, 1, 1), (7, 5, 3), (130, 67, 17), (64, 130, 8), (3, 4, 0)].into_iter().enumerate() {
        let (a_strides, b_strides) = (FACTORS[number % 4](m, k), FACTORS[(number / 2 + 1) % 4](k, n));
        let shape = GemmShape {
            m,
            n,
            k,
            batch: 1,
            a: a_strides,
            b: b_strides,
            out: Strides::columns(m),
            source: Strides::rows(n),
            aux: Strides::columns(m + 1),
            ..GemmShape::default()
        };
        let mut factor =
            |strides: Strides, rows, columns| uniform(&mut random, strides.extent(1, rows, columns).unwrap());
        let (a, b) = (factor(a_strides, m, k), factor(b_strides, k, n));
        let (source, bias) = (uniform(&mut random, m * n), uniform(&mut random, m));
        let ordered = |row: usize, column: usize| {
            let product = |i| (a[a_strides.offset(0, row, i)], b[b_strides.offset(0, i, column)]);
            let sum = (0..k).map(product).fold(0.0f32, |sum, (a, b)| a.mul_add(b, sum));
            sum + bias[row]
        };
        let preactivations: Vec<f32> = (0..m * n).map(|i| ordered(i % m, i / m)).collect();
        let value = |i: usize| 0.5f32.mul_add(source[i % m * n + i / m], GeluTanh.forward(preactivations[i]));
        let values: Vec<f32> = (0..m * n).map(value).collect();
        let (tiles, _) = gemm_simt_blocks::<f32>(&shape, E::SUMS);
        let grids = [
            (
                true,
                gemm_simt_parts::<f32>(&shape, Sums::Rows),
                simulator::Shape {
                    grid: [tiles as u32, 1, 1],
                    block: [256, 1, 1],
                    dynamic_shared_bytes: f32::SHARED_BYTES,
                },
            ),
            (false, n, simulator::Shape::new(2, 64)),
        ];
        for (tiled, parts, grid) in grids {
            let what = format!("{} {m}x{n}x{k}", if tiled { "tiled" } else { "naive" });
            let (mut out, mut kept) = (vec![f32::NAN; m * n], vec![f32::NAN; (m + 1) * n]);
            let mut partials = vec![f32::NAN; parts * m];
            let arguments = (
                shape,
                epilogue,
                global(&a),
                global(&b),
                global(&bias),
                global(&source),
                global(&[]),
                global(&[]),
                global_mut(&mut kept),
                global_mut(&mut []),
                global_mut(&mut out),
                global_mut(&mut partials),
            );
            match tiled {
                true => simulator::launch::<gemm_simt<E, f32, f32>>(grid, arguments)?,
                false => simulator::launch::<gemm_naive<E, f32, f32>>(grid, arguments)?,
            }
            same_bits(&what, &out, &values)?;
            let mut lines: Vec<f32> = Vec::new();
            for line in kept.chunks(m + 1) {
                lines.extend(&line[..m]);
                assert!(line[m].is_nan(), "{what}: the padding was overwritten");
            }
            same_bits(&what, &lines, &preactivations)?;
            let mut sums = vec![f32::NAN; m];
            let small = simulator::Shape::new(1, 32);
            simulator::launch::<gemm_sums<f32>>(small, (parts, m, global(&partials), global_mut(&mut sums)))?;
            for (row, sum) in sums.iter().enumerate() {
                let exact: f64 = (0..n).map(|column| f64::from(values[row + column * m])).sum();
                assert!((f64::from(*sum) - exact).abs() < 1e-4, "{what}: sum {row} is {sum}, expected {exact}");
            }
        }
    }
    Ok(())
}

/// A barrier that only half of the threads reach.
#[kernel]
fn half_barrier(mut x: GlobalMut<u32>) {
    if thread::thread_idx_x() < 16 {
        thread::sync_threads();
    }
    for i in thread::elements(x.len()) {
        x.set(i, 1);
    }
}

/// Each thread reads what its neighbour wrote before the barrier.
#[kernel]
fn neighbours(mut x: GlobalMut<u32>) {
    let values = shared_array![u32; 64];
    let t = thread::thread_idx_x() as usize;
    // SAFETY: own elements before the barrier, the neighbour's after it.
    let neighbour = unsafe {
        values.write(t, t as u32 + 100 * thread::block_idx_x());
        thread::sync_threads();
        values.read((t + 1) % 64)
    };
    for i in thread::elements(x.len()) {
        x.set(i, neighbour);
    }
}

/// Reads past the end.
#[kernel]
fn past_the_end(x: Global<f32>, mut y: GlobalMut<f32>) {
    for i in thread::elements(y.len()) {
        y.set(i, x[i]);
    }
}

#[test]
fn the_simulator_names_what_went_wrong_and_where() -> TestResult {
    let mut x = vec![0; 64];
    let error = simulator::launch::<half_barrier>(simulator::Shape::new(2, 32), (global_mut(&mut x),)).unwrap_err();
    match error {
        simulator::Error::BarrierNotReached {
            kernel: "half_barrier",
            block: [0, 0, 0],
            waiting: [0, 0, 0],
            place,
            ended: [16, 0, 0],
            waiting_count: 16,
            ended_count: 16,
        } => assert!(place.file().ends_with("simulated.rs"), "{place}"),
        other => panic!("{other}"),
    }

    let mut y = vec![0.0; 40];
    let error =
        simulator::launch::<past_the_end>(simulator::Shape::new(2, 32), (global(&[1.0; 35]), global_mut(&mut y)));
    match error.unwrap_err() {
        simulator::Error::Panicked { kernel: "past_the_end", block: [1, 0, 0], thread: [3, 0, 0], message, place } => {
            assert_eq!(message, "index 35 is out of bounds: the view has 35 elements");
            assert!(place.is_some_and(|place| place.file().ends_with("simulated.rs")), "{place:?}");
        }
        other => panic!("{other}"),
    }

    let shape = simulator::Shape { grid: [1, 70000, 1], block: [32, 1, 1], dynamic_shared_bytes: 0 };
    let error = simulator::launch::<neighbours>(shape, (global_mut(&mut x),)).unwrap_err();
    assert_eq!(error, simulator::Error::InvalidShape { shape });

    // The right twin.
    let mut x = vec![0; 128];
    simulator::launch::<neighbours>(simulator::Shape::new(2, 64), (global_mut(&mut x),))?;
    assert_eq!((x[0], x[62], x[63], x[64], x[127]), (1, 63, 0, 101, 100));
    Ok(())
}

#[test]
fn sixteen_bit_floats_round_to_nearest_even() {
    // Halfway cases: 1 + 2^-8 lies between 1 and 1 + 2^-7, 1 + 3·2^-8 between 1 + 2^-7 and 1 + 2^-6.
    assert_eq!(bf16::from_f32(1.0 + 1.0 / 256.0).to_f32(), 1.0);
    assert_eq!(bf16::from_f32(1.0 + 3.0 / 256.0).to_f32(), 1.0 + 1.0 / 64.0);
    assert_eq!(bf16::from_f32(f32::MAX).to_f32(), f32::INFINITY);
    assert_eq!(bf16::from_f32(f32::from_bits(0x0001_8000)).to_bits(), 2); // subnormal, halfway, to even
    assert_eq!(canonical(bf16::from_f32(f32::NAN).to_f32()), canonical(f32::NAN));
    for bits in 0..=u16::MAX {
        let x = bf16::from_bits(bits);
        assert_eq!(canonical(bf16::store(x.load()).to_f32()), canonical(x.to_f32()));
        let x = warpsmith_gpu::f16::from_bits(bits);
        assert_eq!(canonical(warpsmith_gpu::f16::store(x.load()).to_f32()), canonical(x.to_f32()));
    }
}
