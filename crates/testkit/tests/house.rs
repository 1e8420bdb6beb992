//! The house keeps its rules: floors, lengths, doors. Read from the files themselves.

use std::path::{Path, PathBuf};

use toml::{Table, Value};

/// Every crate of ours with its floor. A crate imports only from strictly lower floors.
const FLOORS: &[(&str, u32)] = &[
    ("carillon-core", 0),
    ("carillon-store", 1),
    ("carillon-supervisor", 1),
    ("carillon-tidy", 1),
    ("carillon-agents", 1),
    ("carillon-screen", 1),
    ("carillon-engine", 2),
    ("carillon-api", 3),
    ("carillon-cli", 4),
    ("carillon-desktop", 4),
];
/// For tests alone: it may import anything, and nothing that is shipped may import it.
const TESTKIT: &str = "carillon-testkit";
/// Stands alone: it imports nothing of ours, and nothing of ours imports it.
const ALONE: &str = "carillon-appimage-runtime";
/// What the words and decisions must not know.
const NOT_IN_CORE: &[&str] = &["serde_json", "tokio", "rusqlite"];

const LINES_MAX: usize = 500;

/// What a crate of ours is built from. Dependencies of its tests do not count.
struct Crate {
    name: String,
    imports: Vec<String>,
}

/// Every sentence is one broken rule.
fn broken_floors(crates: &[Crate]) -> Vec<String> {
    crates.iter().flat_map(broken_floors_of).collect()
}

fn broken_floors_of(one: &Crate) -> Vec<String> {
    let name = &one.name;
    let floor_of = |name: &str| FLOORS.iter().find(|(known, _)| *known == name).map(|(_, floor)| *floor);
    let mut broken = Vec::new();
    if name == "carillon-core" {
        let known = one.imports.iter().filter(|import| NOT_IN_CORE.contains(&import.as_str()));
        broken.extend(known.map(|import| format!("{name} knows {import}")));
    }
    for import in one.imports.iter().filter(|import| import.starts_with("carillon-")) {
        if import == TESTKIT {
            broken.push(format!("{name} imports {TESTKIT}, which is for tests alone"));
        } else if name == ALONE || import == ALONE {
            broken.push(format!("{name} imports {import}, but {ALONE} stands alone"));
        } else if name != TESTKIT {
            match (floor_of(name), floor_of(import)) {
                (Some(own), Some(other)) if other < own => {}
                (Some(own), Some(other)) => {
                    broken.push(format!("{name} (floor {own}) imports {import} (floor {other})"));
                }
                (None, _) | (_, None) => {
                    broken.push(format!("{name} imports {import}: on which floors are they?"))
                }
            }
        }
    }
    if floor_of(name).is_none() && name != TESTKIT && name != ALONE {
        broken.push(format!("{name} is on no floor"));
    }
    broken
}

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the root of the repository")
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The manifest of a crate, with the dependencies of every platform and of its build script.
fn crate_of(manifest: &str) -> Crate {
    let table: Table = manifest.parse().expect("a manifest");
    let mut imports = Vec::new();
    imports_of(&table, &mut imports);
    if let Some(Value::Table(platforms)) = table.get("target") {
        platforms
            .values()
            .filter_map(Value::as_table)
            .for_each(|platform| imports_of(platform, &mut imports));
    }
    let name = table["package"]["name"].as_str().expect("a name").to_owned();
    Crate { name, imports }
}

fn imports_of(table: &Table, imports: &mut Vec<String>) {
    for kind in ["dependencies", "build-dependencies"] {
        let Some(Value::Table(dependencies)) = table.get(kind) else { continue };
        for (key, what) in dependencies {
            // A dependency may go by another name here.
            let package = what.get("package").and_then(Value::as_str);
            imports.push(package.unwrap_or(key).to_owned());
        }
    }
}

/// All files below some folders of the repository, without what was generated or fetched.
fn files_in(folders: &[&str], ends: &[&str]) -> Vec<PathBuf> {
    const SKIPPED: &[&str] = &["target", "node_modules", "dist", "generated", "gen"];
    let mut open: Vec<PathBuf> = folders.iter().map(|folder| root().join(folder)).collect();
    let mut files = Vec::new();
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                if !SKIPPED.contains(&name.as_str()) && !name.starts_with('.') {
                    open.push(path);
                }
            } else if ends.iter().any(|end| name.ends_with(end)) {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

/// The sources of ours.
fn sources() -> Vec<PathBuf> {
    files_in(&["crates", "src-tauri", "tests", "scripts", "ui"], &[".rs", ".ts", ".tsx", ".mjs"])
}

/// The lines of code with one of the words in them, as `file:line: text`.
fn lines_with(path: &Path, text: &str, words: &[String]) -> Vec<String> {
    let code = |line: &&str| !line.trim_start().starts_with("//");
    let shown = path.strip_prefix(root()).unwrap_or(path).display();
    (1..)
        .zip(text.lines())
        .filter(|(_, line)| code(line) && words.iter().any(|word| line.contains(word.as_str())))
        .map(|(number, line)| format!("{shown}:{number}: {}", line.trim()))
        .collect()
}

/// Words that would be found in this very file if they stood here as they are.
fn unfinished() -> Vec<String> {
    [("to", "do!("), ("unimple", "mented!("), ("#[ig", "nore"), ("test.on", "ly("), ("it.on", "ly(")]
        .map(|(a, b)| format!("{a}{b}"))
        .to_vec()
}

#[test]
fn a_crate_imports_only_from_lower_floors() {
    let manifests = files_in(&["crates", "src-tauri"], &["Cargo.toml"]);
    let crates: Vec<Crate> = manifests.iter().map(|path| crate_of(&read(path))).collect();
    for (name, _) in FLOORS {
        assert!(crates.iter().any(|one| one.name == *name), "{name} is not there any more");
    }
    assert_eq!(broken_floors(&crates), [""; 0]);
}

#[test]
fn the_check_of_the_floors_finds_what_is_wrong() {
    let manifest = |name: &str, rest: &str| crate_of(&format!("[package]\nname = \"{name}\"\n{rest}"));
    let on = |imports: &[&str]| {
        let lines = imports.iter().map(|import| format!("{import}.workspace = true\n"));
        format!("[dependencies]\n{}", lines.collect::<String>())
    };
    let sound = [
        manifest("carillon-engine", &on(&["carillon-core", "carillon-store", "tokio"])),
        manifest("carillon-testkit", &on(&["carillon-supervisor", "carillon-engine"])),
        // What tests need is no part of what is shipped.
        manifest("carillon-store", "[dev-dependencies]\ncarillon-testkit.workspace = true\n"),
        manifest("carillon-appimage-runtime", &on(&["libc"])),
    ];
    assert_eq!(broken_floors(&sound), [""; 0]);
    let broken = [
        (manifest("carillon-core", &on(&["serde_json"])), "carillon-core knows serde_json"),
        (manifest("carillon-core", &on(&["carillon-store"])), "(floor 0) imports carillon-store (floor 1)"),
        (manifest("carillon-tidy", &on(&["carillon-agents"])), "(floor 1) imports carillon-agents (floor 1)"),
        (
            manifest("carillon-store", &on(&["carillon-engine"])),
            "(floor 1) imports carillon-engine (floor 2)",
        ),
        (manifest("carillon-api", &on(&["carillon-testkit"])), "for tests alone"),
        (manifest("carillon-cli", &on(&["carillon-appimage-runtime"])), "stands alone"),
        (manifest("carillon-appimage-runtime", &on(&["carillon-core"])), "stands alone"),
        (manifest("carillon-cellar", ""), "carillon-cellar is on no floor"),
        (manifest("carillon-engine", &on(&["carillon-cellar"])), "on which floors are they?"),
        (
            manifest(
                "carillon-store",
                "[dependencies]\nother = { package = \"carillon-api\", path = \"../api\" }",
            ),
            "imports carillon-api",
        ),
        (
            manifest("carillon-store", "[target.'cfg(unix)'.dependencies]\ncarillon-api = \"1\""),
            "imports carillon-api",
        ),
        (manifest("carillon-store", "[build-dependencies]\ncarillon-api = \"1\""), "imports carillon-api"),
    ];
    for (one, expected) in broken {
        let found = broken_floors(&[one]);
        assert!(matches!(&found[..], [found] if found.contains(expected)), "{found:?}: {expected}");
    }
}

#[test]
fn no_file_is_long_and_nothing_is_left_undone() {
    let (mut count, mut long, mut undone) = (0, Vec::new(), Vec::new());
    for path in sources() {
        let text = read(&path);
        count += 1;
        let lines = text.lines().count();
        if lines > LINES_MAX {
            long.push(format!("{}: {lines} lines", path.display()));
        }
        undone.extend(lines_with(&path, &text, &unfinished()));
    }
    assert!(count > 100, "the sources were found: {count}");
    assert_eq!((long, undone), (Vec::new(), Vec::new()));
}

#[test]
fn the_search_finds_what_is_left_undone() {
    let found = |text: &str| lines_with(Path::new("x.rs"), text, &unfinished());
    let bad = unfinished();
    assert_eq!(found(&format!("fn f() {{\n    {})\n}}", bad[0])), [format!("x.rs:2: {})", bad[0])]);
    assert_eq!(found(&format!("{}]\nfn f() {{}}", bad[2])).len(), 1);
    assert_eq!(found(&format!("// {} is not code", bad[0])), [""; 0]);
}

/// Facts are passed in: the same words decide the same in a test, in a boot and in a year.
#[test]
fn core_reads_no_clock_no_file_and_no_environment() {
    let words = [
        "SystemTime",
        "Instant::now",
        "std::env",
        "std::fs",
        "std::net",
        "std::process",
        "std::thread",
        "env!(",
    ];
    let words = words.map(str::to_owned);
    let files = files_in(&["crates/core/src"], &[".rs"]);
    assert!(!files.is_empty());
    let found: Vec<String> = files.iter().flat_map(|path| lines_with(path, &read(path), &words)).collect();
    assert_eq!(found, [""; 0]);
    let bad = lines_with(Path::new("x.rs"), "let now = std::time::SystemTime::now();", &words);
    assert_eq!(bad.len(), 1, "it would be found");
}

#[test]
fn the_window_has_one_door_to_the_desktop() {
    // The two kinds of quotes around the name of a module.
    let words = ['"', '\''].map(|quote| format!("{quote}@tauri-apps/"));
    let door = root().join("ui/src/backend");
    let (mut through, mut around) = (Vec::new(), Vec::new());
    for path in files_in(&["ui/src"], &[".ts", ".tsx", ".mjs"]) {
        let found = lines_with(&path, &read(&path), &words);
        if path.starts_with(&door) { through.extend(found) } else { around.extend(found) }
    }
    assert_eq!(around, [""; 0]);
    assert!(!through.is_empty(), "the door is where it was");
}

#[test]
fn every_crate_says_what_it_is_for() {
    let silent: Vec<PathBuf> = files_in(&["crates"], &["lib.rs"])
        .into_iter()
        .filter(|path| !read(path).trim_start().starts_with("//!"))
        .collect();
    assert!(silent.is_empty(), "{silent:?}");
}
