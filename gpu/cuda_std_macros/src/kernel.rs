//! `#[kernel]`: the function stays; beside it come a type that describes it and a macro that instantiates it.

use std::hash::{DefaultHasher, Hash, Hasher};

use proc_macro2::{Span, TokenStream};
use quote::{format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;
use syn::{
    Error, Expr, ExprLit, FnArg, GenericArgument, GenericParam, Ident, ItemFn, Lit, LitStr, Pat, PathArguments, Result,
    ReturnType, Token, Type, Visibility, WherePredicate, parse_quote,
};

/// What `#[kernel(...)]` says, as the text of the marker that the linker step reads.
#[derive(Default)]
pub(crate) struct Attributes {
    marker: String,
    module: Option<LitStr>,
    cluster: Option<[u32; 3]>,
    block: Option<[u32; 3]>,
    overlaps: Option<Ident>,
}

const NAMES: &str = "block, max_threads, min_blocks, registers, cluster, overlaps, arch, ptx, module";

impl Parse for Attributes {
    fn parse(input: ParseStream) -> Result<Self> {
        let mut attributes = Self::default();
        while !input.is_empty() {
            let name: Ident = input.parse()?;
            if name == "overlaps" {
                attributes.overlaps = Some(name);
                if !input.is_empty() {
                    input.parse::<Token![,]>()?;
                }
                continue;
            }
            input.parse::<Token![=]>()?;
            let value: Expr = input.parse()?;
            let key = match name.to_string().as_str() {
                "module" => {
                    attributes.module = Some(text(&value)?);
                    None
                }
                "arch" => {
                    let arch = text(&value)?.value();
                    attributes.marker += &format!(",arch={arch}");
                    None
                }
                "ptx" => {
                    let version = text(&value)?.value();
                    attributes.marker += &format!(",ptx={version}");
                    None
                }
                "block" => Some("reqntid"),
                "max_threads" => Some("maxntid"),
                "min_blocks" => Some("minctasm"),
                "registers" => Some("maxnreg"),
                "cluster" => Some("cluster"),
                other => {
                    return Err(Error::new(name.span(), format!("unknown attribute `{other}`; there are: {NAMES}")));
                }
            };
            match key {
                Some(key @ ("reqntid" | "cluster")) => {
                    let [x, y, z] = extents(&value)?;
                    match key {
                        "cluster" => attributes.cluster = Some([x, y, z]),
                        _ => attributes.block = Some([x, y, z]),
                    }
                    attributes.marker += &format!(",{key}={x}x{y}x{z}");
                }
                Some(key) => attributes.marker += &format!(",{key}={}", number(&value)?),
                None => {}
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(attributes)
    }
}

fn text(value: &Expr) -> Result<LitStr> {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) => Ok(text.clone()),
        other => Err(Error::new_spanned(other, "expected a string, such as \"sm_90a\"")),
    }
}

fn number(value: &Expr) -> Result<u32> {
    match value {
        Expr::Lit(ExprLit { lit: Lit::Int(number), .. }) => number.base10_parse(),
        other => Err(Error::new_spanned(other, "expected an integer literal")),
    }
}

fn extents(value: &Expr) -> Result<[u32; 3]> {
    let mut extents = [1; 3];
    match value {
        Expr::Tuple(tuple) if (1..=3).contains(&tuple.elems.len()) => {
            for (extent, element) in extents.iter_mut().zip(&tuple.elems) {
                *extent = number(element)?;
            }
        }
        other => extents[0] = number(other)?,
    }
    let threads: u64 = extents.iter().map(|&n| u64::from(n)).product();
    if threads == 0 || threads > 1024 {
        return Err(Error::new_spanned(value, format!("{threads} threads: there must be 1 to 1024")));
    }
    Ok(extents)
}

/// A declared parameter.
struct Parameter {
    name: Ident,
    kind: Kind,
}

enum Kind {
    /// Passed as its bytes.
    Value(Type),
    /// `*const T` or `*mut T`: an address.
    Pointer(Type),
    /// `Global<T>`: pointer and length.
    Global(Type, Type),
    /// `GlobalMut<T>` or `GlobalAtomic<T>`: pointer and length.
    Written(Type, Type),
    /// `&[T]`: pointer and length.
    Slice(Type),
    /// `TensorMap<T, RANK>` or `TensorMapMut<T, RANK>`: 128 bytes that stay where they are passed. The arguments in `<>`.
    TensorMap(Type, Vec<GenericArgument>),
}

impl Parameter {
    fn parse(argument: &FnArg, number: usize) -> Result<Self> {
        let FnArg::Typed(argument) = argument else {
            return Err(Error::new_spanned(argument, "a kernel is a free function: it has no `self`"));
        };
        let name = match &*argument.pat {
            Pat::Ident(pattern) => pattern.ident.clone(),
            _ => format_ident!("parameter_{number}"),
        };
        Ok(Self { name, kind: Kind::parse(&argument.ty)? })
    }

    /// The parameter's type with the lifetime `'a` in its views.
    fn declared(&self) -> Type {
        match &self.kind {
            Kind::Value(ty) | Kind::Pointer(ty) => ty.clone(),
            Kind::Global(view, element) | Kind::Written(view, element) => with_lifetime(view, &quote!(#element)),
            Kind::TensorMap(map, arguments) => with_lifetime(map, &quote!(#(#arguments),*)),
            Kind::Slice(element) => parse_quote!(&'a [#element]),
        }
    }

    /// Types at the level of PTX.
    fn raw_types(&self) -> Vec<Type> {
        match &self.kind {
            Kind::Value(ty) | Kind::Pointer(ty) => vec![ty.clone()],
            Kind::Global(_, element) | Kind::Slice(element) => vec![parse_quote!(*const #element), parse_quote!(usize)],
            Kind::Written(_, element) => vec![parse_quote!(*mut #element), parse_quote!(usize)],
            Kind::TensorMap(..) => vec![parse_quote!(&'static ::cuda_std::tensor_map::Descriptor)],
        }
    }

    /// Descriptions of the raw parameters.
    fn raw_parameters(&self) -> TokenStream {
        let name = self.name.to_string();
        match &self.kind {
            Kind::Value(ty) => quote!(::cuda_std::RawParameter::value::<#ty>(#name)),
            Kind::Pointer(_) => quote!(::cuda_std::RawParameter::pointer(#name)),
            Kind::TensorMap(..) => quote!(::cuda_std::RawParameter::tensor_map(#name)),
            _ => quote!(::cuda_std::RawParameter::pointer(#name), ::cuda_std::RawParameter::length(#name)),
        }
    }

    /// The argument rebuilt from raw parameters of the given names.
    fn rebuild(&self, raw: &[Ident]) -> TokenStream {
        match (&self.kind, raw) {
            (Kind::Value(_) | Kind::Pointer(_), [value]) => quote!(#value),
            (Kind::Global(..), [pointer, len]) => quote!(::cuda_std::Global::from_raw_parts(#pointer, #len)),
            (Kind::Written(view, _), [pointer, len]) => {
                let Type::Path(path) = view else { unreachable!("views are paths") };
                let view = &path.path.segments.last().expect("a path has a segment").ident;
                quote!(::cuda_std::#view::from_raw_parts(#pointer, #len))
            }
            (Kind::TensorMap(map, _), [descriptor]) => {
                let map = without_arguments(map);
                quote!(#map::from_parameter(#descriptor))
            }
            (Kind::Slice(_), [pointer, len]) => quote!(::core::slice::from_raw_parts(#pointer, #len)),
            _ => unreachable!("the number of raw parameters follows from the kind"),
        }
    }
}

/// A view's path with `'a` before its other arguments.
fn with_lifetime(view: &Type, arguments: &TokenStream) -> Type {
    let mut view = view.clone();
    let Type::Path(path) = &mut view else { unreachable!("views are paths") };
    let last = path.path.segments.last_mut().expect("a path has a segment");
    last.arguments = PathArguments::AngleBracketed(parse_quote!(<'a, #arguments>));
    view
}

/// A view's path alone.
fn without_arguments(view: &Type) -> Type {
    let mut view = view.clone();
    let Type::Path(path) = &mut view else { unreachable!("views are paths") };
    path.path.segments.last_mut().expect("a path has a segment").arguments = PathArguments::None;
    view
}

impl Kind {
    fn parse(ty: &Type) -> Result<Self> {
        match ty {
            Type::Reference(reference) => match (&*reference.elem, reference.mutability) {
                (Type::Slice(slice), None) => Ok(Self::Slice((*slice.elem).clone())),
                (Type::Slice(slice), Some(_)) => {
                    let element = &slice.elem;
                    let element = quote!(#element);
                    Err(Error::new_spanned(
                        ty,
                        format!(
                            "all threads would hold this mutable slice at once: take `GlobalMut<{element}>`, which lets \
                             each thread write its own elements"
                        ),
                    ))
                }
                _ => Err(Error::new_spanned(
                    ty,
                    "a reference can't be passed to a kernel: pass the value, or a `Global<T>`",
                )),
            },
            Type::Path(path) => {
                let Some(last) = path.path.segments.last() else {
                    return Ok(Self::Value(ty.clone()));
                };
                if let ("TensorMap" | "TensorMapMut", PathArguments::AngleBracketed(arguments)) =
                    (last.ident.to_string().as_str(), &last.arguments)
                {
                    let named = |argument: &&GenericArgument| !matches!(argument, GenericArgument::Lifetime(_));
                    return Ok(Self::TensorMap(ty.clone(), arguments.args.iter().filter(named).cloned().collect()));
                }
                let view = ["Global", "GlobalMut", "GlobalAtomic"].iter().any(|name| last.ident == name);
                let (true, PathArguments::AngleBracketed(arguments)) = (view, &last.arguments) else {
                    return Ok(Self::Value(ty.clone()));
                };
                let element = arguments.args.iter().find_map(|argument| match argument {
                    GenericArgument::Type(element) => Some(element.clone()),
                    _ => None,
                });
                let element = element.ok_or_else(|| Error::new_spanned(ty, "the element type is missing"))?;
                Ok(match last.ident == "Global" {
                    true => Self::Global(ty.clone(), element),
                    false => Self::Written(ty.clone(), element),
                })
            }
            Type::Ptr(_) => Ok(Self::Pointer(ty.clone())),
            _ => Ok(Self::Value(ty.clone())),
        }
    }
}

pub(crate) fn expand(attributes: Attributes, function: ItemFn) -> Result<TokenStream> {
    check(&function)?;
    let parameters: Vec<_> = function
        .sig
        .inputs
        .iter()
        .enumerate()
        .map(|(number, argument)| Parameter::parse(argument, number))
        .collect::<Result<_>>()?;
    let pointer = parameters.iter().find(|parameter| matches!(parameter.kind, Kind::Pointer(_)));
    if let (Some(pointer), None) = (pointer, function.sig.unsafety) {
        let remedy = "nothing checks what a raw pointer points to: make this an `unsafe fn`, or take a `Global<T>` or `GlobalMut<T>`";
        return Err(Error::new_spanned(&pointer.name, remedy));
    }
    if let (Some(overlaps), None) = (&attributes.overlaps, function.sig.unsafety) {
        let remedy = "nothing checks that the kernel calls `grid::dependency_sync` before it touches global memory: make this an `unsafe fn`";
        return Err(Error::new_spanned(overlaps, remedy));
    }
    let description = describe(&attributes, &function, &parameters);
    let instantiate = instantiation_macro(&attributes, &function, &parameters);
    Ok(quote! {
        #[allow(clippy::too_many_arguments, reason = "a kernel's arguments are what it works on")]
        #[inline(always)]
        #function
        #description
        #instantiate
    })
}

fn check(function: &ItemFn) -> Result<()> {
    let signature = &function.sig;
    if let ReturnType::Type(_, ty) = &signature.output {
        return Err(Error::new_spanned(
            ty,
            "a kernel returns nothing: write results through a `GlobalMut<T>` parameter",
        ));
    }
    if let Some(lifetime) = signature.generics.lifetimes().next() {
        return Err(Error::new_spanned(lifetime, "a kernel has no lifetime parameters: leave them out of its views"));
    }
    let wrong = [
        signature.asyncness.as_ref().map(Spanned::span),
        signature.abi.as_ref().map(Spanned::span),
        signature.variadic.as_ref().map(Spanned::span),
    ];
    match wrong.into_iter().flatten().next() {
        Some(span) => Err(Error::new(span, "a kernel is a plain function: `fn` or `unsafe fn`")),
        None => Ok(()),
    }
}

/// The type named like the kernel, and what it implements.
fn describe(attributes: &Attributes, function: &ItemFn, parameters: &[Parameter]) -> TokenStream {
    let (name, visibility) = (&function.sig.ident, &function.vis);
    let text = name.to_string();
    // A kernel instance is named by host code for as long as the program runs, so its types borrow nothing.
    let mut generics = function.sig.generics.clone();
    let types: Vec<_> = generics.type_params().map(|parameter| parameter.ident.clone()).collect();
    if !types.is_empty() {
        generics
            .make_where_clause()
            .predicates
            .extend(types.iter().map(|ty| -> WherePredicate { parse_quote!(#ty: 'static) }));
    }
    let (impl_generics, type_generics, bounds) = generics.split_for_impl();
    let call_generics = type_generics.as_turbofish();
    let phantom = &types;
    let plain_generics = plain(function);
    let declared = parameters.iter().map(Parameter::declared);
    let raw_descriptions = parameters.iter().map(Parameter::raw_parameters);
    let names: Vec<_> = parameters.iter().map(|parameter| &parameter.name).collect();
    let raw_types: Vec<_> = parameters.iter().flat_map(Parameter::raw_types).collect();
    let raw_names: Vec<_> = (0..raw_types.len()).map(|i| format_ident!("raw_{i}")).collect();
    let indices = 0..raw_types.len();
    let mut rest = &raw_names[..];
    let rebuilt = parameters.iter().map(|parameter| {
        let (own, others) = rest.split_at(parameter.raw_types().len());
        rest = others;
        parameter.rebuild(own)
    });
    let block = attributes.block.map(|[x, y, z]| {
        quote! {
            const BLOCK: ::core::option::Option<[u32; 3]> = ::core::option::Option::Some([#x, #y, #z]);
        }
    });
    let doc = format!("Names an instance of the kernel [`{text}()`], for typed launches.");
    let cluster = attributes.cluster.map(|[x, y, z]| quote!(const CLUSTER: [u32; 3] = [#x, #y, #z];));
    let overlaps = attributes.overlaps.as_ref().map(|_| {
        quote!(
            const OVERLAPS: bool = true;
        )
    });
    let safe = function.sig.unsafety.is_none().then(|| {
        quote! {
            impl #impl_generics ::cuda_std::SafeKernel for #name #type_generics #bounds {}
        }
    });
    quote! {
        #[doc = #doc]
        #[allow(non_camel_case_types, reason = "named like the kernel, so that one import brings both")]
        #visibility struct #name #plain_generics {
            never: ::core::convert::Infallible,
            parameters: ::core::marker::PhantomData<fn() -> (#(#phantom,)*)>,
        }
        #[allow(clippy::too_many_arguments, clippy::unused_unit, unused_unsafe, unused_variables, reason = "kernels without parameters, safe kernels")]
        const _: () = {
            impl #impl_generics ::cuda_std::Kernel for #name #type_generics #bounds {
                const NAME: &'static str = #text;
                type Parameters<'a> = (#(#declared,)*);
                const RAW_PARAMETERS: &'static [::cuda_std::RawParameter] = &[#(#raw_descriptions),*];
                #cluster
                #block
                #overlaps

                #[cfg(not(target_os = "cuda"))]
                unsafe fn simulate(parameters: &Self::Parameters<'_>) {
                    // SAFETY: parameters are plain data and views; each thread has its own copy, as on the device.
                    unsafe {
                        let (#(#names,)*) = ::core::ptr::read(parameters);
                        #name #call_generics (#(#names),*)
                    }
                }
            }
            #safe
            impl #impl_generics #name #type_generics #bounds {
                /// # Safety
                /// Pointers and lengths must make valid views for the whole launch.
                #[doc(hidden)]
                #[cfg(target_os = "cuda")]
                #[inline(always)]
                pub unsafe fn enter(#(#raw_names: #raw_types),*) {
                    // SAFETY: the caller's promise.
                    unsafe { #name #call_generics (#(#rebuilt),*) }
                }
            }
            #(impl #impl_generics ::cuda_std::kernel::Raw<#indices> for #name #type_generics #bounds {
                type Type = #raw_types;
            })*
        };
    }
}

/// The kernel's generics without bounds, so that naming an instance asks for nothing.
fn plain(function: &ItemFn) -> TokenStream {
    let parameters = function.sig.generics.params.iter().map(|parameter| match parameter {
        GenericParam::Type(ty) => {
            let ident = &ty.ident;
            quote!(#ident)
        }
        GenericParam::Const(constant) => {
            let (ident, ty) = (&constant.ident, &constant.ty);
            quote!(const #ident: #ty)
        }
        GenericParam::Lifetime(_) => unreachable!("lifetimes are refused"),
    });
    quote!(<#(#parameters),*>)
}

/// The macro named like the kernel: `kernels!` calls it for each instance, because only this place knows the attributes and
/// the number of raw parameters.
fn instantiation_macro(attributes: &Attributes, function: &ItemFn, parameters: &[Parameter]) -> TokenStream {
    let name = &function.sig.ident;
    let count = parameters.iter().map(|parameter| parameter.raw_types().len()).sum::<usize>();
    let family = attributes.module.as_ref().map_or_else(|| name.to_string(), LitStr::value);
    let marker = &attributes.marker;
    // Exported macros share one namespace per crate; the hash keeps kernels of equal names in two modules apart.
    let mut hasher = DefaultHasher::new();
    quote!(#function).to_string().hash(&mut hasher);
    let unique = format_ident!("__kernel_{}_{:016x}", name, hasher.finish(), span = Span::call_site());
    let body = quote! {
        ([$($std:tt)+] $library:ident, $kernel:ty, $entry:ident, $suffix:literal) => {
            $($std)+ ::__private::__entry! { [$($std)+] $library, $kernel, $entry, #family, $suffix, #marker, #count }
        };
    };
    match &function.vis {
        Visibility::Public(_) => quote! {
            #[doc(hidden)]
            #[macro_export]
            macro_rules! #unique { #body }
            #[doc(hidden)]
            pub use #unique as #name;
        },
        visibility => {
            let visibility = match visibility {
                Visibility::Inherited => quote!(),
                visibility => quote!(#visibility),
            };
            quote! {
                #[allow(unused_macros, reason = "an instance is optional")]
                macro_rules! #unique { #body }
                #[allow(unused_imports, reason = "an instance is optional")]
                #visibility use #unique as #name;
            }
        }
    }
}
