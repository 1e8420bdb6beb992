//! Everything of the user's, as one text: when two of them are the same, nothing of it was touched.

use std::fmt::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use crate::support::World;

/// Every file below `top` with its kind, mode, inode and content, sorted; without what `skip` names.
pub fn tree(top: &Path, skip: &dyn Fn(&Path) -> bool) -> String {
    let mut out = String::new();
    let mut open = vec![top.to_path_buf()];
    let mut lines = Vec::new();
    while let Some(path) = open.pop() {
        if skip(&path) {
            continue;
        }
        let Ok(meta) = std::fs::symlink_metadata(&path) else { continue };
        let mode = meta.permissions().mode();
        let content = if meta.is_symlink() {
            format!("{:?}", std::fs::read_link(&path).expect("a link"))
        } else if meta.is_file() {
            format!("{:?}", std::fs::read(&path).expect("a file"))
        } else {
            open.extend(std::fs::read_dir(&path).expect("a directory").flatten().map(|entry| entry.path()));
            String::new()
        };
        lines.push(format!("{} {mode:o} {} {content}", path.display(), meta.ino()));
    }
    lines.sort();
    lines.iter().for_each(|line| writeln!(out, "{line}").expect("a string takes it"));
    out
}

/// The files of the user's repository, its references apart from ours, and whatever else is at `others`.
pub fn all(world: &World, others: &[&Path]) -> String {
    let mut out = tree(&world.repo(), &|path| path.ends_with(".git"));
    let references = world.git(&["for-each-ref", "--format=%(refname) %(objectname)"]);
    let theirs = |line: &&str| !line.contains("refs/carillon/") && !line.contains("refs/heads/carillon/");
    references.lines().filter(theirs).for_each(|line| writeln!(out, "{line}").expect("a string takes it"));
    out.push_str(&world.git(&["symbolic-ref", "HEAD"]));
    out.push_str(&world.git(&["ls-files", "--stage"]));
    others.iter().for_each(|other| out.push_str(&tree(other, &|_| false)));
    out
}
