using System;

/// <summary>The part of Unity that the sample uses, to compile and run it without Unity.</summary>
namespace UnityEngine
{
    public struct Vector3
    {
        public float x, y, z;

        public Vector3(float x, float y, float z)
        {
            this.x = x;
            this.y = y;
            this.z = z;
        }

        public static Vector3 Scale(Vector3 a, Vector3 b)
        {
            return new Vector3(a.x * b.x, a.y * b.y, a.z * b.z);
        }
    }

    public struct Quaternion
    {
        public float x, y, z, w;

        public static Quaternion identity { get { return new Quaternion { w = 1 }; } }
    }

    public sealed class Transform
    {
        public Vector3 position;
        public Quaternion rotation = Quaternion.identity;
        public Vector3 lossyScale = new Vector3(1, 1, 1);

        /// Rotation is not supported here.
        public Vector3 TransformPoint(Vector3 at)
        {
            Vector3 scaled = Vector3.Scale(at, lossyScale);
            return new Vector3(position.x + scaled.x, position.y + scaled.y, position.z + scaled.z);
        }
    }

    public sealed class Mesh
    {
        public Vector3[] vertices;
        public int[] triangles;
    }

    public class Component
    {
        public Transform transform = new Transform();
        /// Replaces Unity's look-up of an object's components.
        public static Func<Component, Type, object> Find;

        public T GetComponent<T>()
        {
            return (T)Find(this, typeof(T));
        }
    }

    public class MonoBehaviour : Component
    {
    }

    public sealed class MeshFilter : Component
    {
        public Mesh sharedMesh;
    }

    public static class Debug
    {
        public static Vector3 Drawn;

        public static void DrawRay(Vector3 from, Vector3 along)
        {
            Drawn = along;
        }
    }
}
