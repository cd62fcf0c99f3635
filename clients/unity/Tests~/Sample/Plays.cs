using System;
using System.Reflection;
using System.Threading;
using UnityEngine;

/// <summary>Plays the sample without Unity: it starts, is pressed 3 mm into a tissue, and ends.</summary>
public static class Plays
{
    public static int Main(string[] arguments)
    {
        Mesh shape = new Mesh
        {
            vertices = new[]
            {
                new Vector3(1, 0, 0), new Vector3(-1, 0, 0), new Vector3(0, 1, 0), new Vector3(0, -1, 0),
                new Vector3(0, 0, 1), new Vector3(0, 0, -1),
            },
            // Clockwise seen from outside, as in Unity.
            triangles = new[] { 0, 2, 4, 2, 1, 4, 1, 3, 4, 3, 0, 4, 2, 0, 5, 1, 2, 5, 3, 1, 5, 0, 3, 5 },
        };
        MeshFilter organ = new MeshFilter { sharedMesh = shape }, own = new MeshFilter { sharedMesh = shape };
        organ.transform.lossyScale = new Vector3(0.05f, 0.05f, 0.05f);
        own.transform.lossyScale = new Vector3(0.005f, 0.005f, 0.005f);
        FirstContact sample = new FirstContact { tissue = organ, server = arguments.Length > 0 ? arguments[0] : "" };
        sample.transform = own.transform;
        Component.Find = (of, kind) => own;
        // Above a side, whose outward direction is along (1, 1, 1).
        Place(sample, 0.004);
        Tell(sample, "Start");
        Thread device = (Thread)typeof(FirstContact).GetField("device", Hidden).GetValue(sample);
        for (int n = 0; n < 10000 && Math.Abs(Felt() - 0.9) > 0.02; n++)
        {
            Place(sample, Math.Max(0.004 - 1e-5 * n, -0.003));
            Tell(sample, "Update");
            Thread.Sleep(1);
        }
        UnityEngine.Vector3 force = Debug.Drawn;
        Tell(sample, "OnDestroy");
        bool isGood = Math.Abs(Felt() - 0.9) < 0.02 && force.x > 0.4 && force.y > 0.4 && force.z > 0.4 && !device.IsAlive;
        Console.WriteLine("the sample draws (" + force.x + ", " + force.y + ", " + force.z + ") N");
        return isGood ? 0 : 1;
    }

    private const BindingFlags Hidden = BindingFlags.Instance | BindingFlags.NonPublic;

    private static void Tell(FirstContact sample, string what)
    {
        typeof(FirstContact).GetMethod(what, Hidden).Invoke(sample, null);
    }

    private static double Felt()
    {
        UnityEngine.Vector3 f = Debug.Drawn;
        return Math.Sqrt(f.x * f.x + f.y * f.y + f.z * f.z);
    }

    /// Places the tool at this gap above the organ's side: the two sides are parallel.
    private static void Place(FirstContact sample, double gap)
    {
        double along = (0.055 / Math.Sqrt(3) + gap) / Math.Sqrt(3);
        sample.transform.position = new UnityEngine.Vector3((float)along, (float)along, (float)along);
    }
}
