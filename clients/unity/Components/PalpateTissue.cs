using System;
using UnityEngine;

namespace Palpate.Components
{
    /// <summary>
    /// A tissue that has the shape of the object's MeshFilter or SkinnedMeshRenderer and follows it. Vertices that are
    /// split along texture seams count as joined while they are at equal positions.
    /// </summary>
    [AddComponentMenu("Palpate/Tissue")]
    public sealed class PalpateTissue : MonoBehaviour, IDisposable
    {
        [Tooltip("A region that tools stay out of.")]
        public bool forbiddenRegion;
        [Tooltip("Borders of the mesh whose ends are at most this far apart are joined, metres.")]
        public float weldMetres;
        [Tooltip("The vertices of the mesh move, as a solver writes them. A skinned mesh always does.")]
        public bool followsVertices;

        private Scene scene;
        private Mesh shape;
        private SkinnedMeshRenderer skin;
        private float[] positions;

        /// <summary>Id in the theatre's scene, for loads and cuts; 0 before Start.</summary>
        public uint Id { get; private set; }

        private void Start()
        {
            skin = GetComponent<SkinnedMeshRenderer>();
            MeshFilter filter = GetComponent<MeshFilter>();
            Mesh own = skin != null ? skin.sharedMesh : filter != null ? filter.sharedMesh : null;
            Shapes.CheckReadable(own, this);
            // A skinned mesh is copied as it is bent now.
            shape = skin != null ? new Mesh() : own;
            PalpateTheatre theatre = PalpateTheatre.Find();
            scene = theatre.Scene;
            TissueOptions options = new TissueOptions { ForbiddenRegion = forbiddenRegion, WeldM = weldMetres };
            Id = scene.AddTissue(name, Places(), Shapes.Triangles(own), 1, options);
            Shapes.Warn(this);
            theatre.Hold(this);
            transform.hasChanged = false;
        }

        private void FixedUpdate()
        {
            if (Id != 0 && (transform.hasChanged || skin != null || followsVertices))
            {
                transform.hasChanged = false;
                scene.Deform(Id, Places());
            }
        }

        /// <summary>Removes the tissue from the theatre's scene.</summary>
        public void Dispose()
        {
            if (Id != 0)
            {
                scene.RemoveTissue(Id);
                Id = 0;
            }
        }

        private void OnDestroy()
        {
            Dispose();
        }

        private float[] Places()
        {
            if (skin != null)
            {
                skin.BakeMesh(shape, true);
            }
            positions = Shapes.Positions(shape.vertices, transform.TransformPoint, positions);
            return positions;
        }
    }
}
