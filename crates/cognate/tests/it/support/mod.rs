//! What several test modules use.

pub(crate) mod figure1;
pub(crate) mod forge;
pub(crate) mod harness;
pub(crate) mod matrices;
pub(crate) mod model_files;
pub(crate) mod p_norm;
pub(crate) mod plain;
pub(crate) mod problems;
pub(crate) mod readers;
pub(crate) mod samples;
pub(crate) mod texts;
