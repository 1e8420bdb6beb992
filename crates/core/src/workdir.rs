//! The machine of a workdir.
//!
//! `Creating → Active → Merged | Abandoned → Removing → Tombstoned`; and back `Removing → Active` when something
//! refused, `Tombstoned → Active` when it was restored. The row is there before git makes anything, and it
//! *becomes* the tombstone. A merge makes a tombstone after the worktree was removed; a cancel only when every
//! task and ask of the workdir is over. Both keep worktree and context when that was asked for.
//!
//! After a crash nothing is replayed: [`resume`] says from the state alone what is still to be done.

/// Why a workdir is going or gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// Its work was merged.
    Merged,
    /// Somebody did not want it any more.
    Abandoned {
        /// Who: `user`, or the name of an agent.
        by: String,
    },
    /// git never made it.
    NeverMade {
        /// A sentence with the cause.
        message: String,
    },
    /// Somebody else took its directory away.
    Vanished,
}

/// Where a workdir stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// It is on the ledger, and git is at work or about to be.
    Creating,
    /// It is there to be worked in.
    Active {
        /// Why its last removal was refused.
        refused: Option<String>,
    },
    /// Its work is on the base branch.
    Merged {
        /// Worktree and context stay all the same.
        keep: bool,
    },
    /// Nobody wants it any more.
    Abandoned {
        /// Who said so.
        by: String,
        /// Worktree and context stay all the same.
        keep: bool,
    },
    /// It is being archived and removed.
    Removing {
        /// What for.
        why: Why,
    },
    /// It is gone, and this is what is left.
    Tombstoned {
        /// Why it went.
        why: Why,
        /// What brings it back, when it held anything that was nowhere else.
        archive_ref: Option<String>,
    },
}

impl State {
    /// The state in one word, as scripts know it.
    pub fn word(&self) -> &'static str {
        match self {
            State::Creating => "creating",
            State::Active { .. } => "active",
            State::Merged { .. } => "merged",
            State::Abandoned { .. } => "abandoned",
            State::Removing { .. } => "removing",
            State::Tombstoned { .. } => "tombstoned",
        }
    }

    /// Whether it goes as soon as the last of its work is over.
    pub fn waits_for_work(&self) -> bool {
        match self {
            State::Merged { keep: false } | State::Abandoned { keep: false, .. } => true,
            State::Merged { keep: true }
            | State::Abandoned { keep: true, .. }
            | State::Creating
            | State::Active { .. }
            | State::Removing { .. }
            | State::Tombstoned { .. } => false,
        }
    }

    /// Whether an agent may be started in it.
    pub fn can_be_worked_in(&self) -> bool {
        match self {
            State::Active { .. } | State::Merged { keep: true } | State::Abandoned { keep: true, .. } => true,
            State::Creating
            | State::Merged { keep: false }
            | State::Abandoned { keep: false, .. }
            | State::Removing { .. }
            | State::Tombstoned { .. } => false,
        }
    }
}

/// What happened to a workdir.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// git made it.
    Made,
    /// git could not make it, or a boot found that it never did.
    NotMade {
        /// A sentence with the cause.
        message: String,
    },
    /// Its work was merged, in whatever way.
    MergeCompleted {
        /// Worktree and context are to stay.
        keep: bool,
    },
    /// Somebody does not want it any more.
    CancelRequested {
        /// Who.
        by: String,
        /// Worktree and context are to stay.
        keep: bool,
        /// Tasks and asks of it that are not over.
        open_work: u32,
    },
    /// The last task or ask of it is over.
    WorkEnded,
    /// Archiving and removing begins.
    RemovalBegan {
        /// Tasks and asks of it that are not over.
        open_work: u32,
    },
    /// The judgement, the archive or git refused. Nothing was removed.
    RemovalRefused {
        /// A sentence with the reason.
        reason: String,
    },
    /// git removed it.
    Removed {
        /// What was written before, when there was anything to keep.
        archive_ref: Option<String>,
    },
    /// Its directory is not there any more, and it was not us.
    Vanished,
    /// Somebody wants it back.
    RestoreRequested,
    /// It is back.
    Restored,
    /// Its archive is gone: nothing brings it back any more.
    ArchiveForgotten,
}

/// What has to be done after the new state is committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Copy what the project's rules name, and run its set-up as a task.
    SetUp,
    /// Look what a creation that was cut short left, and finish it or clear it away.
    SettleCreation,
    /// End its tasks and asks.
    CancelWork,
    /// Commit that the removal begins.
    BeginRemoval,
    /// Judge, archive and remove it, each again if need be.
    Remove,
    /// Delete exactly its context file. That it is gone already is fine.
    DeleteContext,
    /// Bring it back from its archive.
    Restore,
    /// Tell who waits for it.
    TellOwner,
}

/// An event that the state has no place for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rejected {
    /// It is not made yet.
    StillCreating,
    /// It is made already.
    AlreadyMade,
    /// It was merged already.
    AlreadyMerged,
    /// It is abandoned already.
    AlreadyAbandoned,
    /// It is on its way out.
    AlreadyRemoving,
    /// It is gone.
    AlreadyGone,
    /// It is not on its way out.
    NotRemoving,
    /// It is not gone.
    NotGone,
    /// Tasks or asks of it are not over.
    OpenWork,
    /// Nobody has said yet that it may go.
    NotDone,
    /// There is nothing that would bring it back.
    NothingToRestore,
}

type Step = Result<(State, Vec<Effect>), Rejected>;

/// Takes one step.
pub fn step(state: &State, event: Event) -> Step {
    match state {
        State::Creating => creating(event),
        State::Active { refused } => active(refused.as_ref(), event),
        State::Merged { .. } => merged(state, event),
        State::Abandoned { by, keep } => abandoned(by, *keep, event),
        State::Removing { why } => removing(why, event),
        State::Tombstoned { why, archive_ref } => tombstoned(why, archive_ref.as_ref(), event),
    }
}

fn creating(event: Event) -> Step {
    match event {
        Event::Made => Ok((State::Active { refused: None }, vec![Effect::SetUp, Effect::TellOwner])),
        Event::NotMade { message } => Ok(tombstone(Why::NeverMade { message }, None)),
        // Its directory may come into being in the next moment, so none of these can be answered yet. What is
        // missing after a creation was cut short is `NotMade`.
        Event::MergeCompleted { .. }
        | Event::CancelRequested { .. }
        | Event::WorkEnded
        | Event::RemovalBegan { .. }
        | Event::RemovalRefused { .. }
        | Event::Removed { .. }
        | Event::Vanished
        | Event::RestoreRequested
        | Event::Restored
        | Event::ArchiveForgotten => Err(Rejected::StillCreating),
    }
}

fn active(refused: Option<&String>, event: Event) -> Step {
    match event {
        Event::MergeCompleted { keep } => Ok((State::Merged { keep }, next_after_merge(keep))),
        Event::CancelRequested { by, keep, open_work } => {
            Ok((State::Abandoned { by, keep }, next_after_cancel(keep, open_work)))
        }
        // Work that ends in a workdir that is still wanted changes nothing of it.
        Event::WorkEnded => Ok((State::Active { refused: refused.cloned() }, vec![])),
        Event::Vanished => Ok(tombstone(Why::Vanished, None)),
        Event::Made | Event::NotMade { .. } => Err(Rejected::AlreadyMade),
        Event::RemovalBegan { .. } => Err(Rejected::NotDone),
        Event::RemovalRefused { .. } | Event::Removed { .. } => Err(Rejected::NotRemoving),
        Event::RestoreRequested | Event::Restored | Event::ArchiveForgotten => Err(Rejected::NotGone),
    }
}

fn merged(state: &State, event: Event) -> Step {
    match event {
        // What was kept may go later, by the same words.
        Event::CancelRequested { keep, open_work, .. } => {
            Ok((State::Merged { keep }, next_after_cancel(keep, open_work)))
        }
        Event::RemovalBegan { .. } if *state == (State::Merged { keep: true }) => Err(Rejected::NotDone),
        Event::RemovalBegan { open_work: 0 } => {
            Ok((State::Removing { why: Why::Merged }, vec![Effect::Remove]))
        }
        Event::RemovalBegan { .. } => Err(Rejected::OpenWork),
        Event::WorkEnded => match state {
            State::Merged { keep: false } => Ok((state.clone(), vec![Effect::BeginRemoval])),
            State::Merged { keep: true }
            | State::Creating
            | State::Active { .. }
            | State::Abandoned { .. }
            | State::Removing { .. }
            | State::Tombstoned { .. } => Ok((state.clone(), vec![])),
        },
        Event::Vanished => Ok(tombstone(Why::Merged, None)),
        Event::MergeCompleted { .. } => Err(Rejected::AlreadyMerged),
        Event::Made | Event::NotMade { .. } => Err(Rejected::AlreadyMade),
        Event::RemovalRefused { .. } | Event::Removed { .. } => Err(Rejected::NotRemoving),
        Event::RestoreRequested | Event::Restored | Event::ArchiveForgotten => Err(Rejected::NotGone),
    }
}

fn abandoned(by: &str, keep: bool, event: Event) -> Step {
    let stays = || State::Abandoned { by: by.to_owned(), keep };
    match event {
        Event::RemovalBegan { .. } if keep => Err(Rejected::NotDone),
        Event::RemovalBegan { open_work: 0 } => {
            let why = Why::Abandoned { by: by.to_owned() };
            Ok((State::Removing { why }, vec![Effect::Remove]))
        }
        Event::RemovalBegan { .. } => Err(Rejected::OpenWork),
        Event::WorkEnded if keep => Ok((stays(), vec![])),
        Event::WorkEnded => Ok((stays(), vec![Effect::BeginRemoval])),
        // The first who said so stands; whether it stays may be said anew.
        Event::CancelRequested { keep, open_work, .. } => {
            Ok((State::Abandoned { by: by.to_owned(), keep }, next_after_cancel(keep, open_work)))
        }
        // Somebody merged the branch all the same.
        Event::MergeCompleted { keep } => Ok((State::Merged { keep }, next_after_merge(keep))),
        Event::Vanished => Ok(tombstone(Why::Abandoned { by: by.to_owned() }, None)),
        Event::Made | Event::NotMade { .. } => Err(Rejected::AlreadyMade),
        Event::RemovalRefused { .. } | Event::Removed { .. } => Err(Rejected::NotRemoving),
        Event::RestoreRequested | Event::Restored | Event::ArchiveForgotten => Err(Rejected::NotGone),
    }
}

fn removing(why: &Why, event: Event) -> Step {
    match event {
        Event::Removed { archive_ref } => Ok(tombstone(why.clone(), archive_ref)),
        // Gone is gone, and nobody has said that an archive was written.
        Event::Vanished => Ok(tombstone(why.clone(), None)),
        Event::RemovalRefused { reason } => {
            Ok((State::Active { refused: Some(reason) }, vec![Effect::TellOwner]))
        }
        // Repeated after a crash, it is the same removal.
        Event::RemovalBegan { .. } => Ok((State::Removing { why: why.clone() }, vec![Effect::Remove])),
        Event::WorkEnded => Ok((State::Removing { why: why.clone() }, vec![])),
        Event::MergeCompleted { .. } | Event::CancelRequested { .. } => Err(Rejected::AlreadyRemoving),
        Event::Made | Event::NotMade { .. } => Err(Rejected::AlreadyMade),
        Event::RestoreRequested | Event::Restored | Event::ArchiveForgotten => Err(Rejected::NotGone),
    }
}

fn tombstoned(why: &Why, archive_ref: Option<&String>, event: Event) -> Step {
    let stays = || State::Tombstoned { why: why.clone(), archive_ref: archive_ref.cloned() };
    match event {
        Event::RestoreRequested if archive_ref.is_none() => Err(Rejected::NothingToRestore),
        Event::RestoreRequested => Ok((stays(), vec![Effect::Restore])),
        Event::Restored if archive_ref.is_none() => Err(Rejected::NothingToRestore),
        Event::Restored => Ok((State::Active { refused: None }, vec![Effect::TellOwner])),
        // Every path that can merge or cancel may come here once more; the context goes with each.
        Event::Removed { .. } | Event::Vanished => Ok((stays(), vec![Effect::DeleteContext])),
        Event::WorkEnded => Ok((stays(), vec![])),
        Event::ArchiveForgotten => Ok((State::Tombstoned { why: why.clone(), archive_ref: None }, vec![])),
        Event::Made
        | Event::NotMade { .. }
        | Event::MergeCompleted { .. }
        | Event::CancelRequested { .. }
        | Event::RemovalBegan { .. }
        | Event::RemovalRefused { .. } => Err(Rejected::AlreadyGone),
    }
}

fn tombstone(why: Why, archive_ref: Option<String>) -> (State, Vec<Effect>) {
    (State::Tombstoned { why, archive_ref }, vec![Effect::DeleteContext, Effect::TellOwner])
}

/// A merge itself leaves no work that would have to be waited for; what is open is met by the removal.
fn next_after_merge(keep: bool) -> Vec<Effect> {
    if keep { vec![] } else { vec![Effect::BeginRemoval] }
}

fn next_after_cancel(keep: bool, open_work: u32) -> Vec<Effect> {
    match (keep, open_work) {
        (true, 0) => vec![],
        (false, 0) => vec![Effect::BeginRemoval],
        (_, _) => vec![Effect::CancelWork],
    }
}

/// What is still to be done for a workdir in this state, after a start. Doing it twice does no more than once.
pub fn resume(state: &State, open_work: u32) -> Vec<Effect> {
    match state {
        State::Creating => vec![Effect::SettleCreation],
        State::Active { .. } => vec![],
        State::Merged { keep } => match (keep, open_work) {
            (false, 0) => vec![Effect::BeginRemoval],
            // The end of the last task or ask goes on with it.
            (false, _) | (true, _) => vec![],
        },
        State::Abandoned { keep, .. } => next_after_cancel(*keep, open_work),
        State::Removing { .. } => vec![Effect::Remove],
        State::Tombstoned { .. } => vec![Effect::DeleteContext],
    }
}
