//! Tests that the C header and the C# declarations match the sources. `PALPATE_GENERATED=write` writes them.

use std::{fs, path::PathBuf};

const SOURCES: [&str; 5] = ["code", "plain", "server", "scene", "session"];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
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
fn the_header_is_that_of_the_sources() {
    let config = cbindgen::Config {
        language: cbindgen::Language::C,
        include_guard: Some("PALPATE_H".to_owned()),
        cpp_compat: true,
        documentation_style: cbindgen::DocumentationStyle::C99,
        header: Some(
            "// Palpate for C. Made from clients/c/src by cbindgen; see its test.\n//\n\
             // Units are SI, frames right-handed, quaternions x, y, z, w. Each call gives a code; what was wrong is told\n\
             // by palpate_last_error. Handles may be used from any thread, and are closed once."
                .to_owned(),
        ),
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
    compare("../unity/Runtime/Native.cs", &text);
}
