//! The library as its users see it; one module per question, which its first line states.

mod adaptive;
mod bad_input;
mod bounds;
mod budget;
mod certificates;
mod conformance;
mod convex;
mod door;
mod family;
mod formats;
mod identities;
mod names;
mod properties;
mod queries;
mod registry;
mod regret;
mod relations;
mod robust;
mod saving;
mod snapshots;
mod streams;
mod strengths;
mod support;
mod tables;
mod vectors;
mod version_1;
