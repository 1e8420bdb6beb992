//! Ending a tree: HUP, TERM, then KILL, each with its grace, until nothing of it is left.
//!
//! The tree is looked at again and again, because it changes under our hands: a process found by one
//! look may have left a new child behind before the signal reached it. Every look signals what has not
//! had this step's signal yet. That none is left is never concluded from seeing none, but proved by the
//! system, which then says that we have no child: as the subreaper we inherit every orphan, whatever
//! session or group it made for itself.

use super::keep::KeepList;
use super::reaper::Reaper;
use crate::linux::cgroup::Cgroup;
use crate::linux::process::{self, Process};
use crate::spec::{Grace, NOTES_MAX, ProcessNote};
use rustix::process::Signal;
use std::time::{Duration, Instant};

/// The pause between two looks while a polite signal works. The death of a child of ours is looked at
/// at once; this is for descendants whose parents live.
const LOOK_PAUSE: Duration = Duration::from_millis(40);

/// The pause between two looks after KILL, at first and at most: what KILL does not end at once waits
/// for something slow.
const KILL_PAUSE: Duration = Duration::from_millis(5);
const KILL_PAUSE_MAX: Duration = Duration::from_millis(160);

/// What has not gone so long after KILL is out of our power (another user's, or stuck in the kernel).
const KILL_PATIENCE: Duration = Duration::from_secs(3);

/// Rounds in one look in which newly found processes are stopped before all are killed, so that a
/// fork bomb cannot outrun us.
const FREEZE_ROUNDS: usize = 32;

/// Rounds in one look in which direct children are killed. A process that hands over to a child and
/// exits, again and again, is caught here: each successor is ours the moment its parent dies.
const CHASE_ROUNDS: usize = 200;

/// When kept daemons remain, the system's word that we have no child cannot be had. Then so many looks
/// in a row must find that every child of ours is a kept one.
const CALM_LOOKS: u32 = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Hup,
    Term,
    Kill,
}

/// The end of a tree, under way.
pub(super) struct Ending {
    keep: KeepList,
    grace: Grace,
    step: Step,
    step_ends: Instant,
    next_look: Instant,
    kill_pause: Duration,
    calm_looks: u32,
    /// Who has had this step's signal, by pid and start time.
    signalled: Vec<(u32, u64)>,
    ended: Vec<(u64, ProcessNote)>,
    left: Vec<ProcessNote>,
    is_over: bool,
}

impl Ending {
    pub(super) fn begin(keep: &[String], grace: Grace, now: Instant) -> Ending {
        Ending {
            keep: KeepList::new(keep),
            grace,
            step: Step::Hup,
            step_ends: now + Duration::from_millis(grace.hup_ms),
            next_look: now,
            kill_pause: KILL_PAUSE,
            calm_looks: 0,
            signalled: Vec::new(),
            ended: Vec::new(),
            left: Vec::new(),
            is_over: false,
        }
    }

    /// Nothing that we may or can end is left.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// When there is something to do even if nothing happens.
    pub(super) fn due(&self) -> Instant {
        self.next_look.min(self.step_ends)
    }

    /// A child has died: look again at once, unless the last look was just now.
    pub(super) fn hurry(&mut self, now: Instant) {
        self.next_look = self.next_look.min(now + KILL_PAUSE);
    }

    /// Those that were ended, and those that live on.
    pub(super) fn into_notes(self) -> (Vec<ProcessNote>, Vec<ProcessNote>) {
        let ended = self.ended.into_iter().map(|(_, note)| note).collect();
        (ended, self.left)
    }

    /// Does what is due.
    pub(super) fn tick(&mut self, now: Instant, reaper: &mut Reaper, cgroup: Option<&Cgroup>) {
        if self.is_over || now < self.due() {
            return;
        }
        if reaper.reap() {
            self.is_over = true;
            return;
        }
        if now >= self.step_ends && !self.advance(now) {
            self.give_up(reaper);
            return;
        }
        self.next_look = now
            + match self.step {
                Step::Hup | Step::Term => LOOK_PAUSE,
                Step::Kill => self.kill_pause,
            };
        if self.step == Step::Kill {
            self.kill_pause = (self.kill_pause * 2).min(KILL_PAUSE_MAX);
        }
        let tree = process::descendants(std::process::id());
        let (targets, kept) = self.split(&tree, reaper);
        if targets.is_empty() && strange_children(&kept).is_empty() {
            self.calm_looks += 1;
            self.next_look = now + KILL_PAUSE;
            if self.calm_looks >= CALM_LOOKS {
                self.note_left(&kept, "on the keep list");
                self.is_over = true;
            }
            return;
        }
        self.calm_looks = 0;
        match self.step {
            Step::Hup => self.ask(&targets, Signal::HUP, reaper),
            Step::Term => self.ask(&targets, Signal::TERM, reaper),
            Step::Kill => self.kill(targets, kept.is_empty(), reaper, cgroup),
        }
        self.is_over = reaper.reap();
    }

    /// Goes to the next step; false when there is none.
    fn advance(&mut self, now: Instant) -> bool {
        let (step, patience) = match self.step {
            Step::Hup => (Step::Term, Duration::from_millis(self.grace.term_ms)),
            Step::Term => (Step::Kill, KILL_PATIENCE),
            Step::Kill => return false,
        };
        self.step = step;
        self.step_ends = now + patience;
        self.signalled.clear();
        true
    }

    /// Divides the living part of the tree into what is to be ended and what is kept.
    fn split(&self, tree: &[Process], reaper: &Reaper) -> (Vec<Process>, Vec<Process>) {
        let kept = self.keep.kept(tree, reaper.leader());
        let targets =
            tree.iter().filter(|p| !p.is_dead() && !kept.iter().any(|k| k.pid == p.pid)).copied().collect();
        (targets, kept)
    }

    /// Sends a signal that can be caught, once per process and step, and wakes what is stopped, or it
    /// would never see it.
    fn ask(&mut self, targets: &[Process], signal: Signal, reaper: &Reaper) {
        for target in targets {
            let identity = (target.pid, target.start_time);
            if !self.signalled.contains(&identity) {
                self.signalled.push(identity);
                self.note_ended(target, signal, reaper);
                process::send(target, signal);
            }
            if target.is_stopped() {
                process::send(target, Signal::CONT);
            }
        }
    }

    /// Stops whatever can still fork, then kills it all.
    fn kill(
        &mut self,
        mut targets: Vec<Process>,
        may_chase: bool,
        reaper: &mut Reaper,
        cgroup: Option<&Cgroup>,
    ) {
        let mut frozen: Vec<(u32, u64)> = Vec::new();
        for _ in 0..FREEZE_ROUNDS {
            let before = frozen.len();
            for target in &targets {
                let identity = (target.pid, target.start_time);
                if !frozen.contains(&identity) {
                    frozen.push(identity);
                    process::send(target, Signal::STOP);
                }
            }
            if frozen.len() == before {
                break;
            }
            (targets, _) = self.split(&process::descendants(std::process::id()), reaper);
        }
        for target in &targets {
            self.note_ended(target, Signal::KILL, reaper);
            process::send(target, Signal::KILL);
        }
        // Here processes are killed unseen, so nothing that is kept may be among them.
        if may_chase {
            if let Some(cgroup) = cgroup {
                cgroup.kill();
            }
            self.chase(reaper);
        }
    }

    /// Kills direct children as fast as they appear.
    fn chase(&mut self, reaper: &mut Reaper) {
        let mut pids = Vec::new();
        for _ in 0..CHASE_ROUNDS {
            if reaper.reap() {
                return;
            }
            process::direct_children(&mut pids);
            for pid in &pids {
                process::kill_direct_child(*pid);
            }
            // Dead, but not waited for yet, so they still have their names.
            for target in pids.iter().filter_map(|pid| process::read(*pid)) {
                self.note_ended(&target, Signal::KILL, reaper);
            }
        }
    }

    fn note_ended(&mut self, target: &Process, signal: Signal, reaper: &Reaper) {
        // The program's own end has its place in the record.
        if target.pid == reaper.leader() {
            return;
        }
        let reason = match signal {
            Signal::HUP => "ended by HUP",
            Signal::TERM => "ended by TERM",
            _ => "ended by KILL",
        };
        let known =
            self.ended.iter_mut().find(|(start, note)| note.pid == target.pid && *start == target.start_time);
        if let Some((_, note)) = known {
            reason.clone_into(&mut note.reason);
        } else if self.ended.len() < NOTES_MAX {
            self.ended.push((target.start_time, note(target, reason)));
        }
    }

    fn note_left(&mut self, processes: &[Process], reason: &str) {
        for process in processes.iter().filter(|p| !p.is_dead()) {
            if self.left.len() < NOTES_MAX {
                self.left.push(note(process, reason));
            }
        }
    }

    /// Says what is still there, and why as far as one can tell.
    fn give_up(&mut self, reaper: &Reaper) {
        let (targets, kept) = self.split(&process::descendants(std::process::id()), reaper);
        let own = rustix::process::geteuid().as_raw();
        for target in &targets {
            let reason = match process::owner(target.pid) {
                Some(owner) if owner != own => format!("belongs to user {owner} and is not ours to end"),
                _ => format!("did not end after KILL (state {})", char::from(target.state)),
            };
            self.note_left(std::slice::from_ref(target), &reason);
            self.ended.retain(|(start, n)| n.pid != target.pid || *start != target.start_time);
        }
        // What cannot be caught is at least not passed over in silence.
        for pid in strange_children(&kept) {
            if !targets.iter().any(|t| t.pid == pid)
                && let Some(process) = process::read(pid)
            {
                self.note_left(&[process], "changes its process id too fast to be ended");
            }
        }
        self.note_left(&kept, "on the keep list");
        self.is_over = true;
    }
}

fn note(process: &Process, reason: &str) -> ProcessNote {
    ProcessNote { pid: process.pid, name: process::name(process.pid), reason: reason.to_owned() }
}

/// The direct children that are not kept. Every living descendant that is not kept has one of them
/// above it or is one.
fn strange_children(kept: &[Process]) -> Vec<u32> {
    let mut pids = Vec::new();
    process::direct_children(&mut pids);
    pids.retain(|pid| !kept.iter().any(|k| k.pid == *pid));
    pids
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ending(grace: Grace, now: Instant) -> Ending {
        Ending::begin(&[], grace, now)
    }

    #[test]
    fn the_steps_follow_each_other_after_their_graces() {
        let start = Instant::now();
        let grace = Grace { hup_ms: 10, term_ms: 20, drain_ms: 0 };
        let mut ending = ending(grace, start);
        assert_eq!(ending.step_ends, start + Duration::from_millis(10));
        assert!(ending.advance(start + Duration::from_millis(10)));
        assert_eq!(ending.step, Step::Term);
        assert_eq!(ending.step_ends, start + Duration::from_millis(30));
        assert!(ending.advance(start + Duration::from_millis(30)));
        assert_eq!(ending.step, Step::Kill);
        assert!(!ending.advance(ending.step_ends), "nothing comes after KILL");
    }

    #[test]
    fn the_record_stays_small_whatever_was_ended() {
        let mut ending = ending(Grace::default(), Instant::now());
        let reaper = Reaper::new(1);
        let mut target = process::read(std::process::id()).expect("own stat");
        for pid in 2..1000 {
            target.pid = pid;
            ending.note_ended(&target, Signal::HUP, &reaper);
            ending.note_ended(&target, Signal::KILL, &reaper);
        }
        let (ended, _) = ending.into_notes();
        assert_eq!(ended.len(), NOTES_MAX);
        assert!(ended.iter().all(|n| n.reason == "ended by KILL"));
    }

    #[test]
    fn a_tree_without_members_is_over_at_once() {
        let now = Instant::now();
        let mut ending = ending(Grace::default(), now);
        ending.tick(now, &mut Reaper::new(1), None);
        assert!(ending.is_over());
    }
}
