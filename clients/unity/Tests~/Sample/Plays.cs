using System;
using System.Linq;
using System.Threading;
using Palpate.Components;
using UnityEngine;

/// <summary>Plays the sample and the components without Unity: a tool is pressed 3 mm into a tissue.</summary>
public static class Plays
{
    public static int Main(string[] arguments)
    {
        string server = arguments.Length > 0 ? arguments[0] : "";
        return PlaysSample(server) && PlaysComponents(server) && RefusesWhatCannotBeRead() ? 0 : 1;
    }

    private static bool PlaysSample(string server)
    {
        MeshFilter organ = Octahedron("organ", 0.05f), own = Octahedron("tool", 0.005f);
        FirstContact sample = own.gameObject.AddComponent<FirstContact>();
        sample.tissue = organ;
        sample.server = server;
        Place(own.transform, 0.004);
        MonoBehaviour.Send(sample, "Start");
        bool isFelt = Press(sample.transform, () => MonoBehaviour.Send(sample, "Update"), () => Debug.Drawn);
        Vector3 force = Debug.Drawn;
        MonoBehaviour.Send(sample, "OnDestroy");
        bool isGood = isFelt && force.x > 0.4 && force.y > 0.4 && force.z > 0.4;
        Console.WriteLine("the sample draws (" + force.x + ", " + force.y + ", " + force.z + ") N");
        UnityEngine.Object.Made.Clear();
        return isGood;
    }

    /// A split mesh, a skin that bends, a device, and what is drawn.
    private static bool PlaysComponents(string server)
    {
        MeshFilter shape = Octahedron("organ", 0.05f), own = Octahedron("tool", 0.005f);
        // As along texture seams: each triangle has vertices of its own.
        Vector3[] corners = shape.sharedMesh.vertices;
        shape.sharedMesh.vertices = shape.sharedMesh.triangles.Select(vertex => corners[vertex]).ToArray();
        shape.sharedMesh.triangles = Enumerable.Range(0, 24).ToArray();
        SkinnedMeshRenderer skin = shape.gameObject.AddComponent<SkinnedMeshRenderer>();
        skin.sharedMesh = shape.sharedMesh;
        PalpateTissue tissue = shape.gameObject.AddComponent<PalpateTissue>();
        own.gameObject.AddComponent<MeshRenderer>();
        PalpateTool tool = own.gameObject.AddComponent<PalpateTool>();
        PalpateHand hand = own.gameObject.AddComponent<PalpateHand>();
        PalpateTheatre theatre = PalpateTheatre.Find();
        theatre.server = server;
        Place(own.transform, 0.004);
        MonoBehaviour.SendAll("Start");
        Action frame = () =>
        {
            MonoBehaviour.SendAll("FixedUpdate");
            MonoBehaviour.SendAll("Update");
        };
        while (tool.Id == 0)
        {
            frame();
            Thread.Sleep(1);
        }
        bool isGood = Expect(theatre.Scene.TissueReport(tissue.Id).IsClosed, "split vertices are joined");
        isGood &= Expect(Debug.Said.Any(text => text.Contains("different vertices on the two sides of 12 edges")), "and that is said");
        isGood &= Expect(Press(own.transform, frame, () => hand.Force), "it is felt");
        // The proxy is drawn where the tool touches, 3 mm from the hand.
        double gap = Sum(hand.proxy.position) / Math.Sqrt(3) - 0.055 / Math.Sqrt(3);
        isGood &= Expect(Math.Abs(gap) < 1e-4, "the proxy is at " + gap + " m");
        isGood &= Expect(!own.GetComponent<MeshRenderer>().enabled, "the hand's own mesh is hidden");
        // The organ shrinks by 2 % as its bones move: its side goes back by 0.577 mm, and the force by 300 N/m of that.
        Place(own.transform, -0.003);
        Rest(frame);
        double whole = Length(hand.Force);
        skin.Bend = at => at * 0.98f;
        Rest(frame);
        double less = whole - Length(hand.Force);
        isGood &= Expect(Math.Abs(less - 300 * 0.001 / Math.Sqrt(3)) < 0.002, "the skin is followed: " + less + " N less");
        // The mouse moves the hand out.
        new GameObject("camera").AddComponent<Camera>();
        foreach (string axis in new[] { "Mouse X", "Mouse Y" }) Input.Axes[axis] = 5;
        Input.Axes["Vertical"] = 250;
        float before = own.transform.position.x;
        MonoBehaviour.Send(hand, "Update");
        Input.Axes.Clear();
        isGood &= Expect(Math.Abs(own.transform.position.x - before - 0.01) < 1e-6, "the mouse moves the hand");
        for (int n = 0; n < 1000 && hand.Force.x != 0; n++)
        {
            frame();
            Thread.Sleep(1);
        }
        isGood &= Expect(hand.Force.x == 0, "nothing is felt outside");
        // A device in the place of the mouse: a second hand.
        Pressing device = new Pressing();
        MeshFilter other = Octahedron("other", 0.005f);
        other.gameObject.AddComponent<PalpateTool>();
        PalpateHand guided = other.gameObject.AddComponent<PalpateHand>();
        guided.Device = device;
        MonoBehaviour.Send(other.GetComponent<PalpateTool>(), "Start");
        MonoBehaviour.Send(guided, "Start");
        for (int n = 0; n < 10000 && Math.Abs(device.GivenN - 0.6) > 0.02; n++)
        {
            frame();
            Thread.Sleep(1);
        }
        isGood &= Expect(Math.Abs(device.GivenN - 0.6) < 0.02, "the device is given " + device.GivenN + " N");
        isGood &= Expect(Math.Abs(Sum(other.transform.position) - Sum(device.Last)) < 1e-4, "the object is where the device is");
        // An organ that is destroyed is gone from the scene, and so is a tool.
        MonoBehaviour.Send(tissue, "OnDestroy");
        Palpate.Vec3[] within = { new Palpate.Vec3(0, 0, 0) };
        isGood &= Expect(double.IsInfinity(theatre.Scene.Distances(within)[0]), "no tissue is left");
        // In any order, twice.
        MonoBehaviour.SendAll("OnDestroy");
        isGood &= Expect(device.GivenN == 0, "the device is let go of");
        UnityEngine.Object.Made.Clear();
        return isGood;
    }

    private static bool RefusesWhatCannotBeRead()
    {
        MeshFilter organ = Octahedron("organ", 0.05f);
        organ.sharedMesh.isReadable = false;
        PalpateTissue tissue = organ.gameObject.AddComponent<PalpateTissue>();
        try
        {
            MonoBehaviour.Send(tissue, "Start");
        }
        catch (Exception refused)
        {
            return Expect(refused.InnerException.Message.Contains("tick Read/Write"), refused.InnerException.Message);
        }
        return Expect(false, "a mesh that cannot be read is refused");
    }

    /// A device whose hand goes 2 mm deep.
    private sealed class Pressing : IPalpateDevice
    {
        private double gap = 0.003;
        private double given;
        private UnityEngine.Vector3 last;

        public double GivenN { get { return Volatile.Read(ref given); } }
        public UnityEngine.Vector3 Last { get { return last; } }

        public Palpate.Pose Read()
        {
            Thread.Sleep(1);
            gap = Math.Max(-0.002, gap - 5e-6);
            double along = Along(0.98 * 0.05 + 0.005, gap);
            last = new UnityEngine.Vector3((float)along, (float)along, (float)along);
            return new Palpate.Pose(new Palpate.Vec3(along, along, along));
        }

        public void Give(Palpate.Wrench wrench)
        {
            Palpate.Vec3 f = wrench.ForceN;
            Volatile.Write(ref given, Math.Sqrt(f.X * f.X + f.Y * f.Y + f.Z * f.Z));
        }
    }

    private static MeshFilter Octahedron(string name, float radius)
    {
        MeshFilter filter = new GameObject(name).AddComponent<MeshFilter>();
        filter.transform.lossyScale = new Vector3(radius, radius, radius);
        filter.sharedMesh = new Mesh
        {
            name = name,
            vertices = new[]
            {
                new Vector3(1, 0, 0), new Vector3(-1, 0, 0), new Vector3(0, 1, 0), new Vector3(0, -1, 0),
                new Vector3(0, 0, 1), new Vector3(0, 0, -1),
            },
            // Clockwise seen from outside, as in Unity.
            triangles = new[] { 0, 2, 4, 2, 1, 4, 1, 3, 4, 3, 0, 4, 2, 0, 5, 1, 2, 5, 3, 1, 5, 0, 3, 5 },
        };
        return filter;
    }

    /// Moves a tool 3 mm into the organ, and returns whether 300 N/m of that are felt.
    private static bool Press(Transform tool, Action frame, Func<Vector3> force)
    {
        for (int n = 0; n < 10000 && Math.Abs(Length(force()) - 0.9) > 0.02; n++)
        {
            Place(tool, Math.Max(0.004 - 1e-5 * n, -0.003));
            frame();
            Thread.Sleep(1);
        }
        return Math.Abs(Length(force()) - 0.9) < 0.02;
    }

    private static void Rest(Action frame)
    {
        for (int n = 0; n < 300; n++)
        {
            frame();
            Thread.Sleep(1);
        }
    }

    /// Places the tool at this gap above the organ's side, whose outward direction is (1, 1, 1): the sides are parallel.
    private static void Place(Transform tool, double gap)
    {
        double along = Along(0.055, gap);
        tool.position = new Vector3((float)along, (float)along, (float)along);
    }

    private static double Along(double radii, double gap)
    {
        return (radii / Math.Sqrt(3) + gap) / Math.Sqrt(3);
    }

    private static double Sum(Vector3 of)
    {
        return of.x + of.y + of.z;
    }

    private static double Length(Vector3 of)
    {
        return Math.Sqrt(of.x * of.x + of.y * of.y + of.z * of.z);
    }

    private static bool Expect(bool isSo, string what)
    {
        if (!isSo)
        {
            Console.Error.WriteLine("components: " + what);
        }
        return isSo;
    }
}
