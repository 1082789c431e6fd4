//! `if let ... && let ...`: syntax that compilers learned after the oldest one that `rust-version` promises. Clippy looks at the
//! items of the standard library, and not at this; compiling everything with that compiler (`make msrv`) takes longer than a check may.

use syn::visit::{self, Visit};
use syn::{BinOp, Expr, ExprBinary};

/// Lines in which an item has a chain of conditions with a `let` in it.
pub(crate) fn lines(item: &syn::Item) -> Vec<usize> {
    let mut found = Chains { lines: Vec::new() };
    found.visit_item(item);
    found.lines
}

struct Chains {
    lines: Vec<usize>,
}

impl<'code> Visit<'code> for Chains {
    fn visit_expr_binary(&mut self, pair: &'code ExprBinary) {
        if matches!(pair.op, BinOp::And(_)) {
            for side in [&pair.left, &pair.right] {
                if let Expr::Let(condition) = side.as_ref() {
                    self.lines.push(condition.let_token.span.start().line);
                }
            }
        }
        visit::visit_expr_binary(self, pair);
    }
}
