//! What may be asked of the engine, one file per subject. A request that only reads does so beside
//! the loop; one that changes something is run on the loop's thread.

mod agents;
mod changes;
mod demo;
mod doctor;
mod find;
mod layouts;
mod output;
mod profiles;
mod projects;
mod runs;
mod settings;
mod tasks;

pub use carillon_store::changes::Change;
pub use carillon_store::messages::MessageRow;
pub use carillon_store::runs::RunRow;

pub use agents::{AgentView, NewAgent, Workdir};
pub use changes::Changes;
pub use doctor::{Check, CheckState, look_around};
pub use output::{OutputPage, OutputQuery, OutputWait};
pub use profiles::{DetectedView, NewProfile};
pub use tasks::{NewTask, TaskView};
