//! `activation!`: a struct with its state, and one generic body.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::parse::{Parse, ParseStream};
use syn::visit::Visit;
use syn::visit_mut::{VisitMut, visit_expr_mut};
use syn::{
    Attribute, Error, Expr, ExprBinary, ExprCall, ExprLit, Ident, Lit, Result, Token, Type, Visibility, braced,
    parse_quote, token,
};

use crate::kernels::StdPath;

pub(crate) struct Activations {
    gpu: StdPath,
    list: Vec<Activation>,
}

/// `pub struct Snake { a: f32 = 1.0 } |x| x + (x * a).sin().squared() / a, derivative |x| ...`
struct Activation {
    attributes: Vec<Attribute>,
    visibility: Visibility,
    name: Ident,
    fields: Vec<Field>,
    forward: Body,
    derivative: Option<Body>,
}

struct Field {
    attributes: Vec<Attribute>,
    trainable: bool,
    name: Ident,
    ty: Type,
    default: Option<Expr>,
}

struct Body {
    variable: Ident,
    expression: Expr,
}

mod keyword {
    syn::custom_keyword!(trainable);
    syn::custom_keyword!(derivative);
}

impl Parse for Activations {
    fn parse(input: ParseStream) -> Result<Self> {
        let gpu = input.parse()?;
        let mut list = Vec::new();
        while !input.is_empty() {
            list.push(input.parse()?);
            if !input.is_empty() {
                input.parse::<Token![;]>()?;
            }
        }
        Ok(Self { gpu, list })
    }
}

impl Parse for Activation {
    fn parse(input: ParseStream) -> Result<Self> {
        let attributes = input.call(Attribute::parse_outer)?;
        let visibility = input.parse()?;
        input.parse::<Token![struct]>()?;
        let name = input.parse()?;
        let mut fields = Vec::new();
        if input.peek(token::Brace) {
            let content;
            braced!(content in input);
            fields.extend(content.parse_terminated(Field::parse, Token![,])?);
        }
        let forward = input.parse()?;
        let mut derivative = None;
        if input.peek(Token![,]) {
            input.parse::<Token![,]>()?;
            if input.peek(keyword::derivative) {
                input.parse::<keyword::derivative>()?;
                derivative = Some(input.parse()?);
                input.parse::<Option<Token![,]>>()?;
            }
        }
        Ok(Self { attributes, visibility, name, fields, forward, derivative })
    }
}

impl Parse for Field {
    fn parse(input: ParseStream) -> Result<Self> {
        let attributes = input.call(Attribute::parse_outer)?;
        input.parse::<Option<Token![pub]>>()?;
        let trainable = input.peek(keyword::trainable) && input.parse::<keyword::trainable>().is_ok();
        let name = input.parse()?;
        input.parse::<Token![:]>()?;
        let ty = input.parse()?;
        let default = match input.parse::<Option<Token![=]>>()? {
            Some(_) => Some(input.parse()?),
            None => None,
        };
        Ok(Self { attributes, trainable, name, ty, default })
    }
}

impl Parse for Body {
    fn parse(input: ParseStream) -> Result<Self> {
        input.parse::<Token![|]>()?;
        let variable = input.parse()?;
        input.parse::<Token![|]>()?;
        Ok(Self { variable, expression: input.parse()? })
    }
}

/// Floating-point literals become [`Scalar`]s: `0.5 * x` then scales, and no literal is lifted to a dual number.
struct Literals<'a>(&'a StdPath);

impl VisitMut for Literals<'_> {
    fn visit_expr_mut(&mut self, expression: &mut Expr) {
        visit_expr_mut(self, expression);
        if let Expr::Lit(ExprLit { lit: Lit::Float(literal), .. }) = expression {
            let gpu = self.0;
            *expression = parse_quote!(#gpu::Scalar::new(#literal));
        }
    }
}

/// Finds what can't be in a body that is generic, to say so in fewer words than the compiler.
#[derive(Default)]
struct Mistakes(Option<Error>);

impl Mistakes {
    fn found(&mut self, place: &impl ToTokens, message: String) {
        let error = Error::new_spanned(place, message);
        match &mut self.0 {
            Some(first) => first.combine(error),
            None => self.0 = Some(error),
        }
    }

    fn integer(&mut self, literal: &Expr) {
        let text = literal.to_token_stream();
        self.found(literal, format!("a number in a body has a decimal point: `{text}.0`"));
    }
}

impl<'ast> Visit<'ast> for Mistakes {
    fn visit_expr_binary(&mut self, binary: &'ast ExprBinary) {
        let integer = |expression: &Expr| matches!(expression, Expr::Lit(ExprLit { lit: Lit::Int(_), .. }));
        match (integer(&binary.left), integer(&binary.right)) {
            (true, false) => self.integer(&binary.left),
            (false, true) => self.integer(&binary.right),
            _ => {}
        }
        syn::visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_call(&mut self, call: &'ast ExprCall) {
        if let Expr::Path(path) = &*call.func {
            let names: Vec<_> = path.path.segments.iter().map(|segment| segment.ident.to_string()).collect();
            if let [.., ty @ ("f32" | "f64"), function] = names.iter().map(String::as_str).collect::<Vec<_>>()[..] {
                let message = format!(
                    "`{ty}::{function}` computes in {ty} alone, and this body is for every real number and for derivatives: write \
                     `x.{function}(..)`, if `Real` has it"
                );
                self.found(&call.func, message);
            }
        }
        syn::visit::visit_expr_call(self, call);
    }
}

pub(crate) fn expand(activations: &Activations) -> Result<TokenStream> {
    activations.list.iter().map(|activation| activation.expand(&activations.gpu)).collect()
}

impl Activation {
    fn expand(&self, gpu: &StdPath) -> Result<TokenStream> {
        let Self { attributes, visibility, name, fields, .. } = self;
        let mut mistakes = Mistakes::default();
        for body in std::iter::once(&self.forward).chain(&self.derivative) {
            mistakes.visit_expr(&body.expression);
        }
        if let Some(error) = mistakes.0 {
            return Err(error);
        }
        for field in fields {
            if !["f32", "f64"].contains(&field.ty.to_token_stream().to_string().as_str()) {
                return Err(Error::new_spanned(
                    &field.ty,
                    "the state of an activation is made of `f32` and `f64` fields",
                ));
            }
        }
        let names: Vec<_> = fields.iter().map(|field| &field.name).collect();
        let types: Vec<_> = fields.iter().map(|field| &field.ty).collect();
        let field_docs = fields.iter().map(|field| {
            let (attributes, name) = (&field.attributes, field.name.to_string());
            match attributes.is_empty() {
                true => quote!(#[doc = concat!("The parameter `", #name, "`.")]),
                false => quote!(#(#attributes)*),
            }
        });
        let doc = attributes.is_empty().then(|| {
            let Body { variable, expression } = &self.forward;
            let formula = format!("`{variable}` ↦ `{}`", expression.to_token_stream());
            quote!(#[doc = #formula])
        });
        let snake = crate::kernels::snake_case(&name.to_string());
        let forward = self.forward.function(gpu, &quote!(forward), &names);
        let derivative = self.derivative.as_ref().map(|body| body.function(gpu, &quote!(derivative), &names));
        let constructor = (!fields.is_empty()).then(|| {
            quote! {
                impl #name {
                    /// With the given state.
                    #[allow(clippy::too_many_arguments, reason = "as many as there are fields")]
                    pub const fn new(#(#names: #types),*) -> Self {
                        Self { #(#names),* }
                    }
                }
            }
        });
        let definition = match fields.is_empty() {
            true => quote!(#visibility struct #name;),
            false => quote!(#visibility struct #name { #(#field_docs pub #names: #types),* }),
        };
        let default = self.default_impl();
        let trainable = self.trainable(gpu);
        Ok(quote! {
            #(#attributes)*
            #doc
            #[derive(Clone, Copy, Debug, PartialEq)]
            #[repr(C)]
            #definition
            #constructor
            #default
            // SAFETY: all fields are floats, laid out as in C.
            unsafe impl #gpu::DeviceCopy for #name {}
            impl #gpu::Activation for #name {
                const NAME: &'static str = #snake;
                #forward
                #derivative
            }
            #trainable
        })
    }

    /// `Default`, where every field has a default.
    fn default_impl(&self) -> Option<TokenStream> {
        let name = &self.name;
        let fields = &self.fields;
        let defaults: Vec<_> = fields.iter().map(|field| field.default.as_ref()).collect::<Option<_>>()?;
        let names = fields.iter().map(|field| &field.name);
        Some(quote! {
            impl ::core::default::Default for #name {
                fn default() -> Self {
                    Self { #(#names: #defaults),* }
                }
            }
        })
    }

    /// The same body once more, with the trainable fields as numbers that can be dual.
    fn trainable(&self, gpu: &StdPath) -> Option<TokenStream> {
        let trained: Vec<_> = self.fields.iter().filter(|field| field.trainable).map(|field| &field.name).collect();
        if trained.is_empty() {
            return None;
        }
        let name = &self.name;
        let count = trained.len();
        let plain = self.fields.iter().filter(|field| !field.trainable).map(|field| &field.name);
        let types = self.fields.iter().filter(|field| field.trainable).map(|field| &field.ty);
        let indices = 0..count;
        let indices_again = 0..count;
        let Body { variable, expression } = &self.forward;
        let mut expression = expression.clone();
        Literals(gpu).visit_expr_mut(&mut expression);
        Some(quote! {
            impl #gpu::Trainable<#count> for #name {
                fn parameters(&self) -> [f64; #count] {
                    [#(f64::from(self.#trained)),*]
                }
                fn with_parameters(mut self, parameters: [f64; #count]) -> Self {
                    #(self.#trained = parameters[#indices] as #types;)*
                    self
                }
                #[inline(always)]
                fn forward_of_parameters<R: #gpu::Real>(&self, parameters: [R; #count], #variable: R) -> R {
                    #(let #plain = #gpu::Scalar::from(self.#plain);)*
                    #(let #trained = parameters[#indices_again];)*
                    #expression
                }
            }
        })
    }
}

impl Body {
    fn function(&self, gpu: &StdPath, name: &TokenStream, fields: &[&Ident]) -> TokenStream {
        let Self { variable, expression } = self;
        let mut expression = expression.clone();
        Literals(gpu).visit_expr_mut(&mut expression);
        quote! {
            #[inline(always)]
            fn #name<R: #gpu::Real>(&self, #variable: R) -> R {
                #(let #fields = #gpu::Scalar::from(self.#fields);)*
                #expression
            }
        }
    }
}
