#pragma once

#include "CoreMinimal.h"

#include <palpate.hpp>

#include <vector>

/**
 * Conversions between Unreal's axes and Palpate's, in this file alone. Unreal is left-handed, z up, in centimetres; Palpate is
 * right-handed, in metres. y is mirrored: forces are as positions, rotations and torques turn the other way about x and z.
 * Triangles stay as they are: the cross product of two of their sides points inwards in Unreal (EFaceWindingOrder), and so
 * outwards once mirrored.
 */
namespace PalpateAxes
{
    inline palpate_vec3 ToPalpate(const FVector& At)
    {
        return palpate_vec3{0.01 * At.X, -0.01 * At.Y, 0.01 * At.Z};
    }

    inline FVector ToUnreal(const palpate_vec3& At)
    {
        return FVector(100 * At.x, -100 * At.y, 100 * At.z);
    }

    inline palpate_pose ToPalpate(const FVector& At, const FQuat& Turned)
    {
        return palpate_pose{ToPalpate(At), {-Turned.X, Turned.Y, -Turned.Z, Turned.W}};
    }

    inline FQuat ToUnreal(const palpate_quaternion& Turned)
    {
        return FQuat(-Turned.x, Turned.y, -Turned.z, Turned.w);
    }

    /** Newtons. */
    inline FVector Force(const palpate_vec3& OfPalpate)
    {
        return FVector(OfPalpate.x, -OfPalpate.y, OfPalpate.z);
    }

    /** Newton metres. */
    inline FVector Torque(const palpate_vec3& OfPalpate)
    {
        return FVector(-OfPalpate.x, OfPalpate.y, -OfPalpate.z);
    }

    /** x, y, z of each vertex, for `palpate::mesh` and `Scene::deform`. */
    inline std::vector<float> Positions(const TArray<FVector>& Vertices)
    {
        std::vector<float> Flat;
        Flat.reserve(3 * Vertices.Num());
        for (const FVector& Vertex : Vertices)
        {
            const palpate_vec3 At = ToPalpate(Vertex);
            Flat.insert(Flat.end(), {static_cast<float>(At.x), static_cast<float>(At.y), static_cast<float>(At.z)});
        }
        return Flat;
    }

    /** Three vertex numbers of each triangle, for `palpate::mesh`. */
    inline std::vector<uint32> Triangles(const TArray<int32>& Indices)
    {
        return std::vector<uint32>(Indices.begin(), Indices.end());
    }
}
