//! The program as a user meets it: commands, messages, files, signals. One binary, so that it links once.

mod bad_files;
mod bad_lines;
mod bad_settings;
mod bound;
mod budgets;
mod data;
mod demo;
mod family;
mod fit;
mod formats;
mod help;
mod inspect;
mod interactions;
mod learn;
mod learned_relations;
mod outputs;
mod predict;
mod queries;
mod readme;
mod relations;
mod resume;
mod robust;
mod signals;
mod stream_flags;
mod support;
