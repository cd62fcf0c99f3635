using System.Threading;
using Palpate;
using UnityEngine;

/// <summary>
/// A tool held by a device presses a mesh of the scene. Add this script to the tool; set the tissue's MeshFilter. All
/// positions are Unity's: the package converts the axes.
/// </summary>
public class FirstContact : MonoBehaviour
{
    public MeshFilter tissue;
    /// Empty: the engine in this process.
    public string server = "";
    public double stiffness = 300;

    private Server palpate;
    private Scene scene;
    private Session session;
    private Thread device;
    private volatile bool isOver;
    private readonly object place = new object();
    private Vector3 position;
    private Quaternion rotation = Quaternion.identity;
    private Palpate.Wrench felt;

    private void Start()
    {
        palpate = server == "" ? Server.OpenLocal() : Server.Connect(server);
        scene = palpate.CreateScene("first-contact");
        scene.AddTissue("tissue", Positions(tissue), Triangles(tissue));
        MeshFilter own = GetComponent<MeshFilter>();
        uint tool = scene.AddTool("tool", Positions(own, false), Triangles(own));
        session = scene.OpenSession(tool, new SessionOptions { StiffnessNPerM = stiffness });
        position = transform.position;
        // A device's library calls back a thousand times a second; this thread replaces its callback.
        device = new Thread(Callback) { IsBackground = true };
        device.Start();
    }

    private void Callback()
    {
        // Measures the elapsed time instead of assuming the sleep's: on Windows a sleep takes up to 16 ms.
        System.Diagnostics.Stopwatch sinceLast = System.Diagnostics.Stopwatch.StartNew();
        while (!isOver)
        {
            Palpate.Pose pose;
            lock (place)
            {
                pose = new Palpate.Pose(new Vec3(position.x, position.y, position.z), rotation.x, rotation.y, rotation.z, rotation.w);
            }
            double dtS = sinceLast.Elapsed.TotalSeconds;
            sinceLast.Restart();
            Wrench wrench;
            session.Servo(pose, dtS, out wrench);
            // With a device, call device.SetForce(wrench.ForceN.X, wrench.ForceN.Y, wrench.ForceN.Z) here.
            felt = wrench;
            Thread.Sleep(1);
        }
    }

    private void Update()
    {
        lock (place)
        {
            position = transform.position;
            rotation = transform.rotation;
        }
        session.Check();
        Vec3 force = felt.ForceN;
        Debug.DrawRay(transform.position, new Vector3((float)force.X, (float)force.Y, (float)force.Z));
    }

    private void OnDestroy()
    {
        isOver = true;
        if (device != null) device.Join();
        if (session != null) session.Dispose();
        if (scene != null)
        {
            scene.Delete();
            scene.Dispose();
        }
        if (palpate != null) palpate.Dispose();
    }

    private static float[] Positions(MeshFilter of, bool inScene = true)
    {
        Vector3[] vertices = of.sharedMesh.vertices;
        float[] xyz = new float[3 * vertices.Length];
        for (int i = 0; i < vertices.Length; i++)
        {
            Vector3 at = inScene ? of.transform.TransformPoint(vertices[i]) : Vector3.Scale(vertices[i], of.transform.lossyScale);
            xyz[3 * i] = at.x;
            xyz[3 * i + 1] = at.y;
            xyz[3 * i + 2] = at.z;
        }
        return xyz;
    }

    private static uint[] Triangles(MeshFilter of)
    {
        return System.Array.ConvertAll(of.sharedMesh.triangles, vertex => (uint)vertex);
    }
}
