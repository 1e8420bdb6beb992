//! SIGKILL of the engine at seeded random moments, with agents that end in known ways.
//!
//! `CARILLON_ROUNDS` sets how many (10 when it is not set); `CARILLON_SEED` repeats one sequence.

use std::time::Duration;

use crate::support::World;

/// A small generator, so that a failure can be repeated by its seed (xorshift64*).
pub struct Random(u64);

impl Random {
    pub fn of(seed: u64, round: u64) -> Self {
        Self(seed.wrapping_add(round).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) % below
    }
}

pub fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// Agents and the end that each must be told of.
const AGENTS: [(&str, &str, &str); 3] = [
    ("quick", "exit 4", "exited 4"),
    ("slow", "sleep 0.3; exit 5", "exited 5"),
    ("signal", "sleep 0.1; kill -TERM $$", "killed by signal 15 (SIGTERM)"),
];

#[test]
fn whenever_it_is_killed_every_run_has_its_true_end() {
    let seed = number("CARILLON_SEED", 0x5eed_0001);
    for round in 0..number("CARILLON_ROUNDS", 10) {
        let mut random = Random::of(seed, round);
        one_round(round, &mut random);
    }
}

fn one_round(round: u64, random: &mut Random) {
    let mut world = World::started();
    for (name, script, _) in AGENTS {
        world.add_agent(name, script);
    }
    // The starts run beside the kill, so that it falls into any part of them.
    let starts: Vec<_> = AGENTS
        .iter()
        .map(|(name, _, _)| {
            let mut start = world.isolated(crate::support::CARILLON);
            start.args(["agent", "start", name]).stdout(std::process::Stdio::null());
            start.stderr(std::process::Stdio::null()).spawn().expect("carillon")
        })
        .collect();
    // The moment is what is tested here; nothing is waited for.
    std::thread::sleep(Duration::from_micros(random.next(120_000)));
    world.crash();
    world.start(&[]);
    // A start whose engine went away asks the next one.
    for mut start in starts {
        crate::support::wait(&mut start);
    }
    for (name, _, reason) in AGENTS {
        let mut agent = world.agent(name);
        if agent["run"].is_null() {
            // The kill came before the start was accepted: nothing was promised, and it can be asked again.
            world.run(&["agent", "start", name]);
            agent = world.agent(name);
        }
        assert_ne!(agent["run"]["state"], "lost", "round {round}: {agent}");
        let over = world.wait_until_over(name);
        let told = over["run"]["reason"].as_str().unwrap_or_default().to_owned();
        let never_began = told.starts_with("never began");
        assert!(told == reason || never_began, "round {round}: {name} was told {told:?}");
        if never_began {
            assert!(over["run"]["pid"].is_null(), "round {round}: it has never run");
        }
    }
    world.wait_for("no process left", || world.processes().is_empty().then_some(()));
    world.wait_for("no temp left", || world.temp_entries().is_empty().then_some(()));
}
