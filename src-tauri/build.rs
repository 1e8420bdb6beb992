//! Lists the commands that the window may call (each is then allowed by name in `capabilities/`) and has the binary rebuilt when the
//! interface was: its files are embedded.

fn main() {
    println!("cargo:rerun-if-changed=../ui/dist");
    let commands = tauri_build::AppManifest::new().commands(&["rpc", "terminal_pull", "painted"]);
    if let Err(error) = tauri_build::try_build(tauri_build::Attributes::new().app_manifest(commands)) {
        panic!("the desktop shell's configuration is wrong: {error:#}");
    }
}
