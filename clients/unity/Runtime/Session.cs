using System;

namespace Palpate
{
    /// <summary>A tool in a hand.</summary>
    public sealed unsafe class Session : IDisposable
    {
        /// <summary>Maximum links of a rendered tool.</summary>
        private const int LinksMax = 8;
        private static readonly Pose[] NoLinks = new Pose[0];

        private palpate_session* session;
        private readonly Axes axes;

        internal Session(palpate_session* owned, Axes axes)
        {
            session = owned;
            this.axes = axes;
        }

        /// <summary>
        /// Computes the wrench on the hand at a pose, `dtS` seconds after the last call: for the device's callback.
        /// Never waits and allocates nothing. Send the wrench whatever the code is.
        /// </summary>
        public Code Servo(Pose pose, double dtS, out Wrench wrench)
        {
            palpate_pose at = pose.To(axes);
            palpate_wrench felt;
            palpate_code code = Native.palpate_servo(session, &at, dtS, &felt);
            wrench = Wrench.From(axes, felt);
            return (Code)code;
        }

        /// <summary>Like Servo above, with the links' poses (link frame to tool frame), one for each link.</summary>
        public Code Servo(Pose pose, Pose[] links, double dtS, out Wrench wrench)
        {
            palpate_pose at = pose.To(axes);
            palpate_pose* each = stackalloc palpate_pose[LinksMax];
            Put(links, each);
            palpate_wrench felt;
            palpate_code code = Native.palpate_servo_links(session, &at, each, (UIntPtr)links.Length, dtS, &felt);
            wrench = Wrench.From(axes, felt);
            return (Code)code;
        }

        /// <summary>In lock-step: waits for the engine's answer to this pose.</summary>
        public Wrench Step(Pose pose, double dtS)
        {
            return Step(pose, NoLinks, dtS);
        }

        /// <summary>Like Step above, with the links' poses (link frame to tool frame), one for each link.</summary>
        public Wrench Step(Pose pose, Pose[] links, double dtS)
        {
            palpate_pose at = pose.To(axes);
            palpate_pose* each = stackalloc palpate_pose[LinksMax];
            Put(links, each);
            palpate_wrench felt;
            PalpateException.Check(Native.palpate_step(session, &at, each, (UIntPtr)links.Length, dtS, &felt));
            return Wrench.From(axes, felt);
        }

        /// <summary>Returns the newest answer; false if there is none yet.</summary>
        public bool TryNewest(out Rendering rendering)
        {
            palpate_rendering newest;
            palpate_code code = Native.palpate_newest(session, &newest);
            rendering = default(Rendering);
            if (code == palpate_code.PALPATE_NO_ANSWER)
            {
                return false;
            }
            PalpateException.Check(code);
            rendering = new Rendering
            {
                Sequence = newest.sequence,
                Proxy = Pose.From(axes, newest.proxy),
                State = (RenderState)newest.state,
                Contacts = newest.n_contacts,
                DistanceM = newest.distance_m,
            };
            return true;
        }

        /// <summary>
        /// Copies the contacts of the newest answer that carry force, as many as fit, into the array. Returns their
        /// total number. Allocates nothing, so that a solver may call it in each step.
        /// </summary>
        public int Contacts(Contact[] into)
        {
            UIntPtr n;
            fixed (Contact* first = into)
            {
                CheckFilled(Native.palpate_contacts(session, (palpate_contact*)first, (UIntPtr)into.Length, &n));
            }
            for (int i = 0; i < Math.Min((int)n, into.Length); i++)
            {
                into[i].Position = axes.Point(into[i].Position);
                into[i].ForceN = axes.Point(into[i].ForceN);
            }
            return (int)n;
        }

        /// <summary>
        /// Copies the contacts of the newest answer, whether they carry force or not, with triangles, weights and
        /// signed distances, as many as fit. Returns their total number, and the answer's sequence. Allocates nothing.
        /// </summary>
        public int SurfaceContacts(SurfaceContact[] into, out ulong sequence)
        {
            UIntPtr n;
            ulong answered = 0;
            fixed (SurfaceContact* first = into)
            {
                CheckFilled(Native.palpate_surface_contacts(
                    session, (palpate_surface_contact*)first, (UIntPtr)into.Length, &n, &answered));
            }
            for (int i = 0; i < Math.Min((int)n, into.Length); i++)
            {
                into[i].At = into[i].At.In(axes);
            }
            sequence = answered;
            return (int)n;
        }

        /// <summary>
        /// Copies the pairs of features of tissue and link within the contact margin, as many as fit;
        /// SessionOptions.FeaturePairs must be set. Returns their total number, and the answer's sequence. Allocates
        /// nothing.
        /// </summary>
        public int FeaturePairs(FeaturePair[] into, out ulong sequence)
        {
            UIntPtr n;
            ulong answered = 0;
            fixed (FeaturePair* first = into)
            {
                CheckFilled(Native.palpate_feature_pairs(
                    session, (palpate_feature_pair*)first, (UIntPtr)into.Length, &n, &answered));
            }
            for (int i = 0; i < Math.Min((int)n, into.Length); i++)
            {
                into[i].Normal = axes.Point(into[i].Normal);
            }
            sequence = answered;
            return (int)n;
        }

        /// <summary>
        /// Copies the distance of each link from the nearest tissue in the newest answer, as many as fit. Returns their
        /// total number, and the answer's sequence. Allocates nothing.
        /// </summary>
        public int LinkDistances(LinkDistance[] into, out ulong sequence)
        {
            UIntPtr n;
            ulong answered = 0;
            fixed (LinkDistance* first = into)
            {
                CheckFilled(Native.palpate_link_distances(
                    session, (palpate_link_distance*)first, (UIntPtr)into.Length, &n, &answered));
            }
            for (int i = 0; i < Math.Min((int)n, into.Length); i++)
            {
                into[i].At = into[i].At.In(axes);
            }
            sequence = answered;
            return (int)n;
        }

        /// <summary>
        /// Copies the distance of each probe from the nearest tissue in the newest answer, as many as fit. Returns their
        /// total number, and the answer's sequence. Allocates nothing.
        /// </summary>
        public int ProbeDistances(ProbeDistance[] into, out ulong sequence)
        {
            UIntPtr n;
            ulong answered = 0;
            fixed (ProbeDistance* first = into)
            {
                CheckFilled(Native.palpate_probe_distances(
                    session, (palpate_probe_distance*)first, (UIntPtr)into.Length, &n, &answered));
            }
            for (int i = 0; i < Math.Min((int)n, into.Length); i++)
            {
                into[i].At = into[i].At.In(axes);
            }
            sequence = answered;
            return (int)n;
        }

        /// <summary>
        /// Copies the load on a tissue from the newest answer's contacts, for a solver's external forces: ids of
        /// vertices, three numbers for each of them in newtons, as many as fit, and the revision of these vertices.
        /// Returns their total number. Allocates nothing.
        /// </summary>
        public int TissueLoads(uint tissue, uint[] vertices, float[] forcesN, out ulong geometryRevision)
        {
            int room = Math.Min(vertices.Length, forcesN.Length / 3);
            UIntPtr n;
            ulong revision = 0;
            fixed (uint* ids = vertices)
            fixed (float* xyz = forcesN)
            {
                CheckFilled(Native.palpate_tissue_loads(session, tissue, ids, xyz, (UIntPtr)room, &n, &revision));
            }
            axes.PointsInPlace(forcesN, Math.Min((int)n, room));
            geometryRevision = revision;
            return (int)n;
        }

        /// <summary>Like TissueLoads above, in a solver's own doubles.</summary>
        public int TissueLoads(uint tissue, uint[] vertices, double[] forcesN, out ulong geometryRevision)
        {
            int room = Math.Min(vertices.Length, forcesN.Length / 3);
            UIntPtr n;
            ulong revision = 0;
            fixed (uint* ids = vertices)
            fixed (double* xyz = forcesN)
            {
                palpate_writable_rows rows = new palpate_writable_rows
                {
                    size = (uint)sizeof(palpate_writable_rows),
                    number = Native.PALPATE_DOUBLE,
                    data = xyz,
                    capacity = (UIntPtr)room,
                };
                CheckFilled(Native.palpate_tissue_load_rows(session, tissue, ids, &rows, &n, &revision));
            }
            axes.PointsInPlace(forcesN, Math.Min((int)n, room));
            geometryRevision = revision;
            return (int)n;
        }

        /// <summary>Returns the status of the session so far.</summary>
        public SessionStatus Status()
        {
            palpate_session_status status;
            PalpateException.Check(Native.palpate_status(session, &status));
            return new SessionStatus
            {
                IsOpen = status.is_open != 0,
                Reconnected = status.reconnected,
                SessionsLost = status.sessions_lost,
                Dropped = status.dropped,
                AgeS = status.age_s,
            };
        }

        /// <summary>Throws the error that ended the session, if any.</summary>
        public void Check()
        {
            PalpateException.Check(Native.palpate_check(session));
        }

        public void Dispose()
        {
            fixed (palpate_session** place = &session)
            {
                Native.palpate_close_session(place);
            }
        }

        // Poses beyond the maximum are not copied: the call refuses their number before it reads any.
        private void Put(Pose[] links, palpate_pose* each)
        {
            for (int i = 0; i < Math.Min(links.Length, LinksMax); i++)
            {
                each[i] = links[i].To(axes);
            }
        }

        /// <summary>
        /// Accepts codes that are no errors: no answer yet, and an array that is too small, which the caller sees from
        /// the length.
        /// </summary>
        internal static void CheckFilled(palpate_code code)
        {
            if (code != palpate_code.PALPATE_TOO_SMALL && code != palpate_code.PALPATE_NO_ANSWER)
            {
                PalpateException.Check(code);
            }
        }
    }
}
