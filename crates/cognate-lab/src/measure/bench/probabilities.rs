//! The table of AUC and log loss, and where we lose.

use super::figures::Figures;

/// Rows so far, and sets on which a form of Vowpal Wabbit is better.
#[derive(Default)]
pub(super) struct Probabilities {
    rows: Vec<String>,
    lost: [Vec<String>; 2],
}

impl Probabilities {
    /// Adds a set: the three forms of VW with the logistic loss, `adaptive`, and our other learners.
    pub(super) fn add(
        &mut self,
        name: &str,
        labels: &[f64],
        vw: &[Figures],
        adaptive: Figures,
        others: &[(Figures, &'static str)],
    ) {
        let positives = labels.iter().filter(|label| **label > 0.0).count() as f64;
        let share = 100.0 * positives / labels.len().max(1) as f64;
        let auc = |figures: &Figures| figures.auc.unwrap_or(f64::NAN);
        let loss = |figures: &Figures| figures.log_loss.unwrap_or(f64::NAN);
        let best_auc = vw.iter().map(auc).fold(f64::NEG_INFINITY, f64::max);
        let best_loss = vw.iter().map(loss).fold(f64::INFINITY, f64::min);
        let other = others
            .iter()
            .map(|(figures, id)| (auc(figures), *id))
            .fold((f64::NEG_INFINITY, ""), |best, one| if one.0 > best.0 { one } else { best });
        let highest = [best_auc, auc(&adaptive), other.0].into_iter().fold(f64::NEG_INFINITY, f64::max);
        // Those shown as equal to the winner are bold, too.
        let bold = |value: f64, winner: f64| match (format!("{value:.4}"), format!("{winner:.4}")) {
            (shown, winner) if shown == winner => format!("**{shown}**"),
            (shown, _) => shown,
        };
        let mut cells = vec![name.to_owned(), format!("{share:.1}")];
        cells.extend(vw.iter().map(|figures| bold(auc(figures), highest)));
        cells.extend([bold(auc(&adaptive), highest), bold(other.0, highest), other.1.to_owned()]);
        let lowest = best_loss.min(loss(&adaptive));
        cells.extend(vw.iter().map(|figures| bold(loss(figures), lowest)));
        cells.push(bold(loss(&adaptive), lowest));
        self.rows.push(format!("| {} |", cells.join(" | ")));
        if auc(&adaptive) < best_auc {
            self.lost[0].push(format!("{name} ({:.4} beside {best_auc:.4})", auc(&adaptive)));
        }
        if loss(&adaptive) > best_loss {
            self.lost[1].push(format!("{name} ({:.4} beside {best_loss:.4})", loss(&adaptive)));
        }
    }

    /// The table, and a sentence for each of the two on where a form of VW is better.
    pub(super) fn table(&self) -> String {
        let header = "| set | +1 in % | AUC: VW shared | own | both | adaptive | best other | | log loss: VW shared | own | both \
                      | adaptive |";
        let about = "AUC and log loss of the same runs, from the predictions before learning (VW's by `-p`). Log loss is that of \
                     probabilities, which none of our other learners gives.";
        let mut lines =
            vec![about.to_owned(), String::new(), header.to_owned(), format!("|{}", "---|".repeat(12))];
        lines.extend(self.rows.iter().cloned());
        lines.push(String::new());
        for (what, lost) in ["AUC", "log loss"].into_iter().zip(&self.lost) {
            let (sets, losses) = (self.rows.len(), lost.len());
            lines.push(match losses {
                0 => format!("By {what}, `adaptive` is at least as good as every form of VW on all {sets}."),
                _ => format!(
                    "By {what}, `adaptive` is at least as good as every form of VW on {} of {sets}; it loses on {}.",
                    sets - losses,
                    lost.join(", "),
                ),
            });
        }
        lines.join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_we_lose_is_said() {
        let figures =
            |auc: f64, log_loss: f64| Figures { error: 0.1, auc: Some(auc), log_loss: Some(log_loss) };
        let vw = [figures(0.7, 0.5), figures(0.8, 0.4), figures(0.75, 0.45)];
        let other = Figures { log_loss: None, ..figures(0.79, 0.0) };
        let mut found = Probabilities::default();
        found.add("one", &[1.0, -1.0, -1.0, -1.0], &vw, figures(0.9, 0.41), &[(other, "rom-pgd")]);
        let text = found.table();
        assert!(text.contains("| one | 25.0 | 0.7000 | 0.8000 | 0.7500 | **0.9000** | 0.7900 | rom-pgd | 0.5000 | **0.4000** | 0.4500 | 0.4100 |"), "{text}");
        assert!(
            text.contains("By AUC, `adaptive` is at least as good as every form of VW on all 1."),
            "{text}"
        );
        assert!(text.contains("log loss, `adaptive` is at least as good as every form of VW on 0 of 1; it loses on one (0.4100 beside 0.4000)."), "{text}");
    }
}
