//! Generates the gRPC code from `proto/`, where it is needed; no `protoc` needs to be installed.

use std::error::Error;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto");
    #[cfg(feature = "contract")]
    generate()?;
    Ok(())
}

#[cfg(feature = "contract")]
fn generate() -> Result<(), Box<dyn Error>> {
    use std::{env, fs, path::PathBuf};

    use prost::Message;

    let files = ["geometry", "rendering", "scene", "haptic", "watch"]
        .map(|f| format!("palpate/v1/{f}.proto"));
    let descriptors = protox::compile(files, ["proto"])?;
    let out = PathBuf::from(env::var("OUT_DIR")?).join("palpate_descriptors.bin");
    fs::write(out, descriptors.encode_to_vec())?;
    tonic_prost_build::configure()
        .build_client(cfg!(feature = "client"))
        .build_server(cfg!(feature = "server"))
        .compile_fds(descriptors)?;
    Ok(())
}
