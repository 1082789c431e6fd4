//! The names in a piece of code: its imports, and the paths and single names that it uses.

use std::collections::BTreeSet;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{Attribute, Meta, UseTree, Visibility};

/// A path from the root of a crate: module after module, at last perhaps an item.
pub(crate) type Where = Vec<String>;

/// One name of a `use`.
#[derive(Debug)]
pub(crate) struct Import {
    /// As it is written.
    pub(crate) path: Where,
    /// The name that it gets here; nothing for everything that a module has (`*`).
    pub(crate) name: Option<String>,
    /// Whether it is public, to the crate or to all: `pub use`, `pub(crate) use`.
    pub(crate) handed_on: bool,
}

/// The imports and names of a piece of code; code for tests only is left out.
#[derive(Debug, Default)]
pub(crate) struct Names {
    pub(crate) imports: Vec<Import>,
    /// Paths of two names and more, as they are written, outside of `use`.
    pub(crate) paths: BTreeSet<Where>,
    /// Every name outside of `use`.
    pub(crate) names: BTreeSet<String>,
}

/// A name without the mark of a raw one.
pub(crate) fn plain(name: &proc_macro2::Ident) -> String {
    name.to_string().trim_start_matches("r#").to_owned()
}

/// The names of a path, without its arguments in angle brackets.
pub(crate) fn segments(path: &syn::Path) -> Where {
    path.segments.iter().map(|segment| plain(&segment.ident)).collect()
}

/// Whether one of the attributes leaves an item to tests: `#[cfg(test)]`, `#[cfg(all(test, ...))]`.
pub(crate) fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) if list.path.is_ident("cfg") => asks_for_test(list.tokens.clone()),
        _ => false,
    })
}

fn asks_for_test(condition: TokenStream) -> bool {
    let mut tokens = condition.into_iter();
    match (tokens.next(), tokens.next()) {
        (Some(TokenTree::Ident(name)), None) => name == "test",
        (Some(TokenTree::Ident(name)), Some(TokenTree::Group(group))) if name == "all" => {
            // Each condition of its own, from comma to comma.
            let mut parts = vec![TokenStream::new()];
            for token in group.stream() {
                match (&token, parts.last_mut()) {
                    (TokenTree::Punct(sign), _) if sign.as_char() == ',' => parts.push(TokenStream::new()),
                    (_, Some(part)) => part.extend([token]),
                    (_, None) => {}
                }
            }
            parts.into_iter().any(asks_for_test)
        }
        _ => false,
    }
}

/// A token of a macro call, as far as it matters here.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Token {
    /// A name.
    Name(String),
    /// `::`
    PathSeparator,
    /// Another sign, a bracket among them; a literal counts as the sign `0`.
    Sign(char),
}

/// The tokens of a macro call one after another, brackets opened.
pub(crate) fn flat(tokens: &TokenStream) -> Vec<Token> {
    let mut found = Vec::new();
    flatten(tokens.clone(), &mut found);
    found
}

fn flatten(tokens: TokenStream, found: &mut Vec<Token>) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Ident(name) => found.push(Token::Name(plain(&name))),
            TokenTree::Punct(sign) if sign.as_char() == '\'' => {
                // The name behind it is that of a lifetime.
                tokens.next();
            }
            TokenTree::Punct(sign) => {
                let is_twice = sign.as_char() == ':'
                    && sign.spacing() == proc_macro2::Spacing::Joint
                    && matches!(tokens.peek(), Some(TokenTree::Punct(next)) if next.as_char() == ':');
                if is_twice {
                    tokens.next();
                    found.push(Token::PathSeparator);
                } else {
                    found.push(Token::Sign(sign.as_char()));
                }
            }
            TokenTree::Literal(_) => found.push(Token::Sign('0')),
            TokenTree::Group(group) => {
                let (open, close) = match group.delimiter() {
                    Delimiter::Parenthesis => ('(', ')'),
                    Delimiter::Brace => ('{', '}'),
                    Delimiter::Bracket => ('[', ']'),
                    Delimiter::None => (' ', ' '),
                };
                found.push(Token::Sign(open));
                flatten(group.stream(), found);
                found.push(Token::Sign(close));
            }
        }
    }
}

impl Names {
    fn import(&mut self, tree: &UseTree, before: &mut Where, handed_on: bool) {
        let with = |before: &Where, last: &syn::Ident| {
            // `a::{self}` is `a`.
            let is_self = last == "self" && !before.is_empty();
            if is_self { before.clone() } else { [before.as_slice(), &[plain(last)]].concat() }
        };
        match tree {
            UseTree::Path(path) => {
                before.push(plain(&path.ident));
                self.import(&path.tree, before, handed_on);
                before.pop();
            }
            UseTree::Name(name) => {
                let path = with(before, &name.ident);
                let name = path.last().cloned();
                self.imports.push(Import { path, name, handed_on });
            }
            UseTree::Rename(name) => {
                let path = with(before, &name.ident);
                self.imports.push(Import { path, name: Some(plain(&name.rename)), handed_on });
            }
            UseTree::Glob(_) => self.imports.push(Import { path: before.clone(), name: None, handed_on }),
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.import(tree, before, handed_on);
                }
            }
        }
    }
}

impl<'ast> Visit<'ast> for Names {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        if !is_for_tests(&item.attrs) {
            let handed_on = !matches!(item.vis, Visibility::Inherited);
            self.import(&item.tree, &mut Where::new(), handed_on);
        }
    }

    fn visit_ident(&mut self, name: &'ast proc_macro2::Ident) {
        self.names.insert(plain(name));
    }

    fn visit_lifetime(&mut self, _: &'ast syn::Lifetime) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() && path.segments.len() > 1 {
            self.paths.insert(segments(path));
        }
        visit::visit_path(self, path);
    }

    fn visit_token_stream(&mut self, tokens: &'ast TokenStream) {
        let tokens = flat(tokens);
        let mut at = 0;
        while at < tokens.len() {
            if let Token::Name(first) = &tokens[at] {
                let mut path = vec![first.clone()];
                while let [Token::PathSeparator, Token::Name(next), ..] = &tokens[at + 1..] {
                    path.push(next.clone());
                    at += 2;
                }
                self.names.extend(path.iter().cloned());
                if path.len() > 1 {
                    self.paths.insert(path);
                }
            }
            at += 1;
        }
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        if !is_for_tests(&item.attrs) {
            visit::visit_item_const(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !is_for_tests(&item.attrs) {
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        if !is_for_tests(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        if !is_for_tests(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        if !is_for_tests(&item.attrs) {
            visit::visit_impl_item_const(self, item);
        }
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        if !is_for_tests(&item.attrs) {
            visit::visit_trait_item_fn(self, item);
        }
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        if !is_for_tests(&field.attrs) {
            visit::visit_field(self, field);
        }
    }

    fn visit_field_value(&mut self, field: &'ast syn::FieldValue) {
        if !is_for_tests(&field.attrs) {
            visit::visit_field_value(self, field);
        }
    }

    fn visit_variant(&mut self, variant: &'ast syn::Variant) {
        if !is_for_tests(&variant.attrs) {
            visit::visit_variant(self, variant);
        }
    }

    fn visit_arm(&mut self, arm: &'ast syn::Arm) {
        if !is_for_tests(&arm.attrs) {
            visit::visit_arm(self, arm);
        }
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        if !is_for_tests(&local.attrs) {
            visit::visit_local(self, local);
        }
    }
}
