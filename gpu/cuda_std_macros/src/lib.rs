//! Procedural macros of `warpsmith-cuda-std` (`#[kernel]`, `kernels!`, `#[derive(DeviceCopy)]`) and of `warpsmith-gpu`
//! (`activation!`). Use them through those crates, whose documentation describes them.

mod activation;
mod device_copy;
mod entry;
mod kernel;
mod kernels;

use proc_macro::TokenStream;
use syn::parse_macro_input;

/// Makes a function a kernel.
///
/// The function may be generic over types and constants. It keeps its name and can still be called; the same name becomes
/// a type, `name<A, T>`, that implements `Kernel` and so gives the host a typed launch; and `kernels!` instantiates it.
///
/// Parameters are plain values (`DeviceCopy`), `Global<T>` and `&[T]` to read, `GlobalMut<T>` to write, `GlobalAtomic<T>` to update
/// atomically, and, in an `unsafe fn`, raw device pointers. A view is passed as pointer and length. `TensorMap<T, RANK>` and
/// `TensorMapMut<T, RANK>`, for the copy engine, are passed as 128 bytes that stay where they are.
///
/// Attributes, all optional: `block = 256` or `block = (32, 8)` (threads of a block, required at launch),
/// `max_threads = 256` (an upper limit), `min_blocks = 2` (blocks resident per multiprocessor), `registers = 128` (limit for each
/// thread), `cluster = (2, 1, 1)`, `arch = "sm_90a"` (the least architecture it is built for),
/// `overlaps` (from sm_90 on it may begin before the kernels before it have ended, and waits for them itself by `grid::dependency_sync`
/// before it touches global memory; the function must be `unsafe`),
/// `ptx = "8.0"` (the least PTX version that its instructions need, where that is more than the architecture's), `module = "map"` (PTX module family; the
/// kernel's name otherwise).
#[proc_macro_attribute]
pub fn kernel(attributes: TokenStream, function: TokenStream) -> TokenStream {
    let attributes = parse_macro_input!(attributes as kernel::Attributes);
    let function = parse_macro_input!(function as syn::ItemFn);
    kernel::expand(attributes, function).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Marks a plain struct as one whose bytes can be handed to the device.
///
/// Every field must be `DeviceCopy`, and the layout must be fixed by `#[repr(C)]` or `#[repr(transparent)]`, because host and
/// device code come from two compilers. Structs without fields need no `repr`.
#[proc_macro_derive(DeviceCopy)]
pub fn device_copy(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as syn::DeriveInput);
    device_copy::expand(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}

/// Behind `cuda_std::kernels!`.
#[doc(hidden)]
#[proc_macro]
pub fn __kernels(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as kernels::Kernels);
    kernels::expand(&input).into()
}

/// Behind the macro that `#[kernel]` makes for each kernel.
#[doc(hidden)]
#[proc_macro]
pub fn __entry(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as entry::Entry);
    entry::expand(&input).into()
}

/// Behind `warpsmith_gpu::activation!`.
#[doc(hidden)]
#[proc_macro]
pub fn __activation(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as activation::Activations);
    activation::expand(&input).unwrap_or_else(syn::Error::into_compile_error).into()
}
