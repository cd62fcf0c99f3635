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

        /// <summary>The tool is in tissue that was put there, and is given no force by it until it is out.</summary>
        public bool IsEmbedded { get { return (Flags & Native.PALPATE_IS_EMBEDDED) != 0; } }
        /// <summary>Tissue closed on the tool from several sides and leaves it no room.</summary>
        public bool IsSqueezed { get { return (Flags & Native.PALPATE_IS_SQUEEZED) != 0; } }
        /// <summary>The engine's time ended before the answer was done: it holds the last one's force.</summary>
        public bool IsLate { get { return (Flags & Native.PALPATE_IS_LATE) != 0; } }

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

    /// <summary>A tissue's surface as it is stored.</summary>
    public struct Surface
    {
        public ulong GeometryRevision;
        /// <summary>x, y, z of each vertex, metres.</summary>
        public float[] Positions;
        /// <summary>Ids of the triangles, ascending.</summary>
        public uint[] TriangleIds;
        /// <summary>Three vertices of each triangle.</summary>
        public uint[] Triangles;
    }

    /// <summary>
    /// A point of a tissue and a point of a link: the closest ones, or two that touch. Weights belong to the vertices
    /// of a triangle in the order in which it was given, except that the second and third are swapped in a triangle
    /// that was turned to face outwards: Scene.ExportTissue gives the order. Has the layout of palpate_point_pair.
    /// </summary>
    [StructLayout(LayoutKind.Sequential)]
    public struct PointPair
    {
        /// <summary>Id of the tissue.</summary>
        public uint Tissue;
        /// <summary>Triangle of the tissue.</summary>
        public uint Triangle;
        /// <summary>Number of the link in the tool, from 0.</summary>
        public uint Link;
        /// <summary>Triangle of the link.</summary>
        public uint LinkTriangle;
        /// <summary>Weights of OnTissue on the tissue's triangle.</summary>
        public Vec3 Barycentric;
        /// <summary>Weights of OnTool on the link's triangle.</summary>
        public Vec3 LinkBarycentric;
        /// <summary>Point on the tissue, metres.</summary>
        public Vec3 OnTissue;
        /// <summary>Point on the link, metres: OnTissue plus SignedDistanceM times Normal.</summary>
        public Vec3 OnTool;
        /// <summary>Unit, from tissue to tool.</summary>
        public Vec3 Normal;
        /// <summary>Distance of the two points; negative: the depth of the one that is inside.</summary>
        public double SignedDistanceM;

        internal PointPair In(Axes axes)
        {
            PointPair pair = this;
            pair.Barycentric = axes.Weights(Barycentric);
            pair.LinkBarycentric = axes.Weights(LinkBarycentric);
            pair.OnTissue = axes.Point(OnTissue);
            pair.OnTool = axes.Point(OnTool);
            pair.Normal = axes.Point(Normal);
            return pair;
        }
    }

    /// <summary>
    /// A tissue triangle that is inside a link, or nearer to it than the session's contact margin, or that the sweep met
    /// on the way to this pose. A contact that the link has left behind on that way has distance 0, and the pose and
    /// points of its Toi, which need not be at the same place; with OmitSweep there are none of these. Has the layout of
    /// palpate_surface_contact.
    /// </summary>
    [StructLayout(LayoutKind.Sequential)]
    public struct SurfaceContact
    {
        /// <summary>Id, constant while the contact lasts; other ids than those of Contact.</summary>
        public ulong Id;
        /// <summary>Geometry revision of the tissue that the contact was computed from.</summary>
        public ulong GeometryRevision;
        /// <summary>The points that touch, or are within the margin.</summary>
        public PointPair At;
        /// <summary>
        /// Time at which the link met the triangle: 0 at the pose of the last complete answer, 1 at this pose.
        /// Negative: the sweep did not meet it now.
        /// </summary>
        public double Toi;
        public uint Flags;

        /// <summary>The contact was not in the last answer.</summary>
        public bool HasBegun { get { return (Flags & Native.PALPATE_CONTACT_BEGAN) != 0; } }
        /// <summary>The tissue is a forbidden region.</summary>
        public bool IsForbidden { get { return (Flags & Native.PALPATE_CONTACT_FORBIDDEN) != 0; } }
        /// <summary>The link is wholly inside the tissue: the contact is its deepest vertex.</summary>
        public bool IsWhollyInside { get { return (Flags & Native.PALPATE_CONTACT_WHOLLY_INSIDE) != 0; } }
    }

    /// <summary>Kind of a FeaturePair: first the feature of the tissue, then that of the link.</summary>
    public enum FeatureKind : uint
    {
        VertexFace = Native.PALPATE_VERTEX_FACE,
        EdgeEdge = Native.PALPATE_EDGE_EDGE,
        FaceVertex = Native.PALPATE_FACE_VERTEX,
    }

    /// <summary>
    /// A feature of a tissue and one of a link within the contact margin: a row of a solver that treats contact itself.
    /// Has the layout of palpate_feature_pair.
    /// </summary>
    [StructLayout(LayoutKind.Sequential)]
    public struct FeaturePair
    {
        public uint Tissue;
        public uint Link;
        public FeatureKind Kind;
        /// <summary>Number of the vertices that are the tissue's: the first 1, 2 or 3.</summary>
        public uint NOfTissue;
        public uint Vertex0, Vertex1, Vertex2, Vertex3;
        /// <summary>Weights of the closest points on the two features, which sum to 1 on each.</summary>
        public double Weight0, Weight1, Weight2, Weight3;
        public double DistanceM;
        /// <summary>Unit, from the tissue to the link; zero if the features meet.</summary>
        public Vec3 Normal;
    }

    /// <summary>Distance of a link from the nearest tissue. Has the layout of palpate_link_distance.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public struct LinkDistance
    {
        /// <summary>
        /// The closest points, or the two ends of the deepest penetration. If IsBeyond, only the link and the lower
        /// bound as distance; all else is 0.
        /// </summary>
        public PointPair At;
        /// <summary>No tissue is nearer than this; below 0, none is deeper.</summary>
        public double LowerBoundM;
        /// <summary>Certainty of the sign, from 0 (a guess) to 1 (certain).</summary>
        public double SignCertainty;
        /// <summary>Upper bound of the depth if it is not certain; 0: it is certain, or it was cut short.</summary>
        public double DepthMaxM;
        /// <summary>Number of the link's contacts, including those beyond MaxContacts.</summary>
        public uint Contacts;
        public uint Flags;

        /// <summary>
        /// No tissue was found: the distance is a lower bound, 0.05 m unless IsCutShort. Then it may be negative, and
        /// the link may be inside tissue.
        /// </summary>
        public bool IsBeyond { get { return (Flags & Native.PALPATE_DISTANCE_BEYOND) != 0; } }
        /// <summary>The tick's time ended before all of the link was searched.</summary>
        public bool IsCutShort { get { return (Flags & Native.PALPATE_DISTANCE_CUT_SHORT) != 0; } }
    }

    /// <summary>
    /// The point of a tissue that is nearest to a queried point. Weights as in PointPair. Has the layout of
    /// palpate_surface_point.
    /// </summary>
    [StructLayout(LayoutKind.Sequential)]
    public struct SurfacePoint
    {
        /// <summary>Nearest tissue; 0: there is none, and the distance is infinite.</summary>
        public uint Tissue;
        /// <summary>Triangle of the tissue.</summary>
        public uint Triangle;
        /// <summary>Weights of Position on the triangle.</summary>
        public Vec3 Barycentric;
        /// <summary>The nearest point, metres.</summary>
        public Vec3 Position;
        /// <summary>Unit normal outwards.</summary>
        public Vec3 Normal;
        /// <summary>Metres; negative: the queried point is inside.</summary>
        public double SignedDistanceM;
        /// <summary>Certainty of the sign, from 0 (a guess) to 1 (certain).</summary>
        public double SignCertainty;

        internal SurfacePoint In(Axes axes)
        {
            SurfacePoint point = this;
            point.Barycentric = axes.Weights(Barycentric);
            point.Position = axes.Point(Position);
            point.Normal = axes.Point(Normal);
            return point;
        }
    }

    /// <summary>Distance of a probe from the nearest tissue. Has the layout of palpate_probe_distance.</summary>
    [StructLayout(LayoutKind.Sequential)]
    public struct ProbeDistance
    {
        /// <summary>
        /// Nearest point of the tissue to the probe's centre. Its SignedDistanceM is that of the probe's sphere, the
        /// radius being subtracted: negative if the probe touches. If IsBeyond, only the distance is set, as a lower
        /// bound.
        /// </summary>
        public SurfacePoint At;
        /// <summary>Number of the probe, from 0: link by link, in the order in which each was given.</summary>
        public uint Probe;
        public uint Flags;

        /// <summary>No tissue was found: the distance is a lower bound.</summary>
        public bool IsBeyond { get { return (Flags & Native.PALPATE_DISTANCE_BEYOND) != 0; } }
    }

    /// <summary>A sphere fixed to a link, such as a tip or a pad.</summary>
    public struct Probe
    {
        /// <summary>Unique in its tool.</summary>
        public string Name;
        /// <summary>Centre in the link's frame.</summary>
        public Vec3 Position;
        /// <summary>Metres, 0 or more.</summary>
        public double RadiusM;
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
        /// <summary>Probes fixed to the link, at most 16 for all links of a tool.</summary>
        public Probe[] Probes = new Probe[0];
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
        /// <summary>Holes in a box with no greater diagonal are filled, metres.</summary>
        public double FillHolesM;

        internal unsafe palpate_tissue_options Sent()
        {
            return new palpate_tissue_options
            {
                size = (uint)sizeof(palpate_tissue_options),
                flags = (AsWound ? Native.PALPATE_AS_WOUND : 0) | (ForbiddenRegion ? Native.PALPATE_FORBIDDEN_REGION : 0),
                weld_m = WeldM,
                fill_holes_m = FillHolesM,
            };
        }
    }

    /// <summary>
    /// A law of contacts, which changes their force and no geometry. All 0: rigid, with the friction of the session.
    /// </summary>
    public struct TissueMaterial
    {
        /// <summary>Stiffness in series with the tool's coupling at the contact, 1 to 100,000. 0: rigid.</summary>
        public double StiffnessNPerM;
        /// <summary>Damping against the approach of the device, 0 to 4.</summary>
        public double DampingNSPerM;
        /// <summary>Coefficient of a contact that sticks, 0 to 2. Null: the friction of the session.</summary>
        public double? StaticFriction;
        /// <summary>Coefficient of a contact that slips fast. Null: that of one that sticks.</summary>
        public double? DynamicFriction;
        /// <summary>Speed at which the coefficient falls from static to dynamic. 0: 0.01.</summary>
        public double StribeckVelocityMPerS;

        internal static unsafe palpate_material Sent(TissueMaterial material)
        {
            if (material.DynamicFriction.HasValue && !material.StaticFriction.HasValue)
            {
                throw new System.ArgumentException("DynamicFriction has a value and StaticFriction has none");
            }
            double still = material.StaticFriction ?? 0;
            return new palpate_material
            {
                size = (uint)sizeof(palpate_material),
                stiffness_n_per_m = material.StiffnessNPerM,
                damping_n_s_per_m = material.DampingNSPerM,
                has_friction = material.StaticFriction.HasValue ? 1u : 0u,
                static_friction = still,
                dynamic_friction = material.DynamicFriction ?? still,
                stribeck_velocity_m_s = material.StribeckVelocityMPerS,
            };
        }
    }

    /// <summary>Counts and measures of a mesh as it was loaded.</summary>
    public struct MeshReport
    {
        /// <summary>Vertices, those without a triangle included, and triangles.</summary>
        public uint Vertices, Triangles;
        /// <summary>Connected bodies: triangles joined by edges.</summary>
        public uint Bodies;
        /// <summary>Every edge has two triangles, and they agree in winding.</summary>
        public bool IsClosed;
        /// <summary>Edges with one triangle, pairs of such edges that were joined, edges with three or more.</summary>
        public uint OpenEdges, WeldedEdges, NonManifoldEdges;
        /// <summary>Edges whose two triangles disagree in winding.</summary>
        public uint InconsistentEdges;
        /// <summary>Triangles of zero area, and those with the vertices of an earlier one. They are kept.</summary>
        public uint DegenerateTriangles, DuplicateTriangles;
        /// <summary>Vertices that no triangle uses.</summary>
        public uint UnreferencedVertices;
        /// <summary>Triangles that were turned so that neighbours agree and closed bodies face outwards.</summary>
        public uint ReversedTriangles;
        /// <summary>Holes that were filled, and the triangles that fill them: the last ones of the mesh.</summary>
        public uint FilledHoles, AddedTriangles;
        /// <summary>Signed volume, cubic metres: negative for the wall of a lumen. Meaningful if closed.</summary>
        public double VolumeM3;
        /// <summary>Area, square metres, and mean length of an edge, metres.</summary>
        public double AreaM2, MeanEdgeM;

        internal static MeshReport Of(palpate_mesh_report report)
        {
            return new MeshReport
            {
                Vertices = report.n_vertices,
                Triangles = report.n_triangles,
                Bodies = report.n_bodies,
                IsClosed = report.is_closed != 0,
                OpenEdges = report.open_edges,
                WeldedEdges = report.welded_edges,
                NonManifoldEdges = report.non_manifold_edges,
                InconsistentEdges = report.inconsistent_edges,
                DegenerateTriangles = report.degenerate_triangles,
                DuplicateTriangles = report.duplicate_triangles,
                UnreferencedVertices = report.unreferenced_vertices,
                ReversedTriangles = report.reversed_triangles,
                FilledHoles = report.filled_holes,
                AddedTriangles = report.added_triangles,
                VolumeM3 = report.volume_m3,
                AreaM2 = report.area_m2,
                MeanEdgeM = report.mean_edge_m,
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
        /// <summary>
        /// Distance within which tissue triangles are surface contacts, metres. 0: 1 mm, less for a small tool.
        /// </summary>
        public double ContactMarginM;
        /// <summary>Maximum surface contacts of each link, deepest first. 0: 64.</summary>
        public uint MaxContacts;
        /// <summary>Contacts between one pose and the next are not searched for.</summary>
        public bool OmitSweep;
        /// <summary>Session.FeaturePairs finds the pairs of features within ContactMarginM.</summary>
        public bool FeaturePairs;
        /// <summary>Maximum such pairs of each link, nearest first. 0: 256.</summary>
        public uint MaxFeaturePairs;
        /// <summary>
        /// Time limit of a tick in the engine, seconds, at most 10: after it the force is held, and the next tick goes on
        /// where it stopped. 0: six tenths of the period of RateHz; none in lock-step, or a server's own.
        /// </summary>
        public double DeadlineS;
        /// <summary>Nothing runs by itself: Step replaces Servo.</summary>
        public bool LockStep;
    }
}
