//! What can be watched from outside? Prometheus' text, every series there from the start.

use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfModel {
    model: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfReason {
    model: String,
    reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfKind {
    model: String,
    kind: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfRequest {
    route: String,
    method: String,
    status: String,
}

type FloatGauge = Gauge<f64, AtomicU64>;

/// Why requests are refused, as the metric tells it.
const REASONS: [&str; 10] = [
    "malformed",
    "out_of_range",
    "not_found",
    "conflict",
    "too_large",
    "timeout",
    "too_many_requests",
    "unavailable",
    "forbidden",
    "unsupported_media_type",
];
/// Kinds of drift that are told.
const DRIFTS: [&str; 1] = ["loss"];

fn seconds() -> Histogram {
    Histogram::new([0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0])
}

fn sizes() -> Histogram {
    Histogram::new([1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0, 10_000.0, 100_000.0])
}

/// All metrics of a server.
#[derive(Debug)]
pub struct Metrics {
    registry: Mutex<Registry>,
    learned: Family<OfModel, Counter>,
    predictions: Family<OfModel, Counter>,
    mistakes: Family<OfModel, Counter>,
    rejected: Family<OfReason, Counter>,
    error: Family<OfModel, FloatGauge>,
    tasks: Family<OfModel, Gauge>,
    queue: Family<OfModel, Gauge>,
    leases: Family<OfModel, Counter>,
    drifts: Family<OfKind, Counter>,
    pending: Family<OfModel, Gauge>,
    dropped: Family<OfModel, Counter>,
    syncs: Family<OfModel, Histogram>,
    groups: Family<OfModel, Histogram>,
    poisoned: Family<OfModel, Gauge>,
    snapshots: Family<OfModel, FloatGauge>,
    requests: Family<OfRequest, Histogram>,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// None of any model yet.
    pub fn new() -> Self {
        let mut registry = Registry::default();
        let metrics = Self {
            registry: Mutex::default(),
            learned: Family::default(),
            predictions: Family::default(),
            mistakes: Family::default(),
            rejected: Family::default(),
            error: Family::default(),
            tasks: Family::default(),
            queue: Family::default(),
            leases: Family::default(),
            drifts: Family::default(),
            pending: Family::default(),
            dropped: Family::default(),
            syncs: Family::new_with_constructor(seconds),
            groups: Family::new_with_constructor(sizes),
            poisoned: Family::default(),
            snapshots: Family::default(),
            requests: Family::new_with_constructor(seconds),
        };
        let ours = registry.sub_registry_with_prefix("cognate");
        ours.register("examples_learned", "Labelled examples learnt", metrics.learned.clone());
        ours.register("predictions", "Examples predicted", metrics.predictions.clone());
        ours.register(
            "mistakes",
            "Examples whose label was mistaken before it was learnt",
            metrics.mistakes.clone(),
        );
        ours.register("rejected", "Requests refused", metrics.rejected.clone());
        ours.register(
            "progressive_error_ratio",
            "Mistakes per example, before learning",
            metrics.error.clone(),
        );
        ours.register("tasks", "Tasks of a model", metrics.tasks.clone());
        ours.register("queue_items", "Examples that wait for a person's label", metrics.queue.clone());
        ours.register("lease_expired", "Leases of the label queue that ran out", metrics.leases.clone());
        ours.register("drift_alerts", "Alerts about tasks that got worse", metrics.drifts.clone());
        ours.register(
            "pending_examples",
            "Predicted examples that wait for their labels",
            metrics.pending.clone(),
        );
        ours.register(
            "pending_dropped",
            "Predicted examples dropped before their labels",
            metrics.dropped.clone(),
        );
        ours.register("log_sync_duration_seconds", "Time until a group was on disk", metrics.syncs.clone());
        ours.register(
            "log_group_examples",
            "Examples that were made durable together",
            metrics.groups.clone(),
        );
        ours.register("log_poisoned", "1 once learning has stopped", metrics.poisoned.clone());
        ours.register(
            "snapshot_last_success_timestamp_seconds",
            "When the last snapshot was made",
            metrics.snapshots.clone(),
        );
        let version = vec![("version".to_owned(), env!("CARGO_PKG_VERSION").to_owned())];
        ours.register("build", "The program", Info::new(version));
        registry.register("http_request_duration_seconds", "Time to answer", metrics.requests.clone());
        Self { registry: Mutex::new(registry), ..metrics }
    }

    /// The metrics of a model, all of them there at once.
    pub fn model(&self, model: &str) -> ModelMetrics {
        let of = || OfModel { model: model.to_owned() };
        for reason in REASONS {
            drop(
                self.rejected.get_or_create(&OfReason { model: model.to_owned(), reason: reason.to_owned() }),
            );
        }
        for kind in DRIFTS {
            drop(self.drifts.get_or_create(&OfKind { model: model.to_owned(), kind: kind.to_owned() }));
        }
        ModelMetrics {
            model: model.into(),
            learned: self.learned.get_or_create_owned(&of()),
            predictions: self.predictions.get_or_create_owned(&of()),
            mistakes: self.mistakes.get_or_create_owned(&of()),
            rejected: self.rejected.clone(),
            error: self.error.get_or_create_owned(&of()),
            tasks: self.tasks.get_or_create_owned(&of()),
            queue: self.queue.get_or_create_owned(&of()),
            leases: self.leases.get_or_create_owned(&of()),
            drifts: self.drifts.clone(),
            pending: self.pending.get_or_create_owned(&of()),
            dropped: self.dropped.get_or_create_owned(&of()),
            syncs: self.syncs.get_or_create_owned(&of()),
            groups: self.groups.get_or_create_owned(&of()),
            poisoned: self.poisoned.get_or_create_owned(&of()),
            snapshots: self.snapshots.get_or_create_owned(&of()),
            counted: Arc::default(),
        }
    }

    /// A model is gone.
    pub fn forget(&self, model: &str) {
        let of = OfModel { model: model.to_owned() };
        self.learned.remove(&of);
        self.predictions.remove(&of);
        self.mistakes.remove(&of);
        self.error.remove(&of);
        self.tasks.remove(&of);
        self.queue.remove(&of);
        self.leases.remove(&of);
        self.pending.remove(&of);
        self.dropped.remove(&of);
        self.syncs.remove(&of);
        self.groups.remove(&of);
        self.poisoned.remove(&of);
        self.snapshots.remove(&of);
        for reason in REASONS {
            self.rejected.remove(&OfReason { model: model.to_owned(), reason: reason.to_owned() });
        }
        for kind in DRIFTS {
            self.drifts.remove(&OfKind { model: model.to_owned(), kind: kind.to_owned() });
        }
    }

    /// A request is answered like this; with 0 seconds nothing but the series is made.
    pub fn request(&self, route: &str, method: &str, status: u16, seconds: Option<f64>) {
        let of = OfRequest { route: route.to_owned(), method: method.to_owned(), status: status.to_string() };
        let histogram = self.requests.get_or_create_owned(&of);
        seconds.into_iter().for_each(|seconds| histogram.observe(seconds));
    }

    /// All of them as text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let registry = self.registry.lock().unwrap_or_else(PoisonError::into_inner);
        // Writing to a string does not fail.
        let _ = prometheus_client::encoding::text::encode(&mut text, &registry);
        text
    }
}

/// The metrics of one model.
#[derive(Debug, Clone)]
pub struct ModelMetrics {
    model: Arc<str>,
    learned: Counter,
    predictions: Counter,
    mistakes: Counter,
    rejected: Family<OfReason, Counter>,
    error: FloatGauge,
    tasks: Gauge,
    queue: Gauge,
    leases: Counter,
    drifts: Family<OfKind, Counter>,
    pending: Gauge,
    dropped: Counter,
    syncs: Histogram,
    groups: Histogram,
    poisoned: Gauge,
    snapshots: FloatGauge,
    /// Counts of the model that have been told: those of before the start count as told.
    counted: Arc<Mutex<Option<(u64, u64)>>>,
}

impl ModelMetrics {
    /// Whose they are.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The model has learnt so much over its life; how much of it is new.
    pub(crate) fn learnt(&self, examples: u64, mistakes: u64, error: f64) -> u64 {
        self.error.set(error);
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let (before, mistaken) = counted.replace((examples, mistakes)).unwrap_or((examples, mistakes));
        // A task that was forgotten takes its counts with it.
        let new = examples.saturating_sub(before);
        self.learned.inc_by(new);
        self.mistakes.inc_by(mistakes.saturating_sub(mistaken));
        new
    }

    pub(crate) fn tasks(&self, tasks: usize) {
        self.tasks.set(i64::try_from(tasks).unwrap_or(i64::MAX));
    }

    pub(crate) fn queue(&self, items: usize) {
        self.queue.set(i64::try_from(items).unwrap_or(i64::MAX));
    }

    pub(crate) fn drift(&self, kind: &str) {
        let of = OfKind { model: self.model.to_string(), kind: kind.to_owned() };
        self.drifts.get_or_create(&of).inc();
    }

    pub(crate) fn leases_expired(&self, leases: u64) {
        self.leases.inc_by(leases);
    }

    pub(crate) fn pending(&self, waiting: usize, dropped: u64) {
        self.pending.set(i64::try_from(waiting).unwrap_or(i64::MAX));
        self.dropped.inc_by(dropped.saturating_sub(self.dropped.get()));
    }

    pub(crate) fn group(&self, examples: u64, seconds: f64) {
        self.groups.observe(examples as f64);
        self.syncs.observe(seconds);
    }

    pub(crate) fn snapshot_at(&self, seconds: f64) {
        self.snapshots.set(seconds);
    }

    pub(crate) fn poisoned(&self) {
        self.poisoned.set(1);
    }

    /// So many examples were predicted.
    pub fn predicted(&self, examples: u64) {
        self.predictions.inc_by(examples);
    }

    /// A request was refused.
    pub fn rejected(&self, reason: &str) {
        let of = OfReason { model: self.model.to_string(), reason: reason.to_owned() };
        self.rejected.get_or_create(&of).inc();
    }
}
