using System;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;

/// <summary>The part of Unity that the sample and the components use, to compile and run them without Unity.</summary>
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

        public static Vector3 operator +(Vector3 a, Vector3 b)
        {
            return new Vector3(a.x + b.x, a.y + b.y, a.z + b.z);
        }

        public static Vector3 operator *(Vector3 a, float by)
        {
            return new Vector3(a.x * by, a.y * by, a.z * by);
        }

        public static Vector3 operator *(float by, Vector3 a)
        {
            return a * by;
        }
    }

    public struct Quaternion
    {
        public float x, y, z, w;

        public Quaternion(float x, float y, float z, float w)
        {
            this.x = x;
            this.y = y;
            this.z = z;
            this.w = w;
        }

        public static Quaternion identity { get { return new Quaternion(0, 0, 0, 1); } }
    }

    public class Object
    {
        public string name = "";

        /// All that was made, so that they are found.
        internal static readonly List<Component> Made = new List<Component>();

        public static T FindObjectOfType<T>() where T : Component
        {
            return Made.OfType<T>().FirstOrDefault();
        }
    }

    public sealed class GameObject : Object
    {
        public readonly Transform transform;
        private readonly List<Component> components = new List<Component>();

        public GameObject(string name)
        {
            this.name = name;
            transform = AddComponent<Transform>();
        }

        public T AddComponent<T>() where T : Component, new()
        {
            T made = new T { name = name, gameObject = this };
            components.Add(made);
            Made.Add(made);
            return made;
        }

        internal T Find<T>() where T : Component
        {
            return components.OfType<T>().FirstOrDefault();
        }
    }

    public class Component : Object
    {
        public GameObject gameObject;
        public Transform transform { get { return gameObject.transform; } }

        public T GetComponent<T>() where T : Component
        {
            return gameObject.Find<T>();
        }
    }

    public class MonoBehaviour : Component
    {
        public bool enabled = true;

        /// Calls a message of Unity's, if there is a method for it.
        public static void Send(MonoBehaviour to, string message)
        {
            MethodInfo method = to.GetType().GetMethod(message, BindingFlags.Instance | BindingFlags.NonPublic);
            if (method != null && to.enabled)
            {
                method.Invoke(to, null);
            }
        }

        /// Calls it of all that were made.
        public static void SendAll(string message)
        {
            Made.OfType<MonoBehaviour>().ToList().ForEach(one => Send(one, message));
        }
    }

    public sealed class Transform : Component
    {
        private Vector3 at;
        public Quaternion rotation = Quaternion.identity;
        public Vector3 lossyScale = new Vector3(1, 1, 1);
        public bool hasChanged = true;

        public Vector3 localScale { set { lossyScale = value; } }
        public Vector3 right { get { return new Vector3(1, 0, 0); } }
        public Vector3 up { get { return new Vector3(0, 1, 0); } }
        public Vector3 forward { get { return new Vector3(0, 0, 1); } }

        public Vector3 position
        {
            get { return at; }
            set
            {
                at = value;
                hasChanged = true;
            }
        }

        /// Rotation is not supported here.
        public Vector3 TransformPoint(Vector3 of)
        {
            return position + Vector3.Scale(of, lossyScale);
        }
    }

    public sealed class Mesh : Object
    {
        public Vector3[] vertices;
        public int[] triangles;
        public bool isReadable = true;
    }

    public sealed class MeshFilter : Component
    {
        public Mesh sharedMesh;
    }

    public sealed class Material
    {
    }

    public sealed class MeshRenderer : Component
    {
        public bool enabled = true;
        public Material[] sharedMaterials = new Material[0];
    }

    public sealed class SkinnedMeshRenderer : Component
    {
        public Mesh sharedMesh;
        /// Replaces bones.
        public Func<Vector3, Vector3> Bend = at => at;

        public void BakeMesh(Mesh into, bool useScale)
        {
            into.vertices = Array.ConvertAll(sharedMesh.vertices, at => Bend(at));
        }
    }

    public sealed class Camera : Component
    {
        public static Camera main { get { return FindObjectOfType<Camera>(); } }
    }

    public static class Input
    {
        public static readonly Dictionary<string, float> Axes = new Dictionary<string, float>();

        public static float GetAxis(string name)
        {
            float moved;
            return Axes.TryGetValue(name, out moved) ? moved : 0;
        }
    }

    public static class Time
    {
        public static float deltaTime = 0.001f;
    }

    public static class Debug
    {
        public static Vector3 Drawn;
        public static readonly List<string> Said = new List<string>();

        public static void DrawRay(Vector3 from, Vector3 along)
        {
            Drawn = along;
        }

        public static void DrawLine(Vector3 from, Vector3 to)
        {
        }

        public static void LogWarning(string text, Object about)
        {
            Said.Add(text);
        }

        public static void LogError(string text, Object about)
        {
            Said.Add(text);
        }
    }

    public sealed class TooltipAttribute : Attribute
    {
        public TooltipAttribute(string text)
        {
        }
    }

    public sealed class AddComponentMenu : Attribute
    {
        public AddComponentMenu(string text)
        {
        }
    }

    public sealed class RequireComponent : Attribute
    {
        public RequireComponent(Type type)
        {
        }
    }
}
