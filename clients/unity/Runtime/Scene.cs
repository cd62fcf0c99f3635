using System;

namespace Palpate
{
    /// <summary>Tissues that move and tools, all in the axes that the scene was opened with. Files are right-handed.</summary>
    public sealed unsafe class Scene : IDisposable
    {
        private palpate_scene* scene;
        private readonly Axes axes;

        internal Scene(palpate_scene* owned, Axes axes)
        {
            scene = owned;
            this.axes = axes;
        }

        /// <summary>Adds a tissue: x, y, z of each vertex, three vertex numbers of each triangle. Gives its id.</summary>
        public uint AddTissue(string name, float[] positions, uint[] triangles, double scaleToM = 1)
        {
            uint id;
            fixed (byte* text = Text.Bytes(name))
            fixed (float* xyz = axes.Points(positions))
            fixed (uint* sides = axes.Triangles(triangles))
            {
                palpate_mesh mesh = Mesh(xyz, positions, sides, triangles, scaleToM);
                PalpateException.Check(Native.palpate_add_tissue(scene, text, &mesh, &id));
            }
            return id;
        }

        /// <summary>Adds a tissue from a file.</summary>
        public uint AddTissueFile(string name, string file, double scaleToM = 1)
        {
            uint id;
            fixed (byte* text = Text.Bytes(name), path = Text.Bytes(file))
            {
                PalpateException.Check(Native.palpate_add_tissue_file(scene, text, path, scaleToM, &id));
            }
            return id;
        }

        /// <summary>Adds a rigid tool of one link. Gives its id.</summary>
        public uint AddTool(string name, float[] positions, uint[] triangles, double scaleToM = 1)
        {
            uint id;
            fixed (byte* text = Text.Bytes(name))
            fixed (float* xyz = axes.Points(positions))
            fixed (uint* sides = axes.Triangles(triangles))
            {
                palpate_link link = new palpate_link { name = text, mesh = Mesh(xyz, positions, sides, triangles, scaleToM) };
                PalpateException.Check(Native.palpate_add_tool(scene, text, &link, (UIntPtr)1, &id));
            }
            return id;
        }

        /// <summary>Adds a rigid tool of one link from a file.</summary>
        public uint AddToolFile(string name, string file, double scaleToM = 1)
        {
            uint id;
            fixed (byte* text = Text.Bytes(name), path = Text.Bytes(file))
            {
                PalpateException.Check(Native.palpate_add_tool_file(scene, text, path, scaleToM, &id));
            }
            return id;
        }

        /// <summary>Moves all vertices of a tissue, metres.</summary>
        public void Deform(uint tissue, float[] positions)
        {
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

        /// <summary>Opens a session: a tool in a hand.</summary>
        public Session OpenSession(uint tool, SessionOptions options = default(SessionOptions))
        {
            palpate_session* session;
            palpate_session_options sent = new palpate_session_options
            {
                tool_id = tool,
                cutting_links = options.CuttingLinks,
                stiffness_n_per_m = options.StiffnessNPerM,
                rotational_stiffness_nm_per_rad = options.RotationalStiffnessNmPerRad,
                link_stiffness_n_per_m = options.LinkStiffnessNPerM,
                friction = options.Friction,
                max_force_n = options.MaxForceN,
                max_torque_nm = options.MaxTorqueNm,
                max_force_rate_n_per_s = options.MaxForceRateNPerS,
                max_torque_rate_nm_per_s = options.MaxTorqueRateNmPerS,
                hold_point_m = axes.Point(options.HoldPoint.X, options.HoldPoint.Y, options.HoldPoint.Z),
                rate_hz = options.RateHz,
                lock_step = options.LockStep ? 1u : 0u,
            };
            PalpateException.Check(Native.palpate_open_session(scene, &sent, &session));
            return new Session(session, axes);
        }

        /// <summary>Removes the scene from where it is.</summary>
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

        private static palpate_mesh Mesh(float* xyz, float[] positions, uint* sides, uint[] triangles, double scaleToM)
        {
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
