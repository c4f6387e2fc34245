//! Which streams are measured: the presets of one family of generators.

/// One stream: how it is generated, and how Vowpal Wabbit is best run on it.
pub(super) struct Preset {
    /// The name on the command line and of the file.
    pub(super) name: &'static str,
    /// The stream's letter in tables.
    pub(super) letter: char,
    /// What the stream stands for, for the table.
    pub(super) about: &'static str,
    /// Examples at scale 1.
    pub(super) rows: u64,
    /// Number of tasks, K.
    pub(super) tasks: u64,
    /// Number of features, d.
    pub(super) features: u64,
    /// Expected non-zeros of a row before repeated draws are merged; `None` for dense rows.
    pub(super) nonzeros: Option<u32>,
    /// Exponent of the power law of feature frequencies.
    pub(super) feature_skew: f64,
    /// Exponent of the power law of task frequencies.
    pub(super) task_skew: f64,
    /// Size of a task's own part of the comparator, against 1 for the shared part.
    pub(super) sigma: f32,
    /// Groups of tasks with one shared vector each; with 4, the upper two are the negatives of the others.
    pub(super) groups: u64,
    /// Tasks in 1000 that share nothing.
    pub(super) outliers: u64,
    /// VW's `-b`: the smallest whose progressive error is within 0.2 points of that of `-b 24`, on this
    /// stream or on that of `bench_gen.py`. `--sweep` measures this again.
    pub(super) vw_bits: u32,
}

/// All streams, in the order they are run.
pub(super) const PRESETS: [Preset; 4] = [
    Preset {
        name: "sparse",
        letter: 'A',
        about: "sparse rows, power-law features",
        rows: 500_000,
        tasks: 100,
        features: 1 << 18,
        nonzeros: Some(50),
        feature_skew: 1.05,
        task_skew: 0.5,
        sigma: 0.5,
        groups: 1,
        outliers: 0,
        vw_bits: 23,
    },
    Preset {
        name: "tasks",
        letter: 'B',
        about: "many tasks, few examples each",
        rows: 1_000_000,
        tasks: 100_000,
        features: 1 << 16,
        nonzeros: Some(20),
        feature_skew: 1.05,
        task_skew: 0.8,
        sigma: 0.5,
        groups: 1,
        outliers: 0,
        vw_bits: 24,
    },
    Preset {
        name: "dense",
        letter: 'C',
        about: "dense rows, few tasks",
        rows: 200_000,
        tasks: 10,
        features: 100,
        nonzeros: None,
        feature_skew: 0.0,
        task_skew: 0.0,
        sigma: 0.5,
        groups: 1,
        outliers: 0,
        vw_bits: 18,
    },
    Preset {
        name: "cluster",
        letter: 'D',
        about: "four groups, two the negatives of the others, outliers",
        rows: 300_000,
        tasks: 64,
        features: 1 << 14,
        nonzeros: Some(40),
        feature_skew: 0.9,
        task_skew: 0.3,
        sigma: 0.3,
        groups: 4,
        outliers: 100,
        vw_bits: 22,
    },
];

/// The preset of this name, for the command line.
pub(super) fn named(name: &str) -> Result<&'static Preset, String> {
    PRESETS.iter().find(|preset| preset.name == name).ok_or_else(|| {
        let known: Vec<_> = PRESETS.iter().map(|preset| preset.name).collect();
        format!("no such stream; the streams are {}", known.join(", "))
    })
}
