//! Source of the crate as a syntax tree, without its tests.

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
};

use syn::{Attribute, Item, visit::Visit};

/// A file of `src`.
pub struct Source {
    pub path: PathBuf,
    /// Module path as the package re-exports it: `["scene", "tick"]` for `src/engine/scene/tick.rs`, empty for
    /// `src/lib.rs`.
    pub module: Vec<String>,
    /// Source text without comments at the start of a line and without the tests at its end.
    pub code: String,
    pub items: Vec<Item>,
}

/// Returns all files of `src` except those of tests.
pub fn sources() -> Vec<Source> {
    let mut found = files(&root().join("src"));
    found.retain(|path| !path.ends_with("engine/lib.rs"));
    found.iter().map(|path| Source::read(path)).collect()
}

pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the Rust files below a folder, without those that are only tests.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder of the project") {
        let path = entry.expect("an entry").path();
        if path.is_dir() && !path.ends_with("tests") {
            found.extend(files(&path));
        } else if path.extension().is_some_and(|e| e == "rs") && !path.ends_with("tests.rs") {
            found.push(path);
        }
    }
    found.sort();
    found
}

impl Source {
    fn read(path: &Path) -> Source {
        let text = fs::read_to_string(path).expect("a source file");
        let below = path.strip_prefix(root().join("src")).expect("below src").with_extension("");
        let names = below.iter().map(|n| n.to_string_lossy().into_owned());
        let is_module = |n: &String| !["engine", "lib"].contains(&n.as_str());
        Source::parse(path, names.filter(is_module).collect(), &text)
    }

    /// Parses the text of a file into what the rules check.
    pub fn parse(path: &Path, module: Vec<String>, text: &str) -> Source {
        let file = syn::parse_file(text).expect("it compiles");
        let items = file.items.into_iter().filter(|i| !is_test(attributes(i))).collect();
        let shown = text.split("#[cfg(test)]").next().unwrap_or_default();
        let code = shown.lines().filter(|l| !l.trim_start().starts_with("//"));
        let code = code.collect::<Vec<_>>().join("\n");
        Source { path: path.to_owned(), module, code, items }
    }

    /// Returns the part of the crate that the file belongs to: `scene`.
    pub fn part(&self) -> &str {
        self.module.first().map_or("lib", String::as_str)
    }

    /// Returns the types that the file defines, private ones included.
    pub fn types(&self) -> impl Iterator<Item = String> + '_ {
        self.items.iter().filter_map(|item| match item {
            Item::Struct(i) => Some(i.ident.to_string()),
            Item::Enum(i) => Some(i.ident.to_string()),
            Item::Trait(i) => Some(i.ident.to_string()),
            Item::Type(i) => Some(i.ident.to_string()),
            Item::Union(i) => Some(i.ident.to_string()),
            _ => None,
        })
    }

    /// Returns every path in the items, such as `["crate", "scene", "Tissue"]`, and every single name.
    pub fn paths(&self) -> HashSet<Vec<String>> {
        let mut paths = Paths::default();
        for item in self.items.iter().filter(|i| !matches!(i, Item::Use(_))) {
            paths.visit_item(item);
        }
        paths.0
    }

    /// Returns whether a word occurs in the code.
    pub fn names(&self, word: &str) -> bool {
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        self.code.match_indices(word).any(|(at, _)| {
            let before = self.code[..at].chars().next_back();
            let after = self.code[at + word.len()..].chars().next();
            !before.is_some_and(is_part) && !after.is_some_and(is_part)
        })
    }
}

#[derive(Default)]
struct Paths(HashSet<Vec<String>>);

impl<'ast> Visit<'ast> for Paths {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.0.insert(path.segments.iter().map(|s| s.ident.to_string()).collect());
        syn::visit::visit_path(self, path);
    }

    /// A restricted visibility is not a dependency.
    fn visit_vis_restricted(&mut self, _: &'ast syn::VisRestricted) {}

    /// Tokens of a macro are not parsed: each `a::b::c` in them is a path.
    fn visit_macro(&mut self, given: &'ast syn::Macro) {
        let text = given.tokens.to_string().replace(" :: ", "::");
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '_' && c != ':');
        for word in words.filter(|w| w.starts_with(char::is_alphabetic)) {
            self.0.insert(word.split("::").map(str::to_owned).collect());
        }
        syn::visit::visit_macro(self, given);
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Mod(i) => &i.attrs,
        Item::Fn(i) => &i.attrs,
        Item::Use(i) => &i.attrs,
        Item::Impl(i) => &i.attrs,
        Item::Const(i) => &i.attrs,
        Item::Struct(i) => &i.attrs,
        _ => &[],
    }
}

/// Returns whether an item is marked `#[cfg(test)]` or `#[cfg(fuzzing)]`.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|a| {
        let condition = a.meta.require_list().ok().filter(|l| l.path.is_ident("cfg"));
        condition.is_some_and(|l| ["test", "fuzzing"].contains(&l.tokens.to_string().as_str()))
    })
}
