//! Users and their passwords: who is right, how long that is remembered, how often one may be
//! wrong.
//!
//! ```text
//!  name, password ─> remembered? ──yes──> right or wrong, at no cost
//!                        └─no─> too many failures? ──yes──> refused
//!                                     └─no─> compared: at once, or hashed on a thread of its own
//! ```
//!
//! Hashing takes 0.2 s, so a combination that was right is remembered until it has not been used for
//! a minute, under a key that nobody outside this process knows. While it is remembered, nobody who
//! guesses, be it at the same address, can lock its user out. One that was wrong is remembered for a
//! minute, and counts as a failure once: a machine with an old password in its settings sends it
//! every few seconds, guesses nothing, and must not use up the attempts of its neighbours.
//!
//! What takes time is done on threads that may block: hashing, and reading a file with a password
//! again.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ring::hmac;
use ring::rand::SystemRandom;
use tokio::sync::Semaphore;

use crate::attempts::Attempts;
use crate::denied::Denied;
use crate::expiring::ExpiringSet;
use crate::grant::Grant;
use crate::limits::{
    MAX_PASSWORDS_HASHED_AT_ONCE, MAX_PASSWORDS_WAITING, MAX_VERDICTS, VERDICT_KEPT_FOR,
};
use crate::method::Method;
use crate::settings::{UserSettings, WrongSetting};
use crate::stored::{Source, Stored};

/// What a name and a password are remembered by.
type Combination = [u8; 32];

/// All users.
pub(crate) struct Passwords {
    users: HashMap<String, User>,
    key: hmac::Key,
    right: ExpiringSet<Combination>,
    wrong: ExpiringSet<Combination>,
    attempts: Attempts,
    /// What each check takes: the most that one of the passwords has ever needed.
    rounds: AtomicU32,
    turns: Arc<Semaphore>,
    waiting: AtomicUsize,
}

struct User {
    grant: Grant,
    password: Source,
}

/// Whether somebody is who he says.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// He is.
    Right(Grant),
    /// He is not; the name, if there is such a user.
    Wrong(Option<String>),
    /// It is not looked at.
    TooMany(Duration),
}

/// A name and a password that are to be checked.
pub(crate) struct Login {
    user: String,
    password: String,
    address: IpAddr,
    now: Instant,
    stored: Arc<Stored>,
    /// Whether the file that it is from has to be looked at again.
    is_due: bool,
    /// What the check takes.
    rounds: u32,
    combination: Combination,
}

impl Passwords {
    pub(crate) fn new(users: &[UserSettings], now: Instant) -> Result<Self, WrongSetting> {
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &SystemRandom::new())
            .map_err(|_| WrongSetting::new("users", "the system gave no random numbers"))?;
        let (mut by_name, mut rounds) = (HashMap::new(), 0);
        for (nth, user) in users.iter().enumerate() {
            let password = Source::of(user, &format!("users[{nth}]"), &key, now)?;
            rounds = rounds.max(password.known().rounds());
            let grant = Grant {
                name: user.name.clone(),
                roles: user.roles.clone(),
                tenants: user.tenants.clone(),
                method: Some(Method::Basic),
            };
            by_name.insert(user.name.clone(), User { grant, password });
        }
        Ok(Self {
            users: by_name,
            key,
            right: ExpiringSet::new(VERDICT_KEPT_FOR, MAX_VERDICTS),
            wrong: ExpiringSet::new(VERDICT_KEPT_FOR, MAX_VERDICTS),
            attempts: Attempts::new(),
            rounds: AtomicU32::new(rounds),
            turns: Arc::new(Semaphore::new(MAX_PASSWORDS_HASHED_AT_ONCE)),
            waiting: AtomicUsize::new(0),
        })
    }

    /// Who was wrong how often.
    pub(crate) fn attempts(&self) -> &Attempts {
        &self.attempts
    }

    /// A name and a password, ready to be checked.
    pub(crate) fn login(&self, user: &str, password: &str, address: IpAddr, now: Instant) -> Login {
        let source = self.users.get(user).map(|user| &user.password);
        let stored = source.map_or_else(|| Arc::new(Stored::Nothing), Source::known);
        let combination = self.combination(user, password, &stored);
        Login {
            user: user.to_owned(),
            password: password.to_owned(),
            address,
            now,
            stored,
            is_due: source.is_some_and(|source| source.is_due(now)),
            rounds: self.rounds.load(Ordering::Relaxed),
            combination,
        }
    }

    /// The same after a look at the file that the password is in.
    fn read_again(&self, login: Login) -> Login {
        let Login { user, password, address, now, .. } = login;
        if let Some(known) = self.users.get(&user) {
            let rounds = known.password.read_again(&self.key, now).rounds();
            self.rounds.fetch_max(rounds, Ordering::Relaxed);
        }
        // Somebody else may be reading it; what was known is good for as long as that takes.
        Login { is_due: false, ..self.login(&user, &password, address, now) }
    }

    /// The verdict, if it costs nothing.
    pub(crate) fn judge_quickly(&self, login: &Login) -> Option<Verdict> {
        if login.is_due {
            return None;
        }
        if self.right.contains(&login.combination, login.now) {
            self.right.insert(login.combination, login.now);
            self.attempts.password_was_right(&login.user, login.address, login.now);
            return Some(self.verdict(login, true));
        }
        if self.wrong.contains(&login.combination, login.now) {
            return Some(self.verdict(login, false));
        }
        let Login { user, address, now, .. } = login;
        if let Err(wait) = self.attempts.allow_password(user, *address, *now) {
            return Some(Verdict::TooMany(wait));
        }
        (login.rounds == 0).then(|| self.compare(login))
    }

    /// The verdict. What has to be hashed waits for its turn and is hashed on a thread for work
    /// that blocks; it goes on there even if nobody waits for it any more, or else a guesser who
    /// hangs up would neither wait nor be counted.
    pub(crate) async fn judge(self: Arc<Self>, mut login: Login) -> Result<Verdict, Denied> {
        let busy = || Denied::Unavailable { retry_after: Duration::from_secs(1) };
        if login.is_due {
            let passwords = Arc::clone(&self);
            let reading = tokio::task::spawn_blocking(move || passwords.read_again(login));
            login = reading.await.map_err(|_| busy())?;
        }
        if let Some(verdict) = self.judge_quickly(&login) {
            return Ok(verdict);
        }
        let turn = {
            let _waiting = Waiting::join(&self.waiting).ok_or_else(busy)?;
            Arc::clone(&self.turns).acquire_owned().await.map_err(|_| busy())?
        };
        let hashing = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            // Somebody else may have come with the same, and have been first.
            self.judge_quickly(&login).unwrap_or_else(|| self.compare(&login))
        });
        hashing.await.map_err(|_| busy())
    }

    /// Compares, and remembers what came of it.
    fn compare(&self, login: &Login) -> Verdict {
        let is_right = login.stored.is(&login.password, &self.key, login.rounds);
        let Login { user, address, now, combination, .. } = login;
        if is_right {
            self.right.insert(*combination, *now);
            self.attempts.password_was_right(user, *address, *now);
        } else {
            self.wrong.insert(*combination, *now);
            self.attempts.password_was_wrong(user, *address, *now);
        }
        self.verdict(login, is_right)
    }

    fn verdict(&self, login: &Login, is_right: bool) -> Verdict {
        match self.users.get(&login.user) {
            Some(user) if is_right => Verdict::Right(user.grant.clone()),
            user => Verdict::Wrong(user.map(|user| user.grant.name.clone())),
        }
    }

    /// With their lengths, so that no two combinations look the same; and with what the password is
    /// compared with, so that nothing is remembered of an old one.
    fn combination(&self, user: &str, password: &str, stored: &Stored) -> Combination {
        let mut context = hmac::Context::with_key(&self.key);
        for part in [user.as_bytes(), password.as_bytes(), &stored.fingerprint()] {
            context.update(&(part.len() as u64).to_le_bytes());
            context.update(part);
        }
        let mut combination = Combination::default();
        for (to, from) in combination.iter_mut().zip(context.sign().as_ref()) {
            *to = *from;
        }
        combination
    }
}

/// A place in the queue.
struct Waiting<'a>(&'a AtomicUsize);

impl<'a> Waiting<'a> {
    fn join(waiting: &'a AtomicUsize) -> Option<Self> {
        let before = waiting.fetch_add(1, Ordering::Relaxed);
        let place = Self(waiting);
        (before < MAX_PASSWORDS_WAITING).then_some(place)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);

    fn passwords(users: &str) -> Arc<Passwords> {
        let settings: crate::IdentitySettings = kymo_yaml::from_str(users).unwrap();
        Arc::new(Passwords::new(&settings.users, Instant::now()).unwrap())
    }

    /// The hash of "hunter2" in the fewest rounds, to be quick.
    const HASHED: &str =
        "pbkdf2-sha256$100000$AAECAwQFBgcICQoLDA0ODw$hE1uCS3vlWo9J3PkHXIb8tlaHY9STZcMp2zSBSigNnk";

    fn hashed() -> Arc<Passwords> {
        passwords(&format!("users: [{{name: ada, roles: [read], password_hash: '{HASHED}'}}]"))
    }

    #[test]
    fn a_plain_password_is_judged_at_once_and_wrong_ones_are_counted() {
        let passwords = passwords("users: [{name: ada, password: hunter2, roles: [read]}]");
        let now = Instant::now();
        let judge =
            |password: &str| passwords.judge_quickly(&passwords.login("ada", password, HERE, now));
        assert!(matches!(judge("hunter2"), Some(Verdict::Right(grant)) if grant.name == "ada"));
        for nth in 0..10 {
            let verdict = judge(&format!("guess {nth}"));
            assert!(matches!(verdict, Some(Verdict::Wrong(Some(name))) if name == "ada"));
        }
        assert!(matches!(judge("guess 11"), Some(Verdict::TooMany(_))));
        // Remembered, so it passes.
        assert!(matches!(judge("hunter2"), Some(Verdict::Right(_))));
    }

    #[test]
    fn the_same_wrong_password_is_counted_once_a_minute() {
        let passwords = passwords("users: [{name: ada, password: hunter2, roles: [read]}]");
        let now = Instant::now();
        for _ in 0..1000 {
            let login = passwords.login("ada", "the old one", HERE, now);
            assert!(matches!(passwords.judge_quickly(&login), Some(Verdict::Wrong(_))));
        }
        let login = passwords.login("ada", "hunter2", HERE, now);
        assert!(matches!(passwords.judge_quickly(&login), Some(Verdict::Right(_))));
    }

    #[test]
    fn a_name_that_nobody_has_is_not_kept() {
        let passwords = passwords("users: [{name: ada, password: hunter2, roles: [read]}]");
        let login = passwords.login("hunter2", "ada", HERE, Instant::now());
        assert!(matches!(passwords.judge_quickly(&login), Some(Verdict::Wrong(None))));
    }

    #[tokio::test]
    async fn a_hashed_password_is_hashed_once_and_then_remembered_for_a_minute() {
        let (passwords, now) = (hashed(), Instant::now());
        let login = |password, now| passwords.login("ada", password, HERE, now);
        assert!(passwords.judge_quickly(&login("hunter2", now)).is_none());
        let verdict = Arc::clone(&passwords).judge(login("hunter2", now)).await.unwrap();
        assert!(matches!(verdict, Verdict::Right(_)));
        assert!(matches!(passwords.judge_quickly(&login("hunter2", now)), Some(Verdict::Right(_))));
        let later = now + VERDICT_KEPT_FOR;
        assert!(passwords.judge_quickly(&login("hunter2", later)).is_none());
    }

    #[tokio::test]
    async fn an_unknown_user_is_hashed_for_like_a_known_one() {
        let (passwords, now) = (hashed(), Instant::now());
        let login = passwords.login("nobody", "hunter2", HERE, now);
        assert_eq!(login.rounds, 100_000);
        assert!(passwords.judge_quickly(&login).is_none());
        let verdict = Arc::clone(&passwords).judge(login).await.unwrap();
        assert!(matches!(verdict, Verdict::Wrong(None)));
    }

    #[tokio::test]
    async fn a_changed_password_is_not_remembered_as_right() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("password");
        std::fs::write(&path, "first").unwrap();
        let passwords = passwords(&format!(
            "users: [{{name: ada, password_file: '{}', roles: [read]}}]",
            path.display()
        ));
        let now = Instant::now();
        let judge = async |password: &str, now| {
            let login = passwords.login("ada", password, HERE, now);
            Arc::clone(&passwords).judge(login).await.unwrap()
        };
        assert!(matches!(judge("first", now).await, Verdict::Right(_)));
        assert!(matches!(judge("second", now).await, Verdict::Wrong(_)));
        std::fs::write(&path, "second").unwrap();
        let later = now + Duration::from_secs(2);
        // Files are not read where somebody waits for the answer.
        let login = passwords.login("ada", "first", HERE, later);
        assert!(passwords.judge_quickly(&login).is_none());
        assert!(matches!(judge("first", later).await, Verdict::Wrong(_)));
        assert!(matches!(judge("second", later).await, Verdict::Right(_)));
    }

    #[tokio::test]
    async fn a_file_that_has_got_a_hash_makes_all_checks_take_its_time() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("password");
        std::fs::write(&path, "hunter2").unwrap();
        let passwords = passwords(&format!(
            "users: [{{name: ada, password_file: '{}', roles: [read]}}]",
            path.display()
        ));
        let (now, later) = (Instant::now(), Instant::now() + Duration::from_secs(2));
        assert_eq!(passwords.login("nobody", "x", HERE, now).rounds, 0);
        std::fs::write(&path, HASHED).unwrap();
        let login = passwords.login("ada", "hunter2", HERE, later);
        let verdict = Arc::clone(&passwords).judge(login).await.unwrap();
        assert!(matches!(verdict, Verdict::Right(_)));
        assert_eq!(passwords.login("nobody", "x", HERE, later).rounds, 100_000);
    }

    #[test]
    fn who_is_active_is_not_locked_out_by_guesses_at_his_own_address() {
        let passwords = passwords("users: [{name: ada, password: hunter2, roles: [read]}]");
        let start = Instant::now();
        let judge = |password: &str, now| {
            passwords.judge_quickly(&passwords.login("ada", password, HERE, now)).unwrap()
        };
        for nth in 0..20 {
            let now = start + Duration::from_secs(30 * nth);
            assert!(matches!(judge("hunter2", now), Verdict::Right(_)), "{nth}");
            (0..20).for_each(|guess| drop(judge(&format!("{nth} {guess}"), now)));
        }
        let idle = start + Duration::from_secs(19 * 30) + VERDICT_KEPT_FOR;
        (0..20).for_each(|guess| drop(judge(&format!("idle {guess}"), idle)));
        assert!(
            matches!(judge("hunter2", idle), Verdict::TooMany(_)),
            "it is forgotten in the end"
        );
    }

    #[tokio::test]
    async fn many_right_requests_at_once_are_all_let_in() {
        let (passwords, now) = (hashed(), Instant::now());
        let requests: Vec<_> = (0..50)
            .map(|_| {
                let login = passwords.login("ada", "hunter2", HERE, now);
                tokio::spawn(Arc::clone(&passwords).judge(login))
            })
            .collect();
        for request in requests {
            assert!(matches!(request.await.unwrap(), Ok(Verdict::Right(_))));
        }
    }

    #[tokio::test]
    async fn who_hangs_up_is_counted_all_the_same() {
        let (passwords, now) = (hashed(), Instant::now());
        let login = passwords.login("ada", "guess", HERE, now);
        let request = tokio::spawn(Arc::clone(&passwords).judge(login));
        let is_free = || passwords.turns.available_permits() == MAX_PASSWORDS_HASHED_AT_ONCE;
        while is_free() && !request.is_finished() {
            tokio::task::yield_now().await;
        }
        request.abort();
        // Both turns are free again when the work is done.
        let _all = passwords.turns.acquire_many(MAX_PASSWORDS_HASHED_AT_ONCE as u32).await.unwrap();
        let login = passwords.login("ada", "guess", HERE, now);
        assert!(passwords.wrong.contains(&login.combination, now));
    }
}
