using System;
using System.Threading;
using UnityEngine;

namespace Palpate.Components
{
    /// <summary>
    /// A rigid tool that has the shape of the object's MeshFilter, in its scale. Its distance field is built on a thread
    /// of its own, which takes seconds for a large mesh.
    /// </summary>
    [AddComponentMenu("Palpate/Tool")]
    public sealed class PalpateTool : MonoBehaviour, IDisposable
    {
        [Tooltip("Holes of the mesh in a box with no greater diagonal are filled, metres: a tool is best closed.")]
        public float fillHolesMetres;

        private Scene scene;
        private Thread building;
        private volatile uint id;
        private volatile Exception failed;
        private volatile string warning = "";

        /// <summary>Id in the theatre's scene; 0 while its field is being built.</summary>
        public uint Id { get { return id; } }

        private void Start()
        {
            MeshFilter filter = GetComponent<MeshFilter>();
            Mesh mesh = filter != null ? filter.sharedMesh : null;
            Shapes.CheckReadable(mesh, this);
            Vector3 scale = transform.lossyScale;
            Link link = new Link
            {
                Name = name,
                Positions = Shapes.Positions(mesh.vertices, at => Vector3.Scale(at, scale)),
                Triangles = Shapes.Triangles(mesh),
                FillHolesM = fillHolesMetres,
            };
            string named = name;
            PalpateTheatre theatre = PalpateTheatre.Find();
            scene = theatre.Scene;
            building = new Thread(() => Build(named, link)) { IsBackground = true };
            building.Start();
            theatre.Hold(this);
        }

        /// <summary>Removes the tool from the theatre's scene, once its field is built.</summary>
        public void Dispose()
        {
            if (building != null)
            {
                building.Join();
                building = null;
                if (id != 0)
                {
                    scene.RemoveTool(id);
                    id = 0;
                }
            }
        }

        private void OnDestroy()
        {
            Dispose();
        }

        private void Build(string named, Link link)
        {
            try
            {
                uint built = scene.AddTool(named, link);
                warning = Scene.LastWarning;
                id = built;
            }
            catch (Exception error)
            {
                failed = error;
            }
        }

        private void Update()
        {
            if (failed != null)
            {
                Debug.LogError(name + ": " + failed.Message, this);
                enabled = false;
            }
            if (warning != "")
            {
                Debug.LogWarning("the mesh of " + name + " " + warning, this);
                warning = "";
            }
        }
    }
}
