//! `kernels!`: the product of type lists, each combination with a readable name.

use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Expr, Ident, Path, Result, Token, Type, Visibility, braced, bracketed, parse_quote, token};

/// The path of the standard library's crate, handed on by the calling macro (`$crate`).
pub(crate) struct StdPath(TokenStream);

impl Parse for StdPath {
    fn parse(input: ParseStream) -> Result<Self> {
        let content;
        bracketed!(content in input);
        Ok(Self(content.parse()?))
    }
}

impl ToTokens for StdPath {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        self.0.to_tokens(tokens);
    }
}

pub(crate) struct Kernels {
    std: StdPath,
    attributes: Vec<Attribute>,
    visibility: Visibility,
    library: Ident,
    requests: Vec<Request>,
}

/// `path::map_forward<{Relu, Tanh}, {f32, bf16}>`
struct Request {
    kernel: Path,
    choices: Vec<Vec<Argument>>,
}

/// A type or a constant.
enum Argument {
    Type(Type),
    Constant(Expr),
}

impl Parse for Kernels {
    fn parse(input: ParseStream) -> Result<Self> {
        let std = input.parse()?;
        let attributes = input.call(Attribute::parse_outer)?;
        let mut visibility: Visibility = input.parse()?;
        let library = if input.peek(Token![struct]) {
            input.parse::<Token![struct]>()?;
            let name = input.parse()?;
            input.parse::<Token![;]>()?;
            name
        } else {
            visibility = parse_quote!(pub);
            format_ident!("Kernels")
        };
        let mut requests = Vec::new();
        while !input.is_empty() {
            requests.push(input.parse()?);
            if !input.is_empty() {
                input.parse::<Token![;]>()?;
            }
        }
        Ok(Self { std, attributes, visibility, library, requests })
    }
}

impl Parse for Request {
    fn parse(input: ParseStream) -> Result<Self> {
        let kernel = Path::parse_mod_style(input)?;
        let mut choices = Vec::new();
        if input.peek(Token![<]) {
            input.parse::<Token![<]>()?;
            while !input.peek(Token![>]) {
                choices.push(choice(input)?);
                if input.peek(Token![,]) {
                    input.parse::<Token![,]>()?;
                }
            }
            input.parse::<Token![>]>()?;
        }
        Ok(Self { kernel, choices })
    }
}

fn choice(input: ParseStream) -> Result<Vec<Argument>> {
    if !input.peek(token::Brace) {
        return Ok(vec![input.parse()?]);
    }
    let content;
    braced!(content in input);
    let list = content.parse_terminated(Argument::parse, Token![,])?;
    Ok(list.into_iter().collect())
}

impl Parse for Argument {
    fn parse(input: ParseStream) -> Result<Self> {
        if input.peek(syn::Lit) || input.peek(Token![-]) {
            return Ok(Self::Constant(input.parse()?));
        }
        Ok(Self::Type(input.parse()?))
    }
}

impl ToTokens for Argument {
    fn to_tokens(&self, tokens: &mut TokenStream) {
        match self {
            Self::Type(ty) => ty.to_tokens(tokens),
            Self::Constant(constant) => constant.to_tokens(tokens),
        }
    }
}

impl Argument {
    /// The argument as a part of an entry point's name: `Then<Gelu, Tanh>` is `then_gelu_tanh`.
    fn name(&self) -> String {
        let tokens = self.to_token_stream().to_string();
        // Of a path `a::b::C` the last segment names the type.
        let mut words: Vec<String> = Vec::new();
        for token in tokens.split_whitespace().flat_map(split_symbols) {
            match token.as_str() {
                "::" => {
                    words.pop();
                }
                word if word.starts_with(|c: char| c.is_alphanumeric() || c == '_') => words.push(snake_case(word)),
                "-" => words.push("minus".to_string()),
                _ => {}
            }
        }
        words.join("_")
    }

    /// Whether it is an element type; those don't split modules.
    fn is_element(&self) -> bool {
        let elements =
            ["f16", "bf16", "f32", "f64", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "i128", "u128"];
        elements.contains(&self.name().as_str())
    }
}

/// Splits `a::B<C>` into `a`, `::`, `B`, `<`, `C`, `>`.
fn split_symbols(text: &str) -> Vec<String> {
    let mut tokens: Vec<String> = Vec::new();
    for c in text.chars() {
        let word = |c: char| c.is_alphanumeric() || c == '_';
        match tokens.last_mut() {
            Some(last) if word(c) && last.ends_with(word) => last.push(c),
            Some(last) if c == ':' && last == ":" => last.push(c),
            _ => tokens.push(c.to_string()),
        }
    }
    tokens
}

/// `LeakyRelu` is `leaky_relu`, `f32` stays.
pub(crate) fn snake_case(name: &str) -> String {
    let mut result = String::new();
    let mut previous_lower = false;
    for c in name.chars() {
        if c.is_uppercase() && previous_lower {
            result.push('_');
        }
        previous_lower = c.is_lowercase() || c.is_numeric();
        result.extend(c.to_lowercase());
    }
    result
}

pub(crate) fn expand(kernels: &Kernels) -> TokenStream {
    let Kernels { std, attributes, visibility, library, requests } = kernels;
    let doc = attributes.is_empty().then(|| quote!(#[doc = "The kernel instances that this crate compiles."]));
    let instances = requests.iter().flat_map(|request| {
        let kernel = &request.kernel;
        let name = kernel.segments.last().expect("a path has a segment").ident.to_string();
        product(&request.choices).into_iter().map(move |arguments| {
            let names: Vec<_> = arguments.iter().map(|argument| argument.name()).collect();
            let entry = [std::slice::from_ref(&name), &names].concat().join("__");
            let entry = Ident::new(&entry, kernel.segments.last().expect("as above").ident.span());
            let suffix: Vec<_> = arguments.iter().filter(|a| !a.is_element()).map(|a| a.name()).collect();
            let suffix = suffix.join(".");
            let ty = match arguments.is_empty() {
                true => quote!(#kernel),
                false => quote!(#kernel<#(#arguments),*>),
            };
            quote!(#kernel! { [#std] #library, #ty, #entry, #suffix })
        })
    });
    let instances: Vec<_> = instances.collect();
    quote! {
        #(#attributes)*
        #doc
        #[derive(Clone, Copy, Debug)]
        #visibility struct #library;
        impl #std::Library for #library {
            const CRATE: &'static str = env!("CARGO_PKG_NAME");
        }
        #(#instances)*
    }
}

/// Every way to take one argument of each list.
fn product(choices: &[Vec<Argument>]) -> Vec<Vec<&Argument>> {
    choices.iter().fold(vec![vec![]], |combinations, list| {
        combinations
            .iter()
            .flat_map(|head| list.iter().map(move |argument| [head.as_slice(), &[argument]].concat()))
            .collect()
    })
}
