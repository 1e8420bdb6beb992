//! Modes under every umask. The umask belongs to the whole process, so this file has one test alone.

mod common;

use carillon_tidy::{base, temp, trash};
use common::{mkdir, mode_of, on_disk};
use rustix::fs::Mode;

#[test]
fn what_we_create_is_for_us_alone_whatever_the_umask_is() {
    for umask in [0o000, 0o022, 0o077, 0o777] {
        let place = on_disk();
        let before = rustix::process::umask(Mode::from_raw_mode(umask));
        let base = base::choose(&[place.path().join("p/t")]);
        let base = base.unwrap_or_else(|refusals| panic!("umask {umask:03o}: {refusals:?}")).path;
        let made = temp::create(&base, "ab12cd", "abcdefgh").expect("a temp directory");
        let buried = trash::bury(&base, &trash::name("ab12cd"), &made.path).expect("it can be renamed");
        rustix::process::umask(before);
        mkdir(base.join("ab12cd"));
        let trash = buried.parent().expect("the trash");
        for dir in [&place.path().join("p"), &base, &base.join("ab12cd"), &buried, &trash.to_path_buf()] {
            assert_eq!(mode_of(dir), 0o700, "umask {umask:03o}: {}", dir.display());
        }
    }
}
