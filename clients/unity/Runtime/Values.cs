using System.Runtime.InteropServices;

namespace Palpate
{
    /// <summary>Three numbers, in the axes of their scene.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public struct Vec3
    {
        public double X, Y, Z;

        public Vec3(double x, double y, double z)
        {
            X = x;
            Y = y;
            Z = z;
        }
    }

    /// <summary>A position in metres, and a rotation as a unit quaternion.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public struct Pose
    {
        public Vec3 Position;
        public double Qx, Qy, Qz, Qw;

        public Pose(Vec3 position, double qx = 0, double qy = 0, double qz = 0, double qw = 1)
        {
            Position = position;
            Qx = qx;
            Qy = qy;
            Qz = qz;
            Qw = qw;
        }

        internal palpate_pose To(Axes axes)
        {
            return new palpate_pose
            {
                position_m = axes.Point(Position.X, Position.Y, Position.Z),
                orientation = axes.Rotation(Qx, Qy, Qz, Qw),
            };
        }

        /// <summary>No translation and no rotation.</summary>
        public static Pose Identity { get { return new Pose(new Vec3(0, 0, 0)); } }

        internal static Pose From(Axes axes, palpate_pose pose)
        {
            palpate_vec3 p = axes.Point(pose.position_m.x, pose.position_m.y, pose.position_m.z);
            palpate_quaternion q = pose.orientation;
            q = axes.Rotation(q.x, q.y, q.z, q.w);
            return new Pose(new Vec3(p.x, p.y, p.z), q.x, q.y, q.z, q.w);
        }
    }

    /// <summary>Force and torque for a hand.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public struct Wrench
    {
        /// <summary>Newtons, at the hold point.</summary>
        public Vec3 ForceN;
        /// <summary>Newton metres.</summary>
        public Vec3 TorqueNm;
        /// <summary>Time since the tick that the force's model answers was sent, seconds.</summary>
        public double ModelAgeS;
        public uint Flags;

        public bool IsLimited { get { return (Flags & Native.PALPATE_LIMITED) != 0; } }
        /// <summary>Answers are too old, or the pose is invalid.</summary>
        public bool IsFading { get { return (Flags & Native.PALPATE_FADING) != 0; } }
        /// <summary>
        /// The proxy was beyond the radius in which the model is complete: further contacts may exist that the force
        /// omits.
        /// </summary>
        public bool IsBeyondRadius { get { return (Flags & Native.PALPATE_BEYOND_RADIUS) != 0; } }

        internal static Wrench From(Axes axes, palpate_wrench felt)
        {
            palpate_vec3 force = axes.Point(felt.force_n.x, felt.force_n.y, felt.force_n.z);
            palpate_vec3 torque = axes.Turn(felt.torque_nm.x, felt.torque_nm.y, felt.torque_nm.z);
            return new Wrench
            {
                ForceN = new Vec3(force.x, force.y, force.z),
                TorqueNm = new Vec3(torque.x, torque.y, torque.z),
                ModelAgeS = felt.model_age_s,
                Flags = felt.flags,
            };
        }
    }

    /// <summary>State of a proxy relative to the tissues. The numbers are those of palpate_render_state.</summary>
    public enum RenderState
    {
        Unknown = 0,
        Free = 1,
        Touching = 2,
        Embedded = 3,
        Squeezed = 4,
        Late = 5,
    }

    /// <summary>The newest answer for the tool.</summary>
    public struct Rendering
    {
        public ulong Sequence;
        /// <summary>Pose to draw the tool at.</summary>
        public Pose Proxy;
        public RenderState State;
        public uint Contacts;
        /// <summary>Distance from the proxy to the nearest tissue, metres.</summary>
        public double DistanceM;
    }

    /// <summary>A contact that carries force. Has the layout of palpate_contact.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public struct Contact
    {
        /// <summary>Id, constant while the contact lasts.</summary>
        public ulong Id;
        /// <summary>Id of the tissue.</summary>
        public uint Tissue;
        /// <summary>Number of the link in the tool, from 0.</summary>
        public uint Link;
        /// <summary>Position on the tissue, metres.</summary>
        public Vec3 Position;
        /// <summary>Force on the tool, newtons.</summary>
        public Vec3 ForceN;
    }

    /// <summary>Status of a session so far.</summary>
    public struct SessionStatus
    {
        /// <summary>True if there is a connection; always true in the process.</summary>
        public bool IsOpen;
        /// <summary>Number of reconnections after its connection broke.</summary>
        public ulong Reconnected;
        /// <summary>Number of reconnections after which the session was gone: contacts have new ids.</summary>
        public ulong SessionsLost;
        /// <summary>Number of ticks that were never sent.</summary>
        public ulong Dropped;
        /// <summary>Time since the newest answer, seconds.</summary>
        public double AgeS;
    }

    /// <summary>A rigid part of a tool.</summary>
    public sealed class Link
    {
        /// <summary>Unique in its tool.</summary>
        public string Name;
        /// <summary>x, y, z of each vertex, and three vertex numbers of each triangle.</summary>
        public float[] Positions;
        public uint[] Triangles;
        public double ScaleToM = 1;
        /// <summary>Transform from the link's frame to the tool's.</summary>
        public Pose RestPose = Pose.Identity;
        /// <summary>Holes in a box with no greater diagonal are filled, metres.</summary>
        public double FillHolesM;
        /// <summary>Open edges whose ends are at most this far apart are joined, metres.</summary>
        public double WeldM;
    }

    /// <summary>Options of a tissue.</summary>
    public struct TissueOptions
    {
        /// <summary>
        /// Tissue is on the side that triangles face away from: a closed surface that faces inwards is the wall of a
        /// lumen. False: closed bodies are turned to face outwards.
        /// </summary>
        public bool AsWound;
        /// <summary>A region that tools stay out of: it holds them back like tissue, and bears no load.</summary>
        public bool ForbiddenRegion;
        /// <summary>Open edges whose ends are at most this far apart are joined, metres.</summary>
        public double WeldM;

        internal unsafe palpate_tissue_options Sent()
        {
            return new palpate_tissue_options
            {
                size = (uint)sizeof(palpate_tissue_options),
                flags = (AsWound ? Native.PALPATE_AS_WOUND : 0) | (ForbiddenRegion ? Native.PALPATE_FORBIDDEN_REGION : 0),
                weld_m = WeldM,
            };
        }
    }

    /// <summary>A cut: one transaction. Null stands for empty.</summary>
    public sealed class Cut
    {
        /// <summary>Triangles to remove, each once.</summary>
        public uint[] Removed;
        /// <summary>x, y, z of each new vertex. The first gets the id CutMade.FirstVertex.</summary>
        public float[] Positions;
        /// <summary>Three vertex ids of each new triangle, old and new ones.</summary>
        public uint[] Triangles;
        /// <summary>
        /// For each new triangle the removed triangle that it partly replaces, so that contacts continue.
        /// </summary>
        public uint[] Parents;
    }

    /// <summary>Result of a cut.</summary>
    public struct CutMade
    {
        /// <summary>Number of cuts of the tissue so far.</summary>
        public ulong TopologyRevision;
        /// <summary>First ids of the new vertices and triangles.</summary>
        public uint FirstVertex, FirstTriangle;
    }

    /// <summary>Rendering of a session's tool; 0 is the default.</summary>
    public struct SessionOptions
    {
        public double StiffnessNPerM, RotationalStiffnessNmPerRad, LinkStiffnessNPerM, Friction;
        public double MaxForceN, MaxTorqueNm, MaxForceRateNPerS, MaxTorqueRateNmPerS;
        /// <summary>
        /// Greatest angle between two facets of a tissue that count as one smooth surface to the force, radians. 0: none.
        /// </summary>
        public double ForceShadingRad;
        /// <summary>Point at which the device holds the tool, tool frame.</summary>
        public Vec3 HoldPoint;
        /// <summary>Bit n: no tissue constrains link n.</summary>
        public uint CuttingLinks;
        public double RateHz;
        /// <summary>Nothing runs by itself: Step replaces Servo.</summary>
        public bool LockStep;
    }
}
