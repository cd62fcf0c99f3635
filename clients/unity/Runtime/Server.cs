using System;

namespace Palpate
{
    /// <summary>A place for scenes: the engine in this process, or a server.</summary>
    public sealed unsafe class Server : IDisposable
    {
        private palpate_server* server;

        private Server(palpate_server* owned)
        {
            server = owned;
        }

        /// <summary>Version of the native library, for example "0.1.0".</summary>
        public static string LibraryVersion { get { return Text.Of(Native.palpate_version()); } }

        /// <summary>Opens the engine in this process: no server, no network.</summary>
        public static Server OpenLocal()
        {
            palpate_server* opened;
            PalpateException.Check(Native.palpate_open_local(Native.PALPATE_HEADER_VERSION, &opened));
            return new Server(opened);
        }

        /// <summary>Connects to `host:port` or `https://host:port`; the files may be null.</summary>
        public static Server Connect(string url, string keyFile = null, string caFile = null, double timeoutS = 0)
        {
            palpate_server* opened;
            fixed (byte* at = Text.Bytes(url), key = Text.Bytes(keyFile), ca = Text.Bytes(caFile))
            {
                palpate_address address = new palpate_address
                {
                    size = (uint)sizeof(palpate_address),
                    url = at,
                    key_file = key,
                    ca_file = ca,
                    timeout_s = timeoutS,
                };
                PalpateException.Check(Native.palpate_connect(Native.PALPATE_HEADER_VERSION, &address, &opened));
            }
            return new Server(opened);
        }

        /// <summary>Creates an empty scene, with all its numbers in these axes. `id`: of a-z, 0-9 and '-'.</summary>
        public Scene CreateScene(string id, Axes axes = Axes.LeftHanded)
        {
            palpate_scene* scene;
            fixed (byte* text = Text.Bytes(id))
            {
                PalpateException.Check(Native.palpate_create_scene(server, text, &scene));
            }
            return new Scene(scene, axes);
        }

        /// <summary>Opens an existing scene.</summary>
        public Scene OpenScene(string id, Axes axes = Axes.LeftHanded)
        {
            palpate_scene* scene;
            fixed (byte* text = Text.Bytes(id))
            {
                PalpateException.Check(Native.palpate_open_scene(server, text, &scene));
            }
            return new Scene(scene, axes);
        }

        public void Dispose()
        {
            fixed (palpate_server** place = &server)
            {
                Native.palpate_close(place);
            }
        }
    }
}
