using System;

namespace Palpate
{
    /// <summary>A tool in a hand.</summary>
    public sealed unsafe class Session : IDisposable
    {
        /// <summary>No rendered tool has more links.</summary>
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
        /// What the hand feels at a pose, so many seconds after the last call: for the device's callback. Never waits and
        /// allocates nothing. The wrench is to be sent whatever the code says.
        /// </summary>
        public Code Servo(Pose pose, double dtS, out Wrench wrench)
        {
            palpate_pose at = pose.To(axes);
            palpate_wrench felt;
            palpate_code code = Native.palpate_servo(session, &at, dtS, &felt);
            wrench = Wrench.From(axes, felt);
            return (Code)code;
        }

        /// <summary>The same with the links' poses (link frame to tool frame), one for each.</summary>
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

        /// <summary>The same with the links' poses (link frame to tool frame), one for each.</summary>
        public Wrench Step(Pose pose, Pose[] links, double dtS)
        {
            palpate_pose at = pose.To(axes);
            palpate_pose* each = stackalloc palpate_pose[LinksMax];
            Put(links, each);
            palpate_wrench felt;
            PalpateException.Check(Native.palpate_step(session, &at, each, (UIntPtr)links.Length, dtS, &felt));
            return Wrench.From(axes, felt);
        }

        /// <summary>What the newest answer says; false when there is none yet.</summary>
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
        /// The contacts of the newest answer that bear: as many as fit go into the array. Gives how many there are. Allocates
        /// nothing, so that a solver may ask in each step.
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
        /// What a tissue bears of the newest answer's contacts, for a solver's external forces: ids of vertices, three numbers
        /// for each of them in newtons, as many as fit, and the revision that the vertices are of. Gives how many there are.
        /// Allocates nothing.
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

        /// <summary>What became of the session so far.</summary>
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

        /// <summary>Throws what ended the session, if anything did.</summary>
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

        // More than there may be are not written: the call says so by their number, before it reads one.
        private void Put(Pose[] links, palpate_pose* each)
        {
            for (int i = 0; i < Math.Min(links.Length, LinksMax); i++)
            {
                each[i] = links[i].To(axes);
            }
        }

        /// <summary>Before the first answer there is nothing, and an array that holds less than there is says so by its length.</summary>
        private static void CheckFilled(palpate_code code)
        {
            if (code != palpate_code.PALPATE_TOO_SMALL && code != palpate_code.PALPATE_NO_ANSWER)
            {
                PalpateException.Check(code);
            }
        }
    }
}
