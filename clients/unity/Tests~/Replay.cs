using System;
using System.IO;
using Palpate;

/// <summary>
/// Replays recorded poses in lock-step. Writes the wrenches to OUT, and to OUT.found all that the answers have of
/// contacts: replay.exe FOLDER OUT [HOST:PORT]
/// </summary>
public static class Replay
{
    private const int AskedEvery = 50;

    public static int Main(string[] arguments)
    {
        string folder = arguments[0];
        using (Server server = arguments.Length > 2 ? Server.Connect(arguments[2]) : Server.OpenLocal())
        {
            Expect(Server.LibraryVersion.Split('.').Length == 3, "a version: " + Server.LibraryVersion);
            Refuses(server);
            using (Scene scene = server.CreateScene("replay-csharp", Axes.RightHanded))
            {
                scene.AddTissueFile("organ", Path.Combine(folder, "organ.obj"));
                uint tool = scene.AddToolFile("tool", Path.Combine(folder, "tool.obj"));
                SessionOptions options = new SessionOptions { LockStep = true, Friction = 0.2, HoldPoint = new Vec3(0, 0, 0.03), FeaturePairs = true };
                using (Session session = scene.OpenSession(tool, options))
                using (BinaryReader poses = new BinaryReader(File.OpenRead(Path.Combine(folder, "poses.bin"))))
                using (BinaryWriter felt = new BinaryWriter(File.Create(arguments[1])))
                using (BinaryWriter found = new BinaryWriter(File.Create(arguments[1] + ".found")))
                {
                    for (int n = 0; poses.BaseStream.Position < poses.BaseStream.Length; n++)
                    {
                        Vec3 at = new Vec3(poses.ReadDouble(), poses.ReadDouble(), poses.ReadDouble());
                        double[] q = { poses.ReadDouble(), poses.ReadDouble(), poses.ReadDouble(), poses.ReadDouble() };
                        Write(felt, session.Step(new Pose(at, q[0], q[1], q[2], q[3]), 1e-3));
                        Found(session, found);
                        if (n % AskedEvery != 0) continue;
                        SurfacePoint near = scene.Nearest(new[] { at })[0];
                        Write(found, near.Tissue, near.Triangle);
                        Write(found, near.Barycentric, near.Position, near.Normal);
                        Write(found, near.SignedDistanceM, near.SignCertainty);
                    }
                    Rendering newest;
                    Expect(session.TryNewest(out newest) && newest.Sequence == 1500, "the newest answer is the last");
                }
                scene.Delete();
            }
            Mirrors(server);
            Feels(server);
            Hand.Servo(server);
            Hand.Solver(server);
        }
        return 0;
    }

    private static readonly SurfaceContact[] contacts = new SurfaceContact[64];
    private static readonly LinkDistance[] links = new LinkDistance[1];
    private static readonly FeaturePair[] pairs = new FeaturePair[256];

    private static void Found(Session session, BinaryWriter to)
    {
        ulong sequence;
        int n = session.SurfaceContacts(contacts, out sequence);
        Write(to, n);
        for (int i = 0; i < n; i++)
        {
            Write(to, contacts[i].Id);
            Write(to, contacts[i].At);
            Write(to, contacts[i].Toi, contacts[i].Flags);
        }
        session.LinkDistances(links, out sequence);
        Write(to, links[0].At);
        Write(to, links[0].LowerBoundM, links[0].SignCertainty, links[0].DepthMaxM, links[0].Contacts, links[0].Flags);
        n = session.FeaturePairs(pairs, out sequence);
        Write(to, n);
        for (int i = 0; i < n; i++)
        {
            FeaturePair pair = pairs[i];
            Write(to, pair.Tissue, pair.Link, (uint)pair.Kind);
            Write(to, pair.Vertex0, pair.Vertex1, pair.Vertex2, pair.Vertex3);
            Write(to, pair.Weight0, pair.Weight1, pair.Weight2, pair.Weight3, pair.DistanceM);
            Write(to, pair.Normal);
        }
    }

    private static void Write(BinaryWriter to, Wrench felt)
    {
        Write(to, felt.ForceN, felt.TorqueNm);
    }

    private static void Write(BinaryWriter to, PointPair at)
    {
        Write(to, at.Tissue, at.Triangle, at.Link, at.LinkTriangle);
        Write(to, at.Barycentric, at.LinkBarycentric, at.OnTissue, at.OnTool, at.Normal);
        Write(to, at.SignedDistanceM);
    }

    private static void Write(BinaryWriter to, params Vec3[] vectors)
    {
        foreach (Vec3 v in vectors) Write(to, v.X, v.Y, v.Z);
    }

    private static void Write(BinaryWriter to, params double[] numbers)
    {
        foreach (double number in numbers) to.Write(number);
    }

    /// A failed call throws its code and its message.
    private static void Refuses(Server server)
    {
        try
        {
            server.OpenScene("nowhere");
        }
        catch (PalpateException refused)
        {
            Expect(refused.Code == Code.NotFound && refused.Message.Contains("nowhere"), refused.Message);
            return;
        }
        Expect(false, "a scene that is not there was opened");
    }

    internal static readonly float[] Corners = { 1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1 };
    internal static readonly uint[] Sides = { 0, 2, 4, 2, 1, 4, 1, 3, 4, 3, 0, 4, 2, 0, 5, 1, 2, 5, 3, 1, 5, 0, 3, 5 };

    /// A scene and its mirror image in z give equal wrenches: the force mirrored, the torque reversed.
    private static void Mirrors(Server server)
    {
        Wrench right = Pressed(server, Axes.RightHanded, 1), left = Pressed(server, Axes.LeftHanded, -1);
        Expect(Math.Abs(right.ForceN.X) > 0.1 && Math.Abs(right.ForceN.Z) > 0.05, "a force is felt");
        Near(right.ForceN.X, left.ForceN.X);
        Near(right.ForceN.Y, left.ForceN.Y);
        Near(right.ForceN.Z, -left.ForceN.Z);
        Near(right.TorqueNm.X, -left.TorqueNm.X);
        Near(right.TorqueNm.Y, -left.TorqueNm.Y);
        Near(right.TorqueNm.Z, left.TorqueNm.Z);
    }

    /// A material is a spring in series: the force of a hand that rests falls to its share, and comes back without it.
    private static void Feels(Server server)
    {
        using (Scene scene = server.CreateScene("feel", Axes.RightHanded))
        {
            uint organ = scene.AddTissue("organ", Corners, Sides, 0.05);
            uint tool = scene.AddTool("tip", Corners, Sides, 0.005);
            using (Session session = scene.OpenSession(tool, new SessionOptions { LockStep = true }))
            {
                double rigid = Rest(session, 300);
                scene.SetFeel(organ, new[] { new TissueMaterial { StiffnessNPerM = 100, StaticFriction = 0.1 } }, new byte[8]);
                double soft = Rest(session, 100) / rigid;
                Expect(rigid > 0.5 && soft > 0.16 && soft < 0.25, rigid + " N, then " + soft + " of it");
                scene.SetFeel(organ, null);
                Expect(Math.Abs(Rest(session, 100) / rigid - 1) < 1e-3, "the organ is rigid again");
            }
            scene.Delete();
        }
    }

    /// Goes towards the middle of a side for the first of two hundred steps, and then rests.
    private static double Rest(Session session, int steps)
    {
        Wrench felt = default(Wrench);
        for (int n = 300 - steps; n < 300; n++)
        {
            double away = 0.025 - 3e-5 * Math.Min(n, 200);
            felt = session.Step(new Pose(new Vec3(away, 0.9 * away, 0.8 * away), 0, 0, 0, 1), 1e-3);
        }
        Vec3 f = felt.ForceN;
        return Math.Sqrt(f.X * f.X + f.Y * f.Y + f.Z * f.Z);
    }

    private static Wrench Pressed(Server server, Axes axes, int z)
    {
        float[] corners = (float[])Corners.Clone();
        uint[] sides = (uint[])Sides.Clone();
        if (z < 0)
        {
            for (int i = 2; i < corners.Length; i += 3) corners[i] = -corners[i];
            for (int i = 0; i < sides.Length; i += 3) Array.Reverse(sides, i + 1, 2);
        }
        using (Scene scene = server.CreateScene("mirror", axes))
        {
            scene.AddTissue("organ", corners, sides, 0.05);
            uint tool = scene.AddTool("tip", corners, sides, 0.005);
            SessionOptions options = new SessionOptions { LockStep = true, HoldPoint = new Vec3(0.001, 0.002, 0.003 * z) };
            Wrench felt = default(Wrench);
            using (Session session = scene.OpenSession(tool, options))
            {
                for (int n = 0; n < 300; n++)
                {
                    // Towards the middle of a side, rotated a little.
                    double away = 0.025 - 2e-5 * n, half = 0.1;
                    Pose pose = new Pose(new Vec3(away, 0.9 * away, z * 0.8 * away), z * Math.Sin(half), 0, 0, Math.Cos(half));
                    felt = session.Step(pose, 1e-3);
                }
            }
            scene.Delete();
            return felt;
        }
    }

    internal static void Near(double a, double b)
    {
        Expect(Math.Abs(a - b) < 1e-9, a + " and " + b);
    }

    internal static void Expect(bool isSo, string what)
    {
        if (!isSo) throw new Exception(what);
    }
}
