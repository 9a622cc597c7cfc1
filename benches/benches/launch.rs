//! What one launch costs the host: an empty kernel with six arguments through the typed launch, beside the bare driver call.

use warpsmith::checks::cost::launch_cost;
use warpsmith_benches::gpu;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Some(runtime) = gpu("launch") else { return Ok(()) };
    println!("launch cost on {runtime}");
    for _ in 0..5 {
        let cost = launch_cost(&runtime)?;
        let ratio = cost.typed.as_secs_f64() / cost.bare.as_secs_f64();
        println!("typed {:?}, bare cuLaunchKernel {:?}, ratio {ratio:.3}", cost.typed, cost.bare);
    }
    Ok(())
}
