//! Sums beside the result: the bias gradients. The epilogue only asks for them; kernels make them, in a fixed order.

use cuda_std::DeviceCopy;

use super::{Aux, Axis, Epilogue, Finished, Layouts, Operands, Sums, first, inherit};
use crate::Real;

macro_rules! sums {
    ($($(#[$doc:meta])* $name:ident = $sums:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, DeviceCopy)]
        #[repr(C)]
        pub struct $name<E> {
            /// What comes before.
            pub inner: E,
        }

        impl<E: Epilogue> Epilogue for $name<E> {
            const SUMS: Sums = {
                first(!matches!(E::SUMS, Sums::None));
                Sums::$sums
            };
            inherit!(E: BIAS SOURCE AUX GATED LAYOUTS);

            #[inline(always)]
            fn apply<R: Real>(&self, at: Operands<R>) -> Finished<R> {
                self.inner.apply(at)
            }
        }
    )*};
}

sums! {
    /// And the sum of the values of each row. See [`Epilogue::sum_rows`].
    SumRows = Rows;
    /// And the sum of the values of each column. See [`Epilogue::sum_columns`].
    SumColumns = Columns;
    /// And the sum of each row of the left factor or column of the right one. See [`Epilogue::sum_factor`].
    SumFactor = Factor;
}
