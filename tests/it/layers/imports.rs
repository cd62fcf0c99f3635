//! Dependencies between files: every path of a file, followed through re-exports to the definition of the name.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use syn::{Item, UseTree, Visibility};

use super::source::Source;

type Path = Vec<String>;

/// Meaning of a name in a module.
enum Meaning {
    /// An item that the module defines.
    Item,
    /// Another name for a path.
    Alias { path: Path, is_public: bool },
}

/// Names of all modules.
pub struct Imports<'a> {
    sources: &'a [Source],
    names: HashMap<&'a [String], HashMap<String, Meaning>>,
}

impl<'a> Imports<'a> {
    pub fn of(sources: &'a [Source]) -> Imports<'a> {
        let names = sources.iter().map(|s| (s.module.as_slice(), names(s)));
        Imports { sources, names: names.collect() }
    }

    /// Returns the files that each file needs.
    pub fn edges(&self) -> BTreeMap<&'a [String], BTreeSet<&'a [String]>> {
        self.sources.iter().map(|s| (s.module.as_slice(), self.needs(s))).collect()
    }

    fn needs(&self, source: &'a Source) -> BTreeSet<&'a [String]> {
        let own = source.module.as_slice();
        let said = source.paths();
        let private = self.names[own].values().filter_map(|meaning| match meaning {
            // A re-export that the file does not use itself is not a dependency.
            Meaning::Alias { path, is_public: false } => Some(path.clone()),
            _ => None,
        });
        let written =
            said.iter().filter_map(|path| absolute(path, own).or_else(|| self.local(path, own)));
        private.chain(written).filter_map(|p| self.defined(&p, 0)).filter(|m| *m != own).collect()
    }

    /// Returns the full path of a path that begins with a name of the module.
    fn local(&self, path: &[String], module: &[String]) -> Option<Path> {
        let is_child = self.names.contains_key([module, &path[..1]].concat().as_slice());
        let has = is_child || self.names[module].contains_key(&path[0]);
        has.then(|| [module, path].concat())
    }

    /// Returns the module that defines the target of a path.
    fn defined(&self, path: &[String], depth: usize) -> Option<&'a [String]> {
        assert!(depth < 32, "{path:?} leads nowhere");
        let n = (0..=path.len()).rev().find(|n| self.names.contains_key(&path[..*n]))?;
        let (module, names) = self.names.get_key_value(&path[..n])?;
        let Some(name) = path.get(n) else { return Some(*module) };
        match names.get(name) {
            Some(Meaning::Alias { path: to, .. }) => {
                self.defined(&[to, &path[n + 1..]].concat(), depth + 1)
            }
            Some(Meaning::Item) => Some(*module),
            // The name comes from a macro or from another crate's glob.
            None => None,
        }
    }
}

/// Returns all circles of files that need each other, each as its files.
pub fn circles<'a>(
    edges: &BTreeMap<&'a [String], BTreeSet<&'a [String]>>,
) -> Vec<Vec<&'a [String]>> {
    let reach = |from: &'a [String]| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
        while let Some(at) = open.pop() {
            open.extend(edges[at].iter().copied().filter(|to| seen.insert(*to)));
        }
        seen
    };
    let reached: BTreeMap<_, _> = edges.keys().map(|file| (*file, reach(file))).collect();
    let in_circle = |file: &&[String]| reached[*file].contains(*file);
    let mut circles = BTreeSet::new();
    for file in edges.keys().filter(|f| in_circle(f)) {
        let with = |other: &&&[String]| {
            reached[*file].contains(**other) && reached[**other].contains(*file)
        };
        circles.insert(edges.keys().filter(with).copied().collect::<Vec<_>>());
    }
    circles.into_iter().collect()
}

/// Returns the path from the crate's root, if the path itself says so.
fn absolute(path: &[String], module: &[String]) -> Option<Path> {
    let ups = path.iter().take_while(|s| *s == "super").count();
    match path[0].as_str() {
        "crate" => Some(path[1..].to_vec()),
        "self" => Some([module, &path[1..]].concat()),
        "super" => Some([&module[..module.len() - ups], &path[ups..]].concat()),
        _ => None,
    }
}

fn names(source: &Source) -> HashMap<String, Meaning> {
    let mut names: HashMap<String, Meaning> =
        source.types().map(|name| (name, Meaning::Item)).collect();
    for item in &source.items {
        let name = match item {
            Item::Fn(i) => &i.sig.ident,
            Item::Const(i) => &i.ident,
            Item::Static(i) => &i.ident,
            Item::Macro(syn::ItemMacro { ident: Some(ident), .. }) => ident,
            Item::Use(i) => {
                let is_public = !matches!(i.vis, Visibility::Inherited);
                let mut leaves = Vec::new();
                flatten(&i.tree, &[], &mut leaves);
                for (name, path) in leaves {
                    let path = absolute(&path, &source.module).or_else(|| {
                        let is_child = source.items.iter().any(
                            |i| matches!(i, Item::Mod(m) if m.content.is_none() && m.ident == path[0]),
                        );
                        is_child.then(|| [&source.module[..], &path].concat())
                    });
                    if let Some(path) = path {
                        names.insert(name, Meaning::Alias { path, is_public });
                    }
                }
                continue;
            }
            _ => continue,
        };
        names.insert(name.to_string(), Meaning::Item);
    }
    names
}

/// `a::{b as c, d}` names `c` for `a::b` and `d` for `a::d`.
fn flatten(tree: &UseTree, before: &[String], leaves: &mut Vec<(String, Path)>) {
    let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
    match tree {
        UseTree::Path(t) => flatten(&t.tree, &with(&t.ident), leaves),
        UseTree::Name(t) if t.ident == "self" => {
            leaves.push((before.last().expect("of a module").clone(), before.to_vec()));
        }
        UseTree::Name(t) => leaves.push((t.ident.to_string(), with(&t.ident))),
        UseTree::Rename(t) => leaves.push((t.rename.to_string(), with(&t.ident))),
        UseTree::Group(t) => t.items.iter().for_each(|t| flatten(t, before, leaves)),
        UseTree::Glob(_) => {}
    }
}
