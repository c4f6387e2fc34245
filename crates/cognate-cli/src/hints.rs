//! Ways out of errors, as flags and commands of this program.

use cognate::Hint;

/// What to do about an error.
pub(crate) fn advice(hint: Hint) -> Option<&'static str> {
    Some(match hint {
        Hint::LooksLikeVw => {
            "this looks like Vowpal Wabbit's format: --format vw; `svm` lines read: +1 qid:7 3:0.5 8:1"
        }
        Hint::LooksLikeCsv => "this looks like CSV: --format csv; `svm` lines read: +1 qid:7 3:0.5 8:1",
        Hint::LooksLikeJsonl => "this looks like JSON: --format jsonl; `svm` lines read: +1 qid:7 3:0.5 8:1",
        Hint::CountFromOne => "indices count from 1; the file seems to count from 0",
        Hint::DeclareTasks => "name them all with --tasks, or leave --tasks out to add them as they occur",
        Hint::DeclareClasses => "if so many classes are meant, declare their number with --tasks",
        Hint::Classes => "if labels are classes, --one-vs-all makes each class a task",
        Hint::OnlyCommas => "columns are separated by commas only",
        Hint::NameColumns => "--label-column and --task-column name the columns",
        Hint::Categorical => {
            "leave a missing cell empty; name a column of texts that may look like numbers with --categorical"
        }
        Hint::OneLineFields => "a field must end on the line on which it begins",
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
        Hint::Fit => "cognate fit",
        _ => return None,
    })
}
