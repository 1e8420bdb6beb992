//! Embeds the page. The commands are allowed as they are: there is nothing to protect here.

fn main() {
    println!("cargo:rerun-if-changed=../../../target/bench/sample-ui");
    tauri_build::build();
}
