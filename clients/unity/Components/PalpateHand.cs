using System;
using System.Threading;
using UnityEngine;

namespace Palpate.Components
{
    /// <summary>A haptic device, called on a thread of the hand: neither call may use Unity.</summary>
    public interface IPalpateDevice
    {
        /// <summary>Returns where the hand is, in Unity's axes.</summary>
        Pose Read();

        /// <summary>Gives the hand a force and a torque.</summary>
        void Give(Wrench wrench);
    }

    /// <summary>
    /// A hand that holds the object's tool. The object is where the hand is; a copy of it is drawn where the tissue holds
    /// the tool. Without a device the mouse moves the hand in the camera's plane, and W and S move it away and back.
    /// </summary>
    [AddComponentMenu("Palpate/Hand")]
    [RequireComponent(typeof(PalpateTool))]
    public sealed class PalpateHand : MonoBehaviour
    {
        [Tooltip("Stiffness of the coupling, N/m: half of what the device renders at most.")]
        public float stiffness = 300;
        [Tooltip("Greatest force on the hand, N.")]
        public float maxForce = 3.3f;
        public float friction;
        [Tooltip("Way of the hand for a step of the mouse, metres.")]
        public float mouseMetres = 0.002f;
        [Tooltip("Drawn where the tissue holds the tool. Empty: a copy of this object's mesh.")]
        public Transform proxy;

        private readonly object place = new object();
        private PalpateTool tool;
        private HandLoop loop;
        private Pose held;
        private string said = "";

        /// <summary>Moves the hand and gives it its force. Null: mouse and keys. Set it before Start.</summary>
        public IPalpateDevice Device { get; set; }

        /// <summary>Force on the hand, newtons.</summary>
        public Vector3 Force { get { return loop != null ? Shapes.Vector(loop.Felt.ForceN) : new Vector3(); } }

        /// <summary>Contacts, distances and loads of the newest answer; null while the tool's field is being built.</summary>
        public Session Session { get { return loop != null ? loop.Session : null; } }

        private void Start()
        {
            tool = GetComponent<PalpateTool>();
            if (proxy == null)
            {
                proxy = new GameObject(name + " (proxy)").transform;
                proxy.localScale = transform.lossyScale;
                proxy.gameObject.AddComponent<MeshFilter>().sharedMesh = GetComponent<MeshFilter>().sharedMesh;
                MeshRenderer own = GetComponent<MeshRenderer>();
                if (own != null)
                {
                    proxy.gameObject.AddComponent<MeshRenderer>().sharedMaterials = own.sharedMaterials;
                    own.enabled = false;
                }
            }
            held = Shapes.PoseOf(transform);
        }

        private void Update()
        {
            if (Device == null)
            {
                MoveByMouse();
                lock (place)
                {
                    held = Shapes.PoseOf(transform);
                }
            }
            if (loop == null && tool.Id != 0)
            {
                PalpateTheatre theatre = PalpateTheatre.Find();
                SessionOptions options = new SessionOptions
                {
                    StiffnessNPerM = stiffness, MaxForceN = maxForce, Friction = friction,
                };
                loop = new HandLoop(theatre.Scene.OpenSession(tool.Id, options), Read, Device);
                theatre.Hold(loop);
            }
            Draw();
        }

        private void OnDestroy()
        {
            if (loop != null)
            {
                loop.Dispose();
            }
        }

        /// <summary>On the hand's thread.</summary>
        private Pose Read()
        {
            Pose at = Device != null ? Device.Read() : default(Pose);
            lock (place)
            {
                held = Device != null ? at : held;
                return held;
            }
        }

        private void MoveByMouse()
        {
            Camera camera = Camera.main;
            if (camera == null)
            {
                return;
            }
            Transform seen = camera.transform;
            float away = Input.GetAxis("Vertical") * 20 * Time.deltaTime;
            transform.position += mouseMetres *
                (seen.right * Input.GetAxis("Mouse X") + seen.up * Input.GetAxis("Mouse Y") + seen.forward * away);
        }

        private void Draw()
        {
            Pose hand;
            lock (place)
            {
                hand = held;
            }
            Pose drawn = hand;
            Rendering newest;
            try
            {
                if (loop != null && loop.Session.TryNewest(out newest))
                {
                    drawn = newest.Proxy;
                    loop.Session.Check();
                }
            }
            catch (PalpateException error)
            {
                Say(error.Message);
            }
            if (Device != null)
            {
                Put(transform, hand);
            }
            Put(proxy, drawn);
            Debug.DrawLine(transform.position, proxy.position);
            Debug.DrawRay(proxy.position, Force);
        }

        /// <summary>The same error comes with each frame.</summary>
        private void Say(string error)
        {
            if (error != said)
            {
                Debug.LogError(name + ": " + error, this);
            }
            said = error;
        }

        private static void Put(Transform what, Pose at)
        {
            what.position = Shapes.Vector(at.Position);
            what.rotation = new Quaternion((float)at.Qx, (float)at.Qy, (float)at.Qz, (float)at.Qw);
        }
    }

    /// <summary>The thread that renders the force, a thousand times a second or as often as the device gives its pose.</summary>
    internal sealed class HandLoop : IDisposable
    {
        private readonly Thread thread;
        private volatile bool isOver;
        private readonly object feeling = new object();
        private Wrench felt;

        internal HandLoop(Session session, Func<Pose> read, IPalpateDevice device)
        {
            Session = session;
            thread = new Thread(() => Run(read, device)) { IsBackground = true };
            thread.Start();
        }

        internal Session Session { get; private set; }

        internal Wrench Felt
        {
            get
            {
                lock (feeling)
                {
                    return felt;
                }
            }
        }

        public void Dispose()
        {
            if (!isOver)
            {
                isOver = true;
                thread.Join();
                Session.Dispose();
            }
        }

        private void Run(Func<Pose> read, IPalpateDevice device)
        {
            // Measures the elapsed time instead of assuming the sleep's: on Windows a sleep takes up to 16 ms.
            System.Diagnostics.Stopwatch sinceLast = System.Diagnostics.Stopwatch.StartNew();
            while (!isOver)
            {
                Pose pose = read();
                double dtS = sinceLast.Elapsed.TotalSeconds;
                sinceLast.Restart();
                Wrench wrench;
                // The wrench is what the hand is to feel, whatever the code says.
                Session.Servo(pose, dtS, out wrench);
                lock (feeling)
                {
                    felt = wrench;
                }
                if (device != null)
                {
                    device.Give(wrench);
                }
                else
                {
                    Thread.Sleep(1);
                }
            }
            if (device != null)
            {
                device.Give(default(Wrench));
            }
        }
    }
}
