//! Arguments of a launch: which argument each parameter type takes, and how it reaches the driver.
//!
//! Everything lies on the stack: a tuple of packed arguments, and pointers to its parts.

use std::ffi::c_void;

use cuda_std::atomic::AtomicValue;
use cuda_std::{Global, GlobalAtomic, GlobalMut};
use cust_core::DeviceCopy;

use crate::block::Block;
use crate::buffer::Buffer;
use crate::error::Result;
use crate::matrix::Matrix;
use crate::order::{Access, Submission};
use crate::runtime::Runtime;
use crate::view::{View, ViewMut};

/// An argument that a kernel's parameter of type `P` takes.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be passed to a kernel parameter of type `{P}`",
    label = "wrong argument for the kernel parameter `{P}`",
    note = "a value parameter takes a value of exactly its type",
    note = "`Global<T>` (read) takes `&Buffer<T>`, `View<T>` or `&Matrix<T>`",
    note = "`GlobalMut<T>` and `GlobalAtomic<T>` (written) take `&mut Buffer<T>`, `ViewMut<T>` or `&mut Matrix<T>`: a shared `&` is not enough",
    note = "`TensorMap<T, RANK>` takes `&warpsmith::TensorMap<T, RANK>`, `TensorMapMut` takes `&mut warpsmith::TensorMapMut`",
    note = "a host slice must be copied to the device first: `runtime.buffer_from(&slice)?`",
    note = "a closure has neither a name nor a layout: what it captures goes into a `DeviceCopy` struct with a method"
)]
pub trait Argument<P> {
    #[doc(hidden)]
    type Packed: Packed;

    /// Checks, puts in order and packs.
    #[doc(hidden)]
    fn prepare(self, launch: &Launch<'_>) -> Result<Self::Packed>;

    /// The parameter itself, for a kernel that runs in the simulator.
    #[doc(hidden)]
    fn parameter(self, runtime: &Runtime) -> Result<P>;
}

/// A host address, from what a buffer in host memory gives as its device address.
fn host<T>(address: u64) -> *mut T {
    std::ptr::with_exposed_provenance_mut(address as usize)
}

/// The arguments of a kernel whose parameters are the tuple `P`: a tuple of as many [`Argument`]s.
#[diagnostic::on_unimplemented(
    message = "these arguments do not fit the kernel's parameters `{P}`",
    label = "wrong number of arguments, or an argument of a wrong type",
    note = "pass a tuple with one argument for each parameter, in order; for one parameter write `(x,)`",
    note = "`Global<T>` takes `&Buffer<T>` or `View<T>`, `GlobalMut<T>` takes `&mut Buffer<T>` or `ViewMut<T>`, a value parameter takes the value",
    note = "a host slice must be copied to the device first: `runtime.buffer_from(&slice)?`",
    note = "a closure has neither a name nor a layout: what it captures goes into a `DeviceCopy` struct with a method"
)]
pub trait Arguments<P> {
    #[doc(hidden)]
    fn pack(self, launch: &Launch<'_>, call: impl FnOnce(&mut Pointers) -> Result<()>) -> Result<()>;

    #[doc(hidden)]
    fn parameters(self, runtime: &Runtime) -> Result<P>;
}

/// What preparing an argument needs.
#[doc(hidden)]
pub struct Launch<'a> {
    pub(crate) runtime: &'a Runtime,
    pub(crate) submission: &'a Submission<'a>,
}

impl Launch<'_> {
    #[inline]
    pub(crate) fn order(&self, block: &Block, access: Access) -> Result<()> {
        self.runtime.expect_same(block.runtime(), "launch a kernel", "an argument")?;
        self.submission.order(block, access)
    }
}

/// The most raw parameters: sixteen views of a pointer and a length.
const POINTERS: usize = 32;

/// Pointers to the raw parameters, as the driver wants them.
#[doc(hidden)]
pub struct Pointers {
    pointers: [*mut c_void; POINTERS],
    count: usize,
}

impl Pointers {
    #[inline]
    pub(crate) fn push<T>(&mut self, parameter: &T) {
        self.pointers[self.count] = (&raw const *parameter).cast_mut().cast();
        self.count += 1;
    }

    #[inline]
    pub(crate) fn as_mut_ptr(&mut self) -> *mut *mut c_void {
        self.pointers.as_mut_ptr()
    }
}

/// The raw parameters of one argument.
#[doc(hidden)]
pub trait Packed {
    fn point(&self, pointers: &mut Pointers);
}

/// A value; nothing is passed if it has no bytes.
#[doc(hidden)]
pub struct Value<A>(A);
/// A pointer and a length.
#[doc(hidden)]
pub struct Slice {
    address: u64,
    len: u64,
}
/// A pointer.
#[doc(hidden)]
pub struct Address(u64);

impl<A> Packed for Value<A> {
    #[inline]
    fn point(&self, pointers: &mut Pointers) {
        if size_of::<A>() > 0 {
            pointers.push(&self.0);
        }
    }
}

impl Packed for Slice {
    #[inline]
    fn point(&self, pointers: &mut Pointers) {
        pointers.push(&self.address);
        pointers.push(&self.len);
    }
}

impl Packed for Address {
    #[inline]
    fn point(&self, pointers: &mut Pointers) {
        pointers.push(&self.0);
    }
}

impl<A: DeviceCopy> Argument<A> for A {
    type Packed = Value<A>;

    #[inline]
    fn prepare(self, _: &Launch<'_>) -> Result<Value<A>> {
        Ok(Value(self))
    }

    fn parameter(self, _: &Runtime) -> Result<A> {
        Ok(self)
    }
}

macro_rules! memory_arguments {
    ($($access:ident: $($argument:ty),* => $global:ty, $pointer:ty;)*) => {$($(
        memory_arguments!(@one $access, $argument, $global, Slice, |view| {
            Slice { address: view.device_address(), len: view.len() as u64 }
        });
        memory_arguments!(@one $access, $argument, $pointer, Address, |view| Address(view.device_address()));
    )*)*};
    (@one $access:ident, $argument:ty, $parameter:ty, $packed:ident, |$view:ident| $pack:expr) => {
        impl<'a, T: DeviceCopy> Argument<$parameter> for $argument {
            type Packed = $packed;

            #[inline]
            fn prepare(self, launch: &Launch<'_>) -> Result<$packed> {
                let $view = memory_arguments!(@view $access, self);
                launch.order($view.block, Access::$access)?;
                Ok($pack)
            }

            fn parameter(self, runtime: &Runtime) -> Result<$parameter> {
                let $view = memory_arguments!(@view $access, self);
                runtime.expect_same($view.block.runtime(), "launch a kernel", "an argument")?;
                Ok(memory_arguments!(@parameter $packed, $access, $view))
            }
        }
    };
    // SAFETY: host memory of this length, borrowed for the launch, which is over when it returns.
    (@parameter Slice, Read, $view:ident) => { unsafe { Global::from_raw_parts(host($view.device_address()), $view.len()) } };
    // SAFETY: as above, and borrowed exclusively.
    (@parameter Slice, Write, $view:ident) => { unsafe { GlobalMut::from_raw_parts(host($view.device_address()), $view.len()) } };
    (@parameter Address, Read, $view:ident) => { host($view.device_address()) };
    (@parameter Address, Write, $view:ident) => {{
        // The simulator does not see what is done through a raw pointer.
        $view.block.wrote($view.offset * size_of::<T>(), $view.byte_len());
        host($view.device_address())
    }};
    (@view Read, $argument:expr) => { View::from($argument) };
    (@view Write, $argument:expr) => { ViewMut::from($argument) };
}

memory_arguments! {
    Read: &'a Buffer<T>, View<'a, T>, &'a View<'_, T>, &'a ViewMut<'_, T>, &'a Matrix<T> => Global<'static, T>, *const T;
    Write: &'a mut Buffer<T>, ViewMut<'a, T>, &'a mut ViewMut<'_, T>, &'a mut Matrix<T> => GlobalMut<'static, T>, *mut T;
}

macro_rules! atomic_arguments {
    ($($argument:ty),*) => {$(
        impl<'a, T: DeviceCopy + AtomicValue> Argument<GlobalAtomic<'static, T>> for $argument {
            type Packed = Slice;

            #[inline]
            fn prepare(self, launch: &Launch<'_>) -> Result<Slice> {
                <Self as Argument<GlobalMut<'static, T>>>::prepare(self, launch)
            }

            fn parameter(self, runtime: &Runtime) -> Result<GlobalAtomic<'static, T>> {
                let view = ViewMut::from(self);
                runtime.expect_same(view.block.runtime(), "launch a kernel", "an argument")?;
                // SAFETY: host memory of this length, borrowed exclusively for the launch.
                Ok(unsafe { GlobalAtomic::from_raw_parts(host(view.device_address()), view.len()) })
            }
        }
    )*};
}
atomic_arguments!(&'a mut Buffer<T>, ViewMut<'a, T>, &'a mut ViewMut<'_, T>, &'a mut Matrix<T>);

macro_rules! slice_arguments {
    ($($argument:ty),*) => {$(
        impl<'a, T: DeviceCopy> Argument<&'static [T]> for $argument {
            type Packed = Slice;

            #[inline]
            fn prepare(self, launch: &Launch<'_>) -> Result<Slice> {
                <Self as Argument<Global<'static, T>>>::prepare(self, launch)
            }

            fn parameter(self, runtime: &Runtime) -> Result<&'static [T]> {
                let view = <Self as Argument<Global<'static, T>>>::parameter(self, runtime)?;
                // SAFETY: initialised host memory of this length, borrowed for the launch.
                Ok(unsafe { std::slice::from_raw_parts(view.as_ptr(), view.len()) })
            }
        }
    )*};
}
slice_arguments!(&'a Buffer<T>, View<'a, T>, &'a View<'_, T>, &'a ViewMut<'_, T>, &'a Matrix<T>);

macro_rules! tuples {
    ($(($($argument:ident $parameter:ident),*);)*) => {$(
        impl<$($argument, $parameter),*> Arguments<($($parameter,)*)> for ($($argument,)*)
        where
            $($argument: Argument<$parameter>,)*
        {
            #[inline]
            #[expect(non_snake_case, reason = "an argument has the name of its type")]
            fn pack(
                self,
                launch: &Launch<'_>,
                call: impl FnOnce(&mut Pointers) -> Result<()>,
            ) -> Result<()> {
                let ($($argument,)*) = self;
                $(let $argument = $argument.prepare(launch)?;)*
                let mut pointers = Pointers { pointers: [std::ptr::null_mut(); POINTERS], count: 0 };
                $($argument.point(&mut pointers);)*
                call(&mut pointers)
            }

            #[expect(non_snake_case, reason = "an argument has the name of its type")]
            fn parameters(self, runtime: &Runtime) -> Result<($($parameter,)*)> {
                let ($($argument,)*) = self;
                Ok(($($argument.parameter(runtime)?,)*))
            }
        }
    )*};
}

impl Arguments<()> for () {
    fn pack(self, _: &Launch<'_>, call: impl FnOnce(&mut Pointers) -> Result<()>) -> Result<()> {
        call(&mut Pointers { pointers: [std::ptr::null_mut(); POINTERS], count: 0 })
    }

    fn parameters(self, _: &Runtime) -> Result<()> {
        Ok(())
    }
}

tuples! {
    (A0 P0);
    (A0 P0, A1 P1);
    (A0 P0, A1 P1, A2 P2);
    (A0 P0, A1 P1, A2 P2, A3 P3);
    (A0 P0, A1 P1, A2 P2, A3 P3, A4 P4);
    (A0 P0, A1 P1, A2 P2, A3 P3, A4 P4, A5 P5);
    (A0 P0, A1 P1, A2 P2, A3 P3, A4 P4, A5 P5, A6 P6);
    (A0 P0, A1 P1, A2 P2, A3 P3, A4 P4, A5 P5, A6 P6, A7 P7);
    (A0 P0, A1 P1, A2 P2, A3 P3, A4 P4, A5 P5, A6 P6, A7 P7, A8 P8);
    (A0 P0, A1 P1, A2 P2, A3 P3, A4 P4, A5 P5, A6 P6, A7 P7, A8 P8, A9 P9);
    (A0 P0, A1 P1, A2 P2, A3 P3, A4 P4, A5 P5, A6 P6, A7 P7, A8 P8, A9 P9, A10 P10);
    (A0 P0, A1 P1, A2 P2, A3 P3, A4 P4, A5 P5, A6 P6, A7 P7, A8 P8, A9 P9, A10 P10, A11 P11);
    (A0 P0, A1 P1, A2 P2, A3 P3, A4 P4, A5 P5, A6 P6, A7 P7, A8 P8, A9 P9, A10 P10, A11 P11, A12 P12);
    (A0 P0, A1 P1, A2 P2, A3 P3, A4 P4, A5 P5, A6 P6, A7 P7, A8 P8, A9 P9, A10 P10, A11 P11, A12 P12, A13 P13);
    (A0 P0, A1 P1, A2 P2, A3 P3, A4 P4, A5 P5, A6 P6, A7 P7, A8 P8, A9 P9, A10 P10, A11 P11, A12 P12, A13 P13, A14 P14);
    (A0 P0, A1 P1, A2 P2, A3 P3, A4 P4, A5 P5, A6 P6, A7 P7, A8 P8, A9 P9, A10 P10, A11 P11, A12 P12, A13 P13, A14 P14, A15 P15);
}
