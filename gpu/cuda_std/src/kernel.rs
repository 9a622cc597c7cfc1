//! What the host may know of a kernel: its name, its parameters, and which instances a crate has compiled.
//!
//! `#[kernel]` implements [`Kernel`] for a type with the kernel's name, and `kernels!` implements [`Has`] for a marker
//! type. The host's typed launch is built on these two traits alone.

use crate::DeviceCopy;

/// A kernel instance, such as `map_forward<Relu, f32>`. Implemented by `#[kernel]`.
pub trait Kernel: 'static {
    /// The function's name, without type arguments.
    const NAME: &'static str;
    /// The declared parameter types as a tuple; views have the lifetime `'a`.
    type Parameters<'a>;
    /// What is passed at the level of PTX, in order; a view is a pointer and a length. Entries of size 0 are not passed.
    const RAW_PARAMETERS: &'static [RawParameter];

    /// Blocks of a cluster along x, y, z.
    const CLUSTER: [u32; 3] = [1, 1, 1];
    /// The block that every launch must have, if the kernel says so (`#[kernel(block = ...)]`).
    const BLOCK: Option<[u32; 3]> = None;
    /// Whether it may begin before the kernels before it in the stream have ended (`#[kernel(overlaps)]`).
    const OVERLAPS: bool = false;

    /// Runs one thread of the kernel in the simulator.
    ///
    /// # Safety
    /// The views in `parameters` must be valid for the whole launch, and this must be called for each thread of one grid,
    /// by [`simulator::launch`](crate::simulator::launch).
    #[cfg(not(target_os = "cuda"))]
    unsafe fn simulate(parameters: &Self::Parameters<'_>);
}

/// A kernel that upholds memory safety for every argument, grid and block: its function is not `unsafe`.
#[diagnostic::on_unimplemented(
    message = "the kernel `{Self}` is an `unsafe fn`",
    label = "launching it is unsafe",
    note = "use `unsafe {{ kernel.launch_unchecked(..) }}` (in the simulator `simulator::launch_unchecked`), and say why what its `# Safety` asks for holds",
    note = "or make it safe: `GlobalMut<T>` in the place of raw pointers, each thread writing its own elements"
)]
pub trait SafeKernel: Kernel {}

/// The marker type that `kernels!` makes: a set of compiled kernel instances.
pub trait Library: 'static {
    /// The package that holds the instances.
    const CRATE: &'static str;
}

/// Says that the instance `K` was compiled into the library `Self`.
///
/// # Safety
/// `ENTRY` must name an entry point whose raw parameters are `K::RAW_PARAMETERS` and which runs `K`.
#[diagnostic::on_unimplemented(
    message = "the kernel instance `{K}` is not compiled into `{Self}`",
    label = "no such instance in `{Self}`",
    note = "add it to the `kernels! {{ ... }}` of the crate that defines `{Self}`"
)]
pub unsafe trait Has<K: Kernel>: Library {
    /// The name of the entry point in PTX.
    const ENTRY: &'static str;
    /// The PTX module that holds the entry point.
    const MODULE: &'static str;
}

/// One parameter at the level of PTX.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawParameter {
    /// The declared parameter it belongs to.
    pub name: &'static str,
    /// Bytes.
    pub size: usize,
    /// Bytes.
    pub align: usize,
}

/// What can be a parameter by value: another name for [`DeviceCopy`], with a message of ours.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be passed to the device",
    label = "no plain data that is the same on host and device",
    note = "a struct of numbers becomes plain data by `#[derive(Clone, Copy, DeviceCopy)] #[repr(C)]`; references, `Vec` and `Box` can't: their memory is the host's",
    note = "memory of the device is a parameter `Global<T>` to read, `GlobalMut<T>` to write"
)]
pub trait PlainData: DeviceCopy {}

// Else the message would be about `DeviceCopy`, which is another crate's.
#[diagnostic::do_not_recommend]
impl<T: DeviceCopy> PlainData for T {}

impl RawParameter {
    /// A value of type `T`, passed as its bytes.
    pub const fn value<T: PlainData>(name: &'static str) -> Self {
        Self { name, size: size_of::<T>(), align: align_of::<T>() }
    }

    /// The device address of a view.
    pub const fn pointer(name: &'static str) -> Self {
        Self { name, size: 8, align: 8 }
    }

    /// A tensor map.
    pub const fn tensor_map(name: &'static str) -> Self {
        Self { name, size: 128, align: 64 }
    }

    /// The number of elements of a view.
    pub const fn length(name: &'static str) -> Self {
        Self { name, size: 8, align: 8 }
    }
}

/// The type of raw parameter number `I`; lets an entry point be written without knowing the kernel's generics.
#[doc(hidden)]
pub trait Raw<const I: usize> {
    type Type;
}
