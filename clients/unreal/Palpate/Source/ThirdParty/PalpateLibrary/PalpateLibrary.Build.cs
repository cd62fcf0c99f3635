using System.IO;
using UnrealBuildTool;

/// The SDK's headers in include, its library in lib.
public class PalpateLibrary : ModuleRules
{
    public PalpateLibrary(ReadOnlyTargetRules Target) : base(Target)
    {
        Type = ModuleType.External;
        PublicIncludePaths.Add(Path.Combine(ModuleDirectory, "include"));
        string Library = Path.Combine(ModuleDirectory, "lib");
        if (Target.Platform == UnrealTargetPlatform.Win64)
        {
            PublicAdditionalLibraries.Add(Path.Combine(Library, "palpate_c.dll.lib"));
            RuntimeDependencies.Add("$(TargetOutputDir)/palpate_c.dll", Path.Combine(Library, "palpate_c.dll"));
        }
        else
        {
            PublicAdditionalLibraries.Add(Path.Combine(Library, "libpalpate_c.so.0.1"));
            RuntimeDependencies.Add(Path.Combine(Library, "libpalpate_c.so.0.1"));
        }
    }
}
