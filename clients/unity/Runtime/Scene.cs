using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;

namespace Palpate
{
    /// <summary>
    /// Deformable tissues and tools, in the axes that the scene was opened with. Files are right-handed.
    /// </summary>
    public sealed unsafe class Scene : IDisposable
    {
        private palpate_scene* scene;
        private readonly Axes axes;

        internal Scene(palpate_scene* owned, Axes axes)
        {
            scene = owned;
            this.axes = axes;
        }

        /// <summary>
        /// Adds a tissue: x, y, z of each vertex, three vertex numbers of each triangle. Returns its id.
        /// </summary>
        public uint AddTissue(
            string name, float[] positions, uint[] triangles, double scaleToM = 1,
            TissueOptions options = default(TissueOptions))
        {
            uint id;
            palpate_tissue_options sent = options.Sent();
            fixed (byte* text = Text.Bytes(name))
            fixed (float* xyz = axes.Points(positions))
            fixed (uint* sides = axes.Triangles(triangles))
            {
                palpate_mesh mesh = Mesh(xyz, positions, sides, triangles, scaleToM);
                PalpateException.Check(Native.palpate_add_tissue(scene, text, &mesh, &sent, &id));
            }
            return id;
        }

        /// <summary>Adds a tissue from a file. Returns its id.</summary>
        public uint AddTissueFile(
            string name, string file, double scaleToM = 1, TissueOptions options = default(TissueOptions))
        {
            uint id;
            palpate_tissue_options sent = options.Sent();
            fixed (byte* text = Text.Bytes(name), path = Text.Bytes(file))
            {
                PalpateException.Check(Native.palpate_add_tissue_file(scene, text, path, scaleToM, &sent, &id));
            }
            return id;
        }

        /// <summary>Adds a rigid tool of one link. Returns its id.</summary>
        public uint AddTool(string name, float[] positions, uint[] triangles, double scaleToM = 1)
        {
            return AddTool(name, new Link { Name = name, Positions = positions, Triangles = triangles, ScaleToM = scaleToM });
        }

        /// <summary>Adds a rigid tool of one to eight links. Returns its id.</summary>
        public uint AddTool(string name, params Link[] links)
        {
            // The number of links varies, so the arrays are pinned one by one instead of in nested blocks.
            List<GCHandle> held = new List<GCHandle>();
            palpate_link[] sent = new palpate_link[links.Length];
            palpate_pose[] rest = new palpate_pose[links.Length];
            try
            {
                palpate_pose* poses = (palpate_pose*)Hold(held, rest);
                for (int i = 0; i < links.Length; i++)
                {
                    rest[i] = links[i].RestPose.To(axes);
                    palpate_probe[] probes = Array.ConvertAll(links[i].Probes, probe => new palpate_probe
                    {
                        size = (uint)sizeof(palpate_probe),
                        name = (byte*)Hold(held, Text.Bytes(probe.Name)),
                        position_m = axes.Point(probe.Position.X, probe.Position.Y, probe.Position.Z),
                        radius_m = probe.RadiusM,
                    });
                    sent[i] = new palpate_link
                    {
                        size = (uint)sizeof(palpate_link),
                        name = (byte*)Hold(held, Text.Bytes(links[i].Name)),
                        mesh = Mesh(
                            (float*)Hold(held, axes.Points(links[i].Positions)), links[i].Positions,
                            (uint*)Hold(held, axes.Triangles(links[i].Triangles)), links[i].Triangles, links[i].ScaleToM),
                        rest_pose = poses + i,
                        fill_holes_m = links[i].FillHolesM,
                        weld_m = links[i].WeldM,
                        probes = (palpate_probe*)Hold(held, probes),
                        n_probes = (UIntPtr)probes.Length,
                    };
                }
                uint id;
                fixed (byte* text = Text.Bytes(name))
                fixed (palpate_link* first = sent)
                {
                    PalpateException.Check(Native.palpate_add_tool(scene, text, first, (UIntPtr)sent.Length, &id));
                }
                return id;
            }
            finally
            {
                held.ForEach(handle => handle.Free());
            }
        }

        /// <summary>Adds a rigid tool of one link from a file. Returns its id.</summary>
        public uint AddToolFile(string name, string file, double scaleToM = 1)
        {
            uint id;
            fixed (byte* text = Text.Bytes(name), path = Text.Bytes(file))
            {
                PalpateException.Check(Native.palpate_add_tool_file(scene, text, path, scaleToM, &id));
            }
            return id;
        }

        /// <summary>
        /// Returns the progress of the field that is being built for a tool, 0 to 1: for another thread, while AddTool
        /// waits. False if none is being built.
        /// </summary>
        public bool TryFieldProgress(string tool, out double share)
        {
            double found = 0;
            palpate_code code;
            fixed (byte* text = Text.Bytes(tool))
            {
                code = Native.palpate_field_progress(scene, text, &found);
            }
            share = found;
            if (code == palpate_code.PALPATE_NOT_FOUND)
            {
                return false;
            }
            PalpateException.Check(code);
            return true;
        }

        /// <summary>
        /// Warning of this thread's last call that added a tissue or tool, for example that a mesh may be in another
        /// unit; empty if there is none.
        /// </summary>
        public static string LastWarning { get { return Text.Of(Native.palpate_last_warning()); } }

        /// <summary>Removes a tissue from the scene.</summary>
        public void RemoveTissue(uint tissue)
        {
            PalpateException.Check(Native.palpate_remove_tissue(scene, tissue));
        }

        /// <summary>Removes a tool from the scene.</summary>
        public void RemoveTool(uint tool)
        {
            PalpateException.Check(Native.palpate_remove_tool(scene, tool));
        }

        /// <summary>Moves all vertices of a tissue, metres.</summary>
        public void Deform(uint tissue, float[] positions)
        {
            CheckThrees(positions, "positions");
            fixed (float* xyz = axes.Points(positions))
            {
                UIntPtr n = (UIntPtr)(positions.Length / 3);
                PalpateException.Check(Native.palpate_deform(scene, tissue, xyz, n));
            }
        }

        /// <summary>Moves some vertices of a tissue, metres.</summary>
        public void Deform(uint tissue, uint[] vertices, float[] positions)
        {
            if (positions.Length != 3 * vertices.Length)
            {
                throw new ArgumentException("there are not three numbers for each vertex", "positions");
            }
            fixed (uint* ids = vertices)
            fixed (float* xyz = axes.Points(positions))
            {
                UIntPtr n = (UIntPtr)vertices.Length;
                PalpateException.Check(Native.palpate_deform_some(scene, tissue, ids, xyz, n));
            }
        }

        /// <summary>Cuts a tissue.</summary>
        public CutMade Cut(uint tissue, Cut cut)
        {
            uint[] removed = cut.Removed ?? new uint[0], triangles = cut.Triangles ?? new uint[0];
            float[] positions = cut.Positions ?? new float[0];
            if (cut.Parents != null && cut.Parents.Length != triangles.Length / 3)
            {
                throw new ArgumentException("there is not one parent for each new triangle", "cut");
            }
            CheckThrees(positions, "Positions");
            CheckThrees(triangles, "Triangles");
            palpate_cut_made made;
            fixed (uint* gone = removed, sides = axes.Triangles(triangles), parents = cut.Parents)
            fixed (float* xyz = axes.Points(positions))
            {
                palpate_cut sent = new palpate_cut
                {
                    size = (uint)sizeof(palpate_cut),
                    removed = gone,
                    n_removed = (UIntPtr)removed.Length,
                    positions = xyz,
                    n_positions = (UIntPtr)(positions.Length / 3),
                    triangles = sides,
                    n_triangles = (UIntPtr)(triangles.Length / 3),
                    parents = parents,
                };
                PalpateException.Check(Native.palpate_cut_tissue(scene, tissue, &sent, &made));
            }
            return new CutMade
            {
                TopologyRevision = made.topology_revision,
                FirstVertex = made.first_vertex,
                FirstTriangle = made.first_triangle,
            };
        }

        /// <summary>Gives a tissue materials, in place of those before; none: it is rigid again. `triangles` has an index
        /// into them for each triangle id; null: each triangle has the first. Returns the geometry revision.</summary>
        public ulong SetFeel(uint tissue, TissueMaterial[] materials, byte[] triangles = null)
        {
            palpate_material[] sent = Array.ConvertAll(materials ?? new TissueMaterial[0], TissueMaterial.Sent);
            byte[] each = triangles ?? new byte[0];
            ulong revision;
            fixed (palpate_material* table = sent)
            fixed (byte* indices = each)
            {
                PalpateException.Check(Native.palpate_set_feel(
                    scene, tissue, table, (UIntPtr)sent.Length, indices, (UIntPtr)each.Length, &revision));
            }
            return revision;
        }

        /// <summary>Reports on the mesh of a tissue as it was added.</summary>
        public MeshReport TissueReport(uint tissue)
        {
            palpate_mesh_report report;
            PalpateException.Check(Native.palpate_tissue_report(scene, tissue, &report));
            return MeshReport.Of(report);
        }

        /// <summary>Reports on the mesh of a link, counted from 0 in its tool.</summary>
        public MeshReport LinkReport(uint tool, uint link)
        {
            palpate_mesh_report report;
            PalpateException.Check(Native.palpate_link_report(scene, tool, link, &report));
            return MeshReport.Of(report);
        }

        /// <summary>Returns a tissue's surface as it is stored, to which barycentric weights belong.</summary>
        public Surface ExportTissue(uint tissue)
        {
            Surface surface = new Surface { Positions = new float[0], TriangleIds = new uint[0], Triangles = new uint[0] };
            for (;;)
            {
                UIntPtr vertices = (UIntPtr)(surface.Positions.Length / 3), triangles = (UIntPtr)surface.TriangleIds.Length;
                ulong revision = 0;
                palpate_code code;
                fixed (float* xyz = surface.Positions)
                fixed (uint* ids = surface.TriangleIds, sides = surface.Triangles)
                {
                    code = Native.palpate_export_tissue(
                        scene, tissue, xyz, vertices, &vertices, ids, sides, triangles, &triangles, &revision);
                }
                if (code != palpate_code.PALPATE_TOO_SMALL)
                {
                    PalpateException.Check(code);
                    Array.Resize(ref surface.Positions, 3 * (int)vertices);
                    Array.Resize(ref surface.TriangleIds, (int)triangles);
                    Array.Resize(ref surface.Triangles, 3 * (int)triangles);
                    axes.PointsInPlace(surface.Positions, (int)vertices);
                    surface.Triangles = axes.Triangles(surface.Triangles);
                    surface.GeometryRevision = revision;
                    return surface;
                }
                surface.Positions = new float[3 * (int)vertices];
                surface.TriangleIds = new uint[(int)triangles];
                surface.Triangles = new uint[3 * (int)triangles];
            }
        }

        /// <summary>
        /// Signed distances of points to a tissue; 0: to the nearest of all tissues. Metres, negative inside.
        /// </summary>
        public double[] Distances(Vec3[] points, uint tissue = 0)
        {
            palpate_vec3[] sent = Array.ConvertAll(points, at => axes.Point(at.X, at.Y, at.Z));
            double[] metres = new double[points.Length];
            fixed (palpate_vec3* first = sent)
            fixed (double* into = metres)
            {
                PalpateException.Check(Native.palpate_distances(scene, tissue, first, into, (UIntPtr)points.Length));
            }
            return metres;
        }

        /// <summary>
        /// Finds the point of a tissue that is nearest to each point; 0: of all tissues.
        /// </summary>
        public SurfacePoint[] Nearest(Vec3[] points, uint tissue = 0)
        {
            palpate_vec3[] sent = Array.ConvertAll(points, at => axes.Point(at.X, at.Y, at.Z));
            SurfacePoint[] found = new SurfacePoint[points.Length];
            fixed (palpate_vec3* first = sent)
            fixed (SurfacePoint* into = found)
            {
                PalpateException.Check(Native.palpate_nearest(
                    scene, tissue, first, (palpate_surface_point*)into, (UIntPtr)points.Length));
            }
            return Array.ConvertAll(found, point => point.In(axes));
        }

        /// <summary>
        /// Copies what a tool touches at a pose, as many as fit, without a session, and the distance of each of its links,
        /// one for each, or none. `linkPoses` (link frame to tool frame): one for each link, or none, all at rest. Returns
        /// the total number of contacts.
        /// </summary>
        public int QueryContacts(
            uint tool, Pose pose, Pose[] linkPoses, SurfaceContact[] into, LinkDistance[] links,
            double contactMarginM = 0)
        {
            palpate_pose[] placed = Array.ConvertAll(linkPoses, link => link.To(axes));
            palpate_contact_query query = new palpate_contact_query
            {
                size = (uint)sizeof(palpate_contact_query),
                tool_id = tool,
                pose = pose.To(axes),
                contact_margin_m = contactMarginM,
            };
            UIntPtr n;
            fixed (palpate_pose* each = placed)
            fixed (SurfaceContact* first = into)
            fixed (LinkDistance* distances = links)
            {
                query.links = each;
                query.n_links = (UIntPtr)placed.Length;
                palpate_code code = Native.palpate_query_contacts(
                    scene, &query, (palpate_surface_contact*)first, (UIntPtr)into.Length, &n,
                    (palpate_link_distance*)distances, (UIntPtr)links.Length);
                Session.CheckFilled(code);
            }
            for (int i = 0; i < Math.Min((int)n, into.Length); i++)
            {
                into[i].At = into[i].At.In(axes);
            }
            for (int i = 0; i < links.Length; i++)
            {
                links[i].At = links[i].At.In(axes);
            }
            return (int)n;
        }

        /// <summary>Opens a session: a tool in a hand.</summary>
        public Session OpenSession(uint tool, SessionOptions options = default(SessionOptions))
        {
            palpate_session* session;
            palpate_session_options sent = new palpate_session_options
            {
                size = (uint)sizeof(palpate_session_options),
                tool_id = tool,
                cutting_links = options.CuttingLinks,
                stiffness_n_per_m = options.StiffnessNPerM,
                rotational_stiffness_nm_per_rad = options.RotationalStiffnessNmPerRad,
                link_stiffness_n_per_m = options.LinkStiffnessNPerM,
                friction = options.Friction,
                force_shading_rad = options.ForceShadingRad,
                max_force_n = options.MaxForceN,
                max_torque_nm = options.MaxTorqueNm,
                max_force_rate_n_per_s = options.MaxForceRateNPerS,
                max_torque_rate_nm_per_s = options.MaxTorqueRateNmPerS,
                hold_point_m = axes.Point(options.HoldPoint.X, options.HoldPoint.Y, options.HoldPoint.Z),
                rate_hz = options.RateHz,
                lock_step = options.LockStep ? 1u : 0u,
                contact_margin_m = options.ContactMarginM,
                max_contacts = options.MaxContacts,
                omit_sweep = options.OmitSweep ? 1u : 0u,
                feature_pairs = options.FeaturePairs ? 1u : 0u,
                max_feature_pairs = options.MaxFeaturePairs,
                deadline_s = options.DeadlineS,
            };
            PalpateException.Check(Native.palpate_open_session(scene, &sent, &session));
            return new Session(session, axes);
        }

        /// <summary>Deletes the scene in the engine or on the server.</summary>
        public void Delete()
        {
            PalpateException.Check(Native.palpate_delete_scene(scene));
        }

        public void Dispose()
        {
            fixed (palpate_scene** place = &scene)
            {
                Native.palpate_close_scene(place);
            }
        }

        private static void CheckThrees(Array numbers, string name)
        {
            if (numbers.Length % 3 != 0)
            {
                throw new ArgumentException("the length is " + numbers.Length + ", expected a multiple of 3", name);
            }
        }

        private static void* Hold(List<GCHandle> held, Array array)
        {
            GCHandle handle = GCHandle.Alloc(array, GCHandleType.Pinned);
            held.Add(handle);
            return (void*)handle.AddrOfPinnedObject();
        }

        private static palpate_mesh Mesh(float* xyz, float[] positions, uint* sides, uint[] triangles, double scaleToM)
        {
            CheckThrees(positions, "positions");
            CheckThrees(triangles, "triangles");
            return new palpate_mesh
            {
                positions = xyz,
                n_vertices = (UIntPtr)(positions.Length / 3),
                triangles = sides,
                n_triangles = (UIntPtr)(triangles.Length / 3),
                scale_to_m = scaleToM,
            };
        }
    }
}
