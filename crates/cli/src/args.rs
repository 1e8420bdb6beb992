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
    /// Look for what is wrong and name the way out.
    Doctor,
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
    },
    /// List the profiles.
    List,
    /// Look for agent programs on your PATH.
    Detect,
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
    /// Start an agent's program.
    Start { name: String },
    /// Stop an agent; it stays down until you start it.
    Stop { name: String },
    /// Stop an agent and take it off the list; its directory is not touched.
    Remove { name: String },
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Mode {
    Headless,
    Terminal,
}
