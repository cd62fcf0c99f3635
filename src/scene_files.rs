//! Layer 4: `palpate scenes`. The command lists the scenes of a running server; reads the scenes of a data folder or of
//! an object store, also while servers have them; exports a scene to one file and imports it elsewhere; changes scenes
//! that no server has; and lets running servers hand a scene over.

mod claimed;
mod served;

use std::{
    fmt::Write,
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::{Args, Subcommand};
use tokio::runtime;

use claimed::SharedScenes;
use served::{ServedScene, table};

#[cfg(feature = "objects")]
use crate::store::place::object_address::ObjectAddress;

use crate::client::{
    Client, ClientError, ServerAddress,
    credentials::{Credentials, CredentialsError},
};
use crate::store::{
    default_data_dir,
    place::folder_place::FolderPlace,
    scenes::{
        file_head::FileError,
        folder::{FoundScene, SceneFolder, Unreadable},
        scene_store::{SceneStore, StoreError},
        snapshot::{FoundSnapshot, SceneSnapshot},
    },
};

/// The arguments of `palpate scenes`.
#[derive(Args)]
#[command(
    arg_required_else_help = true,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
pub struct ScenesArgs {
    #[command(subcommand)]
    what: Option<ScenesCommand>,
    #[command(flatten)]
    served: ServedArgs,
}

/// Running server whose scenes are listed.
#[derive(Args)]
struct ServedArgs {
    /// List the scenes of this running server: host:port, https://host:port or unix:/path.
    #[arg(long, value_name = "ADDR", required = true)]
    server: Option<String>,
    /// Print the list as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    credentials: Credentials,
}

/// Location of the scenes.
#[derive(Args)]
struct StoreArgs {
    /// Folder of the server [default: the server's own].
    #[arg(long, env = "PALPATE_DATA_DIR")]
    data_dir: Option<PathBuf>,
    /// Object store of the servers, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or az://CONTAINER/PREFIX, instead of a
    /// folder; the variables AWS_*, GOOGLE_* or AZURE_* configure the access.
    #[arg(long, env = "PALPATE_STORE_URL", value_name = "URL")]
    store_url: Option<String>,
    /// Use plain HTTP also to an object store on another machine.
    #[arg(long, env = "PALPATE_STORE_ALLOW_HTTP")]
    allow_http: bool,
}

#[derive(Subcommand)]
enum ScenesCommand {
    /// List the scenes of a data folder or an object store with their contents.
    List(StoreArgs),
    /// Read all files of all scenes; fails if any is damaged.
    Verify(StoreArgs),
    /// Rewrite each scene as it is, without the journals that led there. Damaged scenes are left as they are. A
    /// folder's scenes are not changed while a server has the folder.
    Compact(StoreArgs),
    /// Write a scene into one file.
    Export {
        /// Id of the scene.
        id: String,
        /// File to write; must not exist yet.
        file: PathBuf,
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Add a scene from an exported file. A folder must not be a server's at the time.
    Import {
        /// File to read.
        file: PathBuf,
        /// Id to use instead of the exported one.
        #[arg(long)]
        id: Option<String>,
        #[command(flatten)]
        store: StoreArgs,
    },
    /// Ask the running servers of a shared folder to hand a scene over to another of them.
    Move(MoveArgs),
}

/// Scene to move, its new server, and the server to ask.
#[derive(Args)]
struct MoveArgs {
    /// Id of the scene.
    id: String,
    /// Server that is to have the scene, by the address that it advertises (cluster.address).
    #[arg(long, value_name = "ADDR")]
    to: String,
    /// Take the scene from an owner that hangs, with an admin's key. Only the server that is to have it is asked.
    #[arg(long)]
    take_over: bool,
    /// Any server of the folder: host:port, https://host:port or unix:/path.
    #[arg(long, default_value = "127.0.0.1:7447", value_name = "ADDR")]
    server: String,
    #[command(flatten)]
    credentials: Credentials,
}

/// The command failed.
#[derive(Debug, thiserror::Error)]
pub enum SceneFilesError {
    /// No folder was given, and there is no default.
    #[error("there is no data folder, expected --data-dir")]
    NoFolder,
    /// The folder does not exist. A misspelt name would otherwise look like a folder without scenes.
    #[error("there is no folder {}, expected the data folder of a server", path.display())]
    FolderMissing {
        /// Folder as given.
        path: PathBuf,
    },
    /// This program was built without object stores.
    #[cfg(not(feature = "objects"))]
    #[error(
        "--store-url is {url:?}, expected a program that was built with `--features s3`, `gcs` or `azure`"
    )]
    NotBuilt {
        /// Object store as given.
        url: String,
    },
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The store cannot be read.
    #[error("the scenes cannot be listed: {0}")]
    List(#[source] io::Error),
    /// There is no scene with this id to export.
    #[error("there is no scene {id:?} in {place}, expected one that `palpate scenes list` names")]
    NoScene {
        /// Id as given.
        id: String,
        /// The folder or object store.
        place: String,
    },
    /// The scene cannot be read.
    #[error("scene {id:?}: {source}")]
    Scene {
        /// Id of the scene.
        id: String,
        /// Reason.
        source: Unreadable,
    },
    /// Some scenes are damaged.
    #[error("damaged:\n{0}")]
    Damaged(String),
    /// A file of a scene cannot be read.
    #[error("{} {source}", path.display())]
    File {
        /// Path of the file.
        path: PathBuf,
        /// Reason.
        source: FileError,
    },
    /// A scene cannot be written.
    #[error("{} cannot be written: {source}", path.display())]
    Write {
        /// Path that cannot be written.
        path: PathBuf,
        /// Reason.
        source: io::Error,
    },
    /// A server cannot be reached, or refused.
    #[error(transparent)]
    Call(#[from] ClientError),
    /// A key or certificate cannot be used.
    #[error(transparent)]
    Credentials(#[from] CredentialsError),
    /// No runtime for the connection could be started.
    #[error("cannot connect: {0}")]
    Start(#[source] io::Error),
    /// No scene can have this id.
    #[error("no scene can be called {0:?}, expected at most 64 of a-z, 0-9 and '-'")]
    Id(String),
}

/// Time limit of a request to the object store; no haptic loop waits for it.
#[cfg(feature = "objects")]
const REQUEST_MAX: Duration = Duration::from_secs(10);
/// Most calls to a new owner that has to renew its lease, and the pause between two of them: half a minute in all.
const LOADS_MAX: usize = 300;
const LOAD_PAUSE: Duration = Duration::from_millis(100);

/// Runs the command, and returns what was done, in words.
///
/// # Errors
/// Returns an error if the command cannot be done, or if it would change the scenes of a folder that a server has open.
pub fn run(args: &ScenesArgs) -> Result<String, SceneFilesError> {
    use ScenesCommand::{Compact, Export, Import, List, Move, Verify};
    match &args.what {
        None => served(&args.served),
        Some(List(store)) => list(&store.to_read()?),
        Some(Verify(store)) => verify(&store.to_read()?),
        Some(Compact(store)) => compact(&store.to_compact()?),
        Some(Export { id, file, store }) => export(&store.to_read()?, id, file),
        Some(Import { file, id, store }) => import(&store.to_add()?, file, id.as_deref()),
        Some(Move(args)) => move_scene(args),
    }
}

/// Note that follows every reading command. A server that goes on with the scenes can be detected only by taking its
/// lock, which might block a server that starts.
const MOMENT: &str = "read as of now; a server that has the scenes goes on with them";

impl StoreArgs {
    /// Opens the store without a lock; a folder must exist.
    fn to_read(&self) -> Result<SceneStore, SceneFilesError> {
        if let Some(objects) = self.objects()? {
            return Ok(objects);
        }
        let path = self.folder()?;
        if !path.is_dir() {
            return Err(SceneFilesError::FolderMissing { path });
        }
        Ok(SceneStore::to_read(&path))
    }

    /// Opens the store with a lock if it has scenes: in a folder without scenes nothing is created.
    fn to_compact(&self) -> Result<SceneStore, SceneFilesError> {
        let looked_at = self.to_read()?;
        if ids(&looked_at)?.is_empty() { Ok(looked_at) } else { self.to_add() }
    }

    /// Opens the store with a lock; a missing folder is created.
    fn to_add(&self) -> Result<SceneStore, SceneFilesError> {
        match self.objects()? {
            Some(objects) => Ok(objects),
            None => Ok(SceneStore::open(&self.folder()?)?),
        }
    }

    fn folder(&self) -> Result<PathBuf, SceneFilesError> {
        self.data_dir.clone().or_else(default_data_dir).ok_or(SceneFilesError::NoFolder)
    }

    /// Returns the object store, if one is named.
    fn objects(&self) -> Result<Option<SceneStore>, SceneFilesError> {
        // An empty URL is none, as in a server's settings.
        let Some(url) = self.store_url.clone().filter(|url| !url.is_empty()) else {
            return Ok(None);
        };
        #[cfg(not(feature = "objects"))]
        return Err(SceneFilesError::NotBuilt { url });
        #[cfg(feature = "objects")]
        {
            let (allow_http, request_max, of_thread) = (self.allow_http, REQUEST_MAX, || {});
            let address = ObjectAddress { url, allow_http, request_max, of_thread };
            Ok(Some(SceneStore::of_objects(&address)?))
        }
    }
}

/// Returns the ids of the existing scenes.
fn ids(store: &SceneStore) -> Result<Vec<String>, SceneFilesError> {
    let mut there = Vec::new();
    for id in store.ids().map_err(SceneFilesError::List)? {
        if !store.is_deleted(&id).map_err(SceneFilesError::List)? {
            there.push(id);
        }
    }
    Ok(there)
}

fn connected<T>(run: impl Future<Output = Result<T, ClientError>>) -> Result<T, SceneFilesError> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build();
    Ok(runtime.map_err(SceneFilesError::Start)?.block_on(run)?)
}

fn served(args: &ServedArgs) -> Result<String, SceneFilesError> {
    let address = args.server.as_deref().unwrap_or_default();
    let server = args.credentials.shown_to(ServerAddress::new(address))?;
    let scenes = connected(async { Client::connect(&server).await?.scenes().await })?;
    let scenes: Vec<_> = scenes.into_iter().map(ServedScene::new).collect();
    Ok(match &scenes[..] {
        _ if args.json => serde_json::to_string_pretty(&scenes).expect("numbers and text") + "\n",
        [] => format!("no scenes at {address}\n"),
        scenes => table(scenes),
    })
}

fn move_scene(args: &MoveArgs) -> Result<String, SceneFilesError> {
    let server = args.credentials.shown_to(ServerAddress::new(&args.server))?;
    let moved = connected(async {
        if args.take_over {
            let mut client = Client::connect(&server.at(&args.to)).await?;
            return client.take_over_scene(&args.id, &args.to).await;
        }
        let mut client = Client::connect(&server).await?;
        let moved = client.move_scene(&args.id, &args.to).await?;
        load(&mut client, &args.id).await?;
        Ok(moved)
    })?;
    Ok(format!("{}: served at {} since epoch {}\n", args.id, moved.address, moved.epoch))
}

/// Lets the new owner load the scene now, and not when its clients come. An owner that has to renew its lease first says
/// so, and is asked again.
async fn load(client: &mut Client, id: &str) -> Result<(), ClientError> {
    for _ in 1..LOADS_MAX {
        match client.scene(id).await {
            Err(ClientError::Gone { is_told: true, .. }) => tokio::time::sleep(LOAD_PAUSE).await,
            loaded => return loaded.map(drop),
        }
    }
    client.scene(id).await.map(drop)
}

fn list(store: &SceneStore) -> Result<String, SceneFilesError> {
    let mut said = String::new();
    for id in ids(store)? {
        match looked_at(store, &id, SceneFolder::read_live) {
            None => {}
            Some(Ok(found)) => line(&mut said, &described(&found)),
            Some(Err(error)) => line(&mut said, &format!("{id}: unreadable: {error}")),
        }
    }
    Ok(or_none(said, store) + MOMENT + "\n")
}

/// Returns the text about the scenes, or a line that there are none.
fn or_none(said: String, store: &SceneStore) -> String {
    if said.is_empty() { format!("no scenes in {}\n", store.shown("")) } else { said }
}

/// Reads a scene's files; returns `None` if the scene was deleted since it was listed.
fn looked_at<T>(
    store: &SceneStore,
    id: &str,
    look: fn(&SceneFolder) -> Result<T, Unreadable>,
) -> Option<Result<T, Unreadable>> {
    let folder = store.folder(id);
    let found = look(&folder);
    // If the folder does not answer, the reading reports why.
    let is_gone =
        || matches!(folder.is_there(), Ok(false)) || matches!(store.is_deleted(id), Ok(true));
    (found.is_ok() || !is_gone()).then_some(found)
}

fn described(found: &FoundScene) -> String {
    let scene = &found.kept.scene;
    let owner = found.kept.owner.as_deref().unwrap_or("nobody");
    let tools = match scene.tools.len() {
        1 => "1 tool".to_owned(),
        n => format!("{n} tools"),
    };
    let mut said = format!("{}, of {owner}: {tools}", scene.id);
    for tissue in &scene.tissues {
        let (name, triangles) = (&tissue.name, tissue.mesh.triangles.len());
        let (moved, cut) = (tissue.geometry_revision, tissue.topology_revision);
        let text = format!(
            ", tissue {name} of {triangles} triangle ids, deformed {moved} times, cut {cut} times"
        );
        said.push_str(&text);
    }
    said
}

fn verify(store: &SceneStore) -> Result<String, SceneFilesError> {
    let (mut good, mut bad) = (String::new(), String::new());
    for id in ids(store)? {
        match looked_at(store, &id, SceneFolder::damage_live) {
            None => {}
            Some(Ok(damage)) if damage.is_empty() => line(&mut good, &format!("{id}: whole")),
            Some(Ok(damage)) => damage.iter().for_each(|d| line(&mut bad, &format!("{id}: {d}"))),
            Some(Err(error)) => line(&mut bad, &format!("{id}: unreadable: {error}")),
        }
    }
    if bad.is_empty() {
        Ok(or_none(good, store) + MOMENT + "\n")
    } else {
        Err(SceneFilesError::Damaged(bad))
    }
}

fn export(store: &SceneStore, id: &str, file: &Path) -> Result<String, SceneFilesError> {
    let found = read(store, id)?;
    let failed = |source| SceneFilesError::Write { path: file.to_owned(), source };
    if file.exists() {
        return Err(failed(io::ErrorKind::AlreadyExists.into()));
    }
    let (place, name) = beside(file);
    let bytes = found.kept.write(&place, &name, (0, 0)).map_err(failed)?;
    let mut said = format!("{id}: {bytes} bytes written to {}\n", file.display());
    found.damage.iter().for_each(|damage| line(&mut said, &format!("{id}: {damage}")));
    line(&mut said, MOMENT);
    Ok(said)
}

fn compact(store: &SceneStore) -> Result<String, SceneFilesError> {
    let (mut done, mut bad) = (String::new(), String::new());
    for id in ids(store)? {
        let folder = store.folder(&id);
        match folder.read() {
            Ok(found) if found.damage.is_empty() => {
                let failed = |source| not_written(store, &id, source);
                let before = folder.bytes().map_err(failed)?;
                // The scene is written twice: two snapshots are kept, and the older one has the journals since.
                let anew = |epoch, check_newest: &dyn Fn() -> io::Result<()>| {
                    let mut found = folder.read_live().map_err(io::Error::other)?;
                    for _ in 0..2 {
                        check_newest()?;
                        folder.take_over(&found, epoch)?;
                        found = folder.read().map_err(io::Error::other)?;
                    }
                    Ok(())
                };
                let done_anew = match SharedScenes::of(store).map_err(failed)? {
                    None => folder.newest_epoch().and_then(|own| anew(own, &|| Ok(()))).map(Some),
                    Some(shared) => shared.change(&id, anew),
                };
                if done_anew.map_err(failed)?.is_none() {
                    line(&mut done, &format!("{id}: left to the server that has it"));
                    continue;
                }
                let after = folder.bytes().map_err(failed)?;
                line(&mut done, &format!("{id}: {before} bytes before, {after} now"));
            }
            Ok(found) => found.damage.iter().for_each(|d| line(&mut bad, &format!("{id}: {d}"))),
            Err(error) => line(&mut bad, &format!("{id}: unreadable: {error}")),
        }
    }
    if bad.is_empty() {
        Ok(or_none(done, store))
    } else {
        Err(SceneFilesError::Damaged(done + &bad))
    }
}

/// Returns the folder of a file, and its name there.
fn beside(file: &Path) -> (FolderPlace, String) {
    // The parent of a bare name is the empty path, which no system opens.
    let folder = file.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned());
    (FolderPlace::new(folder.to_owned(), ""), name.unwrap_or_default())
}

fn not_written(store: &SceneStore, id: &str, source: io::Error) -> SceneFilesError {
    SceneFilesError::Write { path: store.shown(id).into(), source }
}

fn import(store: &SceneStore, file: &Path, id: Option<&str>) -> Result<String, SceneFilesError> {
    let (place, name) = beside(file);
    let read = SceneSnapshot::read(&place, &name);
    let FoundSnapshot { mut kept, .. } =
        read.map_err(|source| SceneFilesError::File { path: file.to_owned(), source })?;
    if let Some(id) = id {
        kept.scene.id = id.to_owned();
        kept.scene.check().map_err(|_| SceneFilesError::Id(id.to_owned()))?;
    }
    let id = &kept.scene.id;
    let failed = |source| not_written(store, id, source);
    if let Some(shared) = SharedScenes::of(store).map_err(failed)? {
        shared.add(&kept).map_err(failed)?;
        return Ok(format!("{id}: added\n"));
    }
    // A folder is not renamed over another: an existing one is refused.
    if store.folder(id).is_there().map_err(failed)? {
        return Err(failed(io::ErrorKind::AlreadyExists.into()));
    }
    store.folder(id).create(&kept, 0).map_err(failed)?;
    Ok(format!("{id}: added\n"))
}

fn read(store: &SceneStore, id: &str) -> Result<FoundScene, SceneFilesError> {
    let id = id.to_owned();
    if !ids(store)?.contains(&id) {
        return Err(SceneFilesError::NoScene { id, place: store.shown("") });
    }
    store.folder(&id).read_live().map_err(|source| SceneFilesError::Scene { id, source })
}

fn line(text: &mut String, more: &str) {
    writeln!(text, "{more}").expect("a String takes all");
}
