//! Which functions of its own type an `impl` block calls.

use std::collections::BTreeSet;

use proc_macro2::TokenStream;
use syn::visit::{self, Visit};
use syn::{Expr, Pat, Type};

use crate::names::{Token, flat, is_for_tests, plain, segments};

/// The functions of a type, called `owner`, that an `impl` block of it names: by `self.name()`, `Self::name`, `Owner::name`, or of
/// a variable that plainly is of the type (`let new = Self ...`, `other: &Self`).
pub(crate) fn of(block: &syn::ItemImpl, owner: &str) -> BTreeSet<String> {
    let mut calls = Calls { owner, variables: BTreeSet::from(["self".to_owned()]), called: BTreeSet::new() };
    // A variable may be named behind its use: in a macro that is defined there, or in another function.
    let mut known = 0;
    while known < calls.variables.len() {
        known = calls.variables.len();
        visit::visit_item_impl(&mut calls, block);
    }
    calls.called
}

struct Calls<'a> {
    owner: &'a str,
    /// Variables of the type.
    variables: BTreeSet<String>,
    called: BTreeSet<String>,
}

impl Calls<'_> {
    fn is_own(&self, name: &str) -> bool {
        name == "Self" || name == self.owner
    }

    fn begins_own(&self, path: &syn::Path) -> bool {
        path.segments.first().is_some_and(|first| self.is_own(&plain(&first.ident)))
    }

    /// Whether a value begins with the type: `Self { .. }`, `Self::new()`, `Owner::new().with(..)`.
    fn is_made(&self, value: &Expr) -> bool {
        match value {
            Expr::Path(path) => self.begins_own(&path.path),
            Expr::Struct(made) => self.begins_own(&made.path),
            Expr::Call(call) => self.is_made(&call.func),
            Expr::MethodCall(call) => self.is_made(&call.receiver),
            Expr::Field(field) => self.is_made(&field.base),
            Expr::Try(tried) => self.is_made(&tried.expr),
            _ => false,
        }
    }

    fn is_own_type(&self, kind: &Type) -> bool {
        match kind {
            Type::Path(path) => self.begins_own(&path.path),
            Type::Reference(reference) => self.is_own_type(&reference.elem),
            _ => false,
        }
    }

    fn is_variable(&self, value: &Expr) -> bool {
        match value {
            Expr::Path(path) => {
                path.path.get_ident().is_some_and(|name| self.variables.contains(&plain(name)))
            }
            Expr::Paren(inner) => self.is_variable(&inner.expr),
            Expr::Reference(inner) => self.is_variable(&inner.expr),
            Expr::Unary(inner) => self.is_variable(&inner.expr),
            _ => false,
        }
    }

    fn add_named_by(&mut self, path: &[String]) {
        for pair in path.windows(2) {
            if self.is_own(&pair[0]) {
                self.called.insert(pair[1].clone());
            }
        }
    }

    fn name(&mut self, pattern: &Pat) {
        match pattern {
            Pat::Ident(name) => {
                self.variables.insert(plain(&name.ident));
            }
            Pat::Type(typed) => self.name(&typed.pat),
            _ => {}
        }
    }
}

impl<'ast> Visit<'ast> for Calls<'_> {
    fn visit_expr_method_call(&mut self, call: &'ast syn::ExprMethodCall) {
        if self.is_variable(&call.receiver) {
            self.called.insert(plain(&call.method));
        }
        visit::visit_expr_method_call(self, call);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.add_named_by(&segments(path));
        visit::visit_path(self, path);
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        if is_for_tests(&local.attrs) {
            return;
        }
        if local.init.as_ref().is_some_and(|init| self.is_made(&init.expr)) {
            self.name(&local.pat);
        }
        visit::visit_local(self, local);
    }

    fn visit_pat_type(&mut self, typed: &'ast syn::PatType) {
        if self.is_own_type(&typed.ty) {
            self.name(&typed.pat);
        }
        visit::visit_pat_type(self, typed);
    }

    fn visit_expr_assign(&mut self, assigned: &'ast syn::ExprAssign) {
        if let (Expr::Path(path), true) = (&*assigned.left, self.is_made(&assigned.right)) {
            self.variables.extend(path.path.get_ident().map(plain));
        }
        visit::visit_expr_assign(self, assigned);
    }

    fn visit_token_stream(&mut self, tokens: &'ast TokenStream) {
        let tokens = flat(tokens);
        for window in tokens.windows(4) {
            let [Token::Name(owner), sign, Token::Name(name), next] = window else { continue };
            let is_called = matches!(next, Token::Sign('(') | Token::PathSeparator);
            let of_value = *sign == Token::Sign('.') && self.variables.contains(owner) && is_called;
            let of_type = *sign == Token::PathSeparator && self.is_own(owner);
            if of_value || of_type {
                self.called.insert(name.clone());
            }
        }
        // `Self::name` at the very end.
        if let [.., Token::Name(owner), Token::PathSeparator, Token::Name(name)] = tokens.as_slice() {
            self.add_named_by(&[owner.clone(), name.clone()]);
        }
    }

    fn visit_impl_item_fn(&mut self, method: &'ast syn::ImplItemFn) {
        if !is_for_tests(&method.attrs) {
            visit::visit_impl_item_fn(self, method);
        }
    }
}
