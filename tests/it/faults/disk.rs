//! A data folder without free space.

use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

use crate::{
    seed::against,
    support::{
        folder::Folder,
        meshes::octahedron,
        messages::{SCENE, tool_head, tool_header, tool_piece},
        paced::Paced,
        process::Process,
        server::TestServer,
    },
};

/// Limits files to a kilobyte; a write that goes on fails. No privileges are needed for that.
const SHORT_FILES: [&str; 3] = ["sh", "-c", "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\""];
/// Gives the server a full file system that only it sees; the system may not allow that.
const FULL_DISK: [&str; 5] = [
    "unshare",
    "-rm",
    "sh",
    "-c",
    "mount -t tmpfs -o size=32k full \"$PALPATE_DATA_DIR\" || exit 1
    ! head -c 1M /dev/zero 2>&- >\"$PALPATE_DATA_DIR/rest\" || exit 1
    exec \"$0\" \"$@\"",
];

/// Tools added during a running loop; each has a field that would be kept.
const TOOLS: u32 = 5;

/// Returns whether the system gives this user file systems of its own.
fn may_mount(folder: &Path) -> bool {
    let mut mount = Command::new("unshare");
    mount.args(["-rm", "mount", "-t", "tmpfs", "none"]).arg(folder);
    mount.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|done| done.success())
}

/// Fields are kept to save time; without space for them everything else works as ever.
async fn nothing_is_kept_and_nothing_else_is_lost(through: &[&str], folder: &Folder, reason: &str) {
    let mut process = Process::serve_through(through, &folder.0);
    let mut server = TestServer::connect(process.address()).await;
    server.create(SCENE).await.expect("a new scene");
    server.furnish().await;
    let ticks = Paced::start(&mut server).await;
    ticks.fresh().await;
    ticks.times();
    for n in 1..=TOOLS {
        let mesh = octahedron(0.01 + 0.001 * n as f32);
        let header = tool_header(&format!("tool-{n}"), &mesh);
        let added = server.add_tool(vec![tool_head(header), tool_piece(mesh.chunk())]).await;
        assert_eq!(added.expect("the field is built all the same").tool_id, 1 + n);
    }
    // A refused tick would have panicked.
    ticks.fresh().await;
    assert!(ticks.is_alive());
    let times = ticks.times();
    println!("{reason}: a loop beside {TOOLS} tools whose fields cannot be kept: {times}");
    against("a loop beside fields that cannot be kept: p99", times.p99_us, 1_000.0, "us");
    ticks.stop().await;
    // Path of the folder as the server sees it.
    let fields = format!("/proc/{}/root{}/fields", process.id(), folder.0.display());
    let left: Vec<_> = fs::read_dir(fields).expect("the folder is there").collect();
    assert!(left.is_empty(), "{left:?}");
    drop(server);
    process.signal("TERM");
    let log = tokio::task::spawn_blocking(move || process.errors()).await.expect("no panic");
    let warned = log.lines().filter(|l| l.contains("cannot keep a field") && l.contains(reason));
    assert_eq!(warned.count() as u32, 1 + TOOLS, "{log}");
    assert_eq!(log.lines().count() as u32, 1 + TOOLS, "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_is_full_costs_kept_fields_only() {
    let folder = Folder::new("full-disk");
    if !may_mount(&folder.0) {
        println!("skipped: this system gives no file systems to a user (unshare -rm)");
        return;
    }
    nothing_is_kept_and_nothing_else_is_lost(&FULL_DISK, &folder, "No space left on device").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_cannot_be_written_to_its_end_costs_kept_fields_only() {
    let folder = Folder::new("short-files");
    nothing_is_kept_and_nothing_else_is_lost(&SHORT_FILES, &folder, "File too large").await;
}
