using System;
using UnityEngine;

namespace Palpate.Components
{
    /// <summary>Meshes of Unity as arrays of Palpate.</summary>
    internal static class Shapes
    {
        /// <summary>Refuses a mesh that scripts may not read, in words that say what to do.</summary>
        internal static void CheckReadable(Mesh mesh, Component of)
        {
            if (mesh == null)
            {
                throw new InvalidOperationException(of.name + " has no mesh: expected a MeshFilter or a SkinnedMeshRenderer");
            }
            if (!mesh.isReadable)
            {
                throw new InvalidOperationException(
                    "the mesh " + mesh.name + " of " + of.name + " cannot be read: tick Read/Write in its import settings");
            }
        }

        /// <summary>x, y, z of each vertex after a transformation.</summary>
        internal static float[] Positions(Vector3[] vertices, Func<Vector3, Vector3> place, float[] into = null)
        {
            float[] xyz = into != null && into.Length == 3 * vertices.Length ? into : new float[3 * vertices.Length];
            for (int i = 0; i < vertices.Length; i++)
            {
                Vector3 at = place(vertices[i]);
                xyz[3 * i] = at.x;
                xyz[3 * i + 1] = at.y;
                xyz[3 * i + 2] = at.z;
            }
            return xyz;
        }

        internal static uint[] Triangles(Mesh mesh)
        {
            return Array.ConvertAll(mesh.triangles, vertex => (uint)vertex);
        }

        internal static Pose PoseOf(Transform of)
        {
            Vector3 at = of.position;
            Quaternion turn = of.rotation;
            return new Pose(new Vec3(at.x, at.y, at.z), turn.x, turn.y, turn.z, turn.w);
        }

        internal static Vector3 Vector(Vec3 of)
        {
            return new Vector3((float)of.X, (float)of.Y, (float)of.Z);
        }

        internal static void Warn(Component of)
        {
            if (Scene.LastWarning != "")
            {
                Debug.LogWarning("the mesh of " + of.name + " " + Scene.LastWarning, of);
            }
        }
    }
}
