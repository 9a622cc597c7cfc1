//! [`Any`]: an activation chosen at run time, by a configuration file or a checkpoint. Host only.

use core::fmt;
use core::str::FromStr;

use super::*;
use crate::Activation;

/// What is done with an activation once its type is known. See [`Any::visit`].
pub trait Visitor {
    /// The result.
    type Output;
    /// Called with the activation.
    fn visit<A: Activation + Copy + fmt::Debug + PartialEq>(self, activation: A) -> Self::Output;
}

/// Why a text is no activation.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum AnyError {
    /// No activation has this name.
    UnknownName {
        /// The name.
        name: String,
        /// The names that are most like it, the nearest first.
        near: Vec<&'static str>,
    },
    /// The activation has no such parameter.
    UnknownParameter {
        /// The activation.
        activation: &'static str,
        /// The parameter.
        parameter: String,
        /// Those that it has.
        parameters: &'static [&'static str],
    },
    /// A parameter is not written `name=number`, with a finite number, once.
    BadParameter {
        /// The activation.
        activation: &'static str,
        /// What stands there.
        text: String,
    },
    /// A parenthesis is open, or something follows it.
    Unbalanced {
        /// The whole text.
        text: String,
    },
}

impl fmt::Display for AnyError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::UnknownName { name, near } if near.is_empty() => {
                write!(f, "there is no activation `{name}`; the activations are {}", Any::NAMES.join(", "))
            }
            Self::UnknownName { name, near } => {
                write!(f, "there is no activation `{name}`; did you mean {}?", near.join(" or "))
            }
            Self::UnknownParameter { activation, parameter, parameters: [] } => {
                write!(f, "the activation `{activation}` has no parameters, so `{parameter}` must go")
            }
            Self::UnknownParameter { activation, parameter, parameters } => {
                write!(
                    f,
                    "the activation `{activation}` has no parameter `{parameter}`, only {}",
                    parameters.join(", ")
                )
            }
            Self::BadParameter { activation, text } => write!(
                f,
                "`{text}` is no parameter of `{activation}`: write each once, as `name=number` with a finite number"
            ),
            Self::Unbalanced { text } => {
                write!(f, "`{text}`: write an activation as `name` or as `name(parameter=number, ...)`")
            }
        }
    }
}

impl core::error::Error for AnyError {}

/// `name` and the `parameter=number` pairs of `name(parameter=number, ...)`.
fn parse(text: &str) -> Result<(&str, Vec<&str>), AnyError> {
    let text = text.trim();
    let Some((name, rest)) = text.split_once('(') else { return Ok((text, Vec::new())) };
    let inner = rest.strip_suffix(')').filter(|inner| !inner.contains(['(', ')']));
    let inner = inner.ok_or_else(|| AnyError::Unbalanced { text: text.into() })?;
    Ok((name.trim(), inner.split(',').map(str::trim).filter(|part| !part.is_empty()).collect()))
}

/// The names nearest to `name`.
fn near(name: &str) -> Vec<&'static str> {
    let name = name.to_lowercase().replace(['-', ' '], "_");
    let likeness = |known: &str| {
        let part = known.split('_').any(|part| part == name) || (name.len() > 2 && known.contains(&name));
        strsim::jaro_winkler(&name, known) + if part { 1.0 } else { 0.0 }
    };
    let mut names: Vec<_> = Any::NAMES.iter().map(|known| (likeness(known), *known)).collect();
    names.retain(|(likeness, _)| *likeness > 0.8);
    names.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    names.into_iter().take(3).map(|(_, known)| known).collect()
}

macro_rules! catalogue {
    ($($activation:ident { $($field:ident),* })*) => {
        /// An activation of the catalogue with its state, known at run time only.
        ///
        /// Written and read as `leaky_relu(alpha=0.1)`; parameters that are left out get their defaults.
        ///
        /// ```
        /// use warpsmith_gpu::activations::{Any, LeakyRelu};
        ///
        /// let any: Any = "leaky_relu(alpha=0.1)".parse().unwrap();
        /// assert_eq!(any, LeakyRelu::new(0.1).into());
        /// assert_eq!(any.to_string(), "leaky_relu(alpha=0.1)");
        /// assert!("gelu".parse::<Any>().unwrap_err().to_string().contains("did you mean gelu_erf or gelu_tanh"));
        /// ```
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[non_exhaustive]
        pub enum Any {
            $(#[doc = concat!("[`", stringify!($activation), "`]")] $activation($activation),)*
        }

        impl Any {
            /// The names of all, as [`FromStr`] takes them.
            pub const NAMES: &'static [&'static str] = &[$(<$activation as Activation>::NAME),*];

            /// Each with its default state.
            pub fn all() -> impl Iterator<Item = Self> {
                [$(Self::$activation($activation::default())),*].into_iter()
            }

            /// The name.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$activation(_) => <$activation as Activation>::NAME,)* }
            }

            /// Calls the visitor with the activation, as the type that it is.
            pub fn visit<V: Visitor>(self, visitor: V) -> V::Output {
                match self { $(Self::$activation(activation) => visitor.visit(activation),)* }
            }
        }

        $(impl From<$activation> for Any {
            fn from(activation: $activation) -> Self {
                Self::$activation(activation)
            }
        })*

        impl fmt::Display for Any {
            fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
                let state: &[(&str, f32)] = match self { $(
                    Self::$activation(_activation) => &[$((stringify!($field), _activation.$field)),*],
                )* };
                f.write_str(self.name())?;
                for (i, (field, value)) in state.iter().enumerate() {
                    write!(f, "{}{field}={value}", if i == 0 { "(" } else { ", " })?;
                }
                f.write_str(if state.is_empty() { "" } else { ")" })
            }
        }

        impl FromStr for Any {
            type Err = AnyError;

            fn from_str(text: &str) -> Result<Self, AnyError> {
                let (name, parts) = parse(text)?;
                $(if name == <$activation as Activation>::NAME {
                    let _values = values(<$activation as Activation>::NAME, &[$(stringify!($field)),*], parts)?;
                    let _default = $activation::default();
                    return Ok($activation { $($field: _values.get(stringify!($field), _default.$field)),* }.into());
                })*
                Err(AnyError::UnknownName { name: name.into(), near: near(name) })
            }
        }

        /// Runs an expression with the activation in an [`Any`](crate::activations::Any) as the type that it is, so that
        /// kernels compiled for the catalogue can be launched:
        ///
        /// ```
        /// use warpsmith_gpu::{Activation, activations::Any, with_activation};
        ///
        /// let any: Any = "relu6".parse().unwrap();
        /// assert_eq!(with_activation!(any, |activation| activation.forward(7.0_f32)), 6.0);
        /// ```
        #[macro_export]
        macro_rules! with_activation {
            ($any:expr, |$name:ident| $body:expr) => {
                $crate::__with_activation!($any, $name, $body; $($activation)*)
            };
        }
    };
}

/// Parameters that were given, by name.
struct Values<'a>(Vec<(&'a str, f32)>);

impl Values<'_> {
    fn get(&self, parameter: &str, default: f32) -> f32 {
        self.0.iter().find(|(given, _)| *given == parameter).map_or(default, |(_, value)| *value)
    }
}

/// Reads `parameter=number` pairs, each parameter being one of `parameters`.
fn values<'a>(
    activation: &'static str,
    parameters: &'static [&'static str],
    parts: Vec<&'a str>,
) -> Result<Values<'a>, AnyError> {
    let mut values = Values(Vec::new());
    for text in parts {
        let bad = || AnyError::BadParameter { activation, text: text.into() };
        let (parameter, value) = text.split_once('=').ok_or_else(bad)?;
        let parameter = parameter.trim();
        if !parameters.contains(&parameter) {
            return Err(AnyError::UnknownParameter { activation, parameter: parameter.into(), parameters });
        }
        let value: f32 = value.trim().parse().ok().filter(|value: &f32| value.is_finite()).ok_or_else(bad)?;
        if values.0.iter().any(|(given, _)| *given == parameter) {
            return Err(bad());
        }
        values.0.push((parameter, value));
    }
    Ok(values)
}

with_catalogue!(catalogue);

/// The match of `with_activation!`. An arm for the rest, because other crates can't know that there is none.
#[doc(hidden)]
#[macro_export]
macro_rules! __with_activation {
    ($any:expr, $name:ident, $body:expr; $($activation:ident)*) => {
        match $any {
            $($crate::activations::Any::$activation($name) => $body,)*
            _ => unreachable!("all activations are listed"),
        }
    };
}
