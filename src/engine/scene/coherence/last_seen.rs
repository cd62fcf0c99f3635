//! The last revision of a tissue that was searched.

use crate::scene::{Revision, TissueId};

/// Results for one revision hold for the next, looser by how far the tissue has moved between them.
#[derive(Debug, Default)]
pub(in crate::scene) struct LastSeen(Option<SeenRevision>);

#[derive(Debug)]
struct SeenRevision {
    tissue: TissueId,
    geometry_revision: u64,
    topology_revision: u64,
    seams_revision: u64,
}

impl LastSeen {
    /// Returns true if this revision was the last one.
    pub(in crate::scene) fn is(&self, tissue: TissueId, revision: &Revision) -> bool {
        self.0.as_ref().is_some_and(|seen| {
            (seen.tissue, seen.geometry_revision, seen.topology_revision)
                == (tissue, revision.geometry_revision, revision.topology_revision)
        })
    }

    /// Moves on to a revision. Returns an upper bound of any vertex's motion since the last one, metres. `None` if the
    /// last revision says nothing about this one: it is another tissue's, or the tissue was cut since, parted or joined
    /// along a seam, or deformed too often.
    pub(in crate::scene) fn follow(
        &mut self,
        tissue: TissueId,
        revision: &Revision,
    ) -> Option<f64> {
        let Revision { geometry_revision, topology_revision, seams_revision, .. } = *revision;
        let seen = SeenRevision { tissue, geometry_revision, topology_revision, seams_revision };
        let last = self.0.replace(seen)?;
        // Along a seam that parts, the side may change without a triangle in between.
        let same = (last.tissue, last.topology_revision, last.seams_revision)
            == (tissue, topology_revision, seams_revision);
        let motion = same.then(|| revision.since(last.geometry_revision))??;
        // A vertex that a deformation leaves alone moves no triangle, so the farthest vertex bounds every point.
        Some(motion.displacement_max())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        geometry::mesh::load::{LoadOptions, load},
        oracle::{Random, shapes},
        scene::{Tissue, TissueKind, tissue::deform::Deformation},
    };

    /// Along a seam that parts or joins, the side may change without a triangle in between: earlier results are
    /// dropped, also if the writer's copy has missed the deformation before.
    #[test]
    fn a_seam_that_parts_tells_nothing_of_what_was() {
        let whole = shapes::split(shapes::sphere(0.05, 3), 1.0, &mut Random::new(4));
        let home = whole.positions.clone();
        let mut apart = home.clone();
        *apart.last_mut().expect("vertices") *= 1.5;
        let larger = home.iter().map(|p| *p * 1.01).collect::<Vec<_>>();
        let loaded = load(whole, &LoadOptions::default()).expect("a mesh");
        let named = ("t".to_owned(), TissueKind::Tissue);
        let tissue = Tissue::new(named, loaded, Default::default(), 0);
        let mut seen = LastSeen::default();
        assert_eq!(seen.follow(tissue.id(), &tissue.current()), None);
        for (to, is_known) in [
            (&larger, true),
            (&apart, false),
            (&home, false),
            (&larger, true),
            (&apart, false),
            (&apart, true),
            (&home, false),
        ] {
            tissue.deform(Deformation::Dense(to.clone()), 0).expect("accepted");
            let moved = seen.follow(tissue.id(), &tissue.current());
            assert_eq!(moved.is_some(), is_known);
            assert_eq!(tissue.current().surface.is_closed(), to != &apart);
        }
        let last = home.len() as u32 - 1;
        for (to, is_known) in [(home[last as usize] * 1.2, false), (home[last as usize], false)] {
            let sparse = Deformation::Sparse { vertices: vec![last], positions: vec![to] };
            tissue.deform(sparse, 0).expect("accepted");
            assert_eq!(seen.follow(tissue.id(), &tissue.current()).is_some(), is_known);
        }
    }
}
