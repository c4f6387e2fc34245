//! Does every registered learner keep the protocol? Each learner and each check make a test with a name of its own.

use cognate::algorithms::Protocol;
use cognate::internal::CHECKS;
use cognate::{LearnerConfig, REGISTRY};

/// Runs one check on one config, both by name.
fn run(config: &str, check: &str) {
    let config: LearnerConfig = serde_json::from_str(config).unwrap();
    let (_, check) = CHECKS.iter().find(|(name, _)| *name == check).unwrap();
    if let Err(problem) = check(&config) {
        panic!("{problem}");
    }
}

/// One module per subject with one test per check, and the lists of subjects and checks.
macro_rules! conformance {
    ([$($subject:ident = $config:literal,)*] $checks:tt) => {
        $(conformance!(@subject $subject $config $checks);)*

        pub(crate) const SUBJECTS: &[(&str, &str)] = &[$((stringify!($subject), $config),)*];
        conformance!(@names $checks);
    };
    (@subject $subject:ident $config:literal [$($check:ident,)*]) => {
        mod $subject {
            $(#[test] fn $check() { super::run($config, stringify!($check)); })*
        }
    };
    (@names [$($check:ident,)*]) => {
        const CHECK_NAMES: &[&str] = &[$(stringify!($check),)*];
    };
}

conformance! {
    // Every learner with its defaults, under its id; then with every choice that makes it work differently inside.
    [
        adaptive = r#""adaptive""#,
        adaptive_independent = r#"{"adaptive": {"interaction": "independent"}}"#,
        adaptive_pooled = r#"{"adaptive": {"interaction": "pooled", "intercept": false, "rate": 3}}"#,
        adaptive_pairwise = r#"{"adaptive": {"interaction": "pairwise"}}"#,
        adaptive_coupled = r#"{"adaptive": {"interaction": {"coupled": {"b": 4}}, "loss": "hinge"}}"#,
        adaptive_uncoupled = r#"{"adaptive": {"interaction": {"coupled": {"b": 0}}}}"#,
        adaptive_hinge = r#"{"adaptive": {"loss": "hinge", "intercept": false}}"#,
        adaptive_forgetful = r#"{"adaptive": {"forget": 0.5}}"#,
        adaptive_forgetful_alone = r#"{"adaptive": {"forget": 0.5, "interaction": "independent"}}"#,
        adaptive_average = r#"{"adaptive": {"average": true}}"#,
        adaptive_average_alone = r#"{"adaptive": {"average": true, "interaction": "independent"}}"#,
        adaptive_average_pooled = r#"{"adaptive": {"average": true, "interaction": "pooled", "loss": "hinge"}}"#,
        adaptive_average_graph =
            r#"{"adaptive": {"average": true, "interaction": {"graph": {"edges": [["b", "a"], ["c", "a", 0.5]]}}}}"#,
        adaptive_groups = r#"{"adaptive": {"groups": 3, "forget": 40}}"#,
        adaptive_squares = r#"{"adaptive": {"loss": "squares"}}"#,
        adaptive_squares_alone = r#"{"adaptive": {"loss": "squares", "interaction": "independent", "forget": 9}}"#,
        adaptive_absolute_pooled = r#"{"adaptive": {"loss": "absolute", "interaction": "pooled", "average": true}}"#,
        adaptive_quantile_groups = r#"{"adaptive": {"loss": {"quantile": {"q": 0.9}}, "groups": 3}}"#,
        adaptive_squares_graph =
            r#"{"adaptive": {"loss": "squares", "interaction": {"graph": {"edges": [["b", "a"], ["7", "c"]]}}}}"#,
        adaptive_graph =
            r#"{"adaptive": {"interaction": {"graph": {"edges": [["b", "a"], ["7", "c"], ["c", "a", 0.5]]}}}}"#,
        adaptive_matrix = r#"{"adaptive": {"loss": "hinge", "forget": 9, "interaction": {"matrix": {"rows":
            [[2, -0.5, 0.3, 0], [-0.5, 1.5, 0, -0.2], [0.3, 0, 1, 0.1], [0, -0.2, 0.1, 3]]}}}}"#,
        perceptron = r#""perceptron""#,
        perceptron_independent = r#"{"perceptron": {"interaction": "independent"}}"#,
        perceptron_pooled = r#"{"perceptron": {"interaction": "pooled"}}"#,
        perceptron_pairwise = r#"{"perceptron": {"interaction": "pairwise"}}"#,
        perceptron_uncoupled = r#"{"perceptron": {"interaction": {"coupled": {"b": 0}}}}"#,
        perceptron_auto = r#"{"perceptron": {"interaction": {"coupled": {"b": "auto"}}}}"#,
        perceptron_complete = r#"{"perceptron": {"interaction": {"graph": {"edges": "complete"}}}}"#,
        perceptron_graph =
            r#"{"perceptron": {"interaction": {"graph": {"edges": [["b", "a"], ["7", "c"], ["c", "a", 0.5]]}}}}"#,
        perceptron_matrix = r#"{"perceptron": {"interaction": {"matrix": {"rows":
            [[2, -0.5, 0.3, 0], [-0.5, 1.5, 0, -0.2], [0.3, 0, 1, 0.1], [0, -0.2, 0.1, 3]]}}}}"#,
        kernel_perceptron = r#""kernel-perceptron""#,
        kernel_perceptron_gaussian = r#"{"kernel-perceptron": {"interaction": "pairwise", "kernel": "gaussian"}}"#,
        kernel_perceptron_graph =
            r#"{"kernel-perceptron": {"interaction": {"graph": {"edges": [["b", "a"], ["7", "c"]]}}}}"#,
        second_order_perceptron = r#""second-order-perceptron""#,
        second_order_perceptron_independent =
            r#"{"second-order-perceptron": {"interaction": "independent", "a": 0.1}}"#,
        second_order_perceptron_gaussian = r#"{"second-order-perceptron": {"kernel": "gaussian"}}"#,
        relation_perceptron = r#""relation-perceptron""#,
        relation_perceptron_primed = r#"{"relation-perceptron": {"priming": 40, "start": 2.5, "shrink": 0.1}}"#,
        relation_perceptron_free = r#"{"relation-perceptron": {"priming": 1, "trace": "none", "eta": 1e-6}}"#,
        relation_perceptron_covariance = r#"{"relation-perceptron": {"relation": "covariance", "priming": 20}}"#,
        relation_perceptron_von_neumann =
            r#"{"relation-perceptron": {"relation": "von-neumann", "priming": 10, "eta": 0.01}}"#,
        relation_perceptron_von_neumann_shrunk =
            r#"{"relation-perceptron": {"relation": "von-neumann", "shrink": 0.2}}"#,
        relation_perceptron_batch_optimal = r#"{"relation-perceptron": {"relation": "batch-optimal"}}"#,
        relation_perceptron_a =
            r#"{"relation-perceptron": {"multiplier": "a", "start": 0.2, "eta": 0.01, "priming": 30}}"#,
        relation_perceptron_a_von_neumann = r#"{"relation-perceptron": {"multiplier": "a", "start": 0.2,
            "relation": "von-neumann", "eta": 0.001}}"#,
        relation_perceptron_scale_free = r#"{"relation-perceptron": {"relation": "scale-free"}}"#,
        relation_perceptron_scale_free_forgetful =
            r#"{"relation-perceptron": {"relation": "scale-free", "forget": 30}}"#,
        relation_perceptron_scale_free_primed =
            r#"{"relation-perceptron": {"relation": "scale-free", "priming": 50, "shrink": 0.1, "start": 0.5}}"#,
        budget_random = r#""budget-random""#,
        budget_random_small = r#"{"budget-random": {"budget": 7, "kernel": "gaussian", "seed": 3}}"#,
        budget_random_graph =
            r#"{"budget-random": {"budget": 20, "graph": {"edges": [["b", "a"], ["7", "c"], ["c", "a", 0.5]]}}}"#,
        budget_random_matrix = r#"{"budget-random": {"budget": 20, "graph": {"matrix": {"rows":
            [[2, -1, -1, 0], [-1, 2, -1, 0], [-1, -1, 2, 0], [0, 0, 0, 1]]}}}}"#,
        budget_shared_projectron_matrix = r#"{"budget-shared-projectron": {"budget": 20, "kernel": "gaussian",
            "graph": {"matrix": {"rows": [[2, -1, -1, 0], [-1, 2, -1, 0], [-1, -1, 2, 0], [0, 0, 0, 1]]}}}}"#,
        budget_random_bytes = r#"{"budget-random": {"budget": "20kB"}}"#,
        budget_forgetron = r#""budget-forgetron""#,
        budget_forgetron_small = r#"{"budget-forgetron": {"budget": 7, "bound": 0.5}}"#,
        budget_forgetron_gaussian =
            r#"{"budget-forgetron": {"budget": 30, "graph": "disconnected", "kernel": "gaussian"}}"#,
        budget_forgetron_bytes = r#"{"budget-forgetron": {"budget": "20kB"}}"#,
        budget_projectron = r#""budget-projectron""#,
        budget_projectron_small = r#"{"budget-projectron": {"budget": 7, "threshold": 0.1}}"#,
        budget_projectron_gaussian =
            r#"{"budget-projectron": {"budget": 30, "graph": "disconnected", "kernel": "gaussian"}}"#,
        budget_projectron_graph = r#"{"budget-projectron": {"budget": 20, "kernel": "gaussian",
            "graph": {"edges": [["b", "a"], ["7", "c"], ["c", "a", 0.5]]}}}"#,
        budget_projectron_bytes = r#"{"budget-projectron": {"budget": "20kB", "kernel": "gaussian"}}"#,
        budget_shared_projectron = r#""budget-shared-projectron""#,
        budget_shared_projectron_small = r#"{"budget-shared-projectron": {"budget": 7, "threshold": 0.1}}"#,
        budget_shared_projectron_gaussian =
            r#"{"budget-shared-projectron": {"budget": 30, "graph": "disconnected", "kernel": "gaussian"}}"#,
        budget_shared_projectron_graph = r#"{"budget-shared-projectron": {"budget": 20, "kernel": "gaussian",
            "graph": {"edges": [["b", "a"], ["7", "c"], ["c", "a", 0.5]]}}}"#,
        budget_shared_projectron_cliques = r#"{"budget-shared-projectron": {"budget": 20, "kernel": "gaussian",
            "graph": {"edges": [["b", "a"], ["7", "c"]]}}}"#,
        budget_shared_projectron_bytes = r#"{"budget-shared-projectron": {"budget": "20kB", "kernel": "gaussian"}}"#,
        schatten_perceptron = r#""schatten-perceptron""#,
        schatten_perceptron_one = r#"{"schatten-perceptron": {"p": 1}}"#,
        schatten_perceptron_auto = r#"{"schatten-perceptron": {"p": "auto"}}"#,
        shared_loss_perceptron_gaussian =
            r#"{"shared-loss-perceptron": {"p": "auto", "c": 0.1, "norm": "l2", "kernel": "gaussian"}}"#,
        schatten_perceptron_high = r#"{"schatten-perceptron": {"p": 50}}"#,
        schatten_perceptron_gaussian = r#"{"schatten-perceptron": {"p": 3, "kernel": "gaussian"}}"#,
        shared_loss_perceptron = r#""shared-loss-perceptron""#,
        shared_loss_perceptron_l2 = r#"{"shared-loss-perceptron": {"p": 2, "c": 0.1, "norm": "l2"}}"#,
        shared_loss_perceptron_linf = r#"{"shared-loss-perceptron": {"p": 2, "norm": "linf"}}"#,
        p_norm_perceptron = r#""p-norm-perceptron""#,
        p_norm_perceptron_plain = r#"{"p-norm-perceptron": {"p": 2}}"#,
        p_norm_perceptron_sharp = r#"{"p-norm-perceptron": {"p": 1000}}"#,
        p_norm_perceptron_independent = r#"{"p-norm-perceptron": {"interaction": "independent"}}"#,
        p_norm_perceptron_pooled = r#"{"p-norm-perceptron": {"interaction": "pooled"}}"#,
        p_norm_perceptron_coupled = r#"{"p-norm-perceptron": {"interaction": {"coupled": {"b": 4}}, "p": 3.5}}"#,
        p_norm_perceptron_graph =
            r#"{"p-norm-perceptron": {"interaction": {"graph": {"edges": [["b", "a"], ["7", "c"], ["c", "a", 0.5]]}}}}"#,
        p_norm_perceptron_matrix = r#"{"p-norm-perceptron": {"p": 40, "interaction": {"matrix": {"rows":
            [[2, -0.5, 0.3, 0], [-0.5, 1.5, 0, -0.2], [0.3, 0, 1, 0.1], [0, -0.2, 0.1, 3]]}}}}"#,
        passive_aggressive = r#""passive-aggressive""#,
        passive_aggressive_global = r#"{"passive-aggressive": {"scope": "global", "variant": "pa"}}"#,
        passive_aggressive_smooth = r#"{"passive-aggressive": {"variant": "pa2", "c": 0.1}}"#,
        passive_aggressive_real = r#"{"passive-aggressive": {"loss": {"epsilon-insensitive": {"epsilon": 0.05}}}}"#,
        collaborative = r#""collaborative""#,
        collaborative_apart = r#"{"collaborative": {"own": 2, "global": 0, "c": 0.1}}"#,
        collaborative_given = r#"{"collaborative": {"global": 0.5}}"#,
        collaborative_slow = r#"{"collaborative": {"own": 2, "global": 1, "c": 0.5, "c-global": 0.1}}"#,
        collaborative_leveraged = r#"{"collaborative": {"own": 0, "global": 1}}"#,
        rom_pgd = r#""rom-pgd""#,
        rom_pgd_averse = r#"{"rom-pgd": {"alpha": 0.5, "beta": 1e9, "gamma": 0, "u-step": "mean"}}"#,
        rom_pgd_fixed = r#"{"rom-pgd": {"eta": 0.1, "beta": 0.1}}"#,
        rom_pgd_mean = r#"{"rom-pgd": {"eta": 0.05, "u-step": "mean", "gamma": 0.5}}"#,
        rom_pgd_shrinking = r#"{"rom-pgd": {"eta": 1, "alpha": 20, "beta": 1e9, "gamma": 0.3}}"#,
        rom_rda = r#""rom-rda""#,
        rom_rda_outliers = r#"{"rom-rda": {"kappa": 5, "gamma": 0.01}}"#,
    ]
    [
        config_builds_and_comes_back,
        bad_values_are_rejected_by_name,
        predicts_before_learning,
        margin_is_pure,
        variance_is_sound_and_shrinks,
        margins_are_one_by_one,
        learn_is_margin_then_update,
        learn_batch_is_one_by_one,
        a_round_of_one_is_an_example,
        rounds_give_margins_before_updates,
        margins_in_between_do_not_matter,
        a_round_skipped_meets_its_task_and_teaches_nothing,
        influence_sums_a_row_of_the_relation,
        example_is_not_kept,
        same_stream_same_bits,
        resumed_is_unbroken,
        clones_share_nothing,
        zero_vectors_are_harmless,
        a_single_task_is_harmless,
        a_task_never_seen_is_harmless,
        tasks_may_be_met_on_the_way,
        nothing_becomes_nan,
        memory_stays_within_cost,
        permuted_tasks_permute_results,
    ]
}

#[test]
fn no_learner_and_no_check_is_forgotten() {
    let checks: Vec<&str> = CHECKS.iter().map(|(name, _)| *name).collect();
    assert_eq!(CHECK_NAMES, checks);
    // A batch learner has no rounds: tests/it/convex.rs.
    for about in REGISTRY.iter().filter(|about| about.protocol != Protocol::Batch) {
        // `kernel-perceptron` is the module `kernel_perceptron`.
        let module = about.id.replace('-', "_");
        let subject = SUBJECTS.iter().find(|(subject, _)| *subject == module);
        let (_, config) = subject.unwrap_or_else(|| panic!("{} is not in the list above", about.id));
        let config: LearnerConfig = serde_json::from_str(config).unwrap();
        assert_eq!(Some(config), LearnerConfig::from_id(about.id), "{module} has the defaults");
    }
}
