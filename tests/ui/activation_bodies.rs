//! Bodies that are not generic over real numbers.

use warpsmith::activation;

activation! { pub struct NoSuchFunction |x| x.expp() }

activation! { pub struct IntegerState { n: u32 } |x| x * n }

activation! { pub struct NotANumber |x| x > 0.0 }

fn main() {}
