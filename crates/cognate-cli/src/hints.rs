//! Ways out of errors, as flags and commands of this program.

use cognate::{Hint, NamedColumn};

/// What to do about an error.
pub(crate) fn advice(hint: Hint) -> Option<&'static str> {
    Some(match hint {
        Hint::LooksLikeVw => {
            "this looks like Vowpal Wabbit's format: --format vw; `svm` lines read: +1 qid:7 3:0.5 8:1"
        }
        Hint::LooksLikeCsv => "this looks like CSV: --format csv; `svm` lines read: +1 qid:7 3:0.5 8:1",
        Hint::LooksLikeJsonl => "this looks like JSON: --format jsonl; `svm` lines read: +1 qid:7 3:0.5 8:1",
        Hint::JsonlForCsv => "this looks like JSON: --format jsonl",
        Hint::CountFromOne => "indices count from 1; the file seems to count from 0",
        Hint::DeclareTasks => "name them all with --tasks, or leave --tasks out to add them as they occur",
        Hint::DeclareClasses => "if so many classes are meant, declare their number with --tasks",
        Hint::Classes => "if labels are classes, --one-vs-all makes each class a task",
        Hint::NamePositive => "if labels are two names, --positive NAME says which of them is +1",
        Hint::SpellPositive => {
            "--positive NAME is spelt as in the data; if labels are classes, --one-vs-all makes each class a task"
        }
        Hint::TwoLabels => {
            "the loss is for numbers; for two label names leave it out, and --positive NAME says which of them is +1"
        }
        Hint::ModelLabels => {
            "labels are called as in the data that the model was learnt from; lines without labels are predicted as well"
        }
        Hint::RealLabels => {
            "labels that are real numbers need a loss for them: the learner adaptive with --set loss=squares, absolute, \
             quantile or poisson; or `cognate fit`"
        }
        Hint::WholeLabels => {
            "if labels are two numbers, --positive N says which of them is +1; if they are amounts, --set loss=squares, \
             absolute, quantile or poisson learns them, and so does `cognate fit`; if they are classes, --one-vs-all \
             makes each class a task"
        }
        Hint::NameKeys => {
            "--ignore leaves keys out; --task-key, --label-key and --features-key name those of task, label and features"
        }
        Hint::OnlyCommas => {
            "something else than a comma seems to separate the columns: --separator ';' or --separator tab"
        }
        Hint::OtherSeparator => {
            "something else seems to separate the columns than was said, or than in the data that the model was learnt from: \
             --separator ',', ';' or tab"
        }
        Hint::ModelColumns => {
            "columns are called as in the data that the model was learnt from; `cognate inspect M --weights` names its \
             features"
        }
        Hint::DecimalPoint => {
            "write numbers with a point and nothing between thousands; --categorical NAMES if texts are meant"
        }
        Hint::NameTimes => {
            "--time-column (csv) or --time-key (jsonl) says where times are; `svm` and `vw` have none: --set forget=N forgets \
             by the number of examples"
        }
        Hint::NameColumns => "--label-column and --task-column name the columns",
        Hint::SpellColumn(column) => match column {
            NamedColumn::Weight => "--weight-column is spelt as in the header",
            NamedColumn::Id => "--id-column is spelt as in the header",
            NamedColumn::Time => "--time-column is spelt as in the header",
            NamedColumn::Offset => "--offset-column is spelt as in the header",
            NamedColumn::Ignored => "names of --ignore are spelt as in the header",
            NamedColumn::Categorical => "names of --categorical are spelt as in the header",
            _ => return None,
        },
        Hint::Categorical => {
            "leave a missing cell empty, or write NA; name a column of texts that may look like numbers with --categorical"
        }
        Hint::OpenFeatures => "leave --features out to add them as they occur",
        Hint::AddUp => "add the values up, or give each feature its own name",
        Hint::NotSimultaneous => {
            "drop --simultaneous to learn one example per round, or regroup with --order interleave"
        }
        Hint::NotAdversarial => {
            "drop --order adversarial to learn every example, or write the examples of all tasks in turn"
        }
        Hint::LabelRounds => {
            "label it, or learn one example per round, without --simultaneous and --order adversarial"
        }
        Hint::Scale => {
            "scale the examples with --normalize l2 or --clip, or choose smaller parameters; --save-every keeps the last \
             state that was sound"
        }
        Hint::LearnScaled => {
            "learn a model with --normalize l2 or --clip: it scales what it predicts as well"
        }
        Hint::OtherWriter => "wait until it ends, or name another file with --model",
        Hint::Weights => {
            "choose a learner that takes weights (`cognate algorithms` says which do), or leave the weights out"
        }
        Hint::Offsets => {
            "choose a learner that takes offsets (`cognate algorithms ID` says whether it does), or leave the offsets out"
        }
        Hint::Fit => "cognate fit",
        Hint::Supports => "`cognate inspect M --supports` lists the examples that it keeps",
        _ => return None,
    })
}
