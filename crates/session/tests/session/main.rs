//! Whole sessions, and the files that they leave.
//!
//! | module | what it tests |
//! |---|---|
//! | `tasks` | tasks, their spans and their events |
//! | `instruments` | what is counted and measured |
//! | `subscribers` | those who are told, and what they may do meanwhile |
//! | `bad_days` | full queues and disks, servers that are away, panics, a kill |
//! | `support` | sessions in a directory of their own, and what is in their files |

mod bad_days;
mod instruments;
mod subscribers;
mod support;
mod tasks;
