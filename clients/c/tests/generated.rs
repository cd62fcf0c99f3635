//! Tests that the C header and the C# declarations match the sources. `PALPATE_GENERATED=write` writes them.

use std::{fs, path::PathBuf};

/// In the order of the header.
const SOURCES: [&str; 14] = [
    "code",
    "plain",
    "report",
    "server",
    "scene",
    "query",
    "self_collision",
    "feel",
    "driven",
    "rows",
    "tube",
    "session",
    "many",
    "version",
];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The version as Cargo has it, and its parts.
const VERSION: &str = env!("CARGO_PKG_VERSION");
const PARTS: [(&str, &str); 3] = [
    ("MAJOR", env!("CARGO_PKG_VERSION_MAJOR")),
    ("MINOR", env!("CARGO_PKG_VERSION_MINOR")),
    ("PATCH", env!("CARGO_PKG_VERSION_PATCH")),
];

/// Macros of the header's version.
fn version_macros() -> String {
    let parts = PARTS.map(|(part, number)| format!("#define PALPATE_VERSION_{part} {number}\n"));
    format!(
        "\n// Version of this header. `palpate_version` returns that of the library.\n{}\
         #define PALPATE_VERSION_STRING \"{VERSION}\"\n\n\
         // First argument of `palpate_open_local` and `palpate_connect`: the library refuses a header that does not fit.\n\
         #define PALPATE_HEADER_VERSION \\\n    \
         (1000000u * PALPATE_VERSION_MAJOR + 1000u * PALPATE_VERSION_MINOR + PALPATE_VERSION_PATCH)",
        parts.concat(),
    )
}

fn compare(file: &str, made: &str) {
    let path = root().join(file);
    if std::env::var("PALPATE_GENERATED").as_deref() == Ok("write") {
        fs::write(&path, made).expect("it can be written");
    }
    let kept = fs::read_to_string(&path).unwrap_or_default();
    let hint = "PALPATE_GENERATED=write cargo test -p palpate-c --test generated";
    assert!(kept == made, "{file} is not what the sources make: {hint}");
}

#[test]
fn no_source_of_functions_is_forgotten() {
    for entry in fs::read_dir(root().join("src")).expect("it is there") {
        let path = entry.expect("it can be read").path();
        if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).expect("it can be read");
            let name = path.file_stem().and_then(|name| name.to_str()).expect("UTF-8");
            assert!(
                SOURCES.contains(&name) || !text.contains("no_mangle"),
                "{name}.rs has functions that the header leaves out"
            );
        }
    }
}

#[test]
fn the_header_is_that_of_the_sources() {
    let config = cbindgen::Config {
        language: cbindgen::Language::C,
        include_guard: Some("PALPATE_H".to_owned()),
        cpp_compat: true,
        documentation_style: cbindgen::DocumentationStyle::C99,
        header: Some(
            "// Palpate for C. Made from clients/c/src by cbindgen; see its test.\n//\n\
             // Units are SI, frames right-handed, quaternions x, y, z, w. A call returns a code; palpate_last_error returns\n\
             // the message of an error. Handles may be used from any thread, and are closed once.\n//\n\
             // Structs that begin with `size` may get further fields in later versions, at their end: set `size` to\n\
             // sizeof of the struct, and unused fields to 0 for their defaults. All other structs stay as they are."
                .to_owned(),
        ),
        after_includes: Some(version_macros()),
        style: cbindgen::Style::Both,
        usize_is_size_t: true,
        ..cbindgen::Config::default()
    };
    let sources = SOURCES.map(|name| root().join("src").join(name).with_extension("rs"));
    let mut builder = cbindgen::Builder::new().with_config(config);
    for source in sources {
        builder = builder.with_src(source);
    }
    let mut made = Vec::new();
    builder.generate().expect("it parses").write(&mut made);
    compare("include/palpate.h", &String::from_utf8(made).expect("UTF-8"));
}

#[test]
fn the_declarations_of_c_sharp_are_those_of_the_sources() {
    let made = std::env::temp_dir().join(format!("palpate-{}.cs", std::process::id()));
    let mut builder = csbindgen::Builder::default();
    for name in SOURCES {
        builder = builder.input_extern_file(root().join("src").join(name).with_extension("rs"));
    }
    builder
        .csharp_dll_name("palpate_c")
        .csharp_namespace("Palpate")
        .csharp_class_name("Native")
        .csharp_class_accessibility("internal")
        .csharp_use_function_pointer(false)
        // Unity's older compilers, and mono's, have no `nuint`.
        .csharp_use_nint_types(false)
        .csharp_generate_const_filter(|name| name.starts_with("PALPATE_"))
        .generate_csharp_file(&made)
        .expect("it parses");
    let text = fs::read_to_string(&made).expect("it was written");
    fs::remove_file(&made).expect("its own");
    let name = "        const string __DllName = \"palpate_c\";\n";
    let version = format!(
        "\n        /// <summary>\n        ///  Version of these declarations: see `palpate_open_local`.\n        \
         /// </summary>\n        internal const uint PALPATE_HEADER_VERSION = {};\n",
        palpate_c::version::VERSION
    );
    assert_eq!(text.matches(name).count(), 1, "one place for the version");
    compare("../unity/Runtime/Native.cs", &text.replace(name, &format!("{name}{version}")));
}

#[test]
fn all_packages_have_one_version() {
    let kept = |file: &str| fs::read_to_string(root().join(file)).expect("it is there");
    assert!(
        kept("../../Cargo.toml").contains(&format!("\nversion = \"{VERSION}\"\n")),
        "Cargo.toml"
    );
    let unity = format!("\n  \"version\": \"{VERSION}\",\n");
    assert!(kept("../unity/package.json").contains(&unity), "clients/unity/package.json");
}
