using System;

namespace Palpate
{
    /// <summary>A tool in a hand.</summary>
    public sealed unsafe class Session : IDisposable
    {
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

        /// <summary>In lock-step: waits for the engine's answer to this pose.</summary>
        public Wrench Step(Pose pose, double dtS)
        {
            palpate_pose at = pose.To(axes);
            palpate_wrench felt;
            PalpateException.Check(Native.palpate_step(session, &at, null, UIntPtr.Zero, dtS, &felt));
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
    }
}
