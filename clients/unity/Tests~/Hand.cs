using System;
using System.Diagnostics;
using System.Threading;
using Palpate;

/// <summary>
/// Tests a session as a device's thread and a solver use it: the servo, and the results besides the wrench.
/// </summary>
public static class Hand
{
    private static readonly float[] Slab =
    {
        -1, -1, 0, 1, -1, 0, 1, 1, 0, -1, 1, 0, -1, -1, -1, 1, -1, -1, 1, 1, -1, -1, 1, -1,
    };
    private static readonly uint[] SlabSides =
    {
        0, 1, 2, 0, 2, 3, 4, 6, 5, 4, 7, 6, 4, 5, 1, 4, 1, 0, 5, 6, 2, 5, 2, 1, 6, 7, 3, 6, 3, 2, 7, 4, 0, 7, 0, 3,
    };
    // Off the slab's edges, metres.
    private const double X = 0.011, Y = 0.007;

    /// A device's thread: 300 N/m over 3 mm, without garbage.
    public static void Servo(Server server)
    {
        using (Scene scene = server.CreateScene("servo"))
        {
            scene.AddTissue("slab", Mirrored(Slab, -1), Turned(SlabSides, -1), 0.05);
            uint tool = scene.AddTool("tip", Mirrored(Replay.Corners, -1), Turned(Replay.Sides, -1), 0.005);
            using (Session session = scene.OpenSession(tool, new SessionOptions { StiffnessNPerM = 300 }))
            {
                Press(session, false);
                Press(session, true);
                SessionStatus status = session.Status();
                Replay.Expect(status.IsOpen && status.Dropped == 0 && status.AgeS < 5, "the session is open");
                // A collection happens after 4 MB, which this many objects of 16 bytes reach: the counter detects it.
                Replay.Expect(Collections(() => new object()) > 0, "a collection is seen");
                Stopwatch sinceLast = Stopwatch.StartNew();
                Wrench felt = default(Wrench);
                Code code = Code.Ok;
                Func<object> sample = () =>
                {
                    double dtS = sinceLast.Elapsed.TotalSeconds;
                    sinceLast.Restart();
                    code = session.Servo(At(0.002, -1), dtS, out felt);
                    return null;
                };
                int collections = Collections(sample);
                Replay.Expect(code == Code.Ok && Math.Abs(felt.ForceN.Z + 0.9) < 0.02, "after " + Calls + " calls: " + felt.ForceN.Z + " N");
                Replay.Expect(collections == 0, collections + " collections in the servo");
                Pose[] one = { Pose.Identity };
                collections = Collections(() =>
                {
                    code = session.Servo(At(0.002, -1), one, 1e-5, out felt);
                    return null;
                });
                Replay.Expect(code == Code.Ok && collections == 0, collections + " collections in the servo with links");
                code = session.Servo(At(0.002, -1), new Pose[9], 1e-3, out felt);
                Replay.Expect(code == Code.InvalidArgument && felt.IsFading, "nine links gave " + code);
                session.Check();
            }
            scene.Delete();
        }
    }

    private const int Calls = 400000;

    private static int Collections(Func<object> call)
    {
        int before = GC.CollectionCount(0);
        for (int n = 0; n < Calls; n++) call();
        return GC.CollectionCount(0) - before;
    }

    private static void Press(Session session, bool hasLinks)
    {
        Pose[] one = { Pose.Identity };
        Wrench felt = default(Wrench);
        // A tool that is inside tissue when a busy engine first sees it is not pushed out.
        Rendering seen = default(Rendering);
        for (int n = 0; n < 10000 && !(session.TryNewest(out seen) && seen.DistanceM > 5e-4); n++)
        {
            session.Servo(At(0.006, -1), 1e-3, out felt);
            Thread.Sleep(1);
        }
        for (int n = 0; n < 10000 && Math.Abs(felt.ForceN.Z + 0.9) > 0.02; n++)
        {
            Pose at = At(Math.Max(0.006 - 1e-4 * n, 0.002), -1);
            Code code = hasLinks ? session.Servo(at, one, 1e-3, out felt) : session.Servo(at, 1e-3, out felt);
            Replay.Expect(code == Code.Ok, "the servo gave " + code);
            Thread.Sleep(1);
        }
        Replay.Expect(Math.Abs(felt.ForceN.Z + 0.9) < 0.02 && !felt.IsFading, "3 mm deep: " + felt.ForceN.Z + " N");
    }

    /// A solver: contacts, loads, distances, cuts and links are mirror images of each other in the two axes.
    public static void Solver(Server server)
    {
        double[] right = Asked(server, Axes.RightHanded, 1), left = Asked(server, Axes.LeftHanded, -1);
        Replay.Expect(right.Length == left.Length, "as many numbers");
        for (int i = 0; i < right.Length; i++) Replay.Near(right[i], left[i]);
    }

    /// Returns all results of a scene, with z mirrored back.
    private static double[] Asked(Server server, Axes axes, int z)
    {
        using (Scene scene = server.CreateScene("solver", axes))
        {
            uint slab = scene.AddTissue("slab", Mirrored(Slab, z), Turned(SlabSides, z), 0.05);
            uint spare = scene.AddTissue("spare", Mirrored(Slab, z), Turned(SlabSides, z), 0.01);
            scene.RemoveTissue(spare);
            Throws(Code.NotFound, () => scene.RemoveTissue(spare));
            Refuses(() => scene.AddTissue("torn", new float[4], SlabSides));
            Refuses(() => scene.AddTool("torn", Slab, new uint[5]));
            Refuses(() => scene.Deform(slab, new float[25]));
            Refuses(() => scene.Deform(slab, new uint[2], new float[5]));
            Refuses(() => scene.Cut(slab, new Cut { Positions = new float[2] }));
            Refuses(() => scene.Cut(slab, new Cut { Triangles = new uint[4] }));
            Refuses(() => scene.Cut(slab, new Cut { Triangles = new uint[3], Parents = new uint[2] }));
            // A handle above, and a jaw that it carries 10 mm below and rotated.
            float[] corners = Mirrored(Replay.Corners, z);
            uint[] sides = Turned(Replay.Sides, z);
            Link handle = new Link { Name = "handle", Positions = corners, Triangles = sides, ScaleToM = 0.004 };
            Link jaw = new Link { Name = "jaw", Positions = corners, Triangles = sides, ScaleToM = 0.005 };
            jaw.RestPose = new Pose(new Vec3(0.002, 0, -0.01 * z), z * Math.Sin(0.2), 0, 0, Math.Cos(0.2));
            jaw.Probes = new[] { new Probe { Name = "tip", Position = new Vec3(0, 0, -0.003 * z), RadiusM = 0.001 } };
            uint tool = scene.AddTool("grasper", handle, jaw);
            uint other = scene.AddTool("other", handle);
            scene.RemoveTool(other);
            Throws(Code.NotFound, () => scene.RemoveTool(other));
            double share;
            Replay.Expect(!scene.TryFieldProgress("other", out share), "no field is being built");
            // A body wound inwards is a lumen; then a mesh in millimetres.
            Vec3[] within = { new Vec3(0, 0, -0.005 * z) };
            uint lumen = scene.AddTissue("lumen", Mirrored(Slab, z), Turned(SlabSides, -z), 0.01, new TissueOptions { AsWound = true });
            Replay.Expect(scene.Distances(within, lumen)[0] > 1e-3 && Scene.LastWarning == "", "a lumen is empty");
            MeshReport walls = scene.TissueReport(lumen), grip = scene.LinkReport(tool, 1);
            Replay.Expect(walls.IsClosed && walls.VolumeM3 < 0 && walls.OpenEdges == 0, "a lumen's volume is negative");
            Replay.Expect(grip.IsClosed && grip.VolumeM3 > 0 && grip.Bodies == 1, "a jaw is closed");
            Throws(Code.NotFound, () => scene.LinkReport(tool, 2));
            scene.RemoveTissue(lumen);
            scene.RemoveTissue(scene.AddTissue("large", Mirrored(Slab, z), Turned(SlabSides, z), 50));
            Replay.Expect(Scene.LastWarning.Contains("millimetres"), "a warning: " + Scene.LastWarning);

            System.Collections.Generic.List<double> told = new System.Collections.Generic.List<double>();
            SessionOptions options = new SessionOptions { LockStep = true, Friction = 0.3 };
            using (Session session = scene.OpenSession(tool, options))
            {
                Contact[] contacts = new Contact[16];
                uint[] vertices = new uint[16];
                float[] forces = new float[48];
                ulong revision;
                Replay.Expect(session.Contacts(contacts) == 0, "no answer, no contacts");
                Replay.Expect(session.TissueLoads(slab, vertices, forces, out revision) == 0, "no answer, no loads");
                Throws(Code.InvalidArgument, () => session.Step(At(0.02, z), new Pose[9], 1e-3));
                Wrench felt = default(Wrench);
                // The jaw's frame is the tool's here: it goes as deep as this pose.
                Pose[] links = { Pose.Identity, new Pose(new Vec3(0.002, 0, -0.01 * z), z * Math.Sin(0.2), 0, 0, Math.Cos(0.2)) };
                for (int n = 0; n < 300; n++)
                {
                    links[1].Position.Z = (-0.01 - 1e-5 * n) * z;
                    felt = session.Step(At(0.016, z), links, 1e-3);
                }
                Replay.Expect(felt.ForceN.Z * z > 0.1, "the jaw is pressed: " + felt.ForceN.Z + " N");
                told.AddRange(new[] { felt.ForceN.X, felt.ForceN.Y, felt.ForceN.Z * z, felt.TorqueNm.X * z, felt.TorqueNm.Y * z, felt.TorqueNm.Z });

                int n_contacts = session.Contacts(contacts), n_loads = session.TissueLoads(slab, vertices, forces, out revision);
                Rendering newest;
                Replay.Expect(session.TryNewest(out newest) && n_contacts == newest.Contacts && n_contacts > 0, n_contacts + " contacts");
                Replay.Expect(session.Contacts(new Contact[0]) == n_contacts, "none fits, and all are counted");
                Replay.Expect(session.TissueLoads(slab, new uint[1], new float[3], out revision) == n_loads && n_loads > 1, n_loads + " loads");
                double[] wide = new double[48];
                Replay.Expect(session.TissueLoads(slab, vertices, wide, out revision) == n_loads, "as many in doubles");
                for (int i = 0; i < 3 * n_loads; i++) Replay.Expect((float)wide[i] == forces[i], "the same loads");
                Vec3 given = new Vec3(0, 0, 0), borne = new Vec3(0, 0, 0);
                for (int i = 0; i < n_contacts; i++)
                {
                    Contact contact = contacts[i];
                    Replay.Expect(contact.Tissue == slab && contact.Link == 1 && contact.ForceN.Z * z > 0, "the slab holds the jaw");
                    Replay.Expect(Math.Abs(contact.Position.Z) < 1e-4 && Math.Abs(contact.Position.X - X) < 0.01, "on its top");
                    given = new Vec3(given.X + contact.ForceN.X, given.Y + contact.ForceN.Y, given.Z + contact.ForceN.Z);
                    told.AddRange(new[] { contact.Position.X, contact.Position.Y, contact.Position.Z * z, contact.ForceN.Z * z });
                }
                for (int i = 0; i < n_loads; i++)
                {
                    borne = new Vec3(borne.X + forces[3 * i], borne.Y + forces[3 * i + 1], borne.Z + forces[3 * i + 2]);
                    told.Add(forces[3 * i + 2] * z);
                }
                Replay.Expect(Math.Abs(given.X + borne.X) < 1e-5 && Math.Abs(given.Z + borne.Z) < 1e-5, "what is given is borne");
                // Surface contacts: weights belong to the vertices as they were given.
                SurfaceContact[] touched = new SurfaceContact[64];
                LinkDistance[] distances = new LinkDistance[2];
                ulong sequence, same;
                int n_touched = session.SurfaceContacts(touched, out sequence);
                Replay.Expect(session.LinkDistances(distances, out same) == 2 && same == sequence && sequence == newest.Sequence, "both links");
                Replay.Expect(n_touched > 0 && distances[1].Contacts == n_touched && distances[0].Contacts == 0, n_touched + " touched");
                Replay.Expect(!distances[1].IsBeyond && !distances[1].IsCutShort && distances[1].At.Tissue == slab, "the slab is near");
                ProbeDistance[] probed = new ProbeDistance[1];
                Replay.Expect(session.ProbeDistances(probed, out same) == 1 && same == sequence && probed[0].Probe == 0, "one probe");
                Replay.Expect(!probed[0].IsBeyond && probed[0].At.Tissue == slab && probed[0].At.Normal.Z * z > 0.999, "over the slab");
                SurfacePoint beneath = probed[0].At;
                Vec3 centre = new Vec3(
                    beneath.Position.X, beneath.Position.Y, beneath.Position.Z + (beneath.SignedDistanceM + 0.001) * z);
                Replay.Near(scene.Distances(new[] { centre }, slab)[0], beneath.SignedDistanceM + 0.001);
                SurfaceContact[] asked = new SurfaceContact[64];
                LinkDistance[] each = new LinkDistance[2];
                Pose atProxy = newest.Proxy;
                int n_asked = scene.QueryContacts(tool, atProxy, links, asked, each);
                Replay.Expect(n_asked > 0 && each[0].Contacts + each[1].Contacts == n_asked, n_asked + " contacts of a pose");
                // The jaw is where the hand has it, and no tissue holds it back.
                Replay.Expect(asked[0].At.Tissue == slab && each[1].At.SignedDistanceM < -1e-4, "it is in the slab: " + each[0].At.SignedDistanceM + ", " + each[1].At.SignedDistanceM + " m");
                Surface stored = scene.ExportTissue(slab);
                float[] top = Mirrored(Slab, z);
                uint[] faces = Turned(SlabSides, z);
                Replay.Expect(stored.TriangleIds.Length == 12 && stored.TriangleIds[11] == 11, "all triangles are exported");
                for (int i = 0; i < 36; i++) Replay.Expect(stored.Triangles[i] == faces[i], "as they were given");
                for (int i = 0; i < 24; i++) Replay.Near(stored.Positions[i], 0.05f * top[i]);
                for (int i = 0; i < n_touched; i++)
                {
                    PointPair c = touched[i].At;
                    Replay.Expect(c.Tissue == slab && c.Link == 1, "the slab is touched");
                    Replay.Expect(!touched[i].IsForbidden && !touched[i].IsWhollyInside, "from outside");
                    Weighed(top, faces, c.Triangle, c.Barycentric, c.OnTissue);
                    told.AddRange(new[] { c.OnTissue.X, c.OnTissue.Y, c.OnTool.Z * z, c.Normal.Z * z, c.SignedDistanceM, touched[i].Toi });
                }
                session.Check();
            }
            // A roof on the slab's first triangle, in space that was empty.
            Vec3[] points = { new Vec3(0.02, -0.02, 0.004 * z), new Vec3(0.02, -0.02, 0.02 * z), new Vec3(0, 0, -0.03 * z) };
            told.AddRange(scene.Distances(points));
            foreach (SurfacePoint near in scene.Nearest(points, slab))
            {
                Weighed(Mirrored(Slab, z), Turned(SlabSides, z), near.Triangle, near.Barycentric, near.Position);
            }
            CutMade made = scene.Cut(slab, new Cut
            {
                Removed = new uint[] { 0 },
                Positions = new[] { 0.0167f, -0.0167f, 0.01f * z },
                Triangles = Turned(new uint[] { 0, 1, 8, 1, 2, 8, 2, 0, 8 }, z),
                Parents = new uint[] { 0, 0, 0 },
            });
            Replay.Expect(made.TopologyRevision == 1 && made.FirstVertex == 8 && made.FirstTriangle == 12, "a cut is told");
            Throws(Code.InvalidArgument, () => scene.Cut(slab, new Cut { Removed = new uint[] { 0 } }));
            double[] after = scene.Distances(points, slab);
            Replay.Expect(told[told.Count - 3] > 0.003 && after[0] < -0.001 && after[2] < -0.01, "under the roof is inside: " + after[0]);
            told.AddRange(after);
            scene.Delete();
            return told.ToArray();
        }
    }

    /// Checks a point of the slab against its weights.
    private static void Weighed(float[] corners, uint[] sides, uint triangle, Vec3 weights, Vec3 point)
    {
        double[] w = { weights.X, weights.Y, weights.Z }, p = { point.X, point.Y, point.Z };
        for (int axis = 0; axis < 3; axis++)
        {
            double sum = 0;
            for (int k = 0; k < 3; k++) sum += w[k] * 0.05 * corners[3 * sides[3 * triangle + k] + axis];
            Replay.Expect(Math.Abs(sum - p[axis]) < 1e-7, "weights " + axis + ": " + sum + " for " + p[axis]);
        }
    }

    private static Pose At(double height, int z)
    {
        return new Pose(new Vec3(X, Y, height * z));
    }

    private static float[] Mirrored(float[] xyz, int z)
    {
        float[] made = (float[])xyz.Clone();
        for (int i = 2; i < made.Length; i += 3) made[i] *= z;
        return made;
    }

    private static uint[] Turned(uint[] sides, int z)
    {
        uint[] made = (uint[])sides.Clone();
        for (int i = 0; z < 0 && i < made.Length; i += 3) Array.Reverse(made, i + 1, 2);
        return made;
    }

    /// An array of a wrong length is refused before the library reads it.
    private static void Refuses(Action call)
    {
        try
        {
            call();
        }
        catch (ArgumentException)
        {
            return;
        }
        Replay.Expect(false, "an array of a wrong length was taken");
    }

    private static void Throws(Code code, Action call)
    {
        try
        {
            call();
        }
        catch (PalpateException refused)
        {
            Replay.Expect(refused.Code == code && refused.Message != "", refused.Code + ": " + refused.Message);
            return;
        }
        Replay.Expect(false, "nothing was thrown, expected " + code);
    }
}
