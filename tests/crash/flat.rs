//! What ends leaves nothing in the engine: descriptors, threads and memory stay flat.

use carillon_api::Client;
use serde_json::json;

use crate::support::World;

struct Size {
    descriptors: usize,
    threads: usize,
    resident_kb: u64,
}

fn size(world: &World) -> Size {
    let proc = std::path::PathBuf::from(format!("/proc/{}", world.engine_pid()));
    let count = |name: &str| std::fs::read_dir(proc.join(name)).unwrap().count();
    let status = std::fs::read_to_string(proc.join("status")).unwrap();
    let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    Size {
        descriptors: count("fd"),
        threads: count("task"),
        resident_kb: resident.trim().trim_end_matches(" kB").trim().parse().unwrap(),
    }
}

#[test]
fn a_hundred_terminals_that_came_and_went() {
    let world = World::started();
    world.add_agent("one", "echo hello; exit 0");
    world.add_agent("killed", "echo hello; kill -KILL $$");
    let mut client = Client::connect(&world.home().join("carillon.sock")).unwrap();
    let mut cycle = |name: &str| {
        client.call("agent_start", json!({"agent": name})).unwrap();
        world.wait_until_over(name);
    };
    // What is made once is made before the measure is taken.
    for _ in 0..5 {
        cycle("one");
        cycle("killed");
    }
    world.wait_for("no temp left", || world.temp_entries().is_empty().then_some(()));
    let before = size(&world);
    for _ in 0..50 {
        cycle("one");
        cycle("killed");
    }
    world.wait_for("descriptors and threads to be as before", || {
        let now = size(&world);
        (now.descriptors <= before.descriptors + 2 && now.threads <= before.threads + 2).then_some(())
    });
    let grown = size(&world).resident_kb.saturating_sub(before.resident_kb);
    assert!(grown < 8_192, "the engine grew by {grown} kB over 100 terminals");
    let runs = || std::fs::read_dir(world.home().join("runs")).unwrap().count();
    world.wait_for("at most four run directories of two agents", || (runs() <= 4).then_some(()));
}
