//! Living data of four kinds of users.
