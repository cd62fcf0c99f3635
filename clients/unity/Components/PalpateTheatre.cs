using System;
using System.Collections.Generic;
using UnityEngine;

namespace Palpate.Components
{
    /// <summary>
    /// Palpate's scene behind a scene of Unity, one for all components. The first that needs it makes it; put it on an
    /// object yourself to choose a server.
    /// </summary>
    [AddComponentMenu("Palpate/Theatre")]
    public sealed class PalpateTheatre : MonoBehaviour
    {
        [Tooltip("HOST:PORT of a server. Empty: the engine in this process.")]
        public string server = "";
        [Tooltip("Name of the scene on the server.")]
        public string sceneName = "unity";

        private readonly List<IDisposable> users = new List<IDisposable>();
        private Server opened;
        private Scene scene;

        /// <summary>Returns the theatre of the loaded scenes, made if there is none.</summary>
        public static PalpateTheatre Find()
        {
            PalpateTheatre found = FindObjectOfType<PalpateTheatre>();
            return found != null ? found : new GameObject("Palpate").AddComponent<PalpateTheatre>();
        }

        /// <summary>Palpate's scene, in Unity's axes.</summary>
        public Scene Scene
        {
            get
            {
                if (scene == null)
                {
                    opened = server == "" ? Server.OpenLocal() : Server.Connect(server);
                    scene = opened.CreateScene(sceneName);
                }
                return scene;
            }
        }

        /// <summary>Lets a user of the scene be disposed of before it: Unity destroys objects in any order.</summary>
        internal void Hold(IDisposable user)
        {
            users.Add(user);
        }

        private void OnDestroy()
        {
            // The newest first: a hand before its tool.
            users.Reverse();
            users.ForEach(user => user.Dispose());
            if (scene != null)
            {
                scene.Delete();
                scene.Dispose();
                opened.Dispose();
            }
        }
    }
}
