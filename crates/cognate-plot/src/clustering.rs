//! Which tasks belong together: hierarchical clustering, and the order of tasks that follows from it.
//!
//! Average linkage on the distance 1 - similarity, by chains of nearest neighbours: from any group go to its
//! nearest, and on from there, until two are nearest to each other; join these. O(K^2) time and memory.
//!
//! Distances are whole numbers of steps. So equal ones stay equal after averaging, a chain can never turn back on
//! itself, ties fall to the earlier task (a matrix without structure keeps its order), and the tree is the same
//! on every machine.

/// A tree over K leaves, laid out in a row.
#[derive(Debug, PartialEq)]
pub struct Clustering {
    /// The leaves from one end to the other; those of a group stand together.
    pub order: Vec<usize>,
    /// The joins, each after those below it: one less than there are leaves, without those apart.
    pub joins: Vec<Join>,
    /// How many leaves, at the end of the order, are hardly similar to any other and are not joined.
    pub apart: usize,
}

/// Two groups become one.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Join {
    /// Where the two groups stand in the row (the first leaf at 0), and the similarity at which they were made.
    pub groups: [(f64, f64); 2],
    /// Mean similarity between their leaves.
    pub similarity: f64,
    /// The places of the first and the last leaf of both together.
    pub leaves: (usize, usize),
}

/// Most groups that a tree is cut into.
const GROUPS: usize = 12;
/// A leaf is apart whose largest similarity in size is below this part of the largest of all, and of what is worth it.
const APART: f64 = 1.0 / 6.0;
const WORTH: f64 = 0.1;
/// A narrower gap separates nothing that a picture could show.
const LEAST_GAP: f64 = 0.02;

/// Steps in a distance of 1.
const STEPS: f64 = (1 << 30) as f64;

/// The distance in steps; similarities beyond -1 and 1 count as these, NaN counts as 0.
fn distance(similarity: f64) -> u32 {
    let similarity = if similarity.is_nan() { 0.0 } else { similarity.clamp(-1.0, 1.0) };
    ((1.0 - similarity) * STEPS).round() as u32
}

/// A group of leaves: their order, and which node of the tree it is.
struct Group {
    leaves: Vec<usize>,
    node: usize,
}

/// A join as it is found: two nodes and their distance. Node i < K is a leaf, node K + i the i-th join.
struct Found {
    nodes: [usize; 2],
    distance: u32,
}

impl Clustering {
    /// Clusters K leaves by their K * K similarities, row by row, from -1 to 1.
    pub fn of(similarities: &[f64], k: usize) -> Self {
        assert_eq!(similarities.len(), k * k, "K leaves have K * K similarities");
        let (related, apart) = apart(similarities, k);
        if apart.is_empty() {
            return Self::of_related(similarities, k);
        }
        // In the tree they would join groups that are opposed to others, at a similarity of about 0.
        let rows = related.iter().flat_map(|i| related.iter().map(move |j| similarities[i * k + j]));
        let tree = Self::of_related(&rows.collect::<Vec<_>>(), related.len());
        let order = tree.order.iter().map(|at| related[*at]).chain(apart.iter().copied()).collect();
        Self { order, joins: tree.joins, apart: apart.len() }
    }

    fn of_related(similarities: &[f64], k: usize) -> Self {
        let mut distances: Vec<u32> = similarities.iter().copied().map(distance).collect();
        let mut groups: Vec<Group> = (0..k).map(|leaf| Group { leaves: vec![leaf], node: leaf }).collect();
        // A group lives in the slot of its first leaf; the slots in use, in order.
        let mut slots: Vec<usize> = (0..k).collect();
        let mut found: Vec<Found> = Vec::new();
        let mut chain: Vec<usize> = Vec::new();
        while slots.len() > 1 {
            let [a, b] = mutual_neighbours(&mut chain, &slots, &distances, k);
            found.push(Found { nodes: [groups[a].node, groups[b].node], distance: distances[a * k + b] });
            let (here, there) = (groups[a].leaves.len() as u64, groups[b].leaves.len() as u64);
            for &slot in slots.iter().filter(|slot| **slot != a && **slot != b) {
                let sum =
                    here * u64::from(distances[a * k + slot]) + there * u64::from(distances[b * k + slot]);
                let size = here + there;
                let mean = ((sum + size / 2) / size) as u32;
                distances[a * k + slot] = mean;
                distances[slot * k + a] = mean;
            }
            let taken = std::mem::take(&mut groups[b].leaves);
            let leaves = std::mem::take(&mut groups[a].leaves);
            let leaves = side_by_side(leaves, taken, |x, y| distance(similarities[x * k + y]));
            groups[a] = Group { leaves, node: k + found.len() - 1 };
            slots.retain(|slot| *slot != b);
        }
        let mut order = groups.into_iter().next().map(|group| group.leaves).unwrap_or_default();
        if order.first() > order.last() {
            order.reverse();
        }
        let joins = joins(&order, &found);
        Self { order, joins, apart: 0 }
    }

    /// Whether all joins are at one similarity: then the tree says nothing.
    pub fn is_flat(&self) -> bool {
        self.joins.windows(2).all(|pair| pair[0].similarity == pair[1].similarity)
    }

    /// Whether the last group is that of leaves which are hardly similar to any other.
    pub fn has_apart(&self) -> bool {
        self.apart > 0
    }

    /// Where the tree is cut into groups: the first and the last place of each, in order. None if it is flat, or nearly so.
    /// Leaves that are apart are a group of their own, behind the others.
    ///
    /// The cut is at a wide gap between the similarities of successive joins; of gaps that are at least half as wide as
    /// the widest, the one with the most groups, at most a dozen.
    pub fn groups(&self) -> Vec<(usize, usize)> {
        let related = self.order.len() - self.apart;
        let mut groups = self.cut(related);
        if self.has_apart() {
            if groups.is_empty() {
                groups.push((0, related - 1));
            }
            groups.push((related, self.order.len() - 1));
        }
        groups
    }

    /// The groups of the leaves that are joined.
    fn cut(&self, leaves: usize) -> Vec<(usize, usize)> {
        if self.is_flat() {
            return Vec::new();
        }
        let mut similarities: Vec<f64> = self.joins.iter().map(|join| join.similarity).collect();
        similarities.sort_by(f64::total_cmp);
        let gaps: Vec<f64> = similarities.windows(2).take(GROUPS - 1).map(|pair| pair[1] - pair[0]).collect();
        let widest = gaps.iter().copied().fold(0.0, f64::max);
        let cut = gaps.iter().rposition(|gap| *gap >= LEAST_GAP && *gap >= widest / 2.0);
        let Some(least) = cut.map(|at| similarities[at + 1]) else { return Vec::new() };
        let mut groups: Vec<(usize, usize)> = (0..leaves).map(|place| (place, place)).collect();
        for join in self.joins.iter().filter(|join| join.similarity >= least) {
            // A join comes after those below it, so the last that covers a place is the largest.
            groups[join.leaves.0..=join.leaves.1].fill(join.leaves);
        }
        groups.dedup();
        groups
    }
}

/// The leaves that are similar or dissimilar to others, and those that are hardly either to any.
fn apart(similarities: &[f64], k: usize) -> (Vec<usize>, Vec<usize>) {
    let largest = |leaf: usize| {
        let others = (0..k).filter(|other| *other != leaf).map(|other| similarities[leaf * k + other].abs());
        others.filter(|size| size.is_finite()).fold(0.0, f64::max)
    };
    let sizes: Vec<f64> = (0..k).map(largest).collect();
    let all = sizes.iter().copied().fold(0.0, f64::max);
    let least = if all >= WORTH { WORTH.min(APART * all) } else { 0.0 };
    (0..k).partition(|leaf| sizes[*leaf] >= least)
}

/// Two groups that are nearest to each other, the earlier first, taken off the end of the chain.
fn mutual_neighbours(chain: &mut Vec<usize>, slots: &[usize], distances: &[u32], k: usize) -> [usize; 2] {
    if chain.is_empty() {
        chain.push(slots[0]);
    }
    loop {
        let last = chain[chain.len() - 1];
        let row = &distances[last * k..(last + 1) * k];
        let others = slots.iter().copied().filter(|slot| *slot != last);
        let nearest = others.min_by_key(|slot| row[*slot]).expect("there are two groups or more");
        let before = chain.len().checked_sub(2).map(|at| chain[at]);
        // A tie is settled in favour of the previous group, so every step of a chain is strictly shorter.
        if let Some(before) = before.filter(|before| row[*before] <= row[nearest]) {
            chain.truncate(chain.len() - 2);
            return [before.min(last), before.max(last)];
        }
        chain.push(nearest);
    }
}

/// Joins two rows of leaves: each may be reversed, so that similar leaves are next to each other.
fn side_by_side(
    mut left: Vec<usize>,
    mut right: Vec<usize>,
    distance: impl Fn(usize, usize) -> u32,
) -> Vec<usize> {
    let ends = |row: &[usize]| (row[0], row[row.len() - 1]);
    let ((a, z), (b, y)) = (ends(&left), ends(&right));
    // Of equal ways the first, which reverses nothing.
    let ways = [(z, b, false, false), (a, b, true, false), (z, y, false, true), (a, y, true, true)];
    let way = ways.iter().min_by_key(|(here, there, ..)| distance(*here, *there)).expect("four ways");
    if way.2 {
        left.reverse();
    }
    if way.3 {
        right.reverse();
    }
    left.extend(right);
    left
}

/// The joins with the places that the order gives them.
fn joins(order: &[usize], found: &[Found]) -> Vec<Join> {
    let mut nodes = vec![(0.0, 1.0); order.len()];
    let mut spans = vec![(0, 0); order.len()];
    for (place, leaf) in order.iter().enumerate() {
        nodes[*leaf].0 = place as f64;
        spans[*leaf] = (place, place);
    }
    let mut joins = Vec::with_capacity(found.len());
    for one in found {
        let mut groups = one.nodes.map(|node| nodes[node]);
        groups.sort_by(|a, b| a.0.total_cmp(&b.0));
        let similarity = 1.0 - f64::from(one.distance) / STEPS;
        let [(a, b), (c, d)] = one.nodes.map(|node| spans[node]);
        let leaves = (a.min(c), b.max(d));
        joins.push(Join { groups, similarity, leaves });
        spans.push(leaves);
        nodes.push((f64::midpoint(groups[0].0, groups[1].0), similarity));
    }
    joins
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cluster(k: usize, similarity: impl Fn(usize, usize) -> f64) -> Clustering {
        let values: Vec<f64> = (0..k * k).map(|at| similarity(at / k, at % k)).collect();
        Clustering::of(&values, k)
    }

    /// Similarities in no order, the same for (i, j) and (j, i).
    fn scattered(i: usize, j: usize) -> f64 {
        if i == j {
            return 1.0;
        }
        let (low, high) = (i.min(j) as u64, i.max(j) as u64);
        let mixed = (low * 1000 + high + 1).wrapping_mul(0xff51_afd7_ed55_8ccd);
        let mixed = (mixed ^ (mixed >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        (mixed >> 32) as f64 / f64::from(1u32 << 31) - 1.0
    }

    #[test]
    fn a_known_tree() {
        // 0 and 2 join at 0.9, 1 and 3 at 0.7; between the pairs the mean is (0.1 + 0.2 + 0.3 - 0.4) / 4.
        let rows = [[1.0, 0.1, 0.9, 0.2], [0.1, 1.0, 0.3, 0.7], [0.9, 0.3, 1.0, -0.4], [0.2, 0.7, -0.4, 1.0]];
        let tree = cluster(4, |i, j| rows[i][j]);
        assert_eq!(tree.order, [0, 2, 1, 3], "2 and 1 are the nearest ends");
        let similarities: Vec<f64> = tree.joins.iter().map(|join| join.similarity).collect();
        for (found, expected) in similarities.iter().zip([0.9, 0.7, 0.05]) {
            assert!((found - expected).abs() < 1e-8, "{similarities:?}");
        }
        assert_eq!(tree.joins[2].groups, [(0.5, similarities[0]), (2.5, similarities[1])]);
    }

    #[test]
    fn blocks_stand_together() {
        for blocks in [2, 3, 7] {
            let tree = cluster(42, |i, j| if i % blocks == j % blocks { 0.6 } else { -0.2 });
            let changes = tree.order.windows(2).filter(|pair| pair[0] % blocks != pair[1] % blocks).count();
            assert_eq!(changes, blocks - 1, "{:?}", tree.order);
        }
    }

    #[test]
    fn the_tree_is_cut_where_the_gap_is() {
        let sizes = |tree: &Clustering| tree.groups().iter().map(|(a, b)| b - a + 1).collect::<Vec<_>>();
        for blocks in [2, 3, 7] {
            let noise = |i: usize, j: usize| 0.1 * scattered(i, j);
            let tree = cluster(42, |i, j| noise(i, j) + if i % blocks == j % blocks { 0.6 } else { -0.2 });
            assert_eq!(sizes(&tree), vec![42 / blocks; blocks]);
        }
        let alone = cluster(5, |i, j| if i == 2 || j == 2 { 0.0 } else { 0.5 });
        assert_eq!(sizes(&alone), [4, 1]);
        assert!(sizes(&cluster(400, scattered)).len() <= GROUPS);
        assert_eq!(cluster(9, |_, _| 0.3).groups(), []);
        assert_eq!(cluster(9, |i, j| 0.001 * scattered(i, j)).groups(), [], "that is noise");
        assert_eq!(cluster(0, |_, _| 0.3).groups(), []);
    }

    #[test]
    fn without_structure_the_order_is_kept() {
        for equal in [0.0, 0.4, -0.3, 1.0 / 3.0, f64::NAN] {
            for k in [0, 1, 2, 3, 40] {
                let tree = cluster(k, |i, j| if i == j { 1.0 } else { equal });
                assert_eq!(tree.order, (0..k).collect::<Vec<_>>(), "{equal}");
                assert!(tree.is_flat() && tree.joins.len() == k.saturating_sub(1));
            }
        }
    }

    #[test]
    fn a_task_without_relation_stands_aside() {
        let tree = cluster(5, |i, j| if i == 2 || j == 2 { 0.0 } else { 0.5 });
        assert_eq!(tree.order, [0, 1, 3, 4, 2]);
    }

    #[test]
    fn the_tree_is_that_of_the_plain_algorithm() {
        let k = 60;
        let mut found: Vec<f64> = cluster(k, scattered).joins.iter().map(|join| join.similarity).collect();
        let mut groups: Vec<Vec<usize>> = (0..k).map(|leaf| vec![leaf]).collect();
        let mut expected = Vec::new();
        let between = |a: &[usize], b: &[usize]| {
            let all = a.iter().flat_map(|i| b.iter().map(|j| scattered(*i, *j)));
            all.sum::<f64>() / (a.len() * b.len()) as f64
        };
        while groups.len() > 1 {
            let pairs = (0..groups.len()).flat_map(|b| (0..b).map(move |a| (a, b)));
            let scored = pairs.map(|(a, b)| (between(&groups[a], &groups[b]), a, b));
            let (best, a, b) = scored.max_by(|x, y| x.0.total_cmp(&y.0)).unwrap();
            expected.push(best);
            let taken = groups.remove(b);
            groups[a].extend(taken);
        }
        // A chain finds the same joins in another order.
        found.sort_by(|a, b| b.total_cmp(a));
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-7, "{found} {expected}");
        }
    }

    #[test]
    fn every_leaf_has_its_place_and_every_run_is_the_same() {
        for k in [5, 139, 400] {
            let tree = cluster(k, scattered);
            let mut sorted = tree.order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, (0..k).collect::<Vec<_>>());
            assert_eq!(tree, cluster(k, scattered));
            assert!(tree.joins.iter().all(|join| join.groups.iter().all(|group| group.1 >= join.similarity)));
        }
    }
}
