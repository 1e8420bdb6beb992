//! Chooses how the web view draws, before GTK starts.
//!
//! Without a GPU, WebKit's DMA-BUF path and WebGL run on software OpenGL: first paint takes twice as long and a terminal draws a few
//! frames a second. Shared memory and xterm's DOM renderer are then several times quicker. NVIDIA's own driver is known to leave the
//! window blank on the DMA-BUF path, so it gets the same treatment.

use std::path::Path;

/// WebKit's switch for its DMA-BUF renderer. A value that the user set is left alone.
const DMABUF_SWITCH: &str = "WEBKIT_DISABLE_DMABUF_RENDERER";
/// The user's own choice: "webgl" or "dom".
const CHOICE: &str = "CARILLON_RENDERER";
/// Tells the engine that the switch is ours, so that children do not inherit it.
const SWITCH_IS_OURS: &str = "CARILLON_SET_WEBKIT";

/// How xterm.js draws; handed to the page in its address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Renderer {
    /// One canvas, drawn by the GPU.
    Webgl,
    /// Rows of text in the document.
    Dom,
}

impl Renderer {
    /// The word that the page knows it by.
    pub fn word(self) -> &'static str {
        match self {
            Renderer::Webgl => "webgl",
            Renderer::Dom => "dom",
        }
    }
}

/// Chooses the renderer and sets WebKit's switch in our own environment where that is needed.
///
/// # Safety
/// Call it before any other thread exists: it may change the environment.
pub unsafe fn prepare() -> Renderer {
    let chosen = std::env::var(CHOICE).ok();
    let renderer = choose(chosen.as_deref(), Path::new("/dev/dri"), Path::new("/proc/driver/nvidia/version"));
    if renderer == Renderer::Dom && std::env::var_os(DMABUF_SWITCH).is_none() {
        // SAFETY: the caller promises that there is no other thread.
        unsafe {
            std::env::set_var(DMABUF_SWITCH, "1");
            std::env::set_var(SWITCH_IS_OURS, "1");
        }
    }
    renderer
}

fn choose(chosen: Option<&str>, dri: &Path, nvidia: &Path) -> Renderer {
    match chosen {
        Some("webgl") => return Renderer::Webgl,
        Some("dom") => return Renderer::Dom,
        Some(_) | None => {}
    }
    let has_gpu = std::fs::read_dir(dri).is_ok_and(|entries| {
        entries.flatten().any(|entry| entry.file_name().to_string_lossy().starts_with("renderD"))
    });
    if has_gpu && !nvidia.exists() { Renderer::Webgl } else { Renderer::Dom }
}

/// The names that programs which we start for the user (a browser, say) must not inherit when they are ours.
pub fn own_variables() -> &'static [&'static str] {
    if std::env::var_os(SWITCH_IS_OURS).is_some() { &[DMABUF_SWITCH, SWITCH_IS_OURS] } else { &[] }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn webgl_needs_a_render_node_and_not_nvidias_own_driver() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let nvidia = folder.path().join("version");
        assert_eq!(choose(None, &folder.path().join("absent"), &nvidia), Renderer::Dom, "no /dev/dri at all");
        std::fs::write(folder.path().join("card0"), "").expect("card0");
        assert_eq!(choose(None, folder.path(), &nvidia), Renderer::Dom, "a display without a render node");
        std::fs::write(folder.path().join("renderD128"), "").expect("renderD128");
        assert_eq!(choose(None, folder.path(), &nvidia), Renderer::Webgl);
        assert_eq!(choose(Some("dom"), folder.path(), &nvidia), Renderer::Dom, "the user's own choice");
        std::fs::write(&nvidia, "").expect("the driver's version");
        assert_eq!(choose(None, folder.path(), &nvidia), Renderer::Dom);
    }
}
