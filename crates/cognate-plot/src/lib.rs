//! Pictures, pages and tables as text: SVG, HTML, and columns for a terminal, from plain data.
//!
//! This crate is internal to the `cognate` program; its API is not stable. It knows nothing of learners: a chart is a
//! plain struct with a `draw` method that gives a [`svg::Drawing`], and the drawing is written inline into a [`page`] or
//! as a file of its own. The same data give the same bytes.
//!
//! The pictures are drawn here rather than by a plotting crate because they follow light and dark themes through CSS,
//! sit inline in one HTML file, carry their meaning in shape as well as colour, and stay small enough to mail.

pub mod bars;
mod circle;
pub mod clustering;
pub mod graph;
pub mod heatmap;
pub mod lines;
pub mod numbers;
pub mod page;
pub mod scale;
mod series;
pub mod svg;
pub mod text_table;
mod theme;
mod tree;
