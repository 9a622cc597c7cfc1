//! One instance of a kernel: the PTX entry point and the host's knowledge of it.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::{Ident, LitInt, LitStr, Result, Token, Type};

use crate::kernels::StdPath;

/// `[std path] Library, kernel<Types>, entry_name, "family", "suffix", ",reqntid=256x1x1", 5`
pub(crate) struct Entry {
    std: StdPath,
    library: Ident,
    kernel: Type,
    name: Ident,
    family: LitStr,
    suffix: LitStr,
    marker: LitStr,
    raw_parameters: usize,
}

impl Parse for Entry {
    fn parse(input: ParseStream) -> Result<Self> {
        let std = input.parse()?;
        let library = input.parse()?;
        input.parse::<Token![,]>()?;
        let kernel = input.parse()?;
        input.parse::<Token![,]>()?;
        let name = input.parse()?;
        input.parse::<Token![,]>()?;
        let family = input.parse()?;
        input.parse::<Token![,]>()?;
        let suffix = input.parse()?;
        input.parse::<Token![,]>()?;
        let marker = input.parse()?;
        input.parse::<Token![,]>()?;
        let raw_parameters = input.parse::<LitInt>()?.base10_parse()?;
        Ok(Self { std, library, kernel, name, family, suffix, marker, raw_parameters })
    }
}

pub(crate) fn expand(entry: &Entry) -> TokenStream {
    let Entry { std, library, kernel, name, .. } = entry;
    let suffix = entry.suffix.value();
    let module = match suffix.as_str() {
        "" => entry.family.value(),
        suffix => format!("{}.{suffix}", entry.family.value()),
    };
    let marker = format!(".nv:module={module}{}", entry.marker.value());
    let text = name.to_string();
    let indices: Vec<_> = (0..entry.raw_parameters).collect();
    let names: Vec<_> = indices.iter().map(|i| format_ident!("raw_{i}")).collect();
    quote! {
        // SAFETY: the entry point of this name, below, passes exactly the kernel's raw parameters on.
        unsafe impl #std::Has<#kernel> for #library {
            const ENTRY: &'static str = #text;
            const MODULE: &'static str = #module;
        }
        // An attribute on the item that is left out would not count: hence the outer constant.
        #[allow(unexpected_cfgs, reason = "set for the crate whose PTX is being built")]
        const _: () = {
            #[cfg(all(target_os = "cuda", warpsmith_entries))]
            /// # Safety
            /// As the kernel's.
            #[allow(improper_ctypes_definitions, reason = "state is plain data that #[derive(DeviceCopy)] checks")]
            #[unsafe(no_mangle)]
            #[unsafe(link_section = #marker)]
            pub unsafe extern "ptx-kernel" fn #name(
                #(#names: <#kernel as #std::kernel::Raw<#indices>>::Type),*
            ) {
                // SAFETY: the launch's promise.
                unsafe { <#kernel>::enter(#(#names),*) }
            }
        };
    }
}
