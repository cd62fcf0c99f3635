using System;

namespace Palpate
{
    /// <summary>
    /// Axes of a program's numbers. Only this file converts them: Palpate's scene is right-handed, Unity's is
    /// left-handed with z reversed. A mirror leaves forces unchanged and reverses the sense of torques and rotations.
    /// </summary>
    public enum Axes
    {
        RightHanded,
        /// <summary>Unity's axes: x right, y up, z forward.</summary>
        LeftHanded,
    }

    internal static class AxesConversion
    {
        // Each conversion is its own inverse.

        internal static palpate_vec3 Point(this Axes axes, double x, double y, double z)
        {
            return new palpate_vec3 { x = x, y = y, z = axes == Axes.LeftHanded ? -z : z };
        }

        internal static Vec3 Point(this Axes axes, Vec3 at)
        {
            return new Vec3(at.X, at.Y, axes == Axes.LeftHanded ? -at.Z : at.Z);
        }

        /// <summary>Weights belong to a triangle's vertices, of which Triangles swaps the second and third.</summary>
        internal static Vec3 Weights(this Axes axes, Vec3 weights)
        {
            return axes == Axes.LeftHanded ? new Vec3(weights.X, weights.Z, weights.Y) : weights;
        }

        /// <summary>
        /// A rotation's axis and a torque are pseudovectors: their x and y change signs, not their z.
        /// </summary>
        internal static palpate_vec3 Turn(this Axes axes, double x, double y, double z)
        {
            return axes == Axes.LeftHanded
                ? new palpate_vec3 { x = -x, y = -y, z = z }
                : new palpate_vec3 { x = x, y = y, z = z };
        }

        internal static palpate_quaternion Rotation(this Axes axes, double x, double y, double z, double w)
        {
            palpate_vec3 turn = axes.Turn(x, y, z);
            return new palpate_quaternion { x = turn.x, y = turn.y, z = turn.z, w = w };
        }

        internal static float[] Points(this Axes axes, float[] xyz)
        {
            if (axes == Axes.RightHanded)
            {
                return xyz;
            }
            float[] mirrored = (float[])xyz.Clone();
            axes.PointsInPlace(mirrored, mirrored.Length / 3);
            return mirrored;
        }

        internal static void PointsInPlace(this Axes axes, float[] xyz, int n)
        {
            for (int i = 0; axes == Axes.LeftHanded && i < n; i++)
            {
                xyz[3 * i + 2] = -xyz[3 * i + 2];
            }
        }

        internal static void PointsInPlace(this Axes axes, double[] xyz, int n)
        {
            for (int i = 0; axes == Axes.LeftHanded && i < n; i++)
            {
                xyz[3 * i + 2] = -xyz[3 * i + 2];
            }
        }

        /// <summary>
        /// A mirror reverses the orientation of triangles, so their second and third vertices are swapped.
        /// </summary>
        internal static uint[] Triangles(this Axes axes, uint[] vertices)
        {
            if (axes == Axes.RightHanded)
            {
                return vertices;
            }
            uint[] turned = (uint[])vertices.Clone();
            for (int i = 0; i + 2 < turned.Length; i += 3)
            {
                uint second = turned[i + 1];
                turned[i + 1] = turned[i + 2];
                turned[i + 2] = second;
            }
            return turned;
        }
    }
}
