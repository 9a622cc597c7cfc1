//! Bodies that are not generic over real numbers.

use warpsmith::activation;

activation! { pub struct NoSuchFunction |x| x.expp() }

activation! { pub struct IntegerState { n: u32 } |x| x * n }

activation! { pub struct NotANumber |x| x > 0.0 }

activation! { pub struct OfOneType |x| x * f32::exp(-x) }

activation! { pub struct WithIntegers |x| 2 * x + 1.0 }

fn main() {}
