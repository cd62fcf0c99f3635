use palpate::{
    geometry::{self, mesh_load, *},
    index::*,
    mesh_io, oracle,
    scene::field::field_of,
    sdf::*,
};
use std::time::Instant;
fn main() {
    let dir = oracle::shared_data().unwrap().join("meshes");
    for (name, scale) in [
        ("dental_instrument_light.obj", 0.05),
        ("pliers_binary.stl", 0.01),
        ("liver-smooth.obj", 0.03),
        ("tongue.obj", 0.05),
    ] {
        let path = dir.join(name);
        let data = mesh_io::read(
            &std::fs::read(&path).unwrap(),
            mesh_io::MeshFormat::from_path(&path).unwrap(),
        )
        .unwrap();
        let loaded =
            mesh_load::load(data, &LoadOptions { scale_to_m: scale, ..Default::default() })
                .unwrap();
        let t = Instant::now();
        let surface = Surface::new(loaded.mesh, FrameOptions::default());
        println!(
            "{name} {:?} index {:?} diag {}",
            loaded.report.sign_rule,
            t.elapsed(),
            surface.bounds().diagonal()
        );
        for leaf in [32usize] {
            let t = Instant::now();
            let field = field_of(
                &surface,
                &FieldOptions { leaf_vertices: leaf, ..Default::default() },
                &|_, _| (),
            );
            println!("  field {:?} {:?}", t.elapsed(), field.report());
            let mut random = oracle::random::Random::new(1);
            let b = surface.bounds().grown(surface.bounds().diagonal() * 0.1);
            let n = 100_000;
            let pts: Vec<_> =
                (0..n).map(|_| random.point(b.min.as_dvec3(), b.max.as_dvec3())).collect();
            let t = Instant::now();
            let ex: Vec<_> = pts
                .iter()
                .map(|p| surface.signed_distance(*p, f64::INFINITY, None).unwrap())
                .collect();
            let te = t.elapsed().as_secs_f64() / n as f64 * 1e9;
            let t = Instant::now();
            let rs: Vec<_> = pts.iter().map(|p| field.read(surface.mesh(), *p)).collect();
            let tr = t.elapsed().as_secs_f64() / n as f64 * 1e9;
            let (mut bad, mut worst, mut nexact, mut uncertain) = (0, 0f64, 0, 0);
            for (e, r) in ex.iter().zip(&rs) {
                let d = e.signed_distance;
                if d < r.lower - 1e-9 || d > r.upper + 1e-9 {
                    if bad < 3 {
                        println!("    bad {e:?} {r:?}");
                    }
                    bad += 1;
                    worst = worst.max((r.lower - d).max(d - r.upper));
                }
                if r.exact.is_some() {
                    nexact += 1;
                }
                if e.certainty < 1.0 {
                    uncertain += 1;
                }
            }
            println!(
                "  exact search {te:.0} ns, read {tr:.0} ns, bad {bad} worst {worst} exact cells {nexact} uncertain {uncertain}"
            );
            // list-cell-only timing
            let near: Vec<_> =
                pts.iter().zip(&rs).filter(|(_, r)| r.exact.is_some()).map(|x| *x.0).collect();
            let far: Vec<_> =
                pts.iter().zip(&rs).filter(|(_, r)| r.exact.is_none()).map(|x| *x.0).collect();
            for (what, v) in [("list", &near), ("interp", &far)] {
                let t = Instant::now();
                let mut s = 0.0;
                for p in v {
                    s += field.read(surface.mesh(), *p).value;
                }
                let a = t.elapsed().as_secs_f64() / v.len() as f64 * 1e9;
                let t = Instant::now();
                for p in v {
                    s += surface.signed_distance(*p, f64::INFINITY, None).unwrap().signed_distance;
                }
                println!(
                    "    {what} n={} {a:.0} ns vs index {:.0} {s}",
                    v.len(),
                    t.elapsed().as_secs_f64() / v.len() as f64 * 1e9
                );
            }
        }
    }
}
