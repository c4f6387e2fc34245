//! Pictures as SVG text: line charts, bars, heatmaps of matrices and graphs.
//!
//! Drawn here rather than by a plotting crate: the pictures follow light and dark themes through CSS, sit
//! inline in one HTML file, carry their meaning in shape as well as colour, and stay small enough to mail.
//!
//! A chart is a plain struct with a `draw` method that gives a [`svg::Drawing`]; the drawing is then written
//! inline into a page or as a file of its own. The same data give the same bytes.

pub(crate) mod bars;
pub(crate) mod circle;
pub(crate) mod graph;
pub(crate) mod heatmap;
pub(crate) mod lines;
pub(crate) mod scale;
pub(crate) mod series;
pub(crate) mod svg;
pub(crate) mod theme;
pub(crate) mod tree;
