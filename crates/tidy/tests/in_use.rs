//! Who uses a directory: real processes, each in one way.

mod common;

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use carillon_tidy::in_use::{Holder, How, holders};
use common::{mkdir, on_disk, write};

/// A child that does nothing, ended at the end of the test.
struct Sleeper(Child);

impl Sleeper {
    fn start(prepare: impl FnOnce(&mut Command) -> &mut Command) -> Sleeper {
        let mut command = Command::new("/bin/sleep");
        command.arg("60").env_clear().current_dir("/").stdin(Stdio::null());
        prepare(&mut command);
        Sleeper(command.spawn().expect("sleep can be started"))
    }

    fn holds(&self, how: How) -> Holder {
        Holder { pid: self.0.id(), name: "sleep".to_owned(), how }
    }
}

impl Drop for Sleeper {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn sorted(mut holders: Vec<Holder>) -> Vec<Holder> {
    holders.sort_by_key(|holder| holder.pid);
    holders
}

#[test]
fn every_way_to_use_a_directory_is_found_with_the_pid() {
    let place = on_disk();
    let temp = mkdir(place.path().join("temp"));
    let sub = mkdir(temp.join("a b"));
    let file = write(temp.join("file"), "text");
    std::fs::copy("/bin/sleep", temp.join("sleep")).expect("a copy");
    let socket = UnixListener::bind(temp.join("socket")).expect("a socket");

    let cwd = Sleeper::start(|command| command.current_dir(&sub));
    let open = Sleeper::start(|command| command.stdin(File::open(&file).expect("a file")));
    let lease = Sleeper::start(|command| command.stdin(File::open(&temp).expect("a directory")));
    let bound = Sleeper::start(|command| command.stdin(OwnedFd::from(socket)));
    let program = Sleeper(
        Command::new(temp.join("sleep"))
            .arg("60")
            .env_clear()
            .current_dir("/")
            .spawn()
            .expect("the copy runs"),
    );
    let marked = Sleeper::start(|command| command.env("CARILLON_RUN", "run-1"));
    let variables: Vec<Sleeper> = ["TMPDIR", "TMP", "TEMP", "CLAUDE_CODE_TMPDIR"]
        .iter()
        .map(|name| Sleeper::start(|command| command.env(name, &sub)))
        .collect();
    let _neighbour = Sleeper::start(|command| command.current_dir(mkdir(place.path().join("temp2"))));
    let _other_run = Sleeper::start(|command| command.env("CARILLON_RUN", "run-10"));
    let _other_variable = Sleeper::start(|command| command.env("SOME_DIR", &sub));
    // What we have open ourselves does not count.
    let _ours = File::open(&file).expect("a file");

    let mut expected = vec![
        cwd.holds(How::Cwd),
        open.holds(How::OpenFile),
        lease.holds(How::OpenFile),
        bound.holds(How::OpenFile),
        program.holds(How::OpenFile),
        marked.holds(How::Marker),
    ];
    expected.extend(variables.iter().map(|sleeper| sleeper.holds(How::TempVariable)));
    assert_eq!(holders(&temp, "run-1"), sorted(expected));
}

#[test]
fn a_directory_is_free_again_when_its_last_user_has_ended() {
    let place = on_disk();
    let temp = mkdir(place.path().join("temp"));
    let user = Sleeper::start(|command| command.current_dir(&temp));
    assert_eq!(holders(&temp, "run-2"), [user.holds(How::Cwd)]);
    drop(user);
    assert_eq!(holders(&temp, "run-2"), []);
}

#[test]
fn one_that_has_ended_and_was_not_reaped_holds_nothing() {
    let place = on_disk();
    let temp = mkdir(place.path().join("temp"));
    let mut user = Sleeper::start(|command| command.current_dir(&temp).env("CARILLON_RUN", "run-3"));
    user.0.kill().expect("our child");
    let pid = rustix::process::Pid::from_child(&user.0);
    let options = rustix::process::WaitIdOptions::EXITED | rustix::process::WaitIdOptions::NOWAIT;
    rustix::process::waitid(rustix::process::WaitId::Pid(pid), options).expect("it ends");
    assert_eq!(holders(&temp, "run-3"), []);
}

#[test]
fn links_in_the_path_of_the_directory_do_not_hide_its_users() {
    let place = on_disk();
    let temp = mkdir(place.path().join("real/temp"));
    symlink(place.path().join("real"), place.path().join("link")).expect("a link");
    let through_link = place.path().join("link/temp");
    let cwd = Sleeper::start(|command| command.current_dir(&temp));
    let variable = Sleeper::start(|command| command.env("TMPDIR", &through_link));
    let expected = sorted(vec![cwd.holds(How::Cwd), variable.holds(How::TempVariable)]);
    assert_eq!(holders(&through_link, "run-4"), expected);
}

#[test]
fn no_run_asks_for_no_marker() {
    let place = on_disk();
    let _empty = Sleeper::start(|command| command.env("CARILLON_RUN", ""));
    let _marked = Sleeper::start(|command| command.env("CARILLON_RUN", "run-5"));
    assert_eq!(holders(place.path(), ""), []);
    assert_eq!(holders(Path::new("/no/such/directory"), ""), []);
}
