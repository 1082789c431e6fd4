//! From the files of a crate to its modules: the definitions, imports, names and implementations of each.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use syn::visit::Visit as _;
use syn::{Attribute, Expr, Field, Fields, FnArg, ImplItem, Item, Lit, Meta, ReceiverKind, Type};

use crate::calls;
use crate::error::Error;
use crate::let_chains;
use crate::names::{Names, Where, is_for_tests, plain, segments};

/// An `impl` block.
#[derive(Debug)]
pub(crate) struct Implementation {
    /// The type, as the block names it.
    pub(crate) owner: Where,
    /// The functions that it defines.
    pub(crate) methods: BTreeSet<String>,
    /// How many of them take `&mut self`.
    pub(crate) changing: usize,
    /// The functions of the type that it calls.
    pub(crate) called: BTreeSet<String>,
}

/// A type that a module defines.
#[derive(Debug)]
pub(crate) struct Definition {
    pub(crate) name: String,
    /// Fields of a struct or a union; an enumeration has none.
    pub(crate) fields: usize,
}

/// A module, with a file of its own or within one.
#[derive(Debug)]
pub(crate) struct Module {
    pub(crate) path: Where,
    pub(crate) file: PathBuf,
    /// Whether it is written within the file of another module.
    pub(crate) is_inline: bool,
    /// Names of its items.
    pub(crate) defined: BTreeSet<String>,
    pub(crate) types: Vec<Definition>,
    /// The imports and names of its code.
    pub(crate) names: Names,
    /// Names in the arguments of macros that stand in the place of items: a macro may define an item of that name.
    pub(crate) made_by_macros: BTreeSet<String>,
    pub(crate) implementations: Vec<Implementation>,
    /// Lines with a `let` in a chain of conditions.
    pub(crate) let_chains: Vec<usize>,
}

/// Reads the modules of a crate from the file of its root. Code for tests only is left out.
pub(crate) fn read(root: &Path) -> Result<Vec<Module>, Error> {
    let mut modules = Vec::new();
    let folder = root.parent().unwrap_or(Path::new("")).to_owned();
    read_file(root, &folder, Vec::new(), &mut modules)?;
    Ok(modules)
}

/// Reads a module from its file; files of its children stand in `children`.
fn read_file(file: &Path, children: &Path, path: Where, modules: &mut Vec<Module>) -> Result<(), Error> {
    let text = fs::read_to_string(file).map_err(|why| Error::unreadable(file, why))?;
    let code = syn::parse_file(&text).map_err(|why| Error::Parse { file: file.to_owned(), why })?;
    let place = Place { file, children: children.to_owned(), is_inline: false };
    read_items(&code.items, &place, path, modules)
}

/// Where the code of a module stands.
struct Place<'a> {
    file: &'a Path,
    children: PathBuf,
    is_inline: bool,
}

fn read_items(
    items: &[Item],
    place: &Place<'_>,
    path: Where,
    modules: &mut Vec<Module>,
) -> Result<(), Error> {
    let mut module = Module {
        path,
        file: place.file.to_owned(),
        is_inline: place.is_inline,
        defined: BTreeSet::new(),
        types: Vec::new(),
        names: Names::default(),
        made_by_macros: BTreeSet::new(),
        implementations: Vec::new(),
        let_chains: Vec::new(),
    };
    for item in items.iter().filter(|item| !is_for_tests(attributes(item))) {
        match item {
            Item::Mod(child) => {
                let name = plain(&child.ident);
                let path = [module.path.as_slice(), std::slice::from_ref(&name)].concat();
                if let Some((_, items)) = &child.content {
                    let children = place.children.join(&name);
                    let place = Place { file: place.file, children, is_inline: true };
                    read_items(items, &place, path, modules)?;
                } else {
                    let (file, children) = file_of(&child.attrs, &name, place);
                    read_file(&file, &children, path, modules)?;
                }
            }
            Item::Impl(block) => {
                if let Some(block) = implementation(block) {
                    module.implementations.push(block);
                }
            }
            Item::Macro(call) if call.ident.is_none() => {
                let mut names = Names::default();
                names.visit_item_macro(call);
                module.made_by_macros.extend(names.names);
            }
            _ => {}
        }
        module.defined.extend(name_of(item));
        module.types.extend(definition(item));
        if !matches!(item, Item::Mod(_)) {
            module.names.visit_item(item);
            module.let_chains.extend(let_chains::lines(item));
        }
    }
    modules.push(module);
    Ok(())
}

/// The file of a child module that is declared in `place`, and where those of its own children stand.
fn file_of(attributes: &[Attribute], name: &str, place: &Place<'_>) -> (PathBuf, PathBuf) {
    let told = attributes.iter().find_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(text) => Some(text.value()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    });
    if let Some(told) = told {
        // Beside the file that says so; within `mod a { }` in the folder of `a`.
        let beside = if place.is_inline { Some(place.children.as_path()) } else { place.file.parent() };
        let file = beside.unwrap_or(Path::new("")).join(told);
        let children = file.parent().unwrap_or(Path::new("")).to_owned();
        return (file, children);
    }
    let children = place.children.join(name);
    let with_folder = children.join("mod.rs");
    let file =
        if with_folder.is_file() { with_folder } else { place.children.join(name).with_extension("rs") };
    (file, children)
}

fn implementation(block: &syn::ItemImpl) -> Option<Implementation> {
    let Type::Path(owner) = &*block.self_ty else { return None };
    let owner = segments(&owner.path);
    let mut found = Implementation { owner, methods: BTreeSet::new(), changing: 0, called: BTreeSet::new() };
    for item in &block.items {
        let ImplItem::Fn(method) = item else { continue };
        if is_for_tests(&method.attrs) {
            continue;
        }
        found.methods.insert(plain(&method.sig.ident));
        found.changing += usize::from(method.sig.inputs.first().is_some_and(changes));
    }
    found.called = calls::of(block, found.owner.last()?);
    Some(found)
}

/// Whether a method with this first argument can change its object: `&mut self`.
fn changes(first: &FnArg) -> bool {
    let FnArg::Receiver(receiver) = first else { return false };
    match &receiver.kind {
        ReceiverKind::Reference(_, _, mutability) => mutability.is_some(),
        ReceiverKind::Typed(_, kind) => {
            matches!(&**kind, Type::Reference(kind) if kind.mutability.is_some())
        }
        _ => false,
    }
}

fn definition(item: &Item) -> Option<Definition> {
    let count =
        |fields: &mut dyn Iterator<Item = &Field>| fields.filter(|field| !is_for_tests(&field.attrs)).count();
    let (name, fields) = match item {
        Item::Struct(item) => match &item.fields {
            Fields::Unit => (&item.ident, 0),
            fields => (&item.ident, count(&mut fields.iter())),
        },
        Item::Union(item) => (&item.ident, count(&mut item.fields.named.iter())),
        Item::Enum(item) => (&item.ident, 0),
        _ => return None,
    };
    Some(Definition { name: plain(name), fields })
}

fn name_of(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(plain(name))
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::TraitAlias(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}
