//! `#[derive(DeviceCopy)]`: plain data with a layout that two compilers agree on.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Data, DeriveInput, Error, Result, parse_quote};

pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new_spanned(&input.ident, "DeviceCopy can be derived for structs only"));
    };
    let fixed_layout = input.attrs.iter().any(|attribute| {
        attribute.path().is_ident("repr")
            && attribute
                .parse_args_with(syn::punctuated::Punctuated::<syn::Meta, syn::Token![,]>::parse_terminated)
                .is_ok_and(|list| list.iter().any(|m| m.path().is_ident("C") || m.path().is_ident("transparent")))
    });
    if !fixed_layout && !data.fields.is_empty() {
        return Err(Error::new_spanned(
            &input.ident,
            "the layout of a struct that goes to the device must be fixed: add #[repr(C)]",
        ));
    }
    let name = &input.ident;
    let mut generics = input.generics.clone();
    for field in &data.fields {
        let field = &field.ty;
        let bound = quote_spanned!(field.span() => #field: ::cuda_std::kernel::PlainData);
        generics.make_where_clause().predicates.push(parse_quote!(#bound));
    }
    let (parameters, arguments, bounds) = generics.split_for_impl();
    Ok(quote! {
        // SAFETY: every field is plain data, by the bounds; the layout is fixed by `repr`.
        unsafe impl #parameters ::cuda_std::DeviceCopy for #name #arguments #bounds {}
    })
}
