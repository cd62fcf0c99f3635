//! Weights by which controls carry vertices.

use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Weights of vertices, vertex by vertex.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct VertexWeights {
    /// End of each vertex's weights: `[n_vertices]`.
    ends: Vec<u32>,
    controls: Vec<u32>,
    weights: Vec<f64>,
}

impl VertexWeights {
    /// Lets each vertex be a control of its own.
    pub fn each_alone(n_vertices: u32) -> VertexWeights {
        let n = n_vertices as usize;
        VertexWeights {
            ends: (1..=n_vertices).collect(),
            controls: (0..n_vertices).collect(),
            weights: vec![1.0; n],
        }
    }

    /// Makes the weights of vertices from the number of weights of each, and the control of each weight; `None` if the
    /// lists do not fit each other.
    pub fn of_counts(
        counts: &[u32],
        controls: Vec<u32>,
        weights: Vec<f64>,
    ) -> Option<VertexWeights> {
        let mut end = 0_u32;
        let mut ends = Vec::with_capacity(counts.len());
        for count in counts {
            end = end.checked_add(*count)?;
            ends.push(end);
        }
        let made = VertexWeights { ends, controls, weights };
        made.is_whole().then_some(made)
    }

    /// Number of vertices.
    pub fn n_vertices(&self) -> usize {
        self.ends.len()
    }

    /// Number of weights of all vertices.
    pub fn n_weights(&self) -> usize {
        self.weights.len()
    }

    /// Adds the next vertex with its controls and weights.
    pub fn push(&mut self, weights: impl IntoIterator<Item = (u32, f64)>) {
        for (control, weight) in weights {
            self.controls.push(control);
            self.weights.push(weight);
        }
        self.ends.push(self.weights.len() as u32);
    }

    /// Returns the controls of a vertex, each with its weight.
    pub fn of(&self, vertex: usize) -> impl ExactSizeIterator<Item = (u32, f64)> + Clone + '_ {
        let (controls, weights) = self.row(vertex);
        controls.iter().zip(weights).map(|(c, w)| (*c, *w))
    }

    /// Returns the controls of a vertex and their weights.
    #[inline(always)]
    pub(super) fn row(&self, vertex: usize) -> (&[u32], &[f64]) {
        let range = self.start(vertex)..self.ends[vertex] as usize;
        (&self.controls[range.clone()], &self.weights[range])
    }

    /// Returns the weights of consecutive vertices.
    #[inline(always)]
    pub(super) fn of_all(&self, vertices: Range<u32>) -> &[f64] {
        &self.weights[self.start(vertices.start as usize)..self.start(vertices.end as usize)]
    }

    fn start(&self, vertex: usize) -> usize {
        vertex.checked_sub(1).map_or(0, |before| self.ends[before] as usize)
    }

    pub(super) fn extend(&mut self, more: &VertexWeights) {
        (0..more.n_vertices()).for_each(|v| self.push(more.of(v)));
    }

    /// Returns true if the three lists fit each other: data from outside may not.
    pub(super) fn is_whole(&self) -> bool {
        self.ends.is_sorted()
            && self.ends.last().copied().unwrap_or(0) as usize == self.weights.len()
            && self.controls.len() == self.weights.len()
    }

    pub(super) fn heap_bytes(&self) -> usize {
        size_of::<u32>() * (self.ends.capacity() + self.controls.capacity())
            + size_of::<f64>() * self.weights.capacity()
    }
}
