//! A terminal that is drawn on again and again, and left as it was.

use std::io::{self, IsTerminal, Write, stdin, stdout};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{self, LocalModes, OptionalActions, Termios};

use crate::failure::Failure;

/// Rows and columns of a terminal that does not tell.
const DEFAULT_SIZE: (usize, usize) = (24, 80);
/// The other screen, without a cursor.
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";
/// To the first line, and what is right of and below what was written.
const HOME: &str = "\x1b[H";
const CLEAR_LINE: &str = "\x1b[K";
const CLEAR_BELOW: &str = "\x1b[J";
/// Ctrl-C and Ctrl-D, which are keys here.
const CTRL_C: u8 = 3;
const CTRL_D: u8 = 4;

/// A key that was pressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    /// Enough was seen.
    End,
    /// Look again at once.
    Again,
    Other,
}

/// Whether somebody sits there, with a keyboard.
pub(super) fn is_there() -> bool {
    stdin().is_terminal() && stdout().is_terminal()
}

/// The terminal while it is drawn on.
#[derive(Debug)]
pub(super) struct Screen {
    /// How it was.
    before: Termios,
}

impl Screen {
    pub(super) fn open() -> Result<Self, Failure> {
        let before = termios::tcgetattr(stdin()).map_err(failed)?;
        let mut keys = before.clone();
        keys.local_modes -= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
        termios::tcsetattr(stdin(), OptionalActions::Now, &keys).map_err(failed)?;
        let screen = Self { before };
        write(ENTER)?;
        Ok(screen)
    }

    /// Rows and columns.
    pub(super) fn size(&self) -> (usize, usize) {
        match termios::tcgetwinsize(stdout()) {
            Ok(size) if size.ws_row > 0 && size.ws_col > 0 => {
                (usize::from(size.ws_row), usize::from(size.ws_col))
            }
            _ => DEFAULT_SIZE,
        }
    }

    /// Draws a page over the one before, without flicker.
    pub(super) fn draw(&mut self, text: &str) -> Result<(), Failure> {
        let mut page = String::from(HOME);
        let mut lines = text.lines().peekable();
        while let Some(line) = lines.next() {
            page.push_str(line);
            page.push_str(CLEAR_LINE);
            if lines.peek().is_some() {
                page.push_str("\r\n");
            }
        }
        page.push_str(CLEAR_BELOW);
        write(&page)
    }

    /// The key that is pressed within a time, if one is.
    pub(super) fn key_within(&mut self, time: Duration) -> Result<Option<Key>, Failure> {
        let input = stdin();
        let mut ready = [PollFd::new(&input, PollFlags::IN)];
        let time = Timespec::try_from(time).map_err(|_| failed(Errno::INVAL))?;
        match poll(&mut ready, Some(&time)) {
            Ok(0) => return Ok(None),
            // A signal: who asks looks whether it was meant.
            Err(Errno::INTR) => return Ok(None),
            Err(error) => return Err(failed(error)),
            Ok(_) => {}
        }
        let mut bytes = [0; 32];
        let count = rustix::io::read(&input, &mut bytes).map_err(failed)?;
        Ok(Some(match bytes.get(..count) {
            // Nobody is there any more.
            None | Some([]) => Key::End,
            Some([b'q' | b'Q' | CTRL_C | CTRL_D, ..] | [0x1b]) => Key::End,
            Some([b' ' | b'\r' | b'\n', ..]) => Key::Again,
            Some(_) => Key::Other,
        }))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // There is nobody left to tell.
        let _ = termios::tcsetattr(stdin(), OptionalActions::Now, &self.before);
        let _ = write(LEAVE);
    }
}

fn write(text: &str) -> Result<(), Failure> {
    let mut out = stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    written.map_err(|source| Failure::Io { act: "write to", what: "the terminal".into(), source })
}

fn failed(error: Errno) -> Failure {
    Failure::Io { act: "use", what: "the terminal".into(), source: io::Error::from(error) }
}
