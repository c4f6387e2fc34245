//! What survives: crashes at any moment, failures of any call, damage at any place.

mod crashes;
mod damage;
mod models;
