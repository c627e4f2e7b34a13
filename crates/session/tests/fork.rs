//! A fork after start. By itself: what it does concerns every session of a process.

use std::time::Duration;

use kymo_session::{Checkpoint, Parent, Session, SessionOptions};

const LONG: Duration = Duration::from_secs(30);

#[test]
#[allow(unsafe_code, reason = "there is no safe fork")]
fn a_child_of_a_fork_records_nothing_and_hangs_on_nothing() {
    let place = tempfile::tempdir().unwrap();
    let start = |name: &str| {
        let mut options = SessionOptions::new(name);
        options.checkpoint = Checkpoint::Directory(place.path().to_owned());
        options.parent = Parent::None;
        Session::start(options).unwrap()
    };
    let session = start("parent");
    let task = session.task("before").create();
    assert!(session.flush(LONG));
    assert!(!session.metrics().is_empty());
    // SAFETY: the child calls functions of this crate, whose behaviour in a child is what is tested,
    // and ends without returning.
    let child = unsafe { libc::fork() };
    assert!(child >= 0);
    if child == 0 {
        task.completed();
        session.task("in the child").create();
        let is_inert = !session.flush(LONG)
            && !session.flush_file(LONG)
            && session.metrics().is_empty()
            && !session.end(LONG);
        let own = start("child");
        own.task("own").create().completed();
        let has_own = own.end(LONG) && own.task_count().completed == 1;
        let ids_differ = own.trace_id() != session.trace_id();
        // SAFETY: ends the process at once, without handlers of the parent.
        unsafe { libc::_exit(i32::from(!(is_inert && has_own && ids_differ))) };
    }
    let mut status = 0;
    // SAFETY: waits for the child made above and writes one number.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0);
    task.completed();
    assert!(session.end(LONG));
    assert_eq!(session.task_count().completed, 1);
    assert_eq!(session.task_count().created, 1);
}
