//! Generates the gRPC code from `proto/` if a feature needs it, without an installed `protoc`, and includes the page of
//! the live view if it is built.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto");
    #[cfg(feature = "contract")]
    generate()?;
    #[cfg(feature = "server")]
    generate_agones()?;
    #[cfg(feature = "server")]
    include_page()?;
    Ok(())
}

#[cfg(feature = "contract")]
fn generate() -> Result<(), Box<dyn Error>> {
    use std::{env, fs, path::PathBuf};

    use prost::Message;

    let contract = ["geometry", "rendering", "scene", "haptic", "watch"];
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let descriptors =
        protox::compile(contract.map(|f| format!("palpate/v1/{f}.proto")), ["proto"])?;
    fs::write(out.join("palpate_descriptors.bin"), descriptors.encode_to_vec())?;
    // Descriptors in recordings: the contract, further messages that replay needs, and the schemas of the pictures.
    let recorded = ["palpate/v1/recording", "palpate/v1/watch", "foxglove/scene"];
    let descriptors = protox::compile(recorded.map(|f| format!("{f}.proto")), ["proto"])?;
    fs::write(out.join("recording_descriptors.bin"), descriptors.encode_to_vec())?;
    tonic_prost_build::configure()
        .build_client(cfg!(feature = "client"))
        .build_server(cfg!(feature = "server"))
        .compile_fds(descriptors)?;
    Ok(())
}

/// Generates the protocol of Agones' sidecar. Tests need it without the feature too, and its server side.
#[cfg(feature = "server")]
fn generate_agones() -> Result<(), Box<dyn Error>> {
    let descriptors = protox::compile(["sdk.proto", "beta.proto"], ["proto/agones"])?;
    tonic_prost_build::configure().compile_fds(descriptors)?;
    Ok(())
}

/// Lists the files of `clients/web/dist` for the program, and sets `has_page` if that folder is there.
#[cfg(feature = "server")]
fn include_page() -> Result<(), Box<dyn Error>> {
    use std::{env, fmt::Write, fs, path::Path};

    let root = env::var("CARGO_MANIFEST_DIR")?;
    let sources = Path::new(&root).join("clients/web");
    let page = sources.join("dist");
    let mut table = "&[".to_owned();
    if page.join("index.html").is_file() {
        println!("cargo:rerun-if-changed={}", page.display());
        println!("cargo:rustc-cfg=has_page");
        for entry in fs::read_dir(page)? {
            let (entry, path) = entry.map(|entry| (entry.file_name(), entry.path()))?;
            write!(table, "({:?}, include_bytes!({path:?})),", entry.to_string_lossy())?;
        }
    } else if sources.is_dir() {
        // Cargo runs a build script anew at each build if it watches a missing folder.
        println!("cargo:rerun-if-changed={}", sources.display());
    }
    table.push(']');
    Ok(fs::write(Path::new(&env::var("OUT_DIR")?).join("page.rs"), table)?)
}
