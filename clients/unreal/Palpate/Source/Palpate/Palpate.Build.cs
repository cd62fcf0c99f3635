using UnrealBuildTool;

public class Palpate : ModuleRules
{
    public Palpate(ReadOnlyTargetRules Target) : base(Target)
    {
        PCHUsage = PCHUsageMode.UseExplicitOrSharedPCHs;
        PublicDependencyModuleNames.AddRange(new[] { "Core", "PalpateLibrary" });
    }
}
