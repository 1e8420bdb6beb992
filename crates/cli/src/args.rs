//! The command line's words. They keep their names: people script them.

use std::path::PathBuf;

use clap::{Args as ClapArgs, Parser, Subcommand, ValueEnum};

/// Run several coding agents on your git repositories. No answer lost, no task lost, nothing left
/// behind, nothing of yours touched.
#[derive(Debug, Parser)]
#[command(name = "carillon", version, arg_required_else_help = true)]
pub(crate) struct Args {
    /// Print one JSON value on standard output.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run the engine without a window; prints one line when it is ready.
    Serve(Serve),
    /// Open repositories and list them.
    Project {
        #[command(subcommand)]
        command: Project,
    },
    /// Tell Carillon how to start agents.
    Profile {
        #[command(subcommand)]
        command: Profile,
    },
    /// Add, start and stop agents.
    Agent {
        #[command(subcommand)]
        command: Agent,
    },
    /// Run a command in the background; it outlives the terminal and the app.
    Run(Run),
    /// Look after background tasks.
    Tasks {
        #[command(subcommand)]
        command: Tasks,
    },
    /// Ask an agent, wait and print its answer.
    Ask(Ask),
    /// Look after asks.
    Asks {
        #[command(subcommand)]
        command: Asks,
    },
    /// Send an agent a note; it reads it when it has time.
    Send(Send),
    /// Show the messages of an agent.
    Inbox { agent: String },
    /// Serve the tools of agents over MCP on standard input and output; an agent's program starts it.
    Mcp(Mcp),
    /// Tell the engine what an agent's program does; hooks of such programs call it.
    #[command(hide = true)]
    Hook(Hook),
    /// Run a command and take away what it leaves behind of what `carillon.toml` names.
    Guard(crate::guard::Args),
    /// Make worktrees for agents, merge them, take them away and bring them back.
    Workdirs {
        #[command(subcommand)]
        command: Workdirs,
    },
    /// See what is left behind, and take away what may go.
    Clean(Clean),
    /// See which session limits hold, and go on.
    Limits {
        #[command(subcommand)]
        command: Limits,
    },
    /// See which commands of agents wait for your word, and give it.
    Approvals {
        #[command(subcommand)]
        command: Approvals,
    },
    /// Look for what is wrong and name the way out.
    Doctor,
    /// Take away what Carillon keeps, and say what stays.
    Uninstall {
        /// Agents, tasks and their output, too.
        #[arg(long)]
        data: bool,
    },
    /// A small honest agent without a model, to try things with.
    DemoAgent,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Serve {
    /// What happens to running agents when the engine is ended.
    #[arg(long, value_enum, default_value_t = AtExit::Stop)]
    pub(crate) at_exit: AtExit,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum AtExit {
    /// They are stopped.
    Stop,
    /// They keep running; the next start finds them again.
    Keep,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Project {
    /// Open the git repository that PATH lies in.
    Add { path: PathBuf },
    /// List the open repositories.
    List,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Profile {
    /// Add a way to start one kind of agent.
    Add {
        name: String,
        /// claude, codex, gemini, opencode, acp, or plain for any program.
        #[arg(long)]
        adapter: String,
        /// A path, or a name on your PATH.
        #[arg(long)]
        program: String,
        /// An argument for the program; may be given several times.
        #[arg(long = "arg", value_name = "ARG", allow_hyphen_values = true)]
        args: Vec<String>,
        /// A variable for the program; may be given several times. The value is kept in a file that
        /// only you can read.
        #[arg(long = "env", value_name = "NAME=VALUE")]
        env: Vec<String>,
        /// What its agents may run in the background: never, ask (you are asked) or allow.
        #[arg(long, value_enum)]
        policy: Option<Policy>,
        /// The beginning of commands that need no approval, like "npm test"; may be given several times.
        #[arg(long = "allow", value_name = "WORDS")]
        allow: Vec<String>,
        /// Most headless turns of its agents that run at once; any number when left out.
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        concurrency: Option<u32>,
    },
    /// Change a profile; what is left out stays.
    Set {
        name: String,
        /// A path, or a name on your PATH.
        #[arg(long)]
        program: Option<String>,
        /// An argument for the program, in place of all before; may be given several times.
        #[arg(long = "arg", value_name = "ARG", allow_hyphen_values = true)]
        args: Vec<String>,
        /// Start the program without arguments.
        #[arg(long, conflicts_with = "args")]
        no_args: bool,
        /// A variable for the program; NAME alone takes it away.
        #[arg(long = "env", value_name = "NAME[=VALUE]")]
        env: Vec<String>,
        /// What its agents may run in the background: never, ask (you are asked) or allow.
        #[arg(long, value_enum)]
        policy: Option<Policy>,
        /// The beginning of commands that need no approval, in place of all before.
        #[arg(long = "allow", value_name = "WORDS")]
        allow: Vec<String>,
        /// No command goes without approval.
        #[arg(long, conflicts_with = "allow")]
        no_allow: bool,
        /// Most headless turns of its agents that run at once; 0 for any number.
        #[arg(long, value_name = "N")]
        concurrency: Option<u32>,
    },
    /// Start the program of a profile to see whether it works.
    Test { name: String },
    /// List the profiles.
    List,
    /// Look for agent programs on your PATH.
    Detect,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Policy {
    Never,
    Ask,
    Allow,
}

impl Policy {
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::Ask => "ask",
            Self::Allow => "allow",
        }
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Agent {
    /// Add an agent to a project. Nothing is started.
    Add {
        name: String,
        /// A project by name, id or path; the repository that you stand in when left out.
        #[arg(long)]
        project: Option<String>,
        /// A profile by name or id.
        #[arg(long)]
        profile: String,
        /// A program in a pane, or turns without a terminal.
        #[arg(long, value_enum, default_value_t = Mode::Terminal)]
        mode: Mode,
        /// A file with what the agent is told to be.
        #[arg(long)]
        role_file: Option<PathBuf>,
        /// Where it works: root, new, or a path.
        #[arg(long, default_value = "root")]
        workdir: String,
    },
    /// List agents with what they are doing.
    List {
        /// Only those of this project.
        #[arg(long)]
        project: Option<String>,
    },
    /// Show an agent with its last turns, and what each of them left behind.
    Show { name: String },
    /// Start an agent's program.
    Start { name: String },
    /// Stop an agent; it stays down until you start it.
    Stop { name: String },
    /// Stop an agent and take it off the list; its directory is not touched.
    Remove { name: String },
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Run {
    /// The agent that hears of the end; inside a run, the agent that it belongs to.
    #[arg(long)]
    pub(crate) owner: Option<String>,
    /// Where it runs; here when left out.
    #[arg(long)]
    pub(crate) cwd: Option<PathBuf>,
    /// End it after this time, like 90s or 2h.
    #[arg(long, value_name = "DURATION")]
    pub(crate) timeout: Option<String>,
    /// Keep at most so much of its output, like 64MiB (never less than 64KiB): the head and the tail.
    #[arg(long, value_name = "BYTES")]
    pub(crate) log_max: Option<String>,
    /// Give it a terminal.
    #[arg(long)]
    pub(crate) tty: bool,
    /// A name for people.
    #[arg(long)]
    pub(crate) title: Option<String>,
    /// Keep it out of the ask that its owner serves.
    #[arg(long)]
    pub(crate) detach: bool,
    /// Wait for the end, show the output and pass the exit code on.
    #[arg(long)]
    pub(crate) wait: bool,
    /// The command, behind `--`.
    #[arg(last = true, required = true, value_name = "CMD")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Tasks {
    /// List tasks, the newest first.
    List {
        /// Only those of this project.
        #[arg(long)]
        project: Option<String>,
        /// Only those in this state.
        #[arg(long)]
        state: Option<String>,
    },
    /// Show one task.
    Show { id: String },
    /// Print the output of a task, byte for byte.
    Output {
        id: String,
        /// Begin so many bytes into the output.
        #[arg(long, value_name = "N")]
        offset: Option<u64>,
        /// Begin so many bytes before its end.
        #[arg(long, value_name = "N", conflicts_with = "offset")]
        tail: Option<u64>,
        /// Go on until the task is over.
        #[arg(long)]
        follow: bool,
    },
    /// Wait until a task is over.
    Wait { id: String },
    /// End a task.
    Cancel { id: String },
    /// Try a task that is over again.
    Retry { id: String },
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Mode {
    Headless,
    Terminal,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Ask {
    /// The agent, by name or id.
    pub(crate) agent: String,
    /// The question; `-`, or left out with a pipe: what comes on standard input.
    pub(crate) prompt: Option<String>,
    /// Ask for this agent; inside a run, the agent that it belongs to.
    #[arg(long, value_name = "AGENT")]
    pub(crate) from: Option<String>,
    /// The project that the agent is in; the repository that you stand in when left out.
    #[arg(long)]
    pub(crate) project: Option<String>,
    /// End the ask after this time, like 90s or 2h: its turn is interrupted.
    #[arg(long, value_name = "DURATION")]
    pub(crate) timeout: Option<String>,
    /// Wait so long; then the ask goes on, and `asks wait` takes up the wait.
    #[arg(long, value_name = "DURATION")]
    pub(crate) wait: Option<String>,
    /// When the agent has answered and work that it started goes on: deliver the answer with what
    /// became of the work, or let the agent answer once more with the results.
    #[arg(long, value_enum, default_value_t = AfterChildren::Deliver)]
    pub(crate) after_children: AfterChildren,
    /// The same key again waits for the same ask instead of asking twice.
    #[arg(long)]
    pub(crate) key: Option<String>,
    /// Keep it out of the ask that the caller serves.
    #[arg(long)]
    pub(crate) detach: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum AfterChildren {
    Deliver,
    FollowUp,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Asks {
    /// List asks, the newest first.
    List {
        /// Only those of this project.
        #[arg(long)]
        project: Option<String>,
        /// Only those that this agent asked or is asked.
        #[arg(long)]
        agent: Option<String>,
        /// Only those in this state.
        #[arg(long)]
        state: Option<String>,
    },
    /// Show one ask.
    Show { id: String },
    /// Wait until an ask is over and print the answer.
    Wait {
        id: String,
        /// Wait so long.
        #[arg(long, value_name = "DURATION")]
        wait: Option<String>,
    },
    /// End an ask, with the work that was started for it.
    Cancel { id: String },
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Send {
    /// The agent, by name or id.
    pub(crate) agent: String,
    /// The note; `-`, or left out with a pipe: what comes on standard input.
    pub(crate) text: Option<String>,
    /// Send it for this agent; inside a run, the agent that it belongs to.
    #[arg(long, value_name = "AGENT")]
    pub(crate) from: Option<String>,
    /// The project that the agent is in; the repository that you stand in when left out.
    #[arg(long)]
    pub(crate) project: Option<String>,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Mcp {
    /// The agent that calls, by name or id; else CARILLON_AGENT, else the user.
    #[arg(long)]
    pub(crate) agent: Option<String>,
    /// The run that it is started in; else CARILLON_RUN.
    #[arg(long)]
    pub(crate) run: Option<String>,
    /// The engine's socket; else CARILLON_SOCKET.
    #[arg(long)]
    pub(crate) socket: Option<PathBuf>,
    /// The client gives a call up after so many seconds: it is answered before that. 0: it never does.
    #[arg(long, value_name = "SECONDS", default_value_t = 0)]
    pub(crate) client_limit_s: u64,
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Hook {
    /// What happened, in the program's own word.
    pub(crate) event: String,
    /// What the program tells of it, as JSON; left out: it comes on standard input.
    pub(crate) data: Option<String>,
    /// The run; else CARILLON_RUN.
    #[arg(long)]
    pub(crate) run: Option<String>,
    /// The engine's socket; else CARILLON_SOCKET.
    #[arg(long)]
    pub(crate) socket: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Limits {
    /// List the session limits that hold.
    List,
    /// Say that a limit is over: all agents of the profile go on.
    Clear { profile: String },
    /// Try now whether a limit is over.
    Resume { profile: String },
    /// Let the agents of a profile wait until you resume them.
    Hold { profile: String },
}

#[derive(Debug, Subcommand)]
pub(crate) enum Approvals {
    /// List the commands that wait, and those that did.
    List,
    /// Let a command run.
    Approve { id: String },
    /// Do not let it run.
    Deny { id: String },
}

#[derive(Debug, ClapArgs)]
pub(crate) struct Clean {
    /// Take away what is safe, and what --consent names; without it nothing is changed.
    #[arg(long)]
    pub(crate) apply: bool,
    /// Take this away as well, by its id or a unique beginning of it; may be given several times.
    #[arg(long, value_name = "ID")]
    pub(crate) consent: Vec<String>,
    /// Take away this and nothing else that was not named, by its id or a unique beginning of it.
    #[arg(long, value_name = "ID")]
    pub(crate) only: Vec<String>,
    /// Only this kind: temp, run, log, worktree, husk, branch, process, archive or trash.
    #[arg(long)]
    pub(crate) kind: Option<String>,
    /// Only what belongs to this project, by name, id or path.
    #[arg(long)]
    pub(crate) project: Option<String>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Workdirs {
    /// Make a branch with a worktree of its own; prints its path.
    New {
        name: Option<String>,
        /// A project by name, id or path; the repository that you stand in when left out.
        #[arg(long)]
        project: Option<String>,
        /// What it begins from: a branch or any revision.
        #[arg(long)]
        base: Option<String>,
    },
    /// List workdirs with how they stand, and the tombstones of those that are gone.
    List {
        /// Only those of this project.
        #[arg(long)]
        project: Option<String>,
    },
    /// Show what differs from the commit that a workdir began from.
    Diff { id: String },
    /// Bring the work of a workdir to its base branch; worktree and branch go afterwards.
    Merge {
        id: String,
        /// All changes become one commit.
        #[arg(long, conflicts_with = "rebase")]
        squash: bool,
        /// Each commit is made anew on the base branch.
        #[arg(long)]
        rebase: bool,
        /// Another branch than its base.
        #[arg(long, value_name = "BRANCH")]
        into: Option<String>,
        /// Keep worktree and branch.
        #[arg(long)]
        keep: bool,
    },
    /// Archive a workdir and take it away.
    Remove {
        id: String,
        /// Give it up, but keep worktree and branch.
        #[arg(long)]
        keep: bool,
    },
    /// Stop a merge or a removal that is under way.
    Stop { id: String },
    /// Bring a workdir back from its archive.
    Restore { id: String },
}
